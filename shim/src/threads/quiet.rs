//! The shim's own work in Java, of which nothing is reported to agents.

use super::current::current;
use crate::jvm::Jni;
use crate::records::thread::Thread;
use std::sync::atomic::Ordering;

/// Runs Java code on the shim's behalf: nothing that it does is reported to agents.
pub fn quietly<R>(jni: Jni, work: impl FnOnce() -> R) -> R {
    let thread = current(jni);
    let _quiet = Quiet::begin(&thread);
    work()
}

/// The thread is quiet until this is dropped.
pub struct Quiet<'a>(&'a Thread);

impl<'a> Quiet<'a> {
    pub fn begin(thread: &'a Thread) -> Self {
        thread.quiet.fetch_add(1, Ordering::Relaxed);
        thread.forbid_short_cut();
        Self(thread)
    }
}

impl Drop for Quiet<'_> {
    fn drop(&mut self) {
        self.0.quiet.fetch_sub(1, Ordering::Relaxed);
    }
}
