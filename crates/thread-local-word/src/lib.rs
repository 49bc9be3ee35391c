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
        #[cfg(any(target_arch = "x86_64", target_arch = "x86", target_arch = "aarch64"))]
        mod storage {
            use std::arch::{asm, global_asm};

            global_asm!(
                concat!(".section .tbss.", $symbol, ",\"awT\",%nobits"),
                ".p2align 3",
                concat!(".globl ", $symbol),
                concat!(".hidden ", $symbol),
                concat!(".type ", $symbol, ", %object"),
                concat!(".size ", $symbol, ", 8"),
                concat!($symbol, ":"),
                ".zero 8",
                ".text",
            );

            #[cfg(target_arch = "x86_64")]
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

            #[cfg(target_arch = "x86_64")]
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

            #[cfg(not(target_arch = "x86_64"))]
            #[inline(always)]
            pub fn get() -> *const () {
                // SAFETY: the variable is the thread's, and lives as long as it.
                unsafe { address().read() }
            }

            #[cfg(not(target_arch = "x86_64"))]
            pub fn set(pointer: *const ()) {
                // SAFETY: as above; nobody else uses it.
                unsafe { address().write(pointer) };
            }

            #[cfg(target_arch = "x86")]
            #[inline(always)]
            fn address() -> *mut *const () {
                let address;
                // SAFETY: this only computes. The instruction's own address takes a call to know.
                unsafe {
                    asm!(
                        "call 2f",
                        "2: popl {0}",
                        "addl $_GLOBAL_OFFSET_TABLE_+(.-2b), {0}",
                        concat!("movl ", $symbol, "@GOTNTPOFF({0}), {0}"),
                        "addl %gs:0, {0}",
                        out(reg) address,
                        options(att_syntax, pure, nomem)
                    );
                }
                address
            }

            #[cfg(target_arch = "aarch64")]
            #[inline(always)]
            fn address() -> *mut *const () {
                let address;
                // SAFETY: this only computes.
                unsafe {
                    asm!(
                        concat!("adrp {0}, :gottprel:", $symbol),
                        concat!("ldr {0}, [{0}, :gottprel_lo12:", $symbol, "]"),
                        "mrs {1}, tpidr_el0",
                        "add {0}, {0}, {1}",
                        out(reg) address,
                        out(reg) _,
                        options(pure, nomem, nostack, preserves_flags)
                    );
                }
                address
            }
        }

        #[cfg(not(any(target_arch = "x86_64", target_arch = "x86", target_arch = "aarch64")))]
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
