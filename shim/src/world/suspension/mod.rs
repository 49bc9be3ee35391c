//! Suspension of threads by agents, and the stack of a suspended thread.
//!
//! A sampler suspends every runnable thread a thousand times a second. JVMTI cannot do that: it
//! waits until the thread reaches a safepoint poll, which takes milliseconds if the thread is not
//! on a processor. So a thread that executes Java code is stopped by a signal, which it handles
//! before any more code of its own: it is as good as stopped at once, whether it is on a processor
//! or not, and takes its stack itself in the signal handler ([`stop`]). Threads in native code or
//! blocked, which JVMTI suspends quickly, and all threads where the VM has no `AsyncGetCallTrace`, are
//! suspended by JVMTI.
//!
//! A thread that is not on a processor runs its handler only when it gets there. Whether it has run
//! since it was resumed is known from its CPU time before that, and if it has not, its last stack is
//! still the true one. If it has, the caller waits for the handler, but not for long: if that is not
//! enough, `ThreadHasRun` says no, and yes when the handler has run, so that each yes comes with a
//! true stack.
//!
//! The signal is for samplers: threads are stopped so only after a few brief suspensions by JVMTI,
//! which a sampler has made with its first tick ([`sampling`]).
//!
//! A sampler that does not suspend gets stacks in passing ([`in_passing`]).
//!
//! Whatever the agent does between suspension and resumption, no thread waits for ever: one that is
//! stopped for more than a few milliseconds is handed over to JVMTI ([`takeover`]).

pub mod can_suspend;
pub(super) mod futex;
mod glance;
mod handler;
pub mod in_passing;
mod interruption;
mod link;
mod sampling;
mod signal;
pub mod stop;
mod takeover;
mod taker;
mod trace;

use super::agents::Agent;
use super::cpu_clock;
use super::order::{barrier, claims};
use super::threads::{self, Thread};
use crate::jvm::async_call_trace::{self, RawFrame};
use crate::jvm::{self, Jni};
use crate::lock::Lock;
use jni_sys::jint;
use jvmti_sys::{JVMTI_THREAD_STATE_IN_NATIVE, JVMTI_THREAD_STATE_RUNNABLE};
use options::{self, Suspend};
use std::hint;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use stop::state::*;

/// How long `ThreadHasRun` waits for a thread's handler, in nanoseconds from the suspension.
const ANSWER: i64 = 150_000;
/// How long to wait for the stack of a thread, in nanoseconds.
const STACK: i64 = 100_000_000;
/// A thread that has been on a processor for so many nanoseconds and has not run its handler blocks
/// signals.
const DEAF: i64 = 20_000_000;

/// Keeps records for the signal handler, which may use one although its thread has ended.
static KEPT: Lock<Vec<Arc<Thread>>> = Lock::new(Vec::new());

/// Whether the signal handler needs the JVMTI events `ClassLoad` and `ClassPrepare`, and a class's
/// methods have to be given IDs at the latter.
pub fn wants_method_ids() -> bool {
    signal::is_installed()
}

/// Whether the signal may stop threads.
static STOPS_THREADS: AtomicBool = AtomicBool::new(false);

/// Makes it possible to take stacks by a signal, if the VM supports that and the options allow it. Only the
/// first call does something: true if [`wants_method_ids`] has become true.
pub fn prepare_to_look() -> bool {
    static PREPARED: AtomicBool = AtomicBool::new(false);
    let is_first = || !PREPARED.swap(true, Ordering::SeqCst);
    !PREPARED.load(Ordering::SeqCst)
        && is_first()
        && options::get().suspend != Suspend::Jvmti
        && async_call_trace::is_available()
        && signal::install()
}

