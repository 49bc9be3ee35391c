//! CPU samples: a timer runs on the CPU clock of each thread, and when it expires, the thread takes its own call trace
//! in a signal handler ([`sample_pool`](super::sample_pool)).
//!
//! A sample stands for one interval of CPU time, at the place where it was used. The first expiration of each timer is
//! at a random time within the interval, so threads that use less than an interval have their share of samples too.
//! The kernel looks at CPU timers only in its clock tick, so a signal may stand for several expirations, and a thread may
//! end before its last ones: these are counted when it ends.
//!
//! Native threads, such as those of the garbage collector, only count their expirations. They are found once a second;
//! Java threads report themselves. A thread whose timer cannot be had is sampled by its clock: when the collecting
//! thread finds that it has used an interval, it takes the trace of that moment.

pub use super::sample_pool::Head;
use super::sample_pool::{MAX_DEPTH, Pool, SLOTS as POOL_SLOTS};
use crate::records::agents::Agent;
use crate::records::numbered::AppendOnly;
use crate::records::phase::{self, Phase};
use crate::threads::{self, Thread};
use jni_sys::JNIEnv;
use jvm::async_call_trace::{self, RawFrame};
use jvm::lock::Lock;
use jvm::platform::cpu_timer::CpuTimer;
use jvm::platform::os_thread::{self, os_thread};
use jvm::platform::{cpu_clock, signal};
use jvmpi_settings::Suspend;
use jvmpi_sys::*;
use rustc_hash::{FxHashMap, FxHashSet};
use std::ffi::c_void;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicPtr, AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use std::{io, mem, ptr};

static POOL: Pool = Pool::new();

/// The state of each thread that its handler needs, by the number that its timer passes to the handler.
static SLOTS: AppendOnly<Slot, 256, 256> = AppendOnly::new();

/// The number of frames that a handler walks: one more than the agent wants.
static DEPTH: AtomicUsize = AtomicUsize::new(0);

static IS_ACTIVE: AtomicBool = AtomicBool::new(false);
static SAMPLER: Lock<Option<Sampler>> = Lock::new(None);

/// The time between two searches for native threads.
const SEARCH: Duration = Duration::from_secs(1);

/// The shortest and the longest time after which an agent should ask for samples again.
const SOON: Duration = Duration::from_millis(20);
const LATE: Duration = Duration::from_secs(1);

#[derive(Default)]
struct Slot {
    /// The kernel's ID of the thread, 0 if there is none.
    os_thread: AtomicI32,
    /// The environment of a Java thread, NULL for a native one.
    env: AtomicPtr<JNIEnv>,
    /// The ID of the object of a Java thread.
    object: AtomicPtr<_jobjectID>,
    /// The number of expirations that the handler has seen.
    taken: AtomicU64,
    /// The number of expirations of a native thread that the agent has not got yet.
    waiting: AtomicU64,
}

/// A thread that is sampled.
struct Sampled {
    slot: usize,
    /// None if the thread is sampled by its clock.
    timer: Option<CpuTimer>,
    /// The thread's CPU time at the first expiration.
    first: i64,
    /// The kind of the samples of a native thread.
    kind: i32,
}

/// The state of the sampling, for one agent.
#[derive(Default)]
struct Sampler {
    agent: usize,
    /// Nanoseconds of CPU time.
    interval: i64,
    /// By the kernel's IDs.
    threads: FxHashMap<i32, Sampled>,
    /// The CPU times of threads that have left the VM. They may still run as native threads.
    left: FxHashMap<i32, i64>,
    /// Slots that can be used again.
    free: Vec<usize>,
    has_warned: bool,
    random: u64,
    searched: Option<Instant>,
    /// The samples of this round that are not in the pool.
    due: Vec<Head>,
    /// The next slot of the pool; None between two rounds.
    position: Option<usize>,
    /// The number of samples of this round that were in the pool.
    collected: usize,
    wait: Duration,
}

