//! THREAD_START.

use crate::{ModifiedUtf8, ObjectId, ThreadId};
use jvmpi_sys::JVMPI_Event_thread_start;
use std::fmt;

/// THREAD_START: a thread starts, or is there already.
#[derive(Clone, Copy)]
pub struct ThreadStart<'e> {
    thread: ThreadId,
    event: &'e JVMPI_Event_thread_start,
}

impl<'e> ThreadStart<'e> {
    /// None without a thread.
    pub(crate) fn of(event: &'e JVMPI_Event_thread_start) -> Option<Self> {
        Some(Self { thread: ThreadId::of(event.thread_env_id)?, event })
    }

    /// The thread: not always the current one.
    pub fn thread(&self) -> ThreadId {
        self.thread
    }

    /// Its Thread object.
    pub fn object(&self) -> Option<ObjectId> {
        ObjectId::of(self.event.thread_id)
    }

    /// Its name.
    pub fn name(&self) -> ModifiedUtf8<'e> {
        // SAFETY: what the event points to lives as long as it.
        unsafe { ModifiedUtf8::of(self.event.thread_name) }
    }

    /// The name of its group.
    pub fn group_name(&self) -> ModifiedUtf8<'e> {
        // SAFETY: what the event points to lives as long as it.
        unsafe { ModifiedUtf8::of(self.event.group_name) }
    }

    /// The name of the parent of its group; empty if there is none.
    pub fn parent_name(&self) -> ModifiedUtf8<'e> {
        // SAFETY: what the event points to lives as long as it.
        unsafe { ModifiedUtf8::of(self.event.parent_name) }
    }
}

impl fmt::Debug for ThreadStart<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut f = f.debug_struct("ThreadStart");
        f.field("thread", &self.thread).field("object", &self.object());
        f.field("name", &self.name()).field("group_name", &self.group_name());
        f.field("parent_name", &self.parent_name()).finish()
    }
}
