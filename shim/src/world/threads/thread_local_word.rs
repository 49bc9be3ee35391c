//! A thread-local pointer.
//!
//! A library finds its thread-local variables by a call of the dynamic loader, which is a tenth of
//! what a method event may cost. The eight bytes here have a fixed distance from the thread pointer
//! instead (the "initial exec" model), for which the loader reserves some room.

#[cfg(target_arch = "x86_64")]
mod storage {
    use std::arch::{asm, global_asm};

    global_asm!(
        ".section .tbss.jvmpi_current,\"awT\",@nobits",
        ".p2align 3",
        ".globl jvmpi_current",
        ".hidden jvmpi_current",
        ".type jvmpi_current, @object",
        ".size jvmpi_current, 8",
        "jvmpi_current:",
        ".zero 8",
        ".text",
    );

    #[inline(always)]
    pub fn get() -> *const () {
        let pointer;
        // SAFETY: the variable is 8 bytes that only this thread uses.
        unsafe {
            asm!(
                "mov {0}, qword ptr [rip + jvmpi_current@GOTTPOFF]",
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
                "mov {1}, qword ptr [rip + jvmpi_current@GOTTPOFF]",
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

pub fn set<T>(pointer: *const T) {
    storage::set(pointer.cast());
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{ptr, thread};

    #[test]
    fn each_thread_has_its_own() {
        let (one, other) = (1_u32, 2_u32);
        set(&raw const one);
        thread::scope(|scope| {
            scope.spawn(|| {
                assert!(get::<u32>().is_null());
                set(&raw const other);
                assert!(ptr::eq(get(), &raw const other));
            });
        });
        assert!(ptr::eq(get(), &raw const one));
        set(ptr::null::<u32>());
        assert!(get::<u32>().is_null());
    }
}
