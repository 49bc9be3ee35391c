//! The program at a standstill: all its threads but the current one suspended, their stacks and
//! states taken.
//!
//! What agents suspend they resume (`suspension`); this is the shim's own, for the time of a dump.
//! No agent and no Java code runs meanwhile on the requesting thread, and it allocates nothing in the Java
//! heap (`suspending`), so it waits for no other.

use crate::jvm::{self, GlobalRef, Jni, LARGE_FRAME};
use crate::suspending::{self, Suspending};
use crate::translate::frames::Frame;
use crate::world::order::claims::{self, ToSuspend};
use crate::world::suspension::can_suspend::{self, Borrowed};
use crate::world::threads::{self, Thread, virtual_thread};
use crate::world::{classes, tagging, thread_status};
use jni_sys::jint;
use jvmti_sys::{JVMTI_ERROR_WRONG_PHASE, JVMTI_THREAD_STATE_SUSPENDED, jthread, jvmtiFrameInfo};
use std::collections::HashSet;
use std::mem::MaybeUninit;
use std::ptr;
use std::sync::Arc;

/// A suspended thread, or the current one.
pub struct Resting {
    pub thread: Arc<Thread>,
    /// Its frames, the innermost first.
    pub frames: Vec<Frame>,
    /// Its state as JVMTI gives it, but for the suspension.
    pub state: jint,
    /// Its `JVMPI_THREAD_…`.
    pub status: jint,
}

/// The standstill, which ends when this is dropped.
pub struct Standstill {
    /// The live threads, without the shim's own.
    threads: Vec<Resting>,
    suspended: Vec<Arc<GlobalRef>>,
    _suspending: Suspending,
    /// Given back when the threads have been resumed.
    _can_suspend: Borrowed,
    /// Objects that a dump names keep the IDs that it gives them. Released after the threads have
    /// been resumed.
    _claim: ToSuspend,
}

/// How often threads are looked for that were started while the others were being suspended.
const ATTEMPTS: usize = 5;

impl Standstill {
    /// Suspends all threads but the current one, whose `hidden_frames` innermost frames are left
    /// out.
    ///
    /// # Errors
    /// The reason why that is not possible.
    pub fn begin(jni: Jni, current: &Thread, hidden_frames: usize) -> Result<Self, String> {
        let failed = |error: jvm::Error| error.to_string();
        classes::class_fields(jni);
        let mut attempt = 1;
        loop {
            let threads = live(jni, current).map_err(failed)?;
            let standstill = Self::of(&threads, current)?;
            if attempt == ATTEMPTS || includes_all(jni, &threads, current).map_err(failed)? {
                return Ok(standstill.look(jni, &threads, current, hidden_frames));
            }
            attempt += 1;
        }
    }

    fn of(threads: &[Arc<Thread>], current: &Thread) -> Result<Self, String> {
        let claim = claims::to_suspend();
        let can_suspend = can_suspend::borrow()?;
        let suspending = suspending::begin();
        // Nor is the carrier suspended that the current thread runs on.
        let is_other =
            |thread: &&Arc<Thread>| thread.env() != current.env() && !current.runs_in(thread.env());
        let others = threads.iter().filter(is_other);
        let objects: Vec<_> = others.filter_map(|thread| thread.object()).collect();
        let references: Vec<jthread> = objects.iter().map(|object| object.get()).collect();
        let results = if references.is_empty() {
            Ok(Vec::new())
        } else {
            jvm::get().jvmti.suspend_list(&references)
        };
        let results = results.map_err(|error| error.to_string())?;
        // A thread that another JVMTI agent, or the program, has suspended is not ours to resume.
        let suspended = objects.into_iter().zip(results);
        let suspended = suspended.filter_map(|(object, result)| result.is_ok().then_some(object));
        let suspended = suspended.collect();
        Ok(Self {
            threads: Vec::new(),
            suspended,
            _suspending: suspending,
            _can_suspend: can_suspend,
            _claim: claim,
        })
    }