/// As [`prepare_to_look`]; makes it possible to stop threads by the signal, too. Where this fails, JVMTI
/// suspends them.
pub fn prepare_to_suspend(jni: Jni) -> bool {
    static PREPARED: AtomicBool = AtomicBool::new(false);
    if PREPARED.swap(true, Ordering::SeqCst) || options::get().suspend == Suspend::Jvmti {
        return false;
    }
    // Before JDK 17 (JDK-8257831), HotSpot needs a safepoint to suspend a thread by JVMTI, the only way
    // for some threads. It would have to wait until all that a signal has stopped are taken over.
    if jvm::get().feature_version() < 17 {
        log::info!(
            "on this JDK each suspension of a thread stops the whole program for a moment: a sampler \
             gets about 200 ticks a second, and a program with many running threads may take half as \
             long again; JDK 17 and later do it without"
        );
        return false;
    }
    let wants_method_ids = prepare_to_look();
    if signal::is_installed() {
        match takeover::start(jni) {
            Ok(()) => STOPS_THREADS.store(true, Ordering::SeqCst),
            Err(error) => log::debug!("threads are suspended by JVMTI: {error}"),
        }
    }
    wants_method_ids
}

/// Suspends a thread on the agent's behalf; true if it is suspended now, also if it was before.
///
/// It returns when the thread executes no more Java code. False for the current thread and for one that
/// has ended.
pub fn suspend(agent: &Agent, thread: &Arc<Thread>) -> bool {
    let _claim = claims::to_suspend();
    handler::note_agent_processor();
    let suspended = request(agent, thread);
    settle([thread].into_iter());
    suspended
}

/// Suspends several threads, which takes hardly longer than one; `result` gets for each, None included,
/// what [`suspend`] would have returned.
pub fn suspend_all(
    agent: &Agent,
    threads: &[Option<Arc<Thread>>],
    mut result: impl FnMut(usize, bool),
) {
    let _claim = claims::to_suspend();
    handler::note_agent_processor();
    // What a signal has stopped stands still from then on, so JVMTI is called before for the others.
    let known = threads.iter().enumerate();
    let is_for_signal = |(_, thread): &(usize, &Option<Arc<Thread>>)| {
        thread.as_ref().is_some_and(|thread| may_be_signalled(thread))
    };
    let (by_signal, by_jvmti): (Vec<_>, Vec<_>) = known.partition(is_for_signal);
    for (i, thread) in by_jvmti.into_iter().chain(by_signal) {
        result(i, thread.as_ref().is_some_and(|thread| request(agent, thread)));
    }
    settle(threads.iter().flatten());
}

/// Begins to suspend a thread on the agent's behalf; true if that has begun or is done.
fn request(agent: &Agent, thread: &Arc<Thread>) -> bool {
    request_by(agent, thread, |thread| by_signal(thread) || by_jvmti(thread))
}

fn request_by(agent: &Agent, thread: &Arc<Thread>, stop: impl Fn(&Arc<Thread>) -> bool) -> bool {
    thread.stop.note_suspender();
    let suspended = begin(thread, stop);
    if suspended || thread.stop.state() == LOOSE {
        thread.stop.hold(agent);
    }
    suspended
}

fn begin(thread: &Arc<Thread>, stop_running: impl Fn(&Arc<Thread>) -> bool) -> bool {
    let stop = &thread.stop;
    loop {
        match stop.state() {
            RUNNING if thread.has_ended() || thread.os_thread() == threads::os_thread() => {
                return false;
            }
            RUNNING => {
                stop.history.begin();
                return stop_running(thread);
            }
            LEAVING => {
                // Still in the handler, it has not run.
                stop.note_request();
                stop.ran.store(false, Ordering::SeqCst);
                if stop.change(LEAVING, ASLEEP) {
                    return true;
                }
            }
            // By now another agent may have given back can_suspend.
            LOOSE => {
                stop.change(LOOSE, RUNNING);
            }
            // The thread that suspends it by JVMTI is going to resume it at once, which cannot be
            // called off.
            UNWANTED => {
                stop.wait_while(UNWANTED, i64::MAX);
            }
            _ => return true,
        }
    }
}

