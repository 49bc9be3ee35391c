//! Layers between a JVMPI agent and the JVM.
//!
//! A layer intercepts every call from an agent and every event to it, and may answer, change or drop them. It only
//! uses the JVMPI interface, so it works on every implementation of JVMPI and on top of other layers.
//!
//! ```
//! use jni_sys::jint;
//! use jvmpi_sys::*;
//! use jvmpi_layers::layer::{Layer, Neighbours, Slots};
//! use std::ffi::c_void;
//!
//! /// Prints the events that the agent enables, and hides METHOD_EXIT from it.
//! struct NoExits;
//!
//! impl Layer for NoExits {
//!     fn slots() -> &'static Slots<Self> {
//!         static SLOTS: Slots<NoExits> = Slots::new();
//!         &SLOTS
//!     }
//!
//!     unsafe fn EnableEvent(&self, next: &Neighbours, event_type: jint, arg: *mut c_void) -> jint {
//!         println!("enables {event_type}");
//!         // SAFETY: as the caller promises.
//!         unsafe { next.EnableEvent(event_type, arg) }
//!     }
//!
//!     unsafe fn NotifyEvent(&self, next: &Neighbours, event: *mut JVMPI_Event) {
//!         // SAFETY: as the caller promises.
//!         unsafe {
//!             if (*event).event_type != JVMPI_EVENT_METHOD_EXIT {
//!                 next.NotifyEvent(event);
//!             }
//!         }
//!     }
//! }
//! ```
//!
//! [`layer`] has the trait. [`check`] is the layer that says which rule of JVMPI an agent breaks, and [`trace`] has the
//! layer that records, with the reader of its files and the replay.

#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

pub mod check;
pub mod layer;
pub mod trace;
