//! Waiting for a JVM for no longer than the user wants.

use crate::answer::is_starting;
use crate::process::Process;
use jvmpi_cpu_timeout::CpuTimeout;
use std::io::{self, Read};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// The longest time that a call blocks. Between two calls the signal and the user's time are checked.
pub const LOOK: Duration = Duration::from_millis(50);

/// Ends waits for a JVM: at a signal to this command, or when the time is over that the user has given.
#[derive(Clone, Debug)]
pub struct Waiting {
    /// The time of the first signal since the wait began.
    interrupted: Arc<Mutex<Option<Instant>>>,
    end: Option<Instant>,
    /// The time of its own that a JVM has for its answer after the user's time is over. For a JVM that is stopped or hangs,
    /// that is as long on the clock. A JVM that loads the agent on a busy machine gets longer.
    extra: Duration,
    patience: Arc<Mutex<Option<CpuTimeout>>>,
}

/// Extra time if the agent takes a moment to load.
const EXTRA: Duration = Duration::from_millis(900);

/// Extra time if the JVM rewrites all classes when it loads the agent: JDK 11 needs several seconds for that.
const EXTRA_TO_REWRITE: Duration = Duration::from_secs(20);

/// The time from a signal to the end of a wait. A JVM that is about to answer has already executed its command. It is
/// less than the second within which the command must end.
const GRACE: Duration = Duration::from_millis(500);

impl Default for Waiting {
    /// Returns a value that sets no time limit for waits.
    fn default() -> Self {
        Self { interrupted: Arc::default(), end: None, extra: EXTRA, patience: Arc::default() }
    }
}

impl Waiting {
    /// Waits begin to end after this time; never because of the time if there is none. `rewrites` is true if the agent
    /// has the JVM rewrite all classes.
    pub fn for_at_most(time: Option<Duration>, rewrites: bool) -> Self {
        let end = time.and_then(|time| Instant::now().checked_add(time));
        let extra = if rewrites { EXTRA_TO_REWRITE } else { EXTRA };
        Self { end, extra, ..Self::default() }
    }

    /// Ends all waits.
    pub fn interrupt(&self) {
        self.interrupted().get_or_insert_with(Instant::now);
    }

    /// Returns a wait that later signals end. It has no time limit.
    pub fn renewed(&self) -> Self {
        *self.interrupted() = None;
        Self { interrupted: Arc::clone(&self.interrupted), ..Self::default() }
    }

    fn interrupted(&self) -> MutexGuard<'_, Option<Instant>> {
        self.interrupted.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// # Errors
    /// Returns the reason if the wait for an answer of the process is over.
    pub fn check(&self, process: &Process) -> Result<(), String> {
        if self.interrupted().is_some_and(|since| since.elapsed() >= GRACE) {
            return Err(format!("interrupted before the JVM {process} answered"));
        }
        if self.end.is_some_and(|end| end <= Instant::now()) && self.is_idle(process) {
            return Err(format!(
                "the JVM {process} has not answered in time: it hangs, or is very busy; try again"
            ));
        }
        Ok(())
    }

    /// Reads an answer of the JVM, of at most `most` bytes, to its end. `begin` returns what it is read from.
    ///
    /// # Errors
    /// Returns the reason if there is no answer, or if the wait is over.
    pub fn for_answer<R: Read>(
        &self,
        process: &Process,
        most: usize,
        begin: impl FnOnce() -> io::Result<R> + Send + 'static,
    ) -> Result<String, String> {
        let go_on = || process.is_alive().and_then(|()| self.check(process));
        let answer = result_of(go_on, move || {
            let mut answer = Vec::new();
            begin()?.take(most as u64 + 1).read_to_end(&mut answer)?;
            Ok(answer)
        })?;
        let answer = answer
            .map_err(|error: io::Error| format!("the JVM {process} has not answered: {error}"))?;
        if answer.len() > most {
            return Err(format!("the process that answers for the JVM {process} is not a JVM"));
        }
        Ok(String::from_utf8_lossy(&answer).into_owned())
    }

    /// Asks for a library to be loaded until the VM has started. Returns its answer.
    ///
    /// # Errors
    /// Returns the error of `ask`, or the reason why the wait for the VM is over.
    pub fn for_start(
        &self,
        process: &Process,
        mut ask: impl FnMut() -> Result<String, String>,
    ) -> Result<String, String> {
        loop {
            let answer = ask()?;
            if !is_starting(&answer) {
                return Ok(answer);
            }
            self.check(process)?;
            thread::sleep(LOOK);
        }
    }

    /// Returns true if the process has used the extra CPU time since the end of the user's time.
    fn is_idle(&self, process: &Process) -> bool {
        let mut patience = self.patience.lock().unwrap_or_else(PoisonError::into_inner);
        patience.get_or_insert_with(|| process.patience(self.extra)).left().is_zero()
    }
}

/// Calls a function that may block, on a thread of its own, and waits for its result while `go_on` succeeds.
///
/// # Errors
/// Returns the error of `go_on`.
pub fn result_of<T: Send + 'static>(
    go_on: impl Fn() -> Result<(), String>,
    call: impl FnOnce() -> T + Send + 'static,
) -> Result<T, String> {
    let (sender, result) = mpsc::channel();
    thread::spawn(move || sender.send(call()));
    loop {
        match result.recv_timeout(LOOK) {
            Err(RecvTimeoutError::Timeout) => go_on()?,
            Err(RecvTimeoutError::Disconnected) => return Err("the thread panicked".into()),
            Ok(result) => return Ok(result),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signals_of_the_past_do_not_end_a_renewed_wait() {
        let waiting = Waiting::for_at_most(Some(Duration::ZERO), false);
        waiting.interrupt();
        let renewed = waiting.renewed();
        thread::sleep(GRACE);
        assert_eq!(renewed.check(&Process::this()), Ok(()));
        waiting.interrupt();
        thread::sleep(GRACE);
        assert!(renewed.check(&Process::this()).unwrap_err().starts_with("interrupted"));
    }
}
