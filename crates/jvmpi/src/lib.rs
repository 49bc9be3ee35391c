//! Write JVMPI profiler agents in safe Rust.
//!
//! An agent is a type that implements [`Agent`]: it is made when the VM loads the library, and has a
//! method for each event. [`export_agent!`] makes the library one that the VM can load.
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
//! # What may be done when
//!
//! JVMPI has three modes: multithreaded, GC disabled, and stopped. Each event is sent in one of them, and
//! each function may be called in some. Here a mode is a type: an event's method gets a [`Context`] in
//! the mode of the event, whose functions are those that may be called. What is forbidden does not
//! compile.
//!
//! # Panics
//!
//! No panic comes to the VM. One in [`Agent::load`] stops the VM from loading the agent. One in an event's
//! method disables the event; the program goes on. One in a request's closure goes on in its caller.
//!
//! # Cost
//!
//! Between the VM and an event's method there is no allocation, no lock and no call that is not inlined
//! away.

mod agent;
mod boundary;
mod call_trace;
mod context;
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

pub use dump;
pub use dump::{Level, Type};
/// `jvmpi.h` in Rust.
pub use jvmpi_sys as sys;

pub use agent::Agent;
pub use call_trace::{CallTrace, Frame, Frames, Line};
pub use context::{Context, GcDisabled, GcOff, MultiThreaded, Stopped, mode};
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
pub use threads::{Suspended, ThreadList, ThreadState, ThreadStatus};

/// The examples of the guide compile.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/writing-agents.md")]
mod writing_agents {}
