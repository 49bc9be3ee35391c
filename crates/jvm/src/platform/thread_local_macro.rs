//! A thread-local pointer that is cheap to read in a shared library.
//!
//! Shared libraries normally find their thread-local variables by calling the dynamic loader, which costs a tenth of
//! what a method event may cost. The variable declared here has a fixed offset from the thread pointer instead (the
//! "initial exec" TLS model). The loader of glibc reserves some space for such variables.
//!
//! The loader of musl reserves none, and refuses such a library in a running program. There it is a normal thread-local
//! variable. The loader of musl allocates these when it loads the library, so a signal handler may read them.
//!
//! Windows has slots for such pointers (`windows::thread_local_slot`).

/// Declares a thread-local pointer.
///
/// `thread_local_word!("symbol")` expands to two functions. `get` returns the pointer that the current thread set
/// last, NULL at first, and may be called in a signal handler. `set` stores a pointer. The symbol is not exported; each
/// use of the macro needs a different one.
#[macro_export]
macro_rules! thread_local_word {
    ($symbol:literal) => {
        #[cfg(windows)]
        mod storage {
            static SLOT: $crate::platform::thread_local_slot::Slot =
                $crate::platform::thread_local_slot::Slot::new();

            #[inline(always)]
            pub fn get() -> *const () {
                SLOT.get()
            }

            pub fn set(pointer: *const ()) {
                SLOT.set(pointer);
            }
        }

        #[cfg(all(
            not(any(target_env = "musl", windows)),
            any(target_arch = "x86_64", target_arch = "x86", target_arch = "aarch64")
        ))]
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
            // SAFETY: only this thread accesses the 8 bytes of the variable.
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
            // SAFETY: as in `get`.
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
            // SAFETY: the address is that of the current thread's variable, which lives as long as the thread.
                unsafe { address().read() }
            }

            #[cfg(not(target_arch = "x86_64"))]
            pub fn set(pointer: *const ()) {
            // SAFETY: as in `get`; no other thread uses the variable.
                unsafe { address().write(pointer) };
            }

            #[cfg(target_arch = "x86")]
            #[inline(always)]
            fn address() -> *mut *const () {
                let address;
            // SAFETY: this only computes an address. A call is the only way to read the program counter.
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
            // SAFETY: this only computes an address.
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

        #[cfg(not(any(
            windows,
            all(
                not(target_env = "musl"),
                any(target_arch = "x86_64", target_arch = "x86", target_arch = "aarch64")
            )
        )))]
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

    /// Returns the pointer that the current thread set last, NULL at first. May be called in a signal handler.
        #[inline(always)]
        pub fn get<T>() -> *const T {
            storage::get().cast()
        }

    /// Sets the pointer of the current thread.
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
    fn each_thread_has_its_own_value_per_symbol() {
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
