//! The shim's own work in Java, which is not reported to agents.

use crate::records::thread::Thread;

/// While this exists, nothing that the thread does is reported to agents.
pub struct Internal<'a>(&'a Thread);

impl<'a> Internal<'a> {
    pub fn begin(thread: &'a Thread) -> Self {
        thread.own_work.begin();
        thread.short_cut.forbid();
        Self(thread)
    }
}

impl Drop for Internal<'_> {
    fn drop(&mut self) {
        self.0.own_work.end();
    }
}
