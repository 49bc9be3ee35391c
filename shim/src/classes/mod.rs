//! Classes and methods, and the call frames that name them.

pub mod classes;
pub mod compiled;
pub mod definitions;
pub mod method_classes;
pub mod method_numbers;
pub mod methods;
pub mod references;
pub mod seen_frames;
pub mod stopped;
