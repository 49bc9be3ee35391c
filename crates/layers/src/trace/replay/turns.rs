//! The turns of a replay: one thread of the recording runs at a time, the one whose next record comes first.
//!
//! A thread keeps its turn while the agent's code runs on it: through a handler, and through a function of the agent's
//! own until its next RawMonitorWait. It gives the turn to others between events and while it waits in a raw monitor.
//! A thread that sleeps elsewhere, such as for a lock that only the agent knows, loses its turn until its next record.

use crate::trace::read::Key;
use crate::trace::shared::lock;
use jvm::platform::os_thread::os_thread;
use std::collections::BTreeSet;
use std::fs;
use std::process;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

/// The turns of a replay. Threads are known by their places in [`Trace::threads`](crate::trace::Trace::threads).
pub struct Turns {
    state: Mutex<State>,
    /// The thread that has its turn, or [`NOBODY`].
    running: AtomicUsize,
    /// The least place that another thread wants to play.
    limit: AtomicU64,
    /// Starts the thread of the recording with this number.
    start: fn(usize),
}

const NOBODY: usize = usize::MAX;

struct State {
    /// The threads that want a turn, by the place of a record.
    ready: BTreeSet<(Key, usize)>,
    threads: Vec<Member>,
    /// The number of turns so far.
    turns: u64,
    /// The number of threads that have started and not ended, and of those in a function of the agent's own.
    alive: usize,
    in_own_functions: usize,
    /// The number of threads that wait, in a raw monitor, for another thread's call.
    stuck: usize,
    /// Waits for the end of the replay.
    supervisor: Option<Thread>,
}

/// A thread of the recording.
#[derive(Clone, Default)]
struct Member {
    /// The place under which it is ready, if it is.
    ready: Option<Key>,
    /// Its handle and its number in the kernel, once it has begun.
    begun: Option<(Thread, i32)>,
}

/// A thread that waits in a raw monitor, with the place of the last record that it has played.
#[derive(Clone, Copy)]
pub struct Waiter {
    pub thread: usize,
    pub key: Key,
}

impl State {
    fn make_ready(&mut self, thread: usize, key: Key) {
        if let Some(before) = self.threads[thread].ready.replace(key) {
            self.ready.remove(&(before, thread));
        }
        self.ready.insert((key, thread));
    }

    /// Returns true if only threads in functions of the agent's own are left.
    fn has_ended(&self) -> bool {
        self.ready.is_empty() && self.alive == self.in_own_functions
    }
}

impl Turns {
    /// Returns the turns of threads whose first records have these places. All wait except `first`, which has its turn.
    pub fn new(keys: &[Key], first: usize, start: fn(usize)) -> Self {
        let mut state = State {
            ready: BTreeSet::new(),
            threads: vec![Member::default(); keys.len()],
            turns: 0,
            alive: 1,
            in_own_functions: 0,
            stuck: 0,
            supervisor: None,
        };
        for (thread, key) in keys.iter().enumerate().filter(|(thread, _)| *thread != first) {
            state.make_ready(thread, *key);
        }
        Self {
            state: Mutex::new(state),
            running: AtomicUsize::new(first),
            limit: AtomicU64::new(0),
            start,
        }
    }

    /// The current thread is this one of the recording.
    pub fn begin(&self, me: usize) {
        lock(&self.state).threads[me].begun = Some((thread::current(), os_thread()));
    }

    /// Returns true if the thread has its turn.
    #[inline]
    pub fn is_running(&self, me: usize) -> bool {
        self.running.load(Ordering::Acquire) == me
    }

    /// Returns true if a thread that has its turn may play a record with this place.
    #[inline]
    pub fn is_next(&self, key: Key) -> bool {
        key.0 <= self.limit.load(Ordering::Relaxed)
    }

    /// Waits for the turn of the thread, whose next record has this place.
    pub fn take(&self, me: usize, key: Key) {
        let mut state = lock(&self.state);
        state.make_ready(me, key);
        self.leave(&mut state, me);
        self.wait(state, me);
    }

    fn wait(&self, state: MutexGuard<'_, State>, me: usize) {
        drop(state);
        while !self.is_running(me) {
            thread::park();
        }
    }

    /// Passes on the turn of the thread until its next record.
    pub fn release(&self, me: usize) {
        self.leave(&mut lock(&self.state), me);
    }

