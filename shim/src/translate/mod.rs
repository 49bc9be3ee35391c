//! JVMTI callbacks become JVMPI events: one file per group of events.

pub mod allocations;
pub mod arenas;
mod callback;
pub mod callbacks;
pub mod class_files;
pub mod classes;
pub mod collection;
pub mod compiled;
pub mod construction;
pub mod frames;
pub mod instructions;
mod jni_allocations;
mod jni_functions;
pub mod jni_references;
pub mod lifecycle;
pub mod method_ids;
pub mod methods;
pub mod monitors;
mod natives;
pub mod objects;
pub mod raw_monitors;
pub mod receivers;
pub mod references;
mod send;
pub mod sleep;
pub mod subscriptions;
pub mod threads;
