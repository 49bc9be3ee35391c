//! Walks through the heap from the GC roots, and the suspension of all other threads meanwhile.
//!
//! HotSpot can crash if a virtual thread is created during a walk (`JvmtiEnvBase::is_vthread_alive`). So all other threads
//! are suspended, unless the program has no virtual threads. For a dump they are suspended in any case.
//!
//! Suspensions by agents are in `suspension`; this one is the shim's own. Meanwhile the current thread runs no agent's
//! code and no Java code, and allocates nothing in the Java heap (`suspending`), so it waits for no other thread.

use super::deaths;
use crate::classes;
use crate::records::ids;
use crate::sync::vm_locks::{self, ForSuspending};
use crate::threads::{self, Thread};
use jvm::capabilities::{self, BorrowedSuspension};
use jvm::heap::Visitor;
use jvm::platform::cpu_clock;
use jvm::suspending::{self, Suspending};
use jvm::types::{JVMTI_ERROR_WRONG_PHASE, jthread};
use jvm::{GlobalRef, Jni, Jvmti, LARGE_FRAME, virtual_threads};
use std::collections::HashSet;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

/// Suspends the other threads if necessary, walks, and resumes them.
///
/// # Errors
/// Returns the reason why that is not possible.
pub fn from_roots<V: Visitor>(
    jni: Jni,
    current: &Thread,
    jvmti: Jvmti,
    visitor: &mut V,
) -> Result<(), String> {
    if suspending::is_suspending() {
        return Err("the thread has suspended others".to_owned());
    }
    let has_virtual_threads = threads::internally(jni, || virtual_threads::get(jni).is_some());
    let stopped = match has_virtual_threads {
        true => Some(Stopped::begin(jni, current)?.0),
        false => None,
    };
    Ok(walk(stopped.as_ref(), jvmti, visitor)?)
}

/// Walks. Without a [`Stopped`] there are no virtual threads.
fn walk<V: Visitor>(_: Option<&Stopped>, jvmti: Jvmti, visitor: &mut V) -> jvm::Result<()> {
    // SAFETY: no virtual thread is being created: `Stopped` has checked the suspended threads, or there are none.
    deaths::during_walk(|| unsafe { jvmti.follow_from_roots(visitor) })
}

/// The suspension of all threads except the current one. It lasts until this is dropped.
pub struct Stopped {
    suspended: Vec<Arc<GlobalRef>>,
    /// The addresses of the references in `suspended`.
    addresses: HashSet<usize>,
    /// The virtual threads that agents have suspended, if this suspends all virtual threads.
    all_virtual: Option<Vec<Arc<GlobalRef>>>,
    _suspending: Suspending,
    /// Given back after the threads have been resumed.
    _can_suspend: BorrowedSuspension,
    /// Keeps the IDs that a dump names from changing. Released after the threads have been resumed.
    _lock: ForSuspending,
}

/// The number of attempts if further threads are started while the others are being suspended.
const ATTEMPTS: usize = 5;
/// The limit of CPU time and pauses for the attempts while threads are creating virtual threads. One takes some microseconds.
const MAKING_LIMIT: Duration = Duration::from_secs(1);
/// The time for which threads run before the next attempt. No result depends on it: the next attempt checks again.
const PAUSE: Duration = Duration::from_millis(1);

impl Stopped {
    /// Suspends all threads but the current one. Returns the live threads too, without the shim's own.
    ///
    /// # Errors
    /// Returns the reason why that is not possible.
    pub fn begin(jni: Jni, current: &Thread) -> Result<(Self, Vec<Arc<Thread>>), String> {
        classes::class_fields(jni);
        let (mut attempt, mut paused, start) = (1, Duration::ZERO, cpu_clock::current());
        loop {
            let of_virtual = threads::internally(jni, || virtual_threads::making(jni));
            let threads = live(jni, current)?;
            let stopped = Self::of(jni, &threads, current, of_virtual.is_some())?;
            // Agents may have suspended some of these threads before.
            let is_making = |thread: &Arc<Thread>| {
                let object = thread.object().filter(|_| thread.env() != current.env());
                let both = of_virtual.zip(object);
                both.is_some_and(|(making, object)| making.is_done_by(jni, object.get()))
            };
            if threads.iter().any(is_making) {
                let computed = Duration::from_nanos((cpu_clock::current() - start) as u64);
                if computed + paused >= MAKING_LIMIT {
                    return Err("a thread is always creating a virtual thread".to_owned());
                }
                paused += PAUSE;
                // Threads continue now. They need a processor, which the current thread may have occupied.
                drop(stopped);
                thread::sleep(PAUSE);
                continue;
            }
            if attempt == ATTEMPTS || includes_all(jni, &threads, current)? {
                return Ok((stopped, threads));
            }
            attempt += 1;
        }
    }

