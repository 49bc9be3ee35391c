//! The state of threads, and suspending them.

use crate::context::mode::Loaded;
use crate::{Context, GcDisabled, Stopped, ThreadId};
use jni_sys::{JNIEnv, jint};
use jvmpi_sys::{
    JVMPI_THREAD_CONDVAR_WAIT, JVMPI_THREAD_INTERRUPTED, JVMPI_THREAD_MONITOR_WAIT,
    JVMPI_THREAD_RUNNABLE, JVMPI_THREAD_SUSPENDED,
};
use std::marker::PhantomData;
use std::ops::Deref;

/// What a thread does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ThreadState {
    /// Runs or could run.
    Runnable,
    /// Blocked on entry to a monitor.
    MonitorWait,
    /// Waiting to be notified.
    CondvarWait,
}

/// What GetThreadStatus and monitor dumps tell of a thread.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ThreadStatus {
    /// What it does.
    pub state: ThreadState,
    /// Whether it is suspended; that the agent itself has done so need not show.
    pub suspended: bool,
    /// Whether it is interrupted.
    pub interrupted: bool,
}

impl ThreadStatus {
    /// None for 0, no such thread, and for what is not in the specification.
    pub(crate) fn of(status: jint) -> Option<Self> {
        let bits = JVMPI_THREAD_SUSPENDED | JVMPI_THREAD_INTERRUPTED;
        let state = match status & !bits {
            JVMPI_THREAD_RUNNABLE => ThreadState::Runnable,
            JVMPI_THREAD_MONITOR_WAIT => ThreadState::MonitorWait,
            JVMPI_THREAD_CONDVAR_WAIT => ThreadState::CondvarWait,
            _ => return None,
        };
        Some(Self {
            state,
            suspended: status & JVMPI_THREAD_SUSPENDED != 0,
            interrupted: status & JVMPI_THREAD_INTERRUPTED != 0,
        })
    }
}

/// Threads to suspend. To be kept, so that it need not be allocated each time.
#[derive(Debug, Default)]
pub struct ThreadList {
    envs: Vec<*mut JNIEnv>,
    /// 0 for each that is suspended.
    results: Vec<jint>,
}

// SAFETY: an environment is only an ID here.
unsafe impl Send for ThreadList {}
// SAFETY: as above.
unsafe impl Sync for ThreadList {}

impl ThreadList {
    /// An empty list.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a thread.
    pub fn push(&mut self, thread: ThreadId) {
        self.envs.push(thread.as_ptr());
    }

    /// Takes all out.
    pub fn clear(&mut self) {
        self.envs.clear();
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.envs.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.envs.is_empty()
    }
}

impl Extend<ThreadId> for ThreadList {
    fn extend<I: IntoIterator<Item = ThreadId>>(&mut self, threads: I) {
        self.envs.extend(threads.into_iter().map(ThreadId::as_ptr));
    }
}

impl FromIterator<ThreadId> for ThreadList {
    fn from_iter<I: IntoIterator<Item = ThreadId>>(threads: I) -> Self {
        let mut list = Self::new();
        list.extend(threads);
        list
    }
}

/// No thread has this result yet.
const NOT_SUSPENDED: jint = 1;

impl<'e> GcDisabled<'e> {
    /// SuspendThreadList, or SuspendThread for each before JVMPI 1.2: suspends these threads until the
    /// guard is dropped. In between, the guard is the context.
    ///
    /// The current thread is not suspended, nor are threads that are gone.
    pub fn suspend<'a>(&'a mut self, threads: &'a mut ThreadList) -> Suspended<'a, 'e> {
        let ThreadList { envs, results } = threads;
        let own = self.current();
        envs.retain(|env| Some(*env) != own);
        results.clear();
        results.resize(envs.len(), NOT_SUSPENDED);
        let table = self.table();
        // SAFETY: GC is disabled, and stays so until the guard is dropped, which borrows what disables
        // it. Both lists are that long. Bad threads do nothing.
        unsafe {
            match table.SuspendThreadList {
                Some(suspend) => suspend(length(envs), envs.as_mut_ptr(), results.as_mut_ptr()),
                None => {
                    for (env, result) in envs.iter().zip(&mut *results) {
                        (table.SuspendThread)(*env);
                        *result = 0;
                    }
                }
            }
        }
        // SAFETY: that is the mode until the guard is dropped, which keeps `self` from being used.
        Suspended { context: unsafe { self.in_mode() }, threads, outer: PhantomData }
    }
}

fn length(envs: &[*mut JNIEnv]) -> jint {
    jint::try_from(envs.len()).unwrap_or(jint::MAX)
}

/// Keeps threads suspended until it is dropped; in between, it is the context.
#[derive(Debug)]
#[must_use = "the threads are resumed when this is dropped"]
pub struct Suspended<'a, 'e> {
    context: Stopped<'e>,
    threads: &'a mut ThreadList,
    /// The context from before, which must not be used meanwhile.
    outer: PhantomData<&'a mut ()>,
}

impl Suspended<'_, '_> {
    /// The threads that are suspended.
    pub fn threads(&self) -> impl Iterator<Item = ThreadId> + '_ {
        let results = self.threads.envs.iter().zip(&self.threads.results);
        results.filter(|(_, result)| **result == 0).filter_map(|(env, _)| ThreadId::of(*env))
    }

    /// ResumeThread: lets one of them go on before the others.
    pub fn resume(&mut self, thread: ThreadId) {
        let ThreadList { envs, results } = &mut *self.threads;
        for (env, result) in envs.iter().zip(results) {
            if *env == thread.as_ptr() && *result == 0 {
                // SAFETY: it was suspended by this.
                unsafe { (self.context.table().ResumeThread)(*env) };
                *result = NOT_SUSPENDED;
            }
        }
    }
}

impl<'e> Deref for Suspended<'_, 'e> {
    type Target = Stopped<'e>;

    fn deref(&self) -> &Stopped<'e> {
        &self.context
    }
}

impl Drop for Suspended<'_, '_> {
    fn drop(&mut self) {
        let resume = self.context.table().ResumeThread;
        for (env, result) in self.threads.envs.iter().zip(&self.threads.results) {
            if *result == 0 {
                // SAFETY: it was suspended by this.
                unsafe { resume(*env) };
            }
        }
    }
}

impl<M: Loaded> Context<'_, M> {
    /// ThreadHasRun: of a thread that was suspended, resumed, and is suspended again, whether it used CPU
    /// time in between.
    ///
    /// Of a thread that is not suspended, `libjvmpi.so` tells whether it is runnable and has used CPU time since
    /// the answer was last yes, and has it take its trace for the next [`Context::call_trace`].
    pub fn thread_has_run(&self, thread: ThreadId) -> bool {
        // SAFETY: may be called in this mode; bad threads give false.
        unsafe { (self.table().ThreadHasRun)(thread.as_ptr()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_is_a_state_and_bits() {
        let of =
            |state, suspended, interrupted| Some(ThreadStatus { state, suspended, interrupted });
        assert_eq!(ThreadStatus::of(1), of(ThreadState::Runnable, false, false));
        assert_eq!(ThreadStatus::of(0x8002), of(ThreadState::MonitorWait, true, false));
        assert_eq!(ThreadStatus::of(0xc003), of(ThreadState::CondvarWait, true, true));
        assert_eq!(ThreadStatus::of(0), None);
        assert_eq!(ThreadStatus::of(0x4000), None);
        assert_eq!(ThreadStatus::of(-1), None);
    }
}
