//! Frames that are in no trace: the thread at the root, and the one frame of an empty trace.

use crate::profile::model::{Profile, ThreadSerial};

/// The text in place of the frames of a trace that has none.
pub const NO_FRAMES: &str = "<empty trace>";

/// Returns the name of a thread as a frame has it.
pub fn thread_name(profile: &Profile, thread: ThreadSerial) -> Option<&str> {
    profile.threads.get(&thread).map(|thread| profile.names.get(thread.name))
}
