//! The boundary to C: functions that C calls never unwind into C, and run on an aligned stack.

use crate::jni::Jni;
use jni_sys::JNIEnv;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Runs the body of a function that C code calls. Returns `otherwise` if the body panics.
///
/// The hook of [`report_panics`] has logged the panic by then.
#[inline]
pub fn guard<R>(otherwise: R, body: impl FnOnce() -> R) -> R {
    on_aligned_stack(|| catch_unwind(AssertUnwindSafe(body)).unwrap_or(otherwise))
}

/// Runs the body of a callback that JVMTI calls on the thread that `env` belongs to.
///
/// # Safety
/// `env` is NULL or the environment of the current thread, as JVMTI passes it to callbacks.
pub unsafe fn callback(env: *mut JNIEnv, body: impl FnOnce(Jni)) {
    if !env.is_null() {
        // SAFETY: the caller promises the environment, and the thread stays attached meanwhile.
        let jni = unsafe { Jni::new(env) };
        guard((), || body(jni));
    }
}

/// Defines JVMTI callbacks: C functions that run the function behind the arrow, with JNI for the current thread and the
/// other arguments.
#[macro_export]
macro_rules! callbacks {
    ($($visibility:vis fn $name:ident($($argument:ident: $type:ty),*) => $body:expr;)*) => {$(
        $visibility unsafe extern "system" fn $name(
            _: *mut $crate::types::jvmtiEnv,
            env: *mut $crate::types::JNIEnv,
            $($argument: $type),*
        ) {
            // SAFETY: JVMTI passes the environment of the thread that runs this.
            unsafe { $crate::boundary::callback(env, |jni| $body(jni, $($argument),*)) };
        }
    )*};
}

/// Calls the function when it is dropped, also by a panic.
pub struct OnDrop<F: FnMut()>(pub F);

impl<F: FnMut()> Drop for OnDrop<F> {
    #[inline]
    fn drop(&mut self) {
        (self.0)();
    }
}

/// Runs `body` on a stack with the alignment that Rust expects. On i386 neither the VM's compiled code nor agents of
/// JVMPI's time maintain it.
#[inline(always)]
fn on_aligned_stack<R>(body: impl FnOnce() -> R) -> R {
    /// An alignment above the one that the compiler assumes for the stack, so it realigns the frame of this function.
    #[repr(align(32))]
    struct Aligning;

    if cfg!(target_arch = "x86") {
        let aligning = Aligning;
        std::hint::black_box(&raw const aligning);
    }
    body()
}

/// Installs a hook that logs a panic in one line in place of Rust's usual report.
pub fn report_panics() {
    std::panic::set_hook(Box::new(|panic| {
        let message = panic.payload_as_str().unwrap_or("no message");
        match panic.location() {
            Some(place) => log::error!("internal error at {place}: {message}; please report it"),
            None => log::error!("internal error: {message}; please report it"),
        }
    }));
}

#[cfg(all(test, target_arch = "x86"))]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU64, Ordering};

    /// Calls a function with the stack pointer `words` words below an aligned address.
    unsafe fn call_below(function: extern "C" fn(), words: usize) {
        // SAFETY: the function has no parameters and no result, and the stack pointer is restored.
        unsafe {
            std::arch::asm!(
                "mov edi, esp",
                "and esp, -16",
                "sub esp, {bytes}",
                "call {function}",
                "mov esp, edi",
                out("edi") _,
                bytes = in(reg) 4 * words,
                function = in(reg) function,
                clobber_abi("C"),
            );
        }
    }

    #[test]
    fn stack_is_aligned_inside_the_boundary() {
        static MISALIGNED: AtomicU64 = AtomicU64::new(0);
        extern "C" fn entered() {
            guard((), || {
                let variable = AtomicU64::new(1);
                let address = std::hint::black_box(&raw const variable).addr();
                MISALIGNED.fetch_or((address % 8) as u64, Ordering::Relaxed);
            });
        }
        for words in 0..4 {
            // SAFETY: the function works with any stack alignment.
            unsafe { call_below(entered, words) };
        }
        assert_eq!(MISALIGNED.load(Ordering::Relaxed), 0);
    }
}
