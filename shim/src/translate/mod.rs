//! Turns JVMTI callbacks into JVMPI events, one file per group of events.

pub mod allocations;
pub mod announce;
pub mod blocking;
mod bound_natives;
pub mod callbacks;
pub mod class_files;
pub mod classes;
pub mod collection;
mod combiner;
pub mod compiled;
mod definitions;
mod entries;
pub mod frames;
pub mod instructions;
mod jni_functions;
pub mod lifecycle;
pub mod methods;
pub mod monitors;
mod native_calls;
pub mod native_methods;
mod native_stubs;
mod natives;
pub mod objects;
pub mod receivers;
pub mod references;
pub mod subscriptions;
pub mod threads;
