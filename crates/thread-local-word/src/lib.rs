//! A thread-local pointer.
//!
//! A library finds its thread-local variables by a call of the dynamic loader, which is a tenth of
//! what a method event may cost. The eight bytes here have a fixed distance from the thread pointer
//! instead (the "initial exec" model), for which the loader reserves some room.

/// Declares a pointer: `thread_local_word!("symbol")` becomes two functions, `get`, which gives what the
/// current thread has set last, at first NULL, and may be called in a signal handler; and `set`. No two have the
/// same symbol, which is not exported.
#[macro_export]
macro_rules! thread_local_word {
    ($symbol:literal) => {
        #[cfg(target_arch = "x86_64")]
        mod storage {
            use std::arch::{asm, global_asm};

            global_asm!(
                concat!(".section .tbss.", $symbol, ",\"awT\",@nobits"),
                ".p2align 3",
                concat!(".globl ", $symbol),
                concat!(".hidden ", $symbol),
                concat!(".type ", $symbol, ", @object"),
                concat!(".size ", $symbol, ", 8"),
                concat!($symbol, ":"),
                ".zero 8",
                ".text",
            );

            #[inline(always)]
            pub fn get() -> *const () {
                let pointer;
                // SAFETY: the variable is 8 bytes that only this thread uses.
                unsafe {
                    asm!(
                        concat!("mov {0}, qword ptr [rip + ", $symbol, "@GOTTPOFF]"),
                        "mov {0}, qword ptr fs:[{0}]",
                        out(reg) pointer,
                        options(pure, readonly, nostack, preserves_flags)
                    );
                }
                pointer
            }

            pub fn set(pointer: *const ()) {
                // SAFETY: as above.
                unsafe {
                    asm!(
                        concat!("mov {1}, qword ptr [rip + ", $symbol, "@GOTTPOFF]"),
                        "mov qword ptr fs:[{1}], {0}",
                        in(reg) pointer,
                        out(reg) _,
                        options(nostack, preserves_flags)
                    );
                }
            }
        }

        #[cfg(not(target_arch = "x86_64"))]
        mod storage {
            use std::cell::Cell;
            use std::ptr;

            thread_local! {
                static POINTER: Cell<*const ()> = const { Cell::new(ptr::null()) };
            }

            pub fn get() -> *const () {
                POINTER.get()
            }

            pub fn set(pointer: *const ()) {
                POINTER.set(pointer);
            }
        }

        /// What the current thread has set last, at first NULL. May be called in a signal handler.
        #[inline(always)]
        pub fn get<T>() -> *const T {
            storage::get().cast()
        }

        /// Sets it.
        pub fn set<T>(pointer: *const T) {
            storage::set(pointer.cast());
        }
    };
}

#[cfg(test)]
mod tests {
    use std::{ptr, thread};

    mod first {
        thread_local_word!("thread_local_word_first");
    }

    mod second {
        thread_local_word!("thread_local_word_second");
    }

    #[test]
    fn each_thread_has_its_own() {
        let (one, other) = (1_u32, 2_u32);
        first::set(&raw const one);
        second::set(&raw const other);
        thread::scope(|scope| {
            scope.spawn(|| {
                assert!(first::get::<u32>().is_null());
                first::set(&raw const other);
                assert!(ptr::eq(first::get(), &raw const other));
            });
        });
        assert!(ptr::eq(first::get(), &raw const one));
        assert!(ptr::eq(second::get(), &raw const other));
        first::set(ptr::null::<u32>());
        assert!(first::get::<u32>().is_null());
    }
}