    fn of(
        jni: Jni,
        threads: &[Arc<Thread>],
        current: &Thread,
        with_virtual: bool,
    ) -> Result<Self, String> {
        let lock = vm_locks::for_suspending();
        let can_suspend = capabilities::borrow_suspension(jvm::get().jvmti).map_err(|_| {
            "the program cannot be brought to a standstill, as another agent, such as a debugger, has \
             can_suspend, which only one can have"
        })?;
        let suspending = suspending::begin();
        let mut stopped = Self {
            suspended: Vec::new(),
            addresses: HashSet::new(),
            all_virtual: None,
            _suspending: suspending,
            _can_suspend: can_suspend,
            _lock: lock,
        };
        if with_virtual {
            suspend_virtual(jni)?;
            let by_agents = threads
                .iter()
                .filter(|thread| thread.is_virtual() && thread.suspension.is_suspended());
            stopped.all_virtual = Some(by_agents.filter_map(|thread| thread.object()).collect());
        }
        // The carrier that the current thread runs on is not suspended either.
        let is_other = |thread: &&Arc<Thread>| {
            thread.env() != current.env()
                && !current.runs_in(thread.env())
                && !(with_virtual && thread.is_virtual())
        };
        let others = threads.iter().filter(is_other);
        let objects: Vec<_> = others.filter_map(|thread| thread.object()).collect();
        let references: Vec<jthread> = objects.iter().map(|object| object.get()).collect();
        let results = if references.is_empty() {
            Ok(Vec::new())
        } else {
            jvm::get().jvmti.suspend_list(&references)
        };
        // A thread that another JVMTI agent or the program has suspended must not be resumed by the shim.
        let suspended = objects.into_iter().zip(results?);
        let suspended = suspended.filter_map(|(object, result)| result.is_ok().then_some(object));
        stopped.suspended.extend(suspended);
        stopped.addresses = stopped.suspended.iter().map(|object| object.get().addr()).collect();
        Ok(stopped)
    }

    pub fn walk_from_roots<V: Visitor>(&self, visitor: &mut V) -> jvm::Result<()> {
        walk(Some(self), jvm::get().jvmti, visitor)
    }

    /// Returns true if this suspension includes the thread.
    pub fn has_suspended(&self, thread: &Thread, object: jthread) -> bool {
        thread.is_virtual() && self.all_virtual.is_some() || self.addresses.contains(&object.addr())
    }
}

/// Suspends all virtual threads but the current one.
fn suspend_virtual(jni: Jni) -> jvm::Result<()> {
    let jvmti = jvm::get().jvmti;
    capabilities::take_virtual_threads(jvmti)?;
    jni.frame(4, |jni| {
        let current = jvmti.current_thread()?;
        let except: &[jthread] = if jni.is_virtual(current) { &[current] } else { &[] };
        jvmti.suspend_all_virtual(except)
    })
}

impl Drop for Stopped {
    fn drop(&mut self) {
        let jvmti = jvm::get().jvmti;
        let references: Vec<jthread> = self.suspended.iter().map(|object| object.get()).collect();
        let resumed =
            if references.is_empty() { Ok(()) } else { jvmti.resume_list(&references).map(drop) };
        let all_virtual = self.all_virtual.as_ref().map_or(Ok(()), |by_agents| {
            let except: Vec<jthread> = by_agents.iter().map(|object| object.get()).collect();
            jvmti.resume_all_virtual(&except)
        });
        match resumed.and(all_virtual) {
            // The VM has ended meanwhile.
            Ok(()) | Err(jvm::Error(JVMTI_ERROR_WRONG_PHASE)) => {}
            Err(error) => log::error!("threads stay suspended: {error}"),
        }
    }
}

/// Returns the live threads, without the shim's own. The current thread is included unless it has ended for agents.
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

/// Returns the live virtual threads, if these are JVMPI threads of their own.
fn virtual_threads() -> impl Iterator<Item = Arc<Thread>> {
    let is_live = |thread: &Arc<Thread>| thread.is_virtual() && thread.object().is_some();
    threads::all().into_iter().filter(is_live)
}

/// Returns true if `threads` has all live threads, apart from hidden ones and virtual threads without a carrier.
/// Unmounted virtual threads get no carrier while the threads in `threads` are suspended.
fn includes_all(jni: Jni, threads: &[Arc<Thread>], current: &Thread) -> jvm::Result<bool> {
    jni.frame(LARGE_FRAME, |_| {
        for object in jvm::get().jvmti.all_threads()?.iter() {
            let id = ids::tag(*object)?.id();
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