/// Whether signals are what stops the thread, as far as that is known without a look at its clock.
fn may_be_signalled(thread: &Thread) -> bool {
    let stop = &thread.stop;
    // Without can_suspend, a signal stops it at least for a moment.
    let is_for_signals = stop.history.is_sampled() || can_suspend::is_refused();
    STOPS_THREADS.load(Ordering::SeqCst) && is_for_signals && can_be_signalled(thread)
}

/// Whether the thread executes Java code, and its handler can take its stack.
fn can_be_signalled(thread: &Thread) -> bool {
    // The handler has the stack of the carrier, with that of the virtual thread on top.
    signal::is_installed()
        && !thread.stop.is_deaf.load(Ordering::Relaxed)
        && !thread.is_virtual()
        && thread.os_thread() != 0
        && executes_java(thread)
}

/// Sends the signal to a thread for whose handler there is something to do; false if it cannot be reached.
fn send(thread: &Arc<Thread>) -> bool {
    keep(thread);
    // SAFETY: `KEPT` keeps the record.
    let is_sent = !thread.stop.needs_signal() || unsafe { signal::send(thread) };
    if !is_sent {
        thread.stop.signal_failed();
    }
    is_sent
}

/// Sends the signal to a thread that executes Java code; false for all others.
fn by_signal(thread: &Arc<Thread>) -> bool {
    if !may_be_signalled(thread) {
        return false;
    }
    let stop = &thread.stop;
    let Some(cpu) = cpu_clock::of(thread.os_thread()) else { return false };
    let has_run = cpu - stop.accounted.load(Ordering::SeqCst) > stop::NOISE;
    if !has_run && stop.was_blocked.load(Ordering::SeqCst) {
        return false;
    }
    stop.trace.allocate();
    stop.request(cpu);
    stop.change(RUNNING, REQUESTED) && {
        let is_sent = send(thread);
        if !is_sent {
            stop.change(REQUESTED, RUNNING);
        }
        is_sent
    }
}

/// Whether JVMTI would have to wait for a safepoint poll: the thread runs, and no native method.
fn executes_java(thread: &Thread) -> bool {
    let state = jvmti_state(thread, RECENT).unwrap_or(0);
    state & JVMTI_THREAD_STATE_RUNNABLE != 0 && state & JVMTI_THREAD_STATE_IN_NATIVE == 0
}

/// How old the state may be by which a signal or JVMTI is chosen: either works in every state, if
/// slowly.
const RECENT: Duration = Duration::from_micros(100);

/// The thread's state as JVMTI gives it, or as it was not longer ago than `age`: samplers ask for
/// it right before they suspend.
pub fn jvmti_state(thread: &Thread, age: Duration) -> Option<jint> {
    let (state, time) = (&thread.stop.seen_state, &thread.stop.seen_at);
    let now = futex::now();
    if age.is_zero() || now - time.load(Ordering::Relaxed) > age.as_nanos() as i64 {
        state.store(jvm::get().jvmti.thread_state(thread.object()?.get()).ok()?, Ordering::Relaxed);
        time.store(now, Ordering::Relaxed);
    }
    Some(state.load(Ordering::Relaxed))
}

fn by_jvmti(thread: &Thread) -> bool {
    let stop = &thread.stop;
    let state = takeover::suspend(thread);
    if state == RUNNING {
        return false;
    }
    let ran = consumed(thread).is_none_or(|cpu| cpu > stop::NOISE);
    stop.ran.store(ran, Ordering::SeqCst);
    stop.change(RUNNING, state) && state == SUSPENDED
}

/// Makes sure that threads that were sent signals do nothing more of their own.
fn settle<'a>(threads: impl Iterator<Item = &'a Arc<Thread>> + Clone) {
    threads.clone().for_each(|thread| wait_for(thread));
    if threads.clone().any(|thread| thread.stop.is_coming()) {
        // That its clock stands still is no proof that a thread is on no processor. If it is on one, it
        // takes the signal as the barrier's interrupt ends, else as soon as it gets to one.
        barrier::of_all_threads();
        threads.for_each(|thread| wait_for(thread));
    }
}

