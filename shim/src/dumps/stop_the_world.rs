//! Stop-the-world: suspends all threads but the current one, and records their stacks and
//! states.

use crate::classes::stopped::Stopped;
use crate::suspension::thread_status;
use crate::threads::Thread;
use crate::translate::frames::Frame;
use jni_sys::jint;
use jvm::Jni;
use jvm::types::JVMTI_THREAD_STATE_SUSPENDED;
use std::ptr;
use std::sync::Arc;

/// A suspended thread, or the current one.
pub struct SuspendedThread {
    pub thread: Arc<Thread>,
    /// The thread's frames, innermost first.
    pub frames: Vec<Frame>,
    /// The thread's JVMTI state, without our suspension.
    pub state: jint,
    /// The thread's `JVMPI_THREAD_…` status.
    pub status: jint,
}

/// The suspension of the program, which ends when this is dropped.
pub struct StopTheWorld {
    /// The live threads, without the shim's own.
    threads: Vec<SuspendedThread>,
    stopped: Stopped,
}

impl StopTheWorld {
    /// Suspends all threads but the current one, and omits the current thread's `hidden_frames`
    /// innermost frames.
    ///
    /// # Errors
    /// Returns the reason why that is not possible.
    pub fn begin(jni: Jni, current: &Thread, hidden_frames: usize) -> Result<Self, String> {
        let (stopped, threads) = Stopped::begin(jni, current)?;
        let stop_the_world = Self { threads: Vec::new(), stopped };
        Ok(stop_the_world.look(jni, &threads, current, hidden_frames))
    }

    fn look(
        mut self,
        jni: Jni,
        threads: &[Arc<Thread>],
        current: &Thread,
        hidden_frames: usize,
    ) -> Self {
        for thread in threads {
            let Some(object) = thread.object() else { continue };
            let is_current = thread.env() == current.env();
            let start = if is_current { hidden_frames } else { 0 };
            let state = jvm::get().jvmti.thread_state(object.get()).unwrap_or(0);
            let is_ours = self.stopped.has_suspended(thread, object.get());
            let hidden = if is_ours || thread.suspension.is_ours() {
                JVMTI_THREAD_STATE_SUSPENDED
            } else {
                0
            };
            let walked = if is_current { ptr::null_mut() } else { object.get() };
            let stack = jvm::get().jvmti.whole_stack(walked, start);
            self.threads.push(SuspendedThread {
                thread: Arc::clone(thread),
                frames: stack.into_iter().map(|frame| Frame::of_suspended(jni, frame)).collect(),
                state: state & !hidden,
                status: thread_status::of(thread, state & !hidden),
            });
        }
        self
    }

    /// Returns the live threads, without the shim's own.
    pub fn threads(&self) -> &[SuspendedThread] {
        &self.threads
    }

    /// Returns the suspension of the other threads.
    pub fn stopped(&self) -> &Stopped {
        &self.stopped
    }

    /// Resumes the threads. Returns what was recorded about them.
    pub fn end(mut self) -> Vec<SuspendedThread> {
        std::mem::take(&mut self.threads)
    }
}
