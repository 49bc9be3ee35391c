//! The start and the end of threads.

use super::current::{carrier, current, internally, is_anothers};
use super::identity::{hide, learn_object};
use super::mounting::unmounted;
use crate::records::registry::{self, Current, own};
use crate::records::thread::Thread;
use crate::sync::vm_locks;
use jni_sys::jint;
use jvm::Jni;
use std::ffi::CStr;
use std::sync::atomic::Ordering;

/// Called when the VM reports that the current thread has started.
pub fn started(jni: Jni) -> Current {
    let mut thread = current(jni);
    if thread.has_ended() || is_anothers(jni, &thread) {
        registry::forget(&thread);
        own(None);
        thread = current(jni);
    }
    if thread.object().is_none() {
        jni.frame(8, |jni| learn_object(&thread, jni, carrier(jni)));
    }
    thread
}

/// Called when the VM reports that the current thread has ended, after agents got THREAD_END.
///
/// The thread keeps its record, marked as ended, so that nothing more is reported about it. A suspended
/// thread waits here until it has been resumed, because its record must be found until then.
pub fn ended(thread: &Thread) {
    {
        let _lock = vm_locks::for_resuming();
        thread.ended.store(true, Ordering::Release);
    }
    thread.short_cut.forbid();
    registry::note_end(thread);
    registry::forget(thread);
}

/// Called when the VM reports that the current virtual thread has ended, after agents got THREAD_END.
/// Afterwards the carrier's record is the current one.
pub fn virtual_ended(jni: Jni, thread: &Thread) {
    // The caller's record must outlast the change of the current thread.
    let _kept = registry::by_env(thread.env());
    unmounted(jni);
    ended(thread);
}

const NORMAL_PRIORITY: jint = 5;

/// Starts a hidden daemon thread.
pub fn start_hidden(
    jni: Jni,
    name: &CStr,
    run: impl FnOnce(Jni) + Send + 'static,
) -> jvm::Result<()> {
    internally(jni, || jvm::start_thread(jni, name, NORMAL_PRIORITY, hide, run))
}
