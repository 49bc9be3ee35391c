//! Threads. A thread's ID is its `JNIEnv *`. What happens in a virtual thread belongs to the carrier whose
//! environment it runs in; where the setting `virtual` has virtual threads be threads of their own, to the
//! record of the virtual thread, which is that of the current thread as long as it is mounted.

mod consumed;
mod current;
mod discovery;
mod hidden;
mod identity;
mod lifecycle;
mod mounting;
pub mod os_thread;
mod quiet;
pub mod record;
pub mod registry;
pub mod running;
mod structure;
mod subject;
mod thread_local_word;
mod unconstructed;
pub mod virtual_thread;

#[cfg(test)]
pub use current::adopt_for_test;
pub use current::{current, current_attached};
pub use discovery::{discover, with_env};
pub use hidden::{hidden_objects, hide, is_hidden_object, start_hidden};
pub use lifecycle::{ended, started, virtual_ended};
pub use mounting::{expect_notices, mounted, unmounted};
pub use os_thread::os_thread;
pub use quiet::quietly;
pub use record::Thread;
pub use registry::{all, by_env, by_id, known_to};
pub use running::{Current, is_current, known_current};
pub use structure::{locate_environments, locate_states};
