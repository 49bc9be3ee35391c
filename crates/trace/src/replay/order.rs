//! Who plays: one thread at a time, the one whose next record has the least place.
//!
//! A thread gives its turn away where another one's record comes first, and while it is blocked in a raw
//! monitor. One that runs a function of the agent's own has a turn only while a call of it is answered, but until
//! its next call nobody goes on to what came later, so that it is as far as it was. So it is with one that may go
//! on in a raw monitor. Where such a thread does not come, others do go on ([`Order::watch`]).

use super::Replay;
use super::player::Player;
use super::progress::{Moment, Progress};
use crate::read::{Key, Trace};
use std::collections::{BTreeSet, HashMap};
use std::process;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, Once, PoisonError};
use std::thread;
use std::time::Duration;

/// The order of a replay. Threads are known by their places in [`Trace::threads`].
pub struct Order {
    state: Mutex<State>,
    /// For each thread: it has its turn.
    turns: Vec<Condvar>,
    ended: Condvar,
    /// Who runs has to look whether it is another one's turn.
    changed: AtomicBool,
    watched: Once,
}

struct State {
    /// Those who want to play a record.
    waiting: BTreeSet<(Key, usize)>,
    running: Option<usize>,
    started: Vec<bool>,
    /// Those who have records left or wait for their end.
    alive: usize,
    /// Those who are blocked in a raw monitor, with the places of the records they have played last.
    blocked: HashMap<usize, Key>,
    /// Those who run without a turn and will want one, with the same, and how many had been before.
    coming: HashMap<usize, (Key, u64)>,
    arrivals: u64,
    /// Those who wait for somebody else's call, in a raw monitor.
    stuck: usize,
    /// Whether threads have called that are not of the recording.
    strangers: bool,
    /// Those of the living whose function is the agent's own, by thread.
    running_own: Vec<Option<Progress>>,
}

impl State {
    /// Whether none but threads in functions of the agent's own live.
    fn has_ended(&self) -> bool {
        self.alive == self.running_own.iter().flatten().count()
    }

    fn come(&mut self, thread: usize, key: Key) {
        self.arrivals += 1;
        self.coming.insert(thread, (key, self.arrivals));
    }
}

/// The stack of a thread, of which memory is used only as far as it is needed.
const STACK: usize = 8 << 20;

impl Order {
    /// All threads wait for their first record; the one named is started already and has its turn.
    pub fn new(trace: &Trace, first: Option<usize>) -> Self {
        let threads = trace.threads();
        let keys = threads.iter().enumerate().map(|(i, thread)| (thread.first(), i));
        let waiting = keys.filter(|(_, i)| Some(*i) != first).collect();
        let state = State {
            waiting,
            running: first,
            started: (0..threads.len()).map(|i| Some(i) == first).collect(),
            alive: usize::from(first.is_some()),
            blocked: HashMap::new(),
            coming: HashMap::new(),
            arrivals: 0,
            stuck: 0,
            strangers: false,
            running_own: threads.iter().map(|_| None).collect(),
        };
        Self {
            state: Mutex::new(state),
            turns: threads.iter().map(|_| Condvar::new()).collect(),
            ended: Condvar::new(),
            changed: AtomicBool::new(true),
            watched: Once::new(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether another thread may have come that goes before the one that runs.
    #[inline]
    pub fn has_changed(&self) -> bool {
        self.changed.load(Ordering::Relaxed)
    }

    /// Waits until it is the turn of the thread, whose next record has this place; returns up to where it is.
    pub fn take_turn(&self, me: usize, key: Key) -> Option<Key> {
        let mut state = self.lock();
        if state.running == Some(me) {
            state.running = None;
        }
        state.coming.remove(&me);
        state.waiting.insert((key, me));
        self.changed.store(true, Ordering::Relaxed);
        self.pass_on(&mut state);
        while state.running != Some(me) {
            state = self.turns[me].wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        self.changed.store(false, Ordering::Relaxed);
        state.waiting.first().map(|(key, _)| *key)
    }

    fn pass_on(&self, state: &mut State) {
        if state.running.is_some() {
            return;
        }
        let first = state.waiting.first().copied();
        if state.coming.values().any(|(key, _)| first.is_none_or(|(first, _)| *key < first)) {
            return;
        }
        match first {
            Some((key, next)) => {
                state.waiting.remove(&(key, next));
                state.running = Some(next);
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
                        "jvmpi: error: the replay stands still: each of {} threads of the agent waits in a \
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
            state.come(thread, key);
            self.changed.store(true, Ordering::Relaxed);
        }
    }

    /// The thread, which has played this record last, goes on in a function of the agent's own.
    pub fn go_on(&self, me: usize, key: Key) {
        let mut state = self.lock();
        state.come(me, key);
        self.left(&mut state, me);
    }

    fn left(&self, state: &mut State, me: usize) {
        if state.running == Some(me) {
            state.running = None;
        }
        self.pass_on(state);
    }

    /// The current thread runs a function of the agent's own, or does so no more.
    pub fn run_own(&'static self, me: usize, begins: bool) {
        let mut state = self.lock();
        state.running_own[me] = begins.then(Progress::of_current_thread);
        if begins {
            self.watched.call_once(|| drop(thread::spawn(|| self.watch())));
        }
    }

    /// Has others go on without a function of the agent's own that does not come: it may wait for anything, such
    /// as a connection, or a variable that a handler sets.
    fn watch(&self) {
        // Just how soon that is noticed.
        const PERIOD: Duration = Duration::from_millis(2);
        let mut last: HashMap<usize, (u64, Moment, Moment)> = HashMap::new();
        loop {
            thread::sleep(PERIOD);
            let mut state = self.lock();
            let coming = state.coming.iter().filter_map(|(thread, (_, arrival))| {
                let now = state.running_own[*thread].as_ref()?.now();
                let seen = last.remove(thread).filter(|(seen, ..)| seen == arrival);
                let (first, before) = seen.map_or((now, None), |seen| (seen.1, Some(seen.2)));
                Some((*thread, *arrival, first, before, now))
            });
            let looks: Vec<_> = coming.collect();
            last.clear();
            for (thread, arrival, first, before, now) in looks {
                let sleeps = before.is_some_and(|before| now.sleeps_since(&before));
                if sleeps || now.computes_since(&first) {
                    state.coming.remove(&thread);
                    self.pass_on(&mut state);
                } else {
                    last.insert(thread, (arrival, first, now));
                }
            }
        }
    }

    /// The thread has played its last record.
    pub fn end(&self, me: usize) {
        let mut state = self.lock();
        state.alive -= 1;
        state.coming.remove(&me);
        if state.running == Some(me) {
            state.running = None;
        }
        self.pass_on(&mut state);
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

/// Starts the thread, whose turn it is.
fn start(thread: usize) {
    let replay = Replay::get();
    let started = thread::Builder::new().stack_size(STACK).spawn(move || {
        Player::new(replay, thread).play();
    });
    if let Err(error) = started {
        eprintln!("jvmpi: error: the replay cannot start a thread: {error}");
        process::exit(1);
    }
}
