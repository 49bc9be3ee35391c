//! The formats of JVMPI's heap, object and monitor dumps, with one writer and one reader for each.
//!
//! Records are packed without padding. Numbers are big-endian. IDs, thread environments and other pointers have the
//! host's pointer size and byte order.
//!
//! A heap dump of level 0 is a sequence of [`Listed`] objects. Levels 1 and 2 are sequences of [`Record`]s; level 1
//! omits primitive values. An object dump is one record of level 2. A monitor dump is a sequence of [`Monitor`]s.

mod buffer;
mod cursor;
mod heap;
mod monitor;
mod state;
mod value;

pub use buffer::{Buffer, Full};
pub use cursor::Malformed;
pub use heap::read::{Classes, Shape, read_list, read_records};
pub use heap::write::{HeapWriter, Level, Place};
pub use heap::{Class, Constant, Frame, Ids, Listed, Record, Root};
pub use monitor::{Kind, Monitor, read_monitors, write_monitor};
pub use state::{Line, ThreadState};
pub use value::{Type, Value};

/// The ID of an object, the environment of a thread, or another pointer; NULL is 0.
pub type Id = usize;

/// The size of an [`Id`] in a dump, in bytes.
pub const ID: usize = size_of::<Id>();
