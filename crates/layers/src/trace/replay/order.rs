//! The turns of a replay: one thread runs at a time, the one whose next record has the least place.
//!
//! A thread gives its turn to another one with an earlier record, and while it is blocked in a raw monitor. A thread in
//! a function of the agent's own has a turn only while a call of it is answered. Until its next call no thread plays
//! later records, so that the order is as recorded. The same holds for a thread that may continue in a raw monitor. If
//! such a thread does not arrive, others do continue. A thread that has its turn and waits for anything else, such as a
//! lock that only the agent knows, loses the turn until it wakes ([`Order::watch`]).

use super::Replay;
use super::player::Player;
use super::progress::{Moment, Progress};
use crate::trace::read::{Key, Trace};
use std::collections::{BTreeSet, HashMap};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, Once, PoisonError};
use std::thread;
use std::time::Duration;

/// The order of a replay. Threads are known by their places in [`Trace::threads`].
pub struct Order {
    state: Mutex<State>,
    /// For each thread: it has its turn.
    turns: Vec<Condvar>,
    ended: Condvar,
    /// The thread that has its turn, until one arrives that may go before it; otherwise [`NOBODY`].
    undisturbed: AtomicUsize,
    watched: Once,
}

const NOBODY: usize = usize::MAX;

struct State {
    /// The threads that want to play a record.
    waiting: BTreeSet<(Key, usize)>,
    /// The thread that has its turn, with the place of the record that it began with.
    running: Option<(usize, Key)>,
    started: Vec<bool>,
    /// The number of threads that have records left or wait for their end.
    alive: usize,
    /// The threads blocked in a raw monitor, with the places of the last records they played.
    blocked: HashMap<usize, Key>,
    /// The threads that run without a turn and will want one.
    coming: HashMap<usize, Coming>,
    arrivals: u64,
    /// The number of threads that wait, in a raw monitor, for another thread's call.
    stuck: usize,
    /// True if threads have called that are not in the recording.
    strangers: bool,
    /// The number of live threads in a function of the agent's own.
    running_own: usize,
    /// The progress of each thread that has started.
    progress: Vec<Option<Progress>>,
}

/// A thread that will want a turn.
struct Coming {
    /// The place of a record that it has played.
    key: Key,
    /// The number of arrivals before it.
    arrival: u64,
    /// It had its turn and went to sleep.
    has_lost_turn: bool,
    /// True if other threads may continue until it is seen awake.
    sleeps: bool,
}

impl State {
    /// Returns true if only threads in functions of the agent's own are alive.
    fn has_ended(&self) -> bool {
        self.alive == self.running_own
    }

    fn come(&mut self, thread: usize, key: Key, has_lost_turn: bool) {
        self.arrivals += 1;
        let arrival = self.arrivals;
        self.coming.insert(thread, Coming { key, arrival, has_lost_turn, sleeps: has_lost_turn });
    }

    fn has_turn(&self, thread: usize) -> bool {
        self.running.is_some_and(|(running, _)| running == thread)
    }

    fn now(&self, thread: usize) -> Option<Moment> {
        self.progress[thread].as_ref().map(Progress::now)
    }

    /// Returns true if a thread is coming that goes before this place.
    fn awaits_before(&mut self, place: Option<Key>) -> bool {
        let Self { coming, progress, .. } = self;
        let mut before =
            coming.iter_mut().filter(|(_, coming)| place.is_none_or(|place| coming.key < place));
        before.any(|(thread, coming)| {
            let still_sleeps = |progress: &Progress| progress.now().sleeps();
            coming.sleeps = coming.sleeps && progress[*thread].as_ref().is_none_or(still_sleeps);
            !coming.sleeps
        })
    }
}

/// The size of a thread's stack; memory is used only as it is needed.
const STACK: usize = 8 << 20;