    /// Passes the turn on if the thread has it.
    fn leave(&self, state: &mut State, me: usize) {
        if self.is_running(me) {
            self.running.store(NOBODY, Ordering::Release);
        }
        self.pass_on(state);
    }

    /// Gives the turn to the next thread, if no thread has it.
    fn pass_on(&self, state: &mut State) {
        if !self.is_running(NOBODY) {
            let limit = state.ready.first().map_or(u64::MAX, |(key, _)| key.0);
            self.limit.store(limit, Ordering::Relaxed);
            return;
        }
        let Some((_, next)) = state.ready.pop_first() else {
            if state.has_ended() {
                state.supervisor.iter().for_each(Thread::unpark);
            } else if state.stuck >= state.alive {
                eprintln!(
                    "jvmpi: error: the replay cannot continue: each of {} threads of the agent waits in a raw \
                     monitor, and no event follows",
                    state.alive
                );
                process::exit(1);
            }
            return;
        };
        state.turns += 1;
        state.threads[next].ready = None;
        self.running.store(next, Ordering::Release);
        self.pass_on(state);
        match &state.threads[next].begun {
            Some((thread, _)) => thread.unpark(),
            None => {
                state.alive += 1;
                (self.start)(next);
            }
        }
    }

    /// Waits until the thread is woken, or until `end`. It may return earlier.
    pub fn block(&self, Waiter { thread: me, key }: Waiter, end: Option<Instant>) {
        let rest = |end: Instant| end.saturating_duration_since(Instant::now());
        let mut state = lock(&self.state);
        state.stuck += usize::from(end.is_none());
        self.leave(&mut state, me);
        if let Some(end) = end {
            drop(state);
            while !self.is_running(me) && !rest(end).is_zero() {
                thread::park_timeout(rest(end));
            }
            state = lock(&self.state);
            if !self.is_running(me) {
                state.make_ready(me, key);
                self.pass_on(&mut state);
            }
        }
        self.wait(state, me);
        lock(&self.state).stuck -= usize::from(end.is_none());
    }

    /// Has a thread continue that waits in a raw monitor.
    pub fn wake(&self, Waiter { thread, key }: Waiter) {
        let mut state = lock(&self.state);
        state.make_ready(thread, key);
        self.pass_on(&mut state);
    }

    /// A thread runs a function of the agent's own, or does so no more.
    pub fn run_own(&self, begins: bool) {
        let mut state = lock(&self.state);
        if begins {
            state.in_own_functions += 1;
        } else {
            state.in_own_functions -= 1;
        }
    }

    /// The thread has played its last record.
    pub fn end(&self, me: usize) {
        let mut state = lock(&self.state);
        state.alive -= 1;
        self.leave(&mut state, me);
    }

    /// Waits for the end of the replay, and takes the turn from threads that sleep outside of raw monitors.
    pub fn supervise(&self) {
        // Both affect only how soon that is noticed.
        const PERIOD: Duration = Duration::from_millis(2);
        const LOOKS: u32 = 3;
        lock(&self.state).supervisor = Some(thread::current());
        // The number of times that the thread was asleep in the same turn.
        let (mut turn, mut asleep) = (0, 0);
        loop {
            let mut state = lock(&self.state);
            let running = self.running.load(Ordering::Acquire);
            if running == NOBODY && state.has_ended() {
                return;
            }
            let begun = state.threads.get(running).and_then(|thread| thread.begun.as_ref());
            let is_asleep = begun.is_some_and(|(_, id)| sleeps(*id));
            asleep = if is_asleep && turn == state.turns { asleep + 1 } else { 0 };
            turn = state.turns;
            if asleep == LOOKS {
                self.leave(&mut state, running);
            }
            drop(state);
            thread::park_timeout(PERIOD);
        }
    }
}

/// Returns true if a thread of this process sleeps. A thread that waits for a disk continues by itself.
fn sleeps(id: i32) -> bool {
    let stat = fs::read_to_string(format!("/proc/self/task/{id}/stat")).unwrap_or_default();
    // The name, in parentheses, may contain anything; the state is behind it.
    let state = stat.rsplit(") ").next().and_then(|rest| rest.chars().next());
    !matches!(state, Some('R' | 'D'))
}
