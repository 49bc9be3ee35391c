//! The threads and the memory of a model.
//!
//! Shuttle runs the threads one at a time and chooses at random, before each access to memory that threads share, which
//! of them continues. It knows no weak memory, so that part is here.
//!
//! **Memory.** A store that is not sequentially consistent goes into a list of its thread. At random times one of the
//! list's stores reaches memory: any of them, except that stores to one place keep their order, and that a Release
//! store stays behind all earlier ones. A thread sees its own stores at once. A fence, a Release operation on a lock
//! and a system call make the thread's stores reach memory. A compiler fence does not; it only makes the stores ones
//! that the processor has executed. The barrier of the kernel (`membarrier`) makes those reach memory, of all threads,
//! but not the stores that the compiler may have moved behind it. So each half of an asymmetric barrier is necessary
//! here. Loads are never early: a missing Acquire is not found, nor is a race of accesses that are not atomic.
//! ThreadSanitizer looks for these (`cargo xtask race`).
//!
//! **Time.** A step of a thread takes [`STEP`]. A thread that sleeps wakes when it is woken or its time is over. Where all threads sleep, time passes until the first of them wakes. If none ever does,
//! that is a deadlock, and the model fails.

use shuttle::rand::{Rng, thread_rng};
use shuttle::scheduler::RandomScheduler;
use shuttle::thread;
use shuttle::{Config, Runner, current};
use std::cell::RefCell;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// The time of one step.
pub const STEP: Duration = Duration::from_micros(20);

/// Of so many chances of a thread's stores to reach memory one is taken.
const LATENESS: u32 = 8;

thread_local! {
    static MACHINE: RefCell<Machine> = const { RefCell::new(Machine::new()) };
}

struct Machine {
    /// By the number of the thread.
    threads: Vec<Thread>,
    /// The steps of all threads so far, and those that would have fitted into times when all threads slept.
    now: u64,
    /// The number of times that all threads slept until the time of one was over.
    idle: u32,
}

#[derive(Default)]
struct Thread {
    handle: Option<thread::Thread>,
    sleep: Option<Sleep>,
    has_ended: bool,
    /// Its stores that are not in memory yet, the oldest first.
    stores: Vec<Store>,
    /// The thread-local pointer.
    word: usize,
}

#[derive(Clone, Copy)]
struct Sleep {
    /// The step at which it ends by itself.
    end: Option<u64>,
}

/// A store that has not reached memory.
pub struct Store {
    pub place: usize,
    pub bits: u64,
    pub write: fn(place: usize, bits: u64),
    /// Stays behind all earlier stores.
    pub is_release: bool,
    /// The processor has executed it: no longer can the compiler move it.
    pub is_executed: bool,
}

impl Machine {
    const fn new() -> Self {
        Self { threads: Vec::new(), now: 0, idle: 0 }
    }

    fn thread(&mut self, number: usize) -> &mut Thread {
        if self.threads.len() <= number {
            self.threads.resize_with(number + 1, Thread::default);
        }
        &mut self.threads[number]
    }

    fn is_asleep(&self, thread: &Thread) -> bool {
        thread.sleep.is_some_and(|sleep| sleep.end.is_none_or(|end| end > self.now))
    }

    /// If all threads sleep, lets the time pass at which the first of them wakes.
    fn pass_idle_time(&mut self) {
        // No thread has the number 0.
        let mut alive = self.threads.iter().skip(1).filter(|thread| !thread.has_ended);
        if alive.clone().all(|thread| self.is_asleep(thread))
            && let Some(first) = alive.by_ref().filter_map(|thread| thread.sleep?.end).min()
        {
            self.now = first;
            self.idle += 1;
        }
    }
}

impl Thread {
    /// Returns true if this store can reach memory before the others.
    fn is_next(&self, index: usize) -> bool {
        let store = &self.stores[index];
        let mut earlier = self.stores[..index].iter();
        !earlier.any(|other| store.is_release || other.place == store.place)
    }

    fn commit(&mut self, index: usize) {
        let store = self.stores.remove(index);
        (store.write)(store.place, store.bits);
    }

    /// Commits the stores up to this one.
    fn commit_first(&mut self, count: usize) {
        for store in self.stores.drain(..count) {
            (store.write)(store.place, store.bits);
        }
    }
}

fn with<R>(f: impl FnOnce(&mut Machine) -> R) -> R {
    MACHINE.with_borrow_mut(f)
}

fn with_me<R>(f: impl FnOnce(&mut Thread) -> R) -> R {
    with(|machine| f(machine.thread(me())))
}

/// Returns the number of the current thread; 0 outside of models, where everything takes effect at once.
fn me() -> usize {
    current::try_get_current_task().map_or(0, |task| usize::from(task) + 1)
}

/// Returns the number of the current thread as the kernel would show it.
pub fn number() -> i32 {
    me() as i32
}

/// Returns the number of times that all threads slept until the time of one was over.
pub fn idle_times() -> u32 {
    with(|machine| machine.idle)
}

/// Returns the time that has passed.
pub fn now() -> Duration {
    STEP * with(|machine| machine.now) as u32
}

/// Returns the thread-local pointer of the current thread.
pub fn word() -> usize {
    with_me(|me| me.word)
}

/// Sets the thread-local pointer of the current thread.
pub fn set_word(word: usize) {
    with_me(|me| me.word = word);
}

/// Begins a step of the current thread: other threads may run before it, and stores reach memory.
pub fn step() {
    let me = me();
    if me == 0 {
        return;
    }
    thread::sleep(Duration::ZERO);
    with(|machine| {
        machine.now += 1;
        for thread in &mut machine.threads {
            if !thread.stores.is_empty() && thread_rng().gen_ratio(1, LATENESS) {
                let index = thread_rng().gen_range(0..thread.stores.len());
                if thread.is_next(index) {
                    thread.commit(index);
                }
            }
        }
    });
}

