//! The status of threads, and suspending them.

use crate::context::mode::Loaded;
use crate::{Context, GcDisabled, Stopped, ThreadId, ThreadState};
use jni_sys::{JNIEnv, jint};
use jvmpi_sys::{
    JVMPI_THREAD_CONDVAR_WAIT, JVMPI_THREAD_INTERRUPTED, JVMPI_THREAD_MONITOR_WAIT,
    JVMPI_THREAD_RUNNABLE, JVMPI_THREAD_SUSPENDED,
};
use std::marker::PhantomData;
use std::ops::Deref;

/// The status of a thread, as GetThreadStatus and monitor dumps report it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ThreadStatus {
    /// The state.
    pub state: ThreadState,
    /// True if the thread is suspended. A suspension by the agent itself need not show here.
    pub suspended: bool,
    /// True if the thread is interrupted.
    pub interrupted: bool,
}

impl ThreadStatus {
    /// Decodes a status. Returns `None` for 0, which means no such thread, and for undefined values.
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

/// A list of threads to suspend. Reuse it to avoid an allocation per sample.
#[derive(Debug, Default)]
pub struct ThreadList {
    envs: Vec<*mut JNIEnv>,
    /// One result per thread: 0 if it is suspended.
    results: Vec<jint>,
}

// SAFETY: the environments are never dereferenced here; the VM accepts them from any thread.
unsafe impl Send for ThreadList {}
// SAFETY: as above.
unsafe impl Sync for ThreadList {}

impl ThreadList {
    /// Creates an empty list.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a thread.
    pub fn push(&mut self, thread: ThreadId) {
        self.envs.push(thread.as_ptr());
    }

    /// Removes all threads.
    pub fn clear(&mut self) {
        self.envs.clear();
    }

    /// Returns the number of threads.
    pub fn len(&self) -> usize {
        self.envs.len()
    }

    /// Returns true if the list is empty.
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

/// The result of a thread that is not suspended.
const NOT_SUSPENDED: jint = 1;

impl<'e> GcDisabled<'e> {
    /// SuspendThreadList, or SuspendThread per thread before JVMPI 1.2: suspends threads until the guard is
    /// dropped. The guard dereferences to the context for that time.
    ///
    /// The current thread and threads that have ended are skipped.
    pub fn suspend<'a>(&'a mut self, threads: &'a mut ThreadList) -> Suspended<'a, 'e> {
        let ThreadList { envs, results } = threads;
        let own = self.current();
        envs.retain(|env| Some(*env) != own);
        results.clear();
        results.resize(envs.len(), NOT_SUSPENDED);
        let table = self.table();
        // SAFETY: GC is disabled and stays so until the guard is dropped, as the guard borrows the context. Both
        // lists have the given length. Invalid threads have no effect.
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
        // SAFETY: threads are suspended until the guard is dropped, and the guard borrows `self` until then.
        Suspended { context: unsafe { self.in_mode() }, threads, outer: PhantomData }
    }
}

fn length(envs: &[*mut JNIEnv]) -> jint {
    jint::try_from(envs.len()).unwrap_or(jint::MAX)
}

/// A guard that keeps threads suspended until it is dropped. It dereferences to the context for that time.
#[derive(Debug)]
#[must_use = "the threads are resumed when this is dropped"]
pub struct Suspended<'a, 'e> {
    context: Stopped<'e>,
    threads: &'a mut ThreadList,
    /// Borrows the context from before, which must not be used meanwhile.
    outer: PhantomData<&'a mut ()>,
}

impl Suspended<'_, '_> {
    /// Returns the threads that are suspended.
    pub fn threads(&self) -> impl Iterator<Item = ThreadId> + '_ {
        let results = self.threads.envs.iter().zip(&self.threads.results);
        results.filter(|(_, result)| **result == 0).filter_map(|(env, _)| ThreadId::of(*env))
    }

    /// ResumeThread: resumes one of the threads before the others.
    pub fn resume(&mut self, thread: ThreadId) {
        let ThreadList { envs, results } = &mut *self.threads;
        for (env, result) in envs.iter().zip(results) {
            if *env == thread.as_ptr() && *result == 0 {
                // SAFETY: `suspend` suspended this thread.
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
                // SAFETY: `suspend` suspended this thread.
                unsafe { resume(*env) };
            }
        }
    }
}

impl<M: Loaded> Context<'_, M> {
    /// GetThreadStatus: returns the status of a thread, or `None` if there is no such thread.
    pub fn thread_status(&self, thread: ThreadId) -> Option<ThreadStatus> {
        // SAFETY: GetThreadStatus accepts invalid threads.
        ThreadStatus::of(unsafe { (self.table().GetThreadStatus)(thread.as_ptr()) })
    }

    /// ThreadHasRun: returns true if the thread used CPU time between two suspensions.
    ///
    /// `libjvmpi.so` also answers for a thread that is not suspended: true if it is runnable and has used CPU
    /// time since the last true. It also makes the thread record its stack trace for the next
    /// [`Context::call_trace`].
    pub fn thread_has_run(&self, thread: ThreadId) -> bool {
        // SAFETY: this mode permits the call; an invalid thread yields false.
        unsafe { (self.table().ThreadHasRun)(thread.as_ptr()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn status_is_split_into_state_and_flags() {
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
