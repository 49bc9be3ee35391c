//! The capability to suspend threads by JVMTI, which only one agent of the process can have. The shim takes it
//! when it first needs it, so that a debugger works beside a profiler that never suspends. If a debugger has
//! it, threads that an agent suspends keep running, and their call traces are taken meanwhile.

use jvm::types::JVMTI_ERROR_MUST_POSSESS_CAPABILITY;
use jvm::{Error, capabilities};
use std::sync::atomic::{AtomicBool, Ordering};

/// True if agents suspend threads. Then the capability is never returned, because they could not resume the
/// threads.
static IS_KEPT: AtomicBool = AtomicBool::new(false);
fn take() -> bool {
    capabilities::take_suspension(jvm::get().jvmti).is_ok()
}

/// Makes a call that suspends a thread for an agent, and takes the capability for it permanently. None if
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

/// The capability while the program is stopped for a dump.
pub struct Borrowed(());

/// Takes the capability while the program is stopped. The caller holds the VM lock to suspend threads. Returns an
/// error text if another agent has it.
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
