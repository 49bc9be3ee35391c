//! THREAD_START.

use crate::{ModifiedUtf8, ObjectId, ThreadId};
use jvmpi_sys::JVMPI_Event_thread_start;
use std::fmt;

/// THREAD_START: a thread starts, or was running before the event was enabled.
#[derive(Clone, Copy)]
pub struct ThreadStart<'e> {
    thread: ThreadId,
    event: &'e JVMPI_Event_thread_start,
}

impl<'e> ThreadStart<'e> {
    /// Returns `None` if the event names no thread.
    pub(crate) fn of(event: &'e JVMPI_Event_thread_start) -> Option<Self> {
        Some(Self { thread: ThreadId::of(event.thread_env_id)?, event })
    }

    /// Returns the thread, which is not always the current one.
    pub fn thread(&self) -> ThreadId {
        self.thread
    }

    /// Returns the Thread object.
    pub fn object(&self) -> Option<ObjectId> {
        ObjectId::of(self.event.thread_id)
    }

    /// Returns the name of the thread.
    pub fn name(&self) -> ModifiedUtf8<'e> {
        // SAFETY: what the event points to lives as long as it.
        unsafe { ModifiedUtf8::of(self.event.thread_name) }
    }

    /// Returns the name of the thread group.
    pub fn group_name(&self) -> ModifiedUtf8<'e> {
        // SAFETY: what the event points to lives as long as it.
        unsafe { ModifiedUtf8::of(self.event.group_name) }
    }

    /// Returns the name of the parent thread group; empty if there is none.
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