/// Waits until a signalled thread has stopped or seems to be on no processor. One that blocks signals is
/// left to JVMTI.
fn wait_for(thread: &Thread) {
    let stop = &thread.stop;
    let clock = || cpu_clock::of(thread.os_thread());
    let waited = wait_while_it_runs(clock, stop.cpu_at_request(), || stop.state() == REQUESTED);
    if waited == Waited::Deaf && stop.change(REQUESTED, TAKEOVER) {
        stop.is_deaf.store(true, Ordering::Relaxed);
        takeover::take_over(thread);
    }
}

/// How a wait for the handler of a thread has ended.
#[derive(PartialEq, Eq, Debug)]
enum Waited {
    /// It has done what was asked for.
    Answered,
    /// It seems to be on no processor.
    OffProcessor,
    /// It seems to block signals.
    Deaf,
}

/// Waits until the handler of a thread, which was signalled when its CPU time was `cpu`, has done what is
/// awaited, as long as it is on a processor by its clock.
fn wait_while_it_runs(
    clock: impl Fn() -> Option<i64>,
    mut cpu: i64,
    is_awaited: impl Fn() -> bool,
) -> Waited {
    let mut first = None;
    while is_awaited() {
        // The clock of a thread that is on a processor advances between any two looks at it.
        let before = cpu;
        match clock() {
            Some(now) if now != before => cpu = now,
            _ => return Waited::OffProcessor,
        }
        // Not `cpu`: the thread may have run for long between that and the signal.
        if cpu - *first.get_or_insert(cpu) > DEAF {
            return Waited::Deaf;
        }
        (0..32).for_each(|_| hint::spin_loop());
    }
    Waited::Answered
}

/// Whether the current thread has suspended others for an agent, and not resumed all of them.
pub fn current_suspends_others() -> bool {
    let current = Some(threads::os_thread());
    threads::all().iter().any(|thread| thread.stop.suspender() == current)
}

/// Takes back the agent's suspension of a thread; false if there is none. The thread goes on unless
/// another agent has it suspended, too.
pub fn resume(agent: &Agent, thread: &Arc<Thread>) -> bool {
    let _claim = claims::to_resume();
    let stop = &thread.stop;
    if !stop.let_go(agent) {
        return false;
    }
    if stop.is_held() {
        return true;
    }
    if stop.is_suspended() {
        stop.history.end();
    }
    loop {
        let state = stop.state();
        let next = match state {
            REQUESTED | ADRIFT => RUNNING,
            STOPPED | ASLEEP | OVERDUE => LEAVING,
            TAKEOVER => UNWANTED,
            SUSPENDED | LOOSE => {
                if stop.ran.load(Ordering::SeqCst)
                    && let Some(cpu) = cpu_time(thread)
                {
                    stop.accounted.store(cpu, Ordering::SeqCst);
                }
                stop.is_traced.store(false, Ordering::SeqCst);
                if state == SUSPENDED {
                    takeover::resume(thread);
                }
                RUNNING
            }
            _ => return false,
        };
        if stop.change(state, next) {
            match state {
                OVERDUE => stop.wake(),
                ASLEEP if !stop.naps() => stop.wake(),
                _ => stop.wake_others(),
            }
            return true;
        }
    }
}

/// `ThreadHasRun`: whether a suspended thread has consumed CPU time between its last resumption,
/// or its start, and its suspension: more than [`stop::NOISE`], else it is counted the next time.
///
/// False also for one that has run but has not been on a processor since it was suspended: it counts as
/// soon as its stack is known. See [`in_passing::has_run`] for those that are not suspended.
pub fn has_run(thread: &Thread) -> bool {
    let stop = &thread.stop;
    if stop.state() == REQUESTED {
        if !stop.may_have_run() {
            return false;
        }
        handler::note_agent_processor();
        stop.wait_while(REQUESTED, stop.requested() + ANSWER);
    }
    match stop.state() {
        RUNNING | REQUESTED | LEAVING | UNWANTED => false,
        _ => stop.ran.load(Ordering::SeqCst),
    }
}

