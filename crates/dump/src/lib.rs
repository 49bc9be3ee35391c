//! The buffers of JVMPI's heap, object and monitor dumps: one writer and one reader of each format.
//! This crate knows nothing of a running JVM.
//!
//! Everything is packed. Numbers are big-endian; IDs, thread environments and other pointers are
//! as wide as the host's and in its byte order.
//!
//! A heap dump of level 0 is a sequence of [`Listed`] objects. Levels 1 and 2 are a sequence of
//! [`Record`]s, of which level 1 leaves primitive values out. An object dump is one record of
//! level 2. A monitor dump is a sequence of [`Monitor`]s.

mod buffer;
mod cursor;
mod heap;
mod monitor;
mod value;

pub use buffer::{Buffer, Full};
pub use cursor::Malformed;
pub use heap::read::{Classes, List, Records, Shape};
pub use heap::write::{HeapWriter, Level, Place};
pub use heap::{Class, Constant, Frame, Ids, Listed, Record, Root};
pub use monitor::{Kind, Monitor, Monitors, write_monitor};
pub use value::{Type, Value};

/// An object's ID, a thread's environment or another pointer; NULL is 0.
pub type Id = usize;

/// How many bytes an [`Id`] has in a dump.
pub const ID: usize = size_of::<Id>();
