//! The thread that sends requests, oldest first. Those that the store has not taken wait in memory.

use super::client::{Client, Failure};
use super::requests::Request;
use jvmpi_formats::profile::printable;
use std::collections::VecDeque;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

/// The requests, which the thread and the rest of the command share.
#[derive(Default)]
pub struct Pusher {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    /// The requests to send.
    queue: VecDeque<Request>,
    /// True while the thread has taken one out.
    is_sending: bool,
    /// True if the command is about to end.
    is_ending: bool,
    outcome: Outcome,
}

/// The outcome of the requests.
#[derive(Clone, Default)]
pub struct Outcome {
    /// The number of requests that the store has taken.
    pub sent: usize,
    /// Their bytes.
    pub bytes: usize,
    /// The number of the others.
    pub lost: usize,
    /// The last reason why the store did not take one.
    pub failure: Option<String>,
}

/// The bytes that wait at most. The oldest requests are dropped for newer ones.
const MOST_BYTES: usize = 16 << 20;

/// The pause after the first failure. It doubles up to the longest one.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

impl Pusher {
    /// Starts the thread.
    pub fn start(client: Client) -> Arc<Self> {
        let pusher = Arc::new(Self::default());
        let of_thread = Arc::clone(&pusher);
        thread::spawn(move || of_thread.send_all(&client));
        pusher
    }

    /// Adds a request. This does not wait for the store.
    pub fn add(&self, request: Request) {
        let State { queue, outcome, .. } = &mut *self.lock();
        queue.push_back(request);
        let mut bytes: usize = queue.iter().map(|request| request.body.len()).sum();
        while bytes > MOST_BYTES && queue.len() > 1 {
            bytes -= queue.pop_front().map_or(0, |oldest| oldest.body.len());
            outcome.lost += 1;
        }
        self.changed.notify_all();
    }

    /// Tries once more at once, because the command is about to end.
    pub fn hurry(&self) {
        self.lock().is_ending = true;
        self.changed.notify_all();
    }

    /// Waits until no request waits, but not longer than this time. Returns true if none does.
    pub fn wait(&self, longest: Duration) -> bool {
        let is_busy = |state: &mut State| state.is_sending || !state.queue.is_empty();
        let waited = self.changed.wait_timeout_while(self.lock(), longest, is_busy);
        !waited.unwrap_or_else(PoisonError::into_inner).1.timed_out()
    }

    /// Returns what became of the requests, if the command ends now.
    pub fn outcome(&self) -> Outcome {
        let state = self.lock();
        let waiting = state.queue.len() + usize::from(state.is_sending);
        Outcome { lost: state.outcome.lost + waiting, ..state.outcome.clone() }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn send_all(&self, client: &Client) {
        let mut pause = FIRST_PAUSE;
        loop {
            let request = self.next();
            let answer = client.send(&request);
            let mut state = self.lock();
            state.is_sending = false;
            match answer {
                Ok(left_out) => {
                    state.outcome.sent += 1;
                    state.outcome.bytes += request.body.len();
                    left_out.into_iter().for_each(|why| state.failed(why));
                }
                Err(Failure::Never(why)) => {
                    state.outcome.lost += 1;
                    state.failed(why);
                }
                Err(Failure::Later(why, least)) => {
                    state.failed(why);
                    state.queue.push_front(request);
                    self.rest(state, with_jitter(pause).max(least.unwrap_or_default()));
                    pause = (pause * 2).min(LONGEST_PAUSE);
                    continue;
                }
            }
            pause = FIRST_PAUSE;
            self.changed.notify_all();
        }
    }

    /// Takes the oldest request out of the queue, for which it waits.
    fn next(&self) -> Request {
        let mut state = self.lock();
        loop {
            if let Some(request) = state.queue.pop_front() {
                state.is_sending = true;
                return request;
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Waits before the next attempt. The end of the command shortens the wait.
    fn rest(&self, state: MutexGuard<'_, State>, pause: Duration) {
        let was_ending = state.is_ending;
        let goes_on = |state: &mut State| state.is_ending == was_ending;
        drop(self.changed.wait_timeout_while(state, pause, goes_on));
    }
}

impl State {
    /// Takes note of a failure, and reports the first one.
    fn failed(&mut self, why: String) {
        if self.outcome.failure.is_none() {
            eprintln!("jvmpi: warning: push: {}", printable(&why));
        }
        self.outcome.failure = Some(why);
    }
}

/// Returns between half of the time and all of it, so that many machines do not return to a store at the same time.
fn with_jitter(time: Duration) -> Duration {
    let random = RandomState::new().build_hasher().finish() as u32;
    time / 2 + (time / 2).mul_f64(f64::from(random) / f64::from(u32::MAX))
}
