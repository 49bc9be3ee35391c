//! The formats that profilers write and read. This crate does not depend on a running JVM.
//!
//! ```
//! use jvmpi_formats::dump::{Buffer, HeapWriter, Level, Listed, Type, read_list};
//!
//! let array = Listed { elements: Some(Type::Int), id: 0x10 };
//! let mut writer = HeapWriter::new(Buffer::new().expect("address space"), Level::Objects);
//! writer.listed(array).expect("memory");
//! let bytes = writer.finish();
//! assert_eq!(read_list(&bytes).collect::<Result<Vec<_>, _>>(), Ok(vec![array]));
//! ```
//!
//! [`dump`] has the dumps that JVMPI passes to agents. `profile` has the model of a profile and the formats of its
//! files, among them the two of HPROF. `hprof` has what front ends and HPROF send each other. Both need the feature
//! `profile` of this crate, which is on by default. [`modified_utf8`] decodes names, and [`planted`] recognizes files of
//! other users.

#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

pub mod dump;
mod heap_tag;
#[cfg(feature = "profile")]
pub mod hprof;
pub mod modified_utf8;
mod platform;
#[cfg(feature = "profile")]
pub mod profile;

pub use platform::planted;
