//! The monitors that threads have locked, read from `jdk.internal.vm.ThreadSnapshot` of JDK 25. JVMTI does not report
//! the monitor in which a thread waits, nor a virtual thread's entry counts.
//!
//! Taking a snapshot allocates Java objects, so all snapshots are taken before the threads are suspended. A thread that
//! used no CPU time in between has not run, so its snapshot is still valid. Otherwise the dump starts again.

use crate::gc::lookup;
use crate::suspension::thread_state::cpu_time;
use crate::threads::{self, Thread};
use jni_sys::jobject;
use jvm::types::JVMTI_THREAD_STATE_IN_OBJECT_WAIT;
use jvm::{Jni, thread_snapshot};
use jvmpi_sys::jobjectID;
use std::cell::{Cell, RefCell};
use std::collections::HashMap;

/// The snapshots of threads, by the IDs of their Thread objects. Their local references belong to the current frame.
pub struct Snapshots {
    /// False before JDK 25.
    pub are_available: bool,
    by_thread: HashMap<usize, Snapshot>,
    /// The virtual threads whose snapshots were missing.
    missing: RefCell<Vec<jobjectID>>,
    is_exact: Cell<bool>,
}

struct Snapshot {
    /// The objects that the thread has locked, once per entry, and the object that it waits in.
    locked: Vec<jobject>,
    /// The thread's CPU time just before the snapshot.
    cpu: Option<i64>,
}

impl Snapshots {
    /// Takes the snapshots of waiting threads, of virtual threads that are JVMPI threads of their own, and of the
    /// threads that were missing in the previous attempt.
    pub fn take(jni: Jni, missing: &[jobjectID]) -> Self {
        let snapshots = thread_snapshot::get(jni);
        let mut all = Self {
            are_available: snapshots.is_some(),
            by_thread: HashMap::new(),
            missing: RefCell::new(missing.to_vec()),
            is_exact: Cell::new(true),
        };
        let Some(snapshots) = snapshots else { return all };
        for thread in threads::all().into_iter().filter(|thread| !thread.is_hidden()) {
            let Some(object) = thread.object() else { continue };
            let cpu = cpu_time(&thread);
            let state = jvm::get().jvmti.thread_state(object.get()).unwrap_or(0);
            let may_be_asked =
                thread.is_virtual() || state & JVMTI_THREAD_STATE_IN_OBJECT_WAIT != 0;
            if may_be_asked && let Some(locked) = snapshots.locked(jni, object.get()) {
                all.by_thread.insert(thread.id().addr(), Snapshot { locked, cpu });
            }
        }
        for id in missing {
            let locked = lookup::object(jni, *id).and_then(|thread| snapshots.locked(jni, thread));
            all.by_thread.extend(locked.map(|locked| (id.addr(), Snapshot { locked, cpu: None })));
        }
        all
    }

    /// Returns the objects that a suspended, waiting thread has locked or waits in. None if they are not known.
    pub fn of_waiting(&self, thread: &Thread) -> Option<&[jobject]> {
        if !self.are_available {
            return None;
        }
        let snapshot = self.by_thread.get(&thread.id().addr());
        let current =
            snapshot.filter(|snapshot| snapshot.cpu.is_some() && snapshot.cpu == cpu_time(thread));
        if current.is_none() {
            self.is_exact.set(false);
        }
        current.map(|snapshot| &snapshot.locked[..])
    }

    /// Returns the objects that a virtual thread had locked just before it was suspended. It may have entered a monitor
    /// once more since.
    pub fn of_owner(&self, thread: jobjectID) -> &[jobject] {
        let snapshot = self.by_thread.get(&thread.addr());
        if snapshot.is_none() {
            self.is_exact.set(false);
            self.missing.borrow_mut().push(thread);
        }
        snapshot.map_or(&[], |snapshot| &snapshot.locked)
    }

    /// Returns the argument of [`Self::take`] for another attempt, if a snapshot was missing or outdated.
    pub fn again(self) -> Option<Vec<jobjectID>> {
        (!self.is_exact.get()).then(|| self.missing.into_inner())
    }
}
