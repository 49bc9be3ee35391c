//! The parts of the standard library by which threads affect each other, under the names that the code uses which the
//! models run. With the feature `model` these names stand for `platform::model::sync`.

pub use std::sync::{Condvar, Mutex, MutexGuard, atomic};
pub use std::thread::sleep;
pub use std::thread_local;
pub use std::time::Instant;