/// The answer to the question for the next sample.
pub enum Next {
    /// A sample, whose frames were copied, and true if the stack has more frames.
    Taken(Head, bool),
    /// A Java thread has used that many intervals, and its trace must be taken now.
    ByClock(Head),
    /// No sample waits. The agent should ask again after this time.
    Nothing(Duration),
}

/// Starts to sample all threads for an agent. Returns a result code of `StartCpuSamples`.
pub fn start(agent: &Agent, interval: i64, depth: usize) -> i32 {
    if interval <= 0 || depth == 0 {
        return JVMPI_FAIL;
    }
    {
        let mut sampler = SAMPLER.lock();
        if sampler.is_some() {
            return JVMPI_NOT_AVAILABLE;
        }
        if cpu_clock::of(os_thread()).is_none() {
            log::warn!(
                "the CPU clocks of threads cannot be read ({}): there are no CPU samples; sample the elapsed time",
                io::Error::last_os_error()
            );
            return JVMPI_FAIL;
        }
        if !POOL.map() {
            return JVMPI_FAIL;
        }
        POOL.clear();
        DEPTH.store(depth.min(MAX_DEPTH) + 1, Ordering::Relaxed);
        *sampler = Some(Sampler::new(agent.index, interval));
        IS_ACTIVE.store(true, Ordering::SeqCst);
    }
    // Threads that begin from now on add themselves.
    let java_threads = java_threads();
    if let Some(sampler) = SAMPLER.lock().as_mut() {
        for (os_thread, thread) in java_threads {
            let is_known = sampler.threads.contains_key(&os_thread);
            if !is_known && !thread.has_ended() {
                sampler.add(os_thread, Some(&thread), JVMPI_CPU_SAMPLE_JAVA, false);
            }
        }
    }
    JVMPI_SUCCESS
}

/// Ends the sampling for the agent.
pub fn stop(agent: &Agent) {
    let mut sampler = SAMPLER.lock();
    if sampler.as_ref().is_some_and(|sampler| sampler.agent == agent.index) {
        IS_ACTIVE.store(false, Ordering::SeqCst);
        *sampler = None;
    }
}

/// Returns the next sample for the agent. `copy` gets its frames, innermost first.
pub fn next(agent: &Agent, copy: impl FnOnce(&[RawFrame])) -> Next {
    let mut sampler = SAMPLER.lock();
    match sampler.as_mut().filter(|sampler| sampler.agent == agent.index) {
        Some(sampler) => sampler.next(copy),
        None => Next::Nothing(LATE),
    }
}

/// Called when the current thread has begun, before it runs Java code.
pub fn thread_started(thread: &Thread) {
    if IS_ACTIVE.load(Ordering::SeqCst)
        && let Some(sampler) = SAMPLER.lock().as_mut()
    {
        let os_thread = os_thread();
        let is_new = !sampler.forget(os_thread);
        sampler.add(os_thread, Some(thread), JVMPI_CPU_SAMPLE_JAVA, is_new);
    }
}

/// Called when the current thread ends, before agents get THREAD_END: counts the expirations that it has not seen.
pub fn thread_ended(thread: &Thread) {
    if !IS_ACTIVE.load(Ordering::SeqCst) {
        return;
    }
    let missed = SAMPLER.lock().as_mut().map_or(0, |sampler| sampler.end(os_thread()));
    if let Ok(count @ 1..) = u32::try_from(missed) {
        let head = Head { env: thread.env(), object: thread.id(), count, ..Head::EMPTY };
        POOL.put(head, 0, |_| (JVMPI_CPU_SAMPLE_ENDED, 0));
    }
}