/// The thread's CPU time, None if it cannot be known.
fn cpu_time(thread: &Thread) -> Option<i64> {
    thread.cpu_time().or_else(|| {
        let object = thread.object()?;
        jvm::get().jvmti.thread_cpu_time(object.get()).ok()
    })
}

/// The thread's CPU time that has not been accounted for.
fn consumed(thread: &Thread) -> Option<i64> {
    Some(cpu_time(thread)? - thread.stop.accounted.load(Ordering::SeqCst))
}

/// Passes the innermost `depth` frames of a thread that was stopped by a signal to `f`. None if the
/// thread is not suspended, or JVMTI has suspended it: then `GetStackTrace` gives the stack. A thread
/// that was stopped where its stack cannot be walked, as in the VM's code for `arraycopy`, is handed
/// over to JVMTI here, which stops it where it can be.
pub fn with_trace<R>(thread: &Thread, depth: usize, f: impl FnOnce(&[RawFrame]) -> R) -> Option<R> {
    let stop = &thread.stop;
    let is_known = || {
        let is_still_true = || stop.is_traced.load(Ordering::SeqCst) && !stop.may_have_run();
        stop.state() != REQUESTED || is_still_true()
    };
    if !is_known() {
        stop.wait_while(REQUESTED, futex::now() + STACK);
    }
    {
        let _claim = claims::to_resume();
        match stop.state() {
            RUNNING | LEAVING | UNWANTED | SUSPENDED | LOOSE => return None,
            TAKEOVER | ADRIFT => {}
            _ if !is_known() => {}
            _ => {
                if let Some(frames) = stop.trace.get(depth) {
                    return Some(f(frames));
                }
            }
        }
    }
    escalate(thread);
    None
}

/// Calls `look`, which calls no agent, while the thread is suspended; while it goes on if another agent has
/// can_suspend.
pub fn at_rest<R>(thread: &Thread, look: impl FnOnce() -> R) -> R {
    let _claim = claims::to_suspend();
    let borrowed = can_suspend::borrow();
    hand_over(thread);
    let jvmti = jvm::get().jvmti;
    let object = thread.object().filter(|_| borrowed.is_ok());
    let suspended = object.filter(|object| jvmti.suspend(object.get()).is_ok());
    let result = look();
    if let Some(Err(error)) = suspended.map(|object| jvmti.resume(object.get())) {
        log::debug!("a thread is not resumed: {error}");
    }
    result
}

/// Makes JVMTI suspend a thread that was stopped by a signal; returns when it has.
fn escalate(thread: &Thread) {
    let _claim = claims::to_suspend();
    hand_over(thread);
}

/// Makes JVMTI suspend a thread that was stopped by a signal; returns when it has, also if the service
/// thread is just doing it. The caller holds the claim to suspend threads.
pub fn hand_over(thread: &Thread) {
    let stop = &thread.stop;
    // In the order of the handler's own transitions, or one might be missed.
    let from = [REQUESTED, STOPPED, ASLEEP, OVERDUE, ADRIFT];
    if from.into_iter().any(|from| stop.change(from, TAKEOVER)) {
        takeover::take_over(thread);
    }
    for state in [TAKEOVER, UNWANTED] {
        stop.wait_while(state, i64::MAX);
    }
}