impl Order {
    /// Returns an order in which all threads wait for their first record, except `first`, which has started and has
    /// its turn.
    pub fn new(trace: &Trace, first: Option<usize>) -> Self {
        let threads = trace.threads();
        let keys = threads.iter().enumerate().map(|(i, thread)| (thread.first(), i));
        let waiting = keys.filter(|(_, i)| Some(*i) != first).collect();
        let state = State {
            waiting,
            running: first.map(|first| (first, threads[first].first())),
            started: (0..threads.len()).map(|i| Some(i) == first).collect(),
            alive: usize::from(first.is_some()),
            blocked: HashMap::new(),
            coming: HashMap::new(),
            arrivals: 0,
            stuck: 0,
            strangers: false,
            running_own: 0,
            progress: threads.iter().map(|_| None).collect(),
        };
        Self {
            state: Mutex::new(state),
            turns: threads.iter().map(|_| Condvar::new()).collect(),
            ended: Condvar::new(),
            undisturbed: AtomicUsize::new(NOBODY),
            watched: Once::new(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The current thread begins to play its records.
    pub fn begin(&'static self, me: usize) {
        self.lock().progress[me] = Some(Progress::of_current_thread());
        self.watched.call_once(|| drop(thread::spawn(|| self.watch())));
    }

    /// Returns true if the thread still has its turn, and no thread has arrived that may go before it.
    #[inline]
    pub fn is_undisturbed(&self, me: usize) -> bool {
        self.undisturbed.load(Ordering::Relaxed) == me
    }

    /// Waits for the turn of the thread; its next record has this place. Returns the place up to which it keeps the
    /// turn.
    pub fn take_turn(&self, me: usize, key: Key) -> Option<Key> {
        let mut state = self.lock();
        if state.has_turn(me) {
            state.running = None;
        }
        loop {
            state.coming.remove(&me);
            state.waiting.insert((key, me));
            self.undisturbed.store(NOBODY, Ordering::Relaxed);
            self.pass_on(&mut state);
            while state.waiting.contains(&(key, me)) {
                state = self.turns[me].wait(state).unwrap_or_else(PoisonError::into_inner);
            }
            // One that sleeps on when it has got its turn may have lost it before it knows.
            if state.has_turn(me) {
                break;
            }
        }
        self.undisturbed.store(me, Ordering::Relaxed);
        state.waiting.first().map(|(key, _)| *key)
    }

    fn pass_on(&self, state: &mut State) {
        if state.running.is_some() {
            return;
        }
        let first = state.waiting.first().copied();
        if state.awaits_before(first.map(|(key, _)| key)) {
            return;
        }
        match first {
            Some((key, next)) => {
                state.waiting.remove(&(key, next));
                state.running = Some((next, key));
                if state.started[next] {
                    self.turns[next].notify_one();
                } else {
                    state.started[next] = true;
                    state.alive += 1;
                    start(next);
                }
            }
            None => {
                let has_ended = state.has_ended();
                let standing = state.stuck >= state.alive && !has_ended;
                if standing && !state.strangers {
                    eprintln!(
                        "jvmpi: error: the replay cannot continue: each of {} threads of the agent waits in a \
                         raw monitor, and no event follows",
                        state.alive
                    );
                    process::exit(1);
                }
                if has_ended {
                    self.ended.notify_all();
                }
            }
        }
    }

    /// The thread begins to wait in a raw monitor, without a limit if `stuck`. It has played this record last.
    pub fn block(&self, me: usize, key: Key, stuck: bool) {
        let mut state = self.lock();
        state.stuck += usize::from(stuck);
        state.coming.remove(&me);
        state.blocked.insert(me, key);
        self.left(&mut state, me);
    }

    /// It has got what it has waited for.
    pub fn unblock(&self, me: usize, stuck: bool) {
        let mut state = self.lock();
        state.stuck -= usize::from(stuck);
        self.comes(&mut state, me);
    }

    /// These need not wait in a raw monitor any more.
    pub fn free(&self, threads: &[usize]) {
        if !threads.is_empty() {
            let mut state = self.lock();
            threads.iter().for_each(|thread| self.comes(&mut state, *thread));
        }
    }

    fn comes(&self, state: &mut State, thread: usize) {
        if let Some(key) = state.blocked.remove(&thread) {
            state.come(thread, key, false);
            self.undisturbed.store(NOBODY, Ordering::Relaxed);
        }
    }

    /// The thread, which has played this record last, continues in a function of the agent's own.
    pub fn go_on(&self, me: usize, key: Key) {
        let mut state = self.lock();
        state.come(me, key, false);
        self.left(&mut state, me);
    }

    fn left(&self, state: &mut State, me: usize) {
        if state.has_turn(me) {
            state.running = None;
        }
        self.pass_on(state);
    }

    /// A thread runs a function of the agent's own, or does so no more.
    pub fn run_own(&self, begins: bool) {
        let mut state = self.lock();
        if begins {
            state.running_own += 1;
        } else {
            state.running_own -= 1;
        }
    }

    /// Lets others continue without a thread that does not arrive, or that has its turn and sleeps. It may wait for a
    /// connection, a variable that a handler sets, or a lock that another thread of the agent's has.
    fn watch(&self) {
        // Affects only how soon that is noticed.
        const PERIOD: Duration = Duration::from_millis(2);
        let mut last: HashMap<usize, (u64, Moment, Moment)> = HashMap::new();
        let mut last_running = None;
        loop {
            thread::sleep(PERIOD);
            let mut state = self.lock();
            let awake = state.coming.iter().filter(|(_, coming)| !coming.sleeps);
            let looks = awake.filter_map(|(thread, coming)| {
                let now = state.now(*thread)?;
                let seen = last.remove(thread).filter(|(arrival, ..)| *arrival == coming.arrival);
                let (first, before) = seen.map_or((now, None), |seen| (seen.1, Some(seen.2)));
                Some((*thread, coming.arrival, first, before, now))
            });
            let looks: Vec<_> = looks.collect();
            last.clear();
            for (thread, arrival, first, before, now) in looks {
                if before.is_some_and(|before| before.sleeps() && now.sleeps()) {
                    match state.coming.get_mut(&thread) {
                        Some(coming) if coming.has_lost_turn => coming.sleeps = true,
                        _ => drop(state.coming.remove(&thread)),
                    }
                } else if now.computes_since(&first) {
                    state.coming.remove(&thread);
                } else {
                    last.insert(thread, (arrival, first, now));
                    continue;
                }
                self.pass_on(&mut state);
            }
            let running = state.running.filter(|_| !state.waiting.is_empty());
            let running = running.and_then(|(thread, key)| Some((thread, key, state.now(thread)?)));
            if let (Some((thread, key, now)), Some((same, _, before))) = (running, last_running)
                && thread == same
                && now.sleeps_since(&before)
            {
                state.running = None;
                state.come(thread, key, true);
                self.undisturbed.store(NOBODY, Ordering::Relaxed);
                self.pass_on(&mut state);
            }
            last_running = running;
        }
    }

    /// The thread has played its last record.
    pub fn end(&self, me: usize) {
        let mut state = self.lock();
        state.alive -= 1;
        state.coming.remove(&me);
        self.left(&mut state, me);
    }

    /// A thread has called that is not of the recording.
    pub fn meet_stranger(&self) {
        self.lock().strangers = true;
    }

    /// Waits until no thread has a record any more, but for threads of the agent's own.
    pub fn wait_for_the_end(&self) {
        let mut state = self.lock();
        while state.running.is_some() || !state.waiting.is_empty() || !state.has_ended() {
            state = self.ended.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

/// Starts the thread that has its turn.
fn start(thread: usize) {
    let replay = Replay::get();
    let started = thread::Builder::new().stack_size(STACK).spawn(move || {
        let play = || Player::new(replay, thread).play();
        // The others would wait for this thread.
        if catch_unwind(AssertUnwindSafe(play)).is_err() {
            eprintln!("jvmpi: error: the replay has failed");
            process::exit(1);
        }
    });
    if let Err(error) = started {
        eprintln!("jvmpi: error: the replay cannot start a thread: {error}");
        process::exit(1);
    }
}
