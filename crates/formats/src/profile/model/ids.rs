//! The numbers and IDs by which the parts of a profile name each other.

use serde::{Deserialize, Serialize};

macro_rules! numbers {
    ($($(#[$doc:meta])* $name:ident($inner:ty);)*) => {$(
        $(#[$doc])*
        #[derive(
            Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Serialize, Deserialize,
        )]
        pub struct $name(pub $inner);
    )*};
}

numbers! {
    /// An object's ID; that of a class is its Class object's. 0 is NULL.
    ObjectId(u64);
    /// The number of a trace, from 1 in the order in which they are first seen. 0: no trace is known.
    TraceSerial(u32);
    /// The number of a thread, from 1. 0: the thread is not known, or traces are not kept by thread.
    ThreadSerial(u32);
    /// The number of a class, from 1. 0: the class is not known.
    ClassSerial(u32);
    /// The place of a name in [`Names`](super::Names).
    NameId(u32);
    /// The place of a method in [`Methods`](super::Methods).
    MethodId(u32);
    /// The place of a frame in [`Frames`](super::Frames).
    FrameId(u32);
}