/// Keeps the record until its thread has ended and no signal for it is on its way.
fn keep(thread: &Arc<Thread>) {
    if thread.stop.is_kept.swap(true, Ordering::Relaxed) {
        return;
    }
    let is_needed = |kept: &mut Arc<Thread>| {
        !kept.has_ended() || kept.stop.is_in_use() && signal::exists(kept.os_thread())
    };
    let mut kept = KEPT.lock();
    let dropped: Vec<_> = kept.extract_if(.., |kept| !is_needed(kept)).collect();
    kept.push(Arc::clone(thread));
    drop(kept);
    drop(dropped);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::world::agents;
    use crate::world::threads::registry;
    use std::cell::Cell;
    use std::ptr;
    use std::sync::atomic::AtomicU64;
    use std::thread;

    /// A thread that counts, and looks for its signal all the time: no thread has signals here, which the
    /// sanitizer delivers late.
    struct Target {
        record: Arc<Thread>,
        is_signalled: AtomicBool,
        count: AtomicU64,
    }

    impl Target {
        fn new(env: usize) -> Self {
            let record = registry::record(ptr::without_provenance_mut(env));
            // The service thread may look at it until all is over.
            keep(&record);
            Self { record, is_signalled: AtomicBool::new(false), count: AtomicU64::new(0) }
        }

        fn run(&self, over: &AtomicBool) {
            while !over.load(Ordering::SeqCst) {
                if self.is_signalled.swap(false, Ordering::SeqCst) {
                    handler::in_handler_for_test(&self.record);
                }
                // As JVMTI would.
                self.record.stop.wait_while(SUSPENDED, i64::MAX);
                self.count.fetch_add(1, Ordering::SeqCst);
            }
        }

        fn suspend(&self, agent: &Agent) {
            let _claim = claims::to_suspend();
            request_by(agent, &self.record, |thread| {
                let stop = &thread.stop;
                stop.request(0);
                let requested = stop.change(RUNNING, REQUESTED);
                if requested && stop.needs_signal() {
                    self.is_signalled.store(true, Ordering::SeqCst);
                }
                requested
            });
        }

        /// What it has counted, if it is in its handler and stays there as long as nobody resumes it.
        fn count_if_stopped(&self) -> Option<u64> {
            let is_stopped = matches!(self.record.stop.state(), STOPPED | ASLEEP);
            is_stopped.then(|| self.count.load(Ordering::SeqCst))
        }

        fn goes_on(&self) {
            let before = self.count.load(Ordering::SeqCst);
            while self.count.load(Ordering::SeqCst) == before {
                thread::yield_now();
            }
        }
    }

    /// A thread blocks signals if it does not answer while it runs; what it did before it was sent one says nothing.
    #[test]
    fn who_has_run_for_long_before_its_signal_may_answer() {
        let wait = |step: i64, answers_after: u32| {
            let looks = Cell::new(0);
            let clock = || {
                looks.set(looks.get() + 1);
                Some(10 * DEAF + step * i64::from(looks.get()))
            };
            wait_while_it_runs(clock, 0, || looks.get() < answers_after)
        };
        assert_eq!(wait(DEAF / 10, 5), Waited::Answered);
        assert_eq!(wait(DEAF / 10, u32::MAX), Waited::Deaf);
        assert_eq!(wait(0, u32::MAX), Waited::OffProcessor);
        assert_eq!(wait_while_it_runs(|| None, 0, || true), Waited::OffProcessor, "it has ended");
    }

    /// A thread stays in its handler until who takes it over waits for it: only then JVMTI has been asked, however
    /// long that takes.
    #[test]
    fn a_thread_that_is_taken_over_goes_on_when_it_is_waited_for() {
        // Who takes over sleeps for another reason now and then, as for the emulator's lock: the thread may go on
        // then. Not in each of so many rounds.
        const ROUNDS: u32 = 100;
        let (agent, target, over) = (agents::get(0), Target::new(0x30), AtomicBool::new(false));
        let stop = &target.record.stop;
        let count = || target.count.load(Ordering::SeqCst);
        let has_slept = AtomicBool::new(true);
        let (stopped_at, asked_at) = (AtomicU64::new(0), AtomicU64::new(0));
        let suspend = |_: &Thread| {
            // Longer than the VM needs, and the thread sleeps at a time.
            let until = futex::now() + 5_000_000;
            while futex::now() < until {
                hint::spin_loop();
            }
            asked_at.store(count(), Ordering::SeqCst);
            // In this order: it has not slept before the thread was counted.
            has_slept.store(stop.taker.has_slept(), Ordering::SeqCst);
            while count() == asked_at.load(Ordering::SeqCst) {
                thread::sleep(Duration::from_micros(10));
            }
            SUSPENDED
        };
        thread::scope(|scope| {
            scope.spawn(|| target.run(&over));
            let mut rounds = 0;
            while rounds < ROUNDS && has_slept.load(Ordering::SeqCst) {
                target.suspend(agent);
                stop.wait_while(REQUESTED, i64::MAX);
                stopped_at.store(count(), Ordering::SeqCst);
                // Else the service thread of another test has been faster.
                if [STOPPED, ASLEEP].iter().any(|from| stop.change(*from, TAKEOVER)) {
                    takeover::take_over_by(&target.record, &suspend);
                    rounds += 1;
                }
                resume(agent, &target.record);
                target.goes_on();
            }
            over.store(true, Ordering::SeqCst);
        });
        assert!(!has_slept.into_inner(), "who takes over is said to sleep, and only works");
        assert_eq!(
            stopped_at.into_inner(),
            asked_at.into_inner(),
            "it went on before it was waited for"
        );
    }

    /// Several agents suspend the same threads again and again, for moments and for so long that the service
    /// thread takes over. A thread that is stopped does nothing, and goes on when the last has resumed it.
    #[test]
    fn threads_are_stopped_and_go_on_whatever_comes_together() {
        const AGENTS: usize = 3;
        const ROUNDS: usize = 150;
        let targets = [0x10, 0x20].map(Target::new);
        let [over, served] = [const { AtomicBool::new(false) }; 2];
        let (taken_over, mut wrong) = (AtomicU64::new(0), Vec::new());
        let suspend = |_: &Thread| {
            taken_over.fetch_add(1, Ordering::SeqCst);
            SUSPENDED
        };
        thread::scope(|scope| {
            let is_over = || served.load(Ordering::SeqCst);
            let service = scope.spawn(move || takeover::serve_for_test(is_over, suspend));
            for target in &targets {
                scope.spawn(|| target.run(&over));
            }
            let agents: Vec<_> = (0..AGENTS)
                .map(|number| {
                    let targets = &targets;
                    let driven = move |round: usize| {
                        drive(agents::get(number), &targets[(round + number) % 2], round)
                    };
                    scope.spawn(move || (0..ROUNDS).filter_map(driven).collect::<Vec<_>>())
                })
                .collect();
            // Nothing fails before the threads have ended: the scope waits for them.
            for agent in agents {
                wrong.extend(agent.join().unwrap());
            }
            targets.iter().for_each(Target::goes_on);
            over.store(true, Ordering::SeqCst);
            served.store(true, Ordering::SeqCst);
            while !service.is_finished() {
                takeover::wake_for_test();
                thread::yield_now();
            }
        });
        assert_eq!(wrong, Vec::<&str>::new());
        assert!(targets.iter().all(|target| target.record.stop.state() == RUNNING));
        assert!(taken_over.load(Ordering::SeqCst) > 0);
    }

    /// One suspension; what was wrong with it.
    fn drive(agent: &Agent, target: &Target, round: usize) -> Option<&'static str> {
        let stop = &target.record.stop;
        target.suspend(agent);
        let is_suspended = stop.is_suspended();
        if !round.is_multiple_of(4) {
            stop.wait_while(REQUESTED, i64::MAX);
        }
        let before = target.count_if_stopped();
        if round % 8 == 7 {
            // Long enough for the service thread to be asked: see `handler::OVERDUE_AFTER`.
            thread::sleep(Duration::from_millis(3));
        }
        let after = target.count_if_stopped();
        let has_gone_on = before.zip(after).is_some_and(|(before, after)| before != after);
        let is_resumed = resume(agent, &target.record);
        match (is_suspended, has_gone_on, is_resumed) {
            (true, false, true) => None,
            (false, ..) => Some("it was not suspended"),
            (_, true, _) => Some("it went on although it was stopped"),
            _ => Some("it was not resumed"),
        }
    }
}