    fn look(
        mut self,
        jni: Jni,
        threads: &[Arc<Thread>],
        current: &Thread,
        hidden_frames: usize,
    ) -> Self {
        let ours: HashSet<_> = self.suspended.iter().map(|object| object.get().addr()).collect();
        for thread in threads {
            let Some(object) = thread.object() else { continue };
            let is_current = thread.env() == current.env();
            let start = if is_current { hidden_frames } else { 0 };
            let state = jvm::get().jvmti.thread_state(object.get()).unwrap_or(0);
            let is_ours = ours.contains(&object.get().addr());
            let hidden = if is_ours || thread.suspension.is_ours() {
                JVMTI_THREAD_STATE_SUSPENDED
            } else {
                0
            };
            let stack = stack(if is_current { ptr::null_mut() } else { object.get() }, start);
            self.threads.push(Resting {
                thread: Arc::clone(thread),
                frames: stack.into_iter().map(|frame| Frame::of_suspended(jni, frame)).collect(),
                state: state & !hidden,
                status: thread_status::of(thread, state & !hidden),
            });
        }
        self
    }

    /// The live threads, without the shim's own.
    pub fn threads(&self) -> &[Resting] {
        &self.threads
    }

    /// Resumes the threads; what was found of them.
    pub fn end(mut self) -> Vec<Resting> {
        std::mem::take(&mut self.threads)
    }
}

impl Drop for Standstill {
    fn drop(&mut self) {
        let references: Vec<jthread> = self.suspended.iter().map(|object| object.get()).collect();
        if references.is_empty() {
            return;
        }
        match jvm::get().jvmti.resume_list(&references) {
            // The VM has ended meanwhile.
            Ok(_) | Err(jvm::Error(JVMTI_ERROR_WRONG_PHASE)) => {}
            Err(error) => log::error!("threads stay suspended after a dump: {error}"),
        }
    }
}

/// The live threads, without the shim's own. The current thread is among them unless it has ended
/// for agents.
fn live(jni: Jni, current: &Thread) -> jvm::Result<Vec<Arc<Thread>>> {
    jni.frame(LARGE_FRAME, |jni| {
        let jvmti = jvm::get().jvmti;
        let running = current.object();
        let all = jvmti.all_threads()?;
        let found = all.iter().filter_map(|object| {
            if running.as_ref().is_some_and(|running| jni.same_object(running.get(), *object)) {
                return threads::by_env(current.env());
            }
            threads::discover(jni, *object).filter(|thread| thread.env() != current.env())
        });
        let found = found.filter(|thread| !thread.is_hidden());
        Ok(found.chain(virtual_threads()).collect())
    })
}

/// The live virtual threads, where these are threads of their own.
fn virtual_threads() -> impl Iterator<Item = Arc<Thread>> {
    let is_live = |thread: &Arc<Thread>| thread.is_virtual() && thread.object().is_some();
    let all = if virtual_thread::are_threads() { threads::all() } else { Vec::new() };
    all.into_iter().filter(is_live)
}

/// Whether no thread lives besides these, those that agents are never shown, and virtual threads that are on no
/// carrier: they come to none while these are suspended.
fn includes_all(jni: Jni, threads: &[Arc<Thread>], current: &Thread) -> jvm::Result<bool> {
    jni.frame(LARGE_FRAME, |_| {
        for object in jvm::get().jvmti.all_threads()?.iter() {
            let id = tagging::tag(*object)?.id();
            let is_known = threads.iter().any(|thread| thread.id() == id)
                || threads::is_hidden_object(id)
                || current.has_ended() && !id.is_null();
            if !is_known {
                return Ok(false);
            }
        }
        let mut mounted = virtual_threads().filter(|thread| thread.os_thread() != 0);
        Ok(mounted.all(|thread| threads.iter().any(|known| known.env() == thread.env())))
    })
}

/// All frames of a thread, NULL for the current one, without the `start` innermost ones.
fn stack(thread: jthread, start: usize) -> Vec<jvmtiFrameInfo> {
    let mut room = vec![MaybeUninit::uninit(); 128];
    loop {
        let walked = jvm::get().jvmti.stack_trace(thread, start, &mut room).unwrap_or(0);
        if walked < room.len() {
            room.truncate(walked);
            // SAFETY: the walk wrote that many frames.
            return room.into_iter().map(|frame| unsafe { frame.assume_init() }).collect();
        }
        room.resize(room.len() * 4, MaybeUninit::uninit());
    }
}
