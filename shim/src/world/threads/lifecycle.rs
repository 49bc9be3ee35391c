//! Threads start and end.

use super::current::{carrier, current, is_anothers};
use super::identity::learn_object;
use super::record::Thread;
use super::registry;
use super::running::{Current, known_current, own};
use crate::jvm::Jni;
use crate::world::order::claims;
use std::sync::atomic::Ordering;

/// Called when the VM says that the thread that runs has started.
pub fn started(jni: Jni) -> Current {
    if let Some(thread) = known_current()
        && (thread.has_ended() || is_anothers(jni, &thread))
    {
        registry::forget(&thread);
        own(None);
    }
    let thread = current(jni);
    if thread.object().is_none() {
        jni.frame(8, |jni| learn_object(&thread, jni, carrier(jni)));
    }
    thread
}

/// Called when the VM says that the thread that runs has ended, after agents were told.
///
/// The record stays with the thread, as ended, so that nothing more is reported of it. A thread that
/// is suspended does not end before it has been resumed, which takes that it can be found.
pub fn ended(thread: &Thread) {
    {
        let _claim = claims::to_resume();
        thread.ended.store(true, Ordering::Release);
    }
    thread.forbid_short_cut();
    registry::note_end(thread);
    registry::forget(thread);
}
