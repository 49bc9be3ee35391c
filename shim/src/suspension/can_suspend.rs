//! The capability to suspend threads by JVMTI, which only one agent of the process can have. So the shim
//! takes it when it first needs it: a debugger beside a profiler that never suspends is to work. Where a
//! debugger has it, threads go on although an agent has suspended them, and take their call traces as they run.

use crate::jvm::{self, Error, capabilities};
use jvmti_sys::JVMTI_ERROR_MUST_POSSESS_CAPABILITY;
use std::sync::atomic::{AtomicBool, Ordering};

/// Whether agents suspend threads: then it is never given back, as they would not be able to resume
/// them.
static IS_KEPT: AtomicBool = AtomicBool::new(false);
fn take() -> bool {
    capabilities::take_suspension(jvm::get().jvmti).is_ok()
}

/// Makes a call that suspends a thread for an agent, and takes the capability for it, for good. None if
/// another agent has it.
pub fn with(call: impl Fn() -> jvm::Result<()>) -> Option<jvm::Result<()>> {
    IS_KEPT.store(true, Ordering::SeqCst);
    match call() {
        Err(Error(JVMTI_ERROR_MUST_POSSESS_CAPABILITY)) if take() => Some(call()),
        Err(Error(JVMTI_ERROR_MUST_POSSESS_CAPABILITY)) => {
            warn_once();
            None
        }
        result => Some(result),
    }
}

fn warn_once() {
    static SAID: AtomicBool = AtomicBool::new(false);
    if !SAID.swap(true, Ordering::Relaxed) {
        log::warn!(
            "another agent, such as a debugger, has can_suspend, which only one can have: \
             SuspendThread stops no thread; call traces of other threads are taken while they run"
        );
    }
}

/// The capability for the time of a standstill.
pub struct Borrowed(());

/// Takes it for the time of a standstill; the caller holds the claim to suspend threads. An error text
/// if another agent has it.
pub fn borrow() -> Result<Borrowed, &'static str> {
    if take() {
        return Ok(Borrowed(()));
    }
    Err("the program cannot be brought to a standstill, as another agent, such as a debugger, has \
         can_suspend, which only one can have")
}

impl Drop for Borrowed {
    fn drop(&mut self) {
        if IS_KEPT.load(Ordering::SeqCst) {
            return;
        }
        if let Err(error) = capabilities::give_back_suspension(jvm::get().jvmti) {
            log::debug!("can_suspend is not given back: {error}");
        }
    }
}
