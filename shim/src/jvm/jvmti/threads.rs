//! Threads and their groups.

use super::{Allocated, Jvmti, jvmti};
use crate::jvm::error::{Error, Result};
use jni_sys::{JNIEnv, jint, jlong, jobject};
use jvmti_sys::*;
use std::ffi::{CString, c_void};
use std::mem::MaybeUninit;
use std::ptr;

/// What `GetThreadInfo` returns, references in the current frame.
pub struct ThreadInfo {
    /// The thread's name, modified UTF-8.
    pub name: CString,
    /// Its `ThreadGroup`, NULL when the thread has ended.
    pub group: jobject,
}

/// What `GetThreadGroupInfo` returns.
pub struct GroupInfo {
    /// The group's name, modified UTF-8.
    pub name: CString,
    /// The parent group, NULL at the top.
    pub parent: jobject,
}

impl Jvmti {
    /// The frames of a thread, NULL for the current one, without the `start` innermost ones; how
    /// many were written.
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

    /// All live platform threads, references in the current frame.
    pub fn all_threads(self) -> Result<Allocated<jthread>> {
        let (mut count, mut threads) = (0, ptr::null_mut());
        jvmti!(self, GetAllThreads, &mut count, &mut threads)?;
        Ok(self.array(threads, count))
    }

    /// The current thread, a reference in the current frame; NULL while it is being attached.
    pub fn current_thread(self) -> Result<jthread> {
        let mut thread = ptr::null_mut();
        jvmti!(self, GetCurrentThread, &mut thread)?;
        Ok(thread)
    }

    pub fn thread_info(self, thread: jthread) -> Result<ThreadInfo> {
        let mut info = MaybeUninit::<jvmtiThreadInfo>::zeroed();
        jvmti!(self, GetThreadInfo, thread, info.as_mut_ptr())?;
        // SAFETY: JVMTI filled the structure in.
        let info = unsafe { info.assume_init() };
        Ok(ThreadInfo { name: self.string(info.name), group: info.thread_group })
    }

    /// The thread groups without a parent, references in the current frame.
    pub fn top_thread_groups(self) -> Result<Allocated<jobject>> {
        let (mut count, mut groups) = (0, ptr::null_mut());
        jvmti!(self, GetTopThreadGroups, &mut count, &mut groups)?;
        Ok(self.array(groups, count))
    }

    pub fn group_info(self, group: jobject) -> Result<GroupInfo> {
        let mut info = MaybeUninit::<jvmtiThreadGroupInfo>::zeroed();
        jvmti!(self, GetThreadGroupInfo, group, info.as_mut_ptr())?;
        // SAFETY: JVMTI filled the structure in.
        let info = unsafe { info.assume_init() };
        Ok(GroupInfo { name: self.string(info.name), parent: info.parent })
    }

    /// The bits `JVMTI_THREAD_STATE_*`.
    pub fn thread_state(self, thread: jthread) -> Result<jint> {
        let mut state = 0;
        jvmti!(self, GetThreadState, thread, &mut state)?;
        Ok(state)
    }

    pub fn suspend(self, thread: jthread) -> Result<()> {
        jvmti!(self, SuspendThread, thread)
    }

    pub fn resume(self, thread: jthread) -> Result<()> {
        jvmti!(self, ResumeThread, thread)
    }

    /// Suspends threads; what became of each.
    pub fn suspend_list(self, threads: &[jthread]) -> Result<Vec<Result<()>>> {
        let mut results = vec![0; threads.len()];
        let (count, results_at) = (threads.len() as jint, results.as_mut_ptr());
        jvmti!(self, SuspendThreadList, count, threads.as_ptr(), results_at)?;
        Ok(results.into_iter().map(Error::check).collect())
    }

    /// Resumes threads; what became of each.
    pub fn resume_list(self, threads: &[jthread]) -> Result<Vec<Result<()>>> {
        let mut results = vec![0; threads.len()];
        let (count, results_at) = (threads.len() as jint, results.as_mut_ptr());
        jvmti!(self, ResumeThreadList, count, threads.as_ptr(), results_at)?;
        Ok(results.into_iter().map(Error::check).collect())
    }

    /// Suspends all virtual threads but these. JDK 21 and later.
    pub fn suspend_all_virtual(self, except: &[jthread]) -> Result<()> {
        jvmti!(self, SuspendAllVirtualThreads, except.len() as jint, except.as_ptr())
    }

    /// Resumes all virtual threads but these. JDK 21 and later.
    pub fn resume_all_virtual(self, except: &[jthread]) -> Result<()> {
        jvmti!(self, ResumeAllVirtualThreads, except.len() as jint, except.as_ptr())
    }

    /// The thread's CPU time in nanoseconds.
    pub fn thread_cpu_time(self, thread: jthread) -> Result<jlong> {
        let mut nanos = 0;
        jvmti!(self, GetThreadCpuTime, thread, &mut nanos)?;
        Ok(nanos)
    }

    /// Starts a daemon thread that runs `start` with `argument`.
    ///
    /// # Safety
    /// `start` may be called with `argument` on another thread.
    pub unsafe fn run_agent_thread(
        self,
        thread: jthread,
        start: unsafe extern "system" fn(*mut jvmtiEnv, *mut JNIEnv, *mut c_void),
        argument: *mut c_void,
        priority: jint,
    ) -> Result<()> {
        jvmti!(self, RunAgentThread, thread, Some(start), argument, priority)
    }
}
