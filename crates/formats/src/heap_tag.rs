//! The tags of records in heap dumps: the `JVMPI_GC_…` constants, which HPROF's binary files have too.

pub const ROOT_UNKNOWN: u8 = 0xff;
pub const ROOT_JNI_GLOBAL: u8 = 0x01;
pub const ROOT_JNI_LOCAL: u8 = 0x02;
pub const ROOT_JAVA_FRAME: u8 = 0x03;
pub const ROOT_NATIVE_STACK: u8 = 0x04;
pub const ROOT_STICKY_CLASS: u8 = 0x05;
pub const ROOT_THREAD_BLOCK: u8 = 0x06;
pub const ROOT_MONITOR_USED: u8 = 0x07;
/// Only in files.
#[cfg(feature = "profile")]
pub const ROOT_THREAD_OBJ: u8 = 0x08;
pub const CLASS_DUMP: u8 = 0x20;
pub const INSTANCE_DUMP: u8 = 0x21;
pub const OBJ_ARRAY_DUMP: u8 = 0x22;
pub const PRIM_ARRAY_DUMP: u8 = 0x23;

/// The frame number of a root that is in no frame.
pub const NO_FRAME: u32 = u32::MAX;
