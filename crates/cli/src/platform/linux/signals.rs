//! Signals to this process, received by a thread of its own.

use rustix::process::{Pid, kill_process};
use std::io;
use std::mem::MaybeUninit;
use std::os::unix::process::CommandExt;
use std::process::{self, Child, Command};
use std::ptr;
use std::thread;

/// The signals that ask a process to end.
const HEARD: [libc::c_int; 3] = [libc::SIGINT, libc::SIGTERM, libc::SIGHUP];

/// A signal that has come.
#[derive(Clone, Copy, Debug)]
pub struct Signal {
    /// The number of the signal.
    pub number: libc::c_int,
    /// True if a process has sent it to this one alone. A signal from a terminal goes to all processes
    /// that it runs.
    pub is_ours_alone: bool,
}

/// Calls `hear` for each of these signals, on a thread of its own, instead of ending the process. To
/// be called before other threads are started.
pub fn listen(mut hear: impl FnMut(Signal) + Send + 'static) {
    let heard = set();
    // SAFETY: the set is initialised.
    unsafe { libc::pthread_sigmask(libc::SIG_BLOCK, &heard, ptr::null_mut()) };
    thread::spawn(move || {
        loop {
            let mut info = MaybeUninit::uninit();
            // SAFETY: the set is initialised, and the place is for the report of a signal.
            let number = unsafe { libc::sigwaitinfo(&heard, info.as_mut_ptr()) };
            if number > 0 {
                // SAFETY: the call has succeeded and filled it in.
                let info = unsafe { info.assume_init() };
                hear(Signal { number, is_ours_alone: info.si_code <= 0 });
            }
        }
    });
}

/// Ends this process as the signal does by default.
pub fn end_by(signal: Signal) -> ! {
    // SAFETY: the default action runs no code of this process, and the set is initialised.
    unsafe {
        libc::signal(signal.number, libc::SIG_DFL);
        libc::pthread_sigmask(libc::SIG_UNBLOCK, &set(), ptr::null_mut());
        libc::raise(signal.number);
    }
    // Only if the signal was ignored meanwhile.
    process::exit(128 + signal.number)
}

/// Has the program get signals as if it was started without us.
pub fn pass_to(program: &mut Command) -> &mut Command {
    let restore = || {
        // SAFETY: the set is initialised; the function may be called between fork and exec.
        match unsafe { libc::pthread_sigmask(libc::SIG_UNBLOCK, &set(), ptr::null_mut()) } {
            0 => Ok(()),
            error => Err(io::Error::from_raw_os_error(error)),
        }
    };
    // SAFETY: `restore` calls functions that may be called between fork and exec, and allocates nothing.
    unsafe { program.pre_exec(restore) }
}

/// Passes a signal on to a program that was started and not waited for, so that the number is its.
pub fn pass_on(signal: Signal, program: &Child) {
    if let Some(signal) = rustix::process::Signal::from_named_raw(signal.number) {
        let _ = kill_process(Pid::from_child(program), signal);
    }
}

/// Asks a program that was started and not waited for to end.
pub fn ask_to_end(program: &mut Child) {
    let _ = kill_process(Pid::from_child(program), rustix::process::Signal::TERM);
}

fn set() -> libc::sigset_t {
    let mut set = MaybeUninit::uninit();
    // SAFETY: the first call initialises the set, to which the others add.
    unsafe {
        libc::sigemptyset(set.as_mut_ptr());
        for signal in HEARD {
            libc::sigaddset(set.as_mut_ptr(), signal);
        }
        set.assume_init()
    }
}
