//! Write JVMPI profiler agents in safe Rust.
//!
//! An agent is a type that implements [`Agent`], a trait with one method per event. The VM creates the agent
//! when it loads the library. [`export_agent!`] exports the entry point that the VM looks for.
//!
//! ```
//! use jvmpi::*;
//! use std::sync::atomic::{AtomicU64, Ordering};
//!
//! /// Counts the classes that are loaded.
//! #[derive(Default)]
//! struct Classes {
//!     loaded: AtomicU64,
//! }
//!
//! impl Agent for Classes {
//!     fn load(jvmpi: &mut OnLoad, _options: &str) -> Result<Self, LoadError> {
//!         jvmpi.enable_all([EventType::ClassLoad, EventType::JvmShutDown]);
//!         Ok(Self::default())
//!     }
//!
//!     fn class_load(&self, _: &mut GcDisabled<'_>, _class: ClassLoad<'_>) {
//!         self.loaded.fetch_add(1, Ordering::Relaxed);
//!     }
//!
//!     fn jvm_shut_down(&self, _: &mut MultiThreaded<'_>) {
//!         eprintln!("{} classes", self.loaded.load(Ordering::Relaxed));
//!     }
//! }
//!
//! export_agent!(Classes);
//! ```
//!
//! # Modes
//!
//! JVMPI has three modes: multithreaded, GC disabled, and stopped. Each event is sent in one mode, and each
//! function may be called in some of the modes. In this crate a mode is a type. The method for an event gets a
//! [`Context`] of that event's mode, which has only the functions that the mode permits. A forbidden call does
//! not compile.
//!
//! # Panics
//!
//! A panic never unwinds into the VM. A panic in [`Agent::load`] makes loading fail. A panic in the method for
//! an event disables that event, and the program continues. A panic in the closure of a request is resumed in
//! the function that made the request.
//!
//! # Cost
//!
//! The crate's code between the VM and the method for an event does not allocate or lock, and is inlined.

#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

mod agent;
mod boundary;
mod call_trace;
mod context;
mod cpu_samples;
mod dispatch;
mod event_type;
mod events;
#[doc(hidden)]
pub mod export;
mod ids;
mod load;
mod modified_utf8;
mod raw_monitor;
mod request;
mod system_thread;
mod table;
mod thread_local;
mod threads;

pub use jvmpi_formats::dump;
pub use jvmpi_formats::dump::{Level, Line, ThreadState, Type};
/// `jvmpi.h` in Rust.
pub use jvmpi_sys as sys;

pub use agent::Agent;
pub use call_trace::{CallTrace, Frame, Frames};
pub use context::{Context, GcDisabled, GcOff, MultiThreaded, Stopped, mode};
pub use cpu_samples::{CpuSample, CpuSampleKind, CpuSampler, CpuSamplesError};
pub use event_type::EventType;
pub use events::classes::{ClassFile, ClassLoad, Field, Method, NotReplaced};
pub use events::dumps::{HeapDump, MonitorDump, ObjectDump};
pub use events::methods::{
    CompiledMethodLoad, CompiledMethodUnload, InstructionStart, MethodEntry2,
};
pub use events::monitors::{MonitorWait, RawMonitorContended};
pub use events::objects::{ArenaNew, GlobalrefAlloc, HeapUse, ObjectAlloc, ObjectMove};
pub use events::threads::ThreadStart;
pub use ids::{ArenaId, ClassId, MethodId, ObjectId, RawMonitorId, ReferenceId, ThreadId};
pub use load::{LoadError, OnLoad};
pub use modified_utf8::ModifiedUtf8;
pub use raw_monitor::{Entered, RawMonitor};
pub use system_thread::{Priority, ThreadNotCreated};
pub use table::{EventError, Jvmpi};
pub use thread_local::{Theirs, ThreadLocal};
pub use threads::{Suspended, ThreadList, ThreadStatus};

/// Compiles the examples of the tutorial.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/tutorial/write-an-agent.md")]
mod write_an_agent {}