/// Takes a sample of the current thread, whose timer with this number has expired `count` times. It may interrupt any
/// code of any thread, so it uses only system calls, atomic operations and the walk of the stack.
///
/// # Safety
/// Called in a signal handler with its context.
pub unsafe fn expired(slot: usize, count: u32, context: *mut c_void) {
    let Some(slot) = SLOTS.known(slot) else { return };
    // Any process may have sent the signal.
    if slot.os_thread.load(Ordering::SeqCst) != os_thread::ask() {
        return;
    }
    slot.taken.fetch_add(count.into(), Ordering::SeqCst);
    let env = slot.env.load(Ordering::SeqCst);
    if env.is_null() {
        slot.waiting.fetch_add(count.into(), Ordering::SeqCst);
        return;
    }
    // The record is that of the mounted virtual thread, if these are threads of their own. A thread that has not run
    // code of the shim yet has none.
    let thread = threads::known_current();
    let thread = thread.as_deref();
    let head = Head {
        env: thread.map_or(env, Thread::env),
        object: thread.map_or_else(|| slot.object.load(Ordering::SeqCst), Thread::id),
        count,
        ..Head::EMPTY
    };
    let vm_env = thread.map_or(env, Thread::vm_env);
    let has_ended = thread.is_some_and(Thread::has_ended);
    let is_hidden = thread.is_some_and(Thread::is_hidden);
    POOL.put(head, DEPTH.load(Ordering::Relaxed), |room| {
        if is_hidden {
            (JVMPI_CPU_SAMPLE_PROFILER, 0)
        } else if has_ended || vm_env.is_null() || phase::now() == Phase::Dead {
            (JVMPI_CPU_SAMPLE_VM, 0)
        } else {
            // SAFETY: the environment is that of the current thread, which is attached to the VM until it has ended.
            kind_of(unsafe { async_call_trace::walk(vm_env, room, context) })
        }
    });
}

/// Returns the kind of a sample and the number of its frames.
fn kind_of(walked: Result<usize, i32>) -> (i32, usize) {
    match walked {
        // Error codes of AsyncGetCallTrace: a collection is under way (-2), the thread executes code of the VM without a
        // known Java frame (-3 and -4), or it is ending (-8).
        Ok(0) | Err(-4..=-2 | -8) => (JVMPI_CPU_SAMPLE_VM, 0),
        Ok(frames) => (JVMPI_CPU_SAMPLE_JAVA, frames),
        Err(_) => (JVMPI_CPU_SAMPLE_UNKNOWN, 0),
    }
}

/// Returns the live platform threads that the VM knows, with the kernel's IDs.
fn java_threads() -> Vec<(i32, Arc<Thread>)> {
    let with_number = |thread: Arc<Thread>| {
        let number = threads::os_thread_of(&thread).unwrap_or_else(|| thread.os_thread());
        let is_live = !thread.is_virtual() && !thread.has_ended() && number != 0;
        is_live.then_some((number, thread))
    };
    threads::all().into_iter().filter_map(with_number).collect()
}

/// Returns the kind of a native thread with this name. The kernel keeps only 15 bytes of a name.
fn kind_of_native(name: &str) -> i32 {
    const GC: [&str; 7] = ["GC Thread", "G1 ", "ZWorker", "ZD", "XWorker", "XD", "Shenandoah"];
    const COMPILER: [&str; 3] = ["C1 ", "C2 ", "JVMCI"];
    let begins = |prefixes: &[&str]| prefixes.iter().any(|prefix| name.starts_with(prefix));
    match () {
        () if begins(&GC) => JVMPI_CPU_SAMPLE_GC,
        () if begins(&COMPILER) => JVMPI_CPU_SAMPLE_COMPILER,
        () => JVMPI_CPU_SAMPLE_VM,
    }
}

/// Returns the number of expirations up to this CPU time of a timer that first expires at `first`.
fn expirations(clock: i64, first: i64, interval: i64) -> u64 {
    if clock < first { 0 } else { 1 + ((clock - first) / interval) as u64 }
}

impl Sampler {
    fn new(agent: usize, interval: i64) -> Self {
        let random = cpu_clock::current() as u64 | 1;
        Self { agent, interval, random, wait: SOON, ..Self::default() }
    }

