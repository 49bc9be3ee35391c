//! Binary: `format=b` of HPROF.

mod cursor;
mod heap;
mod read;
mod write;

pub use cursor::Cursor;
pub use heap::HeapReader;
pub use read::{Header, NamesById, read};
pub use write::{BinaryWriter, Version};

/// The tags of records.
mod tag {
    pub const UTF8: u8 = 0x01;
    pub const LOAD_CLASS: u8 = 0x02;
    pub const UNLOAD_CLASS: u8 = 0x03;
    pub const FRAME: u8 = 0x04;
    pub const TRACE: u8 = 0x05;
    pub const ALLOC_SITES: u8 = 0x06;
    pub const HEAP_SUMMARY: u8 = 0x07;
    pub const START_THREAD: u8 = 0x0a;
    pub const END_THREAD: u8 = 0x0b;
    pub const HEAP_DUMP: u8 = 0x0c;
    pub const CPU_SAMPLES: u8 = 0x0d;
    pub const CONTROL_SETTINGS: u8 = 0x0e;
    pub const HEAP_DUMP_SEGMENT: u8 = 0x1c;
    pub const HEAP_DUMP_END: u8 = 0x2c;
}

/// The bits of ALLOC_SITES.
mod sites_flag {
    pub const INCREMENTAL: u16 = 1;
    pub const BY_ALLOCATION: u16 = 2;
    pub const AFTER_GC: u16 = 4;
}

/// The bits of CONTROL_SETTINGS.
mod settings_flag {
    pub const ALLOC_TRACES: u32 = 1;
    pub const CPU_SAMPLING: u32 = 2;
}
