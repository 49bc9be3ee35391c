//! The thread that sends the requests of a queue, oldest first.

use super::client::{Client, Failure};
use super::queue::{Queue, Request};
use jvmpi_formats::profile::printable;
use std::collections::BTreeSet;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// Sends requests in the background.
pub struct Pusher {
    queue: Queue,
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    /// The number of requests that were added.
    added: usize,
    /// The value of `added` when the queue was last empty; None while it is not.
    emptied: Option<usize>,
    /// True if the command is about to end.
    is_ending: bool,
    /// The reason why the store did not take the last request.
    failure: Option<String>,
    outcome: Outcome,
}

/// The numbers of requests by what became of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// Taken by the store, also requests that an earlier command had left.
    pub sent: usize,
    /// Their bytes.
    pub bytes: u64,
    /// Dropped because the queue was full, or could not be written.
    pub dropped: usize,
    /// Refused by the store for good.
    pub refused: usize,
    /// Still in the queue.
    pub waiting: usize,
    /// Why.
    pub failure: Option<String>,
}

/// The pause after the first failure. It doubles up to the longest one.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

impl Pusher {
    /// Starts to send what is in the queue.
    pub fn start(queue: Queue, client: Client) -> Self {
        let shared = Arc::new(Shared::default());
        let (of_thread, to_send) = (Arc::clone(&shared), queue.clone());
        thread::spawn(move || {
            let sender =
                Sender { queue: to_send, client, shared: of_thread, said: BTreeSet::new() };
            sender.run();
        });
        Self { queue, shared }
    }

    /// Adds a request. This waits for the disk alone, not for the store.
    pub fn add(&self, request: &Request) {
        let added = self.queue.add(request);
        let mut state = self.shared.lock();
        let is_first = state.outcome.dropped == 0;
        match added {
            Ok(0) => {}
            Ok(dropped) => {
                state.outcome.dropped += dropped;
                if is_first {
                    warn("the queue is full: the oldest profiles are dropped");
                }
            }
            Err(error) => {
                state.outcome.dropped += 1;
                if is_first {
                    let directory = self.queue.directory().display();
                    warn(&format!("{directory}: {error}: profiles are dropped"));
                }
                return;
            }
        }
        state.added += 1;
        drop(state);
        self.shared.changed.notify_all();
    }

    /// Tries once more at once, because the command is about to end.
    pub fn hurry(&self) {
        self.shared.lock().is_ending = true;
        self.shared.changed.notify_all();
    }

    /// Waits until the queue is empty, but not longer than this time. Returns true if it is empty.
    pub fn wait(&self, longest: Duration) -> bool {
        let end = Instant::now().checked_add(longest);
        let mut state = self.shared.lock();
        while state.emptied != Some(state.added) {
            let left = end.map(|end| end.saturating_duration_since(Instant::now()));
            if left.is_some_and(|left| left.is_zero()) {
                return false;
            }
            state = self.shared.wait(state, left.unwrap_or(Duration::MAX));
        }
        true
    }

    /// Returns what became of the requests so far.
    pub fn outcome(&self) -> Outcome {
        let state = self.shared.lock();
        let failure = state.failure.clone();
        Outcome { waiting: self.queue.len(), failure, ..state.outcome.clone() }
    }

    /// Returns the directory of the queue.
    pub fn directory(&self) -> &Path {
        self.queue.directory()
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'a>(&self, state: MutexGuard<'a, State>, longest: Duration) -> MutexGuard<'a, State> {
        let waited = self.changed.wait_timeout(state, longest);
        waited.unwrap_or_else(PoisonError::into_inner).0
    }
}

struct Sender {
    queue: Queue,
    client: Client,
    shared: Arc<Shared>,
    /// The reasons that were reported.
    said: BTreeSet<String>,
}

impl Sender {
    fn run(mut self) {
        let mut pause = FIRST_PAUSE;
        loop {
            let added = self.shared.lock().added;
            match self.send_all() {
                Ok(()) => {
                    pause = FIRST_PAUSE;
                    self.wait_for_more(added);
                }
                Err((why, least)) => {
                    self.say(&why);
                    self.shared.lock().failure = Some(why);
                    self.rest(with_jitter(pause).max(least.unwrap_or_default()));
                    pause = (pause * 2).min(LONGEST_PAUSE);
                }
            }
        }
    }

    /// Sends requests until the queue is empty.
    fn send_all(&mut self) -> Result<(), (String, Option<Duration>)> {
        let failed = |error: std::io::Error| (error.to_string(), None);
        while let Some(taken) = self.queue.take().map_err(failed)? {
            let answer = self.client.send(&taken.request);
            let length = taken.request.body.len() as u64;
            match answer {
                Err(Failure::Later(why, least)) => return Err((why, least)),
                Err(Failure::Never(why)) => {
                    self.say(&why);
                    let mut state = self.shared.lock();
                    state.outcome.refused += 1;
                    state.failure = Some(why);
                }
                Ok(left_out) => {
                    if let Some(why) = left_out {
                        self.say(&why);
                    }
                    let mut state = self.shared.lock();
                    state.outcome.sent += 1;
                    state.outcome.bytes += length;
                    state.failure = None;
                }
            }
            taken.remove().map_err(failed)?;
        }
        Ok(())
    }

    /// Waits until more requests than these were added.
    fn wait_for_more(&self, added: usize) {
        let mut state = self.shared.lock();
        state.emptied = Some(added);
        self.shared.changed.notify_all();
        while state.added == added {
            state = self.shared.wait(state, Duration::MAX);
        }
        state.emptied = None;
    }

    /// Waits before the next attempt. The end of the command shortens the wait.
    fn rest(&self, pause: Duration) {
        let end = Instant::now() + pause;
        let mut state = self.shared.lock();
        let was_ending = state.is_ending;
        loop {
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() || state.is_ending && !was_ending {
                return;
            }
            state = self.shared.wait(state, left);
        }
    }

    /// Reports a reason once.
    fn say(&mut self, why: &str) {
        /// A store can give any number of reasons.
        const MOST: usize = 10;
        if self.said.len() < MOST && self.said.insert(why.to_owned()) {
            let place = self.queue.directory().display();
            warn(&format!("{why}; profiles that are not sent wait in {place}"));
        }
    }
}

fn warn(what: &str) {
    eprintln!("jvmpi: warning: push: {}", printable(what));
}

/// Returns between half of the time and all of it, so that many machines do not return to a store at the same time.
fn with_jitter(time: Duration) -> Duration {
    let random = RandomState::new().build_hasher().finish() as u32;
    time / 2 + (time / 2).mul_f64(f64::from(random) / f64::from(u32::MAX))
}