    /// Returns a random time within the interval (xorshift).
    fn phase(&mut self) -> i64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        1 + (self.random % self.interval as u64) as i64
    }

    /// Starts to sample a thread, unless it has ended. The CPU time that a new one has already used counts.
    fn add(&mut self, os_thread: i32, thread: Option<&Thread>, kind: i32, is_new: bool) {
        let Some(clock) = cpu_clock::of(os_thread) else { return };
        let number = self.free.pop().unwrap_or_else(|| SLOTS.reserve(1));
        // Beyond the last slot a thread is not sampled.
        let Some(slot) = SLOTS.get(number) else { return };
        slot.env.store(thread.map_or(ptr::null_mut(), Thread::env), Ordering::SeqCst);
        slot.object.store(thread.map_or(ptr::null_mut(), Thread::id), Ordering::SeqCst);
        slot.taken.store(0, Ordering::SeqCst);
        slot.waiting.store(0, Ordering::SeqCst);
        slot.os_thread.store(os_thread, Ordering::SeqCst);
        let first = if is_new { 0 } else { clock } + self.phase();
        let timer = self.timer(os_thread, number, first);
        self.threads.insert(os_thread, Sampled { slot: number, timer, first, kind });
    }

    /// Starts a timer, if there are any. The first failure is logged.
    fn timer(&mut self, os_thread: i32, slot: usize, first: i64) -> Option<CpuTimer> {
        let is_wanted = jvmpi_settings::get().suspend != Suspend::Jvmti;
        let signal = signal::number().filter(|_| is_wanted);
        let started =
            signal.map(|signal| CpuTimer::start(os_thread, signal, slot, first, self.interval));
        let why = match started {
            Some(Ok(timer)) => return Some(timer),
            Some(Err(_)) if cpu_clock::of(os_thread).is_none() => return None,
            Some(Err(error)) => error.to_string(),
            None => "no signal handler".to_owned(),
        };
        if is_wanted && !mem::replace(&mut self.has_warned, true) {
            log::warn!(
                "CPU timers are not available ({why}): CPU samples have the right weights, but show where a thread is \
                 up to an interval later"
            );
        }
        None
    }

    /// Stops to sample a thread. Returns true if the thread was known.
    fn forget(&mut self, os_thread: i32) -> bool {
        let Some(Sampled { slot, timer, .. }) = self.threads.remove(&os_thread) else {
            return self.left.remove(&os_thread).is_some();
        };
        drop(timer);
        if let Some(slot) = SLOTS.known(slot) {
            slot.os_thread.store(0, Ordering::SeqCst);
        }
        self.free.push(slot);
        true
    }

    /// Stops to sample the current thread, which leaves the VM. Returns the number of expirations that it has not seen.
    fn end(&mut self, os_thread: i32) -> u64 {
        let Some(Sampled { timer, slot, first, .. }) = self.threads.get_mut(&os_thread) else {
            return 0;
        };
        // Signals that are pending arrive before this returns.
        drop(timer.take());
        let clock = cpu_clock::current();
        let taken = SLOTS.known(*slot).map_or(0, |slot| slot.taken.load(Ordering::SeqCst));
        let missed = expirations(clock, *first, self.interval).saturating_sub(taken);
        self.forget(os_thread);
        self.left.insert(os_thread, clock);
        missed
    }

    fn next(&mut self, copy: impl FnOnce(&[RawFrame])) -> Next {
        if self.position.is_none() {
            self.begin_round();
        }
        let first = *self.position.get_or_insert(0);
        if let Some(head) = self.due.pop() {
            let is_java = head.kind == JVMPI_CPU_SAMPLE_JAVA;
            return if is_java { Next::ByClock(head) } else { Next::Taken(head, false) };
        }
        for slot in first..POOL_SLOTS {
            let Some((head, frames)) = POOL.get(slot) else { continue };
            let depth = DEPTH.load(Ordering::Relaxed) - 1;
            let shown = &frames[..frames.len().min(depth)];
            copy(shown);
            let taken = Next::Taken(Head { frames: shown.len(), ..head }, frames.len() > depth);
            POOL.free(slot);
            self.collected += 1;
            self.position = Some(slot + 1);
            return taken;
        }
        self.position = None;
        Next::Nothing(self.end_round())
    }

    /// Collects the samples that are not in the pool.
    fn begin_round(&mut self) {
        let Self { threads, due, interval, .. } = self;
        for (os_thread, Sampled { slot, timer, first, kind }) in threads.iter() {
            let Some(slot) = SLOTS.known(*slot) else { continue };
            let mut count = slot.waiting.swap(0, Ordering::SeqCst);
            if timer.is_none()
                && let Some(clock) = cpu_clock::of(*os_thread)
            {
                let all = expirations(clock, *first, *interval);
                count += all.saturating_sub(slot.taken.swap(all, Ordering::SeqCst));
            }
            if let Ok(count @ 1..) = u32::try_from(count) {
                let env = slot.env.load(Ordering::SeqCst);
                let object = slot.object.load(Ordering::SeqCst);
                due.push(Head { env, object, kind: *kind, count, frames: 0 });
            }
        }
        if let Ok(count @ 1..) = u32::try_from(POOL.take_lost()) {
            let kind = JVMPI_CPU_SAMPLE_UNKNOWN;
            due.push(Head { kind, count, ..Head::EMPTY });
        }
        if self.searched.is_none_or(|searched| searched.elapsed() >= SEARCH) {
            self.search();
        }
    }

    /// Finds native threads that have begun, and forgets threads that have ended.
    fn search(&mut self) {
        let is_first = self.searched.replace(Instant::now()).is_none();
        let live: FxHashSet<i32> = os_thread::all().collect();
        let ended: Vec<i32> =
            self.threads.keys().filter(|known| !live.contains(known)).copied().collect();
        for os_thread in ended {
            self.forget(os_thread);
        }
        self.left.retain(|os_thread, _| live.contains(os_thread));
        for os_thread in live {
            if !self.threads.contains_key(&os_thread)
                && let Some(clock) = cpu_clock::of(os_thread)
            {
                // A thread of this number that has left the VM may have ended since.
                let left = self.left.remove(&os_thread);
                let is_old = is_first || left.is_some_and(|left| clock >= left);
                let kind = kind_of_native(&os_thread::name_of(os_thread));
                self.add(os_thread, None, kind, !is_old);
            }
        }
    }

    /// Returns the time after which the next round should begin: when the pool is expected to be a quarter full, or when
    /// a thread without a timer may have used another interval.
    fn end_round(&mut self) -> Duration {
        let collected = mem::take(&mut self.collected);
        if collected > POOL_SLOTS / 4 {
            self.wait /= 2;
        } else if collected < POOL_SLOTS / 8 {
            self.wait *= 2;
        }
        self.wait = self.wait.clamp(SOON, LATE);
        if self.threads.values().all(|thread| thread.timer.is_some()) {
            return self.wait;
        }
        self.wait.min(Duration::from_nanos(self.interval as u64)).max(Duration::from_millis(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_of_native_threads_follow_from_their_names() {
        for (name, kind) in [
            ("GC Thread#3", JVMPI_CPU_SAMPLE_GC),
            ("G1 Conc#0", JVMPI_CPU_SAMPLE_GC),
            ("ZWorkerYoung#0", JVMPI_CPU_SAMPLE_GC),
            ("ZDriverMajor", JVMPI_CPU_SAMPLE_GC),
            ("Shenandoah GC T", JVMPI_CPU_SAMPLE_GC),
            ("C1 CompilerThre", JVMPI_CPU_SAMPLE_COMPILER),
            ("C2 CompilerThre", JVMPI_CPU_SAMPLE_COMPILER),
            ("VM Thread", JVMPI_CPU_SAMPLE_VM),
            ("java", JVMPI_CPU_SAMPLE_VM),
        ] {
            assert_eq!(kind_of_native(name), kind, "{name}");
        }
    }

    #[test]
    fn expirations_are_counted_from_the_first() {
        let counts = [0, 6, 7, 16, 17, 27].map(|clock| expirations(clock, 7, 10));
        assert_eq!(counts, [0, 0, 1, 1, 2, 3]);
    }
}
