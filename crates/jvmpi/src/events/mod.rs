//! The data of events.

pub mod classes;
pub mod dumps;
pub mod methods;
pub mod monitors;
pub mod objects;
pub mod threads;
