//! The C boundary: what C calls never unwinds back into C, and has the stack that it is compiled for.

use std::panic::{AssertUnwindSafe, catch_unwind};

/// Runs the body of a function that C code calls and returns `otherwise` if it panics.
///
/// The panic itself is reported by [`report_panics`]'s hook.
pub fn guard<R>(otherwise: R, body: impl FnOnce() -> R) -> R {
    on_aligned_stack(|| catch_unwind(AssertUnwindSafe(body)).unwrap_or(otherwise))
}

/// Runs `body` on a stack that is aligned as Rust expects. On i386 neither compiled code of the VM nor agents of
/// JVMPI's time keep it so.
#[inline(always)]
fn on_aligned_stack<R>(body: impl FnOnce() -> R) -> R {
    /// More than what the stack is taken to be aligned to: what has such a variable aligns its frame itself.
    #[repr(align(32))]
    struct Aligning;

    if cfg!(target_arch = "x86") {
        let aligning = Aligning;
        std::hint::black_box(&raw const aligning);
    }
    body()
}

/// Makes a panic one line in the shim's log instead of Rust's usual report.
pub fn report_panics() {
    std::panic::set_hook(Box::new(|panic| {
        let message = panic.payload_as_str().unwrap_or("no message");
        match panic.location() {
            Some(place) => log::error!("internal error at {place}: {message}; please report it"),
            None => log::error!("internal error: {message}; please report it"),
        }
    }));
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU64, Ordering};

    /// Calls a function with the stack so many words below where it should be.
    #[cfg(target_arch = "x86")]
    unsafe fn call_below(function: extern "C" fn(), words: usize) {
        // SAFETY: the function takes nothing and returns nothing; the stack is put back.
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

    #[cfg(not(target_arch = "x86"))]
    unsafe fn call_below(function: extern "C" fn(), _: usize) {
        function();
    }

    #[test]
    fn the_stack_is_aligned_behind_the_boundary() {
        static MISALIGNED: AtomicU64 = AtomicU64::new(0);
        extern "C" fn entered() {
            guard((), || {
                let variable = AtomicU64::new(1);
                let address = std::hint::black_box(&raw const variable).addr();
                MISALIGNED.fetch_or((address % 8) as u64, Ordering::Relaxed);
            });
        }
        for words in 0..4 {
            // SAFETY: the function may be called from anywhere.
            unsafe { call_below(entered, words) };
        }
        assert_eq!(MISALIGNED.load(Ordering::Relaxed), 0);
    }
}
