//! The heap as dumps show it.

pub mod held;
pub mod layout;
pub mod record;
pub mod walk;

use super::ids::Tag;
use jni_sys::jlong;
use jvmpi_sys::jobjectID;

/// An object that a walk through the heap has found and of which an agent has not been told.
pub struct Untold {
    pub class: jobjectID,
    /// Its tag, which says already that the agent was told.
    pub tag: Tag,
    pub size: jlong,
}