/// Lets the current thread do other work for a random time.
pub fn work(at_most: u32) {
    (0..thread_rng().gen_range(0..=at_most)).for_each(|_| step());
}

/// Puts a store into the list of the current thread.
pub fn store(store: Store) {
    if me() == 0 {
        (store.write)(store.place, store.bits);
    } else {
        with_me(|me| me.stores.push(store));
    }
}

/// Returns the value that the current thread has stored last at a place, if that is not in memory yet.
pub fn own_store(place: usize) -> Option<u64> {
    let at_place = |store: &&Store| store.place == place;
    with_me(|me| me.stores.iter().rfind(at_place).map(|store| store.bits))
}

/// Makes the stores of the current thread to a place reach memory, with all earlier ones.
pub fn commit_to(place: usize) {
    with_me(|me| {
        let last = me.stores.iter().rposition(|store| store.place == place);
        me.commit_first(last.map_or(0, |last| last + 1));
    });
}

/// Makes all stores of the current thread reach memory.
pub fn commit_all() {
    with_me(|me| me.commit_first(me.stores.len()));
}

/// Forgets stores to memory that is being freed.
pub fn forget(place: usize) {
    // Thread-local values may be dropped after this.
    let _ = MACHINE.try_with(|machine| {
        for thread in &mut machine.borrow_mut().threads {
            thread.stores.retain(|store| store.place != place);
        }
    });
}

/// Makes the current thread's stores ones that the processor has executed.
pub fn execute_all() {
    with_me(|me| me.stores.iter_mut().for_each(|store| store.is_executed = true));
}

/// Makes all stores of all threads reach memory that processors have executed.
pub fn commit_executed() {
    commit_all();
    with(|machine| {
        for thread in &mut machine.threads {
            // Those that were executed are the first ones.
            let executed = thread.stores.iter().take_while(|store| store.is_executed).count();
            thread.commit_first(executed);
        }
    });
}

/// Makes the current thread one that sleeps, until [`wake`] is called for it or for so long. It may do more before it
/// really sleeps, in [`sleep`].
pub fn fall_asleep(at_most: Option<Duration>) {
    let number = me();
    assert!(number > 0, "only threads of a model sleep");
    let steps = |time: Duration| time.as_nanos().div_ceil(STEP.as_nanos()) as u64;
    with(|machine| {
        let end = at_most.map(|time| machine.now + steps(time));
        let thread = machine.thread(number);
        thread.handle.get_or_insert_with(thread::current);
        thread.sleep = Some(Sleep { end });
    });
}

/// Sleeps after [`fall_asleep`]; false if the time was over.
pub fn sleep() -> bool {
    let number = me();
    loop {
        let mut has_end = false;
        let is_over = with(|machine| {
            machine.pass_idle_time();
            let now = machine.now;
            let thread = machine.thread(number);
            has_end = thread.sleep.is_some_and(|sleep| sleep.end.is_some());
            match thread.sleep {
                None => Some(true),
                Some(Sleep { end: Some(end) }) if end <= now => {
                    thread.sleep = None;
                    Some(false)
                }
                Some(_) => None,
            }
        });
        match is_over {
            Some(is_woken) => return is_woken,
            None if has_end => thread::yield_now(),
            None => thread::park(),
        }
    }
}

/// Ends the sleep of a thread.
pub fn wake(number: i32) {
    let woken = with(|machine| {
        let thread = machine.thread(number as usize);
        thread.sleep.take().and_then(|_| thread.handle.clone())
    });
    if let Some(thread) = woken {
        thread.unpark();
    }
}

/// Runs `run` as a thread of the model.
pub fn spawn<R: Send + 'static>(run: impl FnOnce() -> R + Send + 'static) -> thread::JoinHandle<R> {
    commit_all();
    let handle = thread::spawn(move || {
        let result = run();
        commit_all();
        with_me(|me| me.has_ended = true);
        result
    });
    with(|machine| _ = machine.thread(usize::from(handle.thread().id()) + 1));
    handle
}

/// Waits for the end of a thread, and returns its result.
pub fn join<R>(thread: thread::JoinHandle<R>) -> R {
    with_me(|me| me.sleep = Some(Sleep { end: None }));
    let result = thread.join().expect("a failed thread ends the model");
    with_me(|me| me.sleep = None);
    result
}

/// Runs a model so many times, each time with another schedule.
///
/// The schedules are the same in each run of the test program. The variable `MODEL_ROUNDS` multiplies their number, and
/// `SHUTTLE_RANDOM_SEED` chooses others.
pub fn check(rounds: usize, model: impl Fn() + Send + Sync + 'static) {
    /// The models share the static variables of the shim.
    static ALONE: Mutex<bool> = Mutex::new(true);
    let mut is_clean = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    assert!(*is_clean, "another model has failed and left the shim's variables changed");
    *is_clean = false;

    let factor = std::env::var("MODEL_ROUNDS").ok().map_or(1, |factor| factor.parse().unwrap());
    let mut config = Config::new();
    config.stack_size = 1 << 18;
    config.silence_warnings = true;
    config.ungraceful_shutdown_config.immediately_return_on_panic = true;
    Runner::new(RandomScheduler::new_from_seed(1, rounds * factor), config).run(move || {
        with(|machine| *machine = Machine::new());
        model();
        commit_all();
        let threads = with(|machine| std::mem::take(&mut machine.threads));
        assert!(threads.iter().skip(2).all(|thread| thread.has_ended), "a thread is left");
    });
    *is_clean = true;
}
