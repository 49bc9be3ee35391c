//! The system that the models run on instead of Linux: threads, clocks, futexes, and a memory in which stores are late.
//!
//! With the feature `model` this module stands in for the parts of `platform` by which the shim's threads affect each other,
//! and for the standard library's atomics, locks and thread-local storage. So a model (`crate::models`) runs the code
//! of the product. [`machine`] is the system; the other files give it the functions of the parts that they replace.

pub mod atomic;
pub mod futex;
pub mod machine;
pub mod membarrier;
pub mod os_thread;
pub mod sync;
pub mod thread_local_word;
