//! Threads. A thread's ID is its `JNIEnv *`. Everything in a virtual thread belongs to the carrier whose
//! environment it runs in. With `virtual=own` it belongs to the record of the virtual thread, which is the
//! current thread's while it is mounted.

pub mod agent_clock;
pub mod current;
pub mod discovery;
pub mod identity;
pub mod lifecycle;
pub mod mounting;
pub mod structure;

pub use crate::records::registry::{
    Current, all, by_env, by_id, is_current, known_current, known_to,
};
pub use crate::records::thread::Thread;
#[cfg(test)]
pub use current::adopt_for_test;
pub use current::{current, current_attached, internally};
pub use discovery::{discover, with_env};
pub use identity::{hidden_objects, hide, is_hidden_object};
pub use jvm::platform::os_thread::os_thread;
pub use lifecycle::{ended, start_hidden, started, virtual_ended};
pub use mounting::{expect_notices, mounted, numbers_are_known, unmounted};
pub use structure::{locate_environments, locate_states, os_thread_of};
