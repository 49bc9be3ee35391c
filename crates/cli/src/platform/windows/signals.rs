//! Ctrl-C and other events of the console, which the system reports on a thread of its own.

use std::process::{self, Child, Command};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;
use windows_sys::Win32::System::Console::{CTRL_CLOSE_EVENT, SetConsoleCtrlHandler};
use windows_sys::core::BOOL;

/// An event that has come.
#[derive(Clone, Copy, Debug)]
pub struct Signal {
    /// False: an event goes to all programs of the console.
    pub is_ours_alone: bool,
}

type Hear = Box<dyn FnMut(Signal) + Send>;

static HEAR: Mutex<Option<Hear>> = Mutex::new(None);

/// Calls `hear` for each event, on a thread of the system, instead of ending the process.
pub fn listen(hear: impl FnMut(Signal) + Send + 'static) {
    *HEAR.lock().unwrap_or_else(PoisonError::into_inner) = Some(Box::new(hear));
    // SAFETY: the function has the type of a handler.
    unsafe { SetConsoleCtrlHandler(Some(on_event), 1) };
}

/// Passes an event on. Returns 1 for one that no other handler gets.
unsafe extern "system" fn on_event(event: u32) -> BOOL {
    /// Longer than the system waits before it ends the process of a console that was closed.
    const END: Duration = Duration::from_secs(30);
    if let Some(hear) = &mut *HEAR.lock().unwrap_or_else(PoisonError::into_inner) {
        hear(Signal { is_ours_alone: false });
    }
    if event >= CTRL_CLOSE_EVENT {
        // The system ends the process when this function returns.
        thread::sleep(END);
    }
    1
}

/// Ends this process as Ctrl-C does by default.
pub fn end_by(_: Signal) -> ! {
    const CONTROL_C_EXIT: u32 = 0xc000_013a;
    process::exit(CONTROL_C_EXIT.cast_signed())
}

/// Has the program get events as if it was started without us, which it does.
pub fn pass_to(program: &mut Command) -> &mut Command {
    program
}

/// Does nothing: the program has got the event.
pub fn pass_on(_: Signal, _: &Child) {}

/// Ends a program: no event reaches a single one.
pub fn ask_to_end(program: &mut Child) {
    let _ = program.kill();
}
