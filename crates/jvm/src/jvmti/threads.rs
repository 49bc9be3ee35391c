//! Threads and their groups.

use super::{Error, Jvmti, Result, functions, jvmti};
use jni_sys::{JNIEnv, jint, jlong, jobject};
use jvmpi_jvmti_sys::*;
use std::ffi::{CString, c_void};
use std::mem::MaybeUninit;

/// The result of `GetThreadInfo`, with local references.
pub struct ThreadInfo {
    /// The name of the thread, in modified UTF-8.
    pub name: CString,
    /// The `ThreadGroup`; NULL if the thread has ended.
    pub group: jobject,
}

/// The result of `GetThreadGroupInfo`, with local references.
pub struct GroupInfo {
    /// The name of the group, in modified UTF-8.
    pub name: CString,
    /// The parent group; NULL for a top-level group.
    pub parent: jobject,
}

functions! {
    /// Returns all live platform threads as local references.
    pub fn all_threads() -> Array<jthread> = GetAllThreads();
    /// Returns the current thread as a local reference; NULL while it is being attached.
    pub fn current_thread() -> Value<jthread> = GetCurrentThread();
    /// Returns the thread groups without a parent as local references.
    pub(crate) fn top_thread_groups() -> Array<jobject> = GetTopThreadGroups();
    pub fn thread_state(thread: jthread) -> Value<jint> = GetThreadState(thread);
    pub fn suspend(thread: jthread) -> Action = SuspendThread(thread);
    pub fn resume(thread: jthread) -> Action = ResumeThread(thread);
    /// Suspends all virtual threads except these. JDK 21 and later.
    pub fn suspend_all_virtual(except: &[jthread]) -> Action
        = SuspendAllVirtualThreads(except.len() as jint, except.as_ptr());
    /// Resumes all virtual threads except these. JDK 21 and later.
    pub fn resume_all_virtual(except: &[jthread]) -> Action
        = ResumeAllVirtualThreads(except.len() as jint, except.as_ptr());
    pub fn thread_cpu_time(thread: jthread) -> Value<jlong> = GetThreadCpuTime(thread);
}

impl Jvmti {
    /// Writes the frames of a thread, without the `start` innermost ones, and returns their number. A NULL thread is
    /// the current one.
    pub fn stack_trace(
        self,
        thread: jthread,
        start: usize,
        frames: &mut [MaybeUninit<jvmtiFrameInfo>],
    ) -> Result<usize> {
        let (depth, mut count) = (jint::try_from(frames.len()).unwrap_or(jint::MAX), 0);
        jvmti!(
            self,
            GetStackTrace,
            thread,
            start as jint,
            depth,
            frames.as_mut_ptr().cast(),
            &mut count
        )?;
        Ok(count as usize)
    }

    /// Returns all frames of a thread, without the `start` innermost ones; none if it has ended. A NULL thread is the
    /// current one.
    pub fn whole_stack(self, thread: jthread, start: usize) -> Vec<jvmtiFrameInfo> {
        let mut frames = Vec::with_capacity(256);
        loop {
            let places = frames.spare_capacity_mut();
            let walked = self.stack_trace(thread, start, places).unwrap_or(0);
            if walked < places.len() {
                // SAFETY: the walk wrote that many frames.
                unsafe { frames.set_len(walked) };
                return frames;
            }
            frames.reserve(4 * frames.capacity());
        }
    }

    pub fn thread_info(self, thread: jthread) -> Result<ThreadInfo> {
        let mut info = jvmtiThreadInfo::default();
        jvmti!(self, GetThreadInfo, thread, &mut info)?;
        Ok(ThreadInfo { name: self.string(info.name), group: info.thread_group })
    }

    pub fn group_info(self, group: jobject) -> Result<GroupInfo> {
        let mut info = jvmtiThreadGroupInfo::default();
        jvmti!(self, GetThreadGroupInfo, group, &mut info)?;
        Ok(GroupInfo { name: self.string(info.name), parent: info.parent })
    }

    /// Suspends threads. Returns a result for each.
    pub fn suspend_list(self, threads: &[jthread]) -> Result<Vec<Result<()>>> {
        let mut results = vec![0; threads.len()];
        let (count, results_at) = (threads.len() as jint, results.as_mut_ptr());
        jvmti!(self, SuspendThreadList, count, threads.as_ptr(), results_at)?;
        Ok(results.into_iter().map(Error::check).collect())
    }

    /// Resumes threads. Returns a result for each.
    pub fn resume_list(self, threads: &[jthread]) -> Result<Vec<Result<()>>> {
        let mut results = vec![0; threads.len()];
        let (count, results_at) = (threads.len() as jint, results.as_mut_ptr());
        jvmti!(self, ResumeThreadList, count, threads.as_ptr(), results_at)?;
        Ok(results.into_iter().map(Error::check).collect())
    }

    /// Starts a daemon thread that calls `start` with `argument`.
    ///
    /// # Safety
    /// `start` may be called with `argument` on another thread.
    pub(crate) unsafe fn run_agent_thread(
        self,
        thread: jthread,
        start: unsafe extern "system" fn(*mut jvmtiEnv, *mut JNIEnv, *mut c_void),
        argument: *mut c_void,
        priority: jint,
    ) -> Result<()> {
        jvmti!(self, RunAgentThread, thread, Some(start), argument, priority)
    }
}
