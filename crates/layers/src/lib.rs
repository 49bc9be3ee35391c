//! Layers between a JVMPI agent and the JVM.
//!
//! A layer intercepts every call from an agent and every event to it, and may answer, change or drop them. It only
//! uses the JVMPI interface, so it works on every implementation of JVMPI and on top of other layers.
//!
//! [`layer`] has the trait. [`check`] is the layer that says which rule of JVMPI an agent breaks, and [`trace`] has the
//! layer that records, with the reader of its files and the replay.

#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

pub mod check;
pub mod layer;
pub mod trace;
