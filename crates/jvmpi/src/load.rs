//! JVM_OnLoad.

use crate::context::mode;
use crate::{Context, EventType, Jvmpi};
use std::fmt;
use std::ops::Deref;
use std::ptr;

/// The agent is being loaded.
///
/// Raw monitors can be made here, and what all modes have in common can be done.
#[derive(Debug)]
pub struct OnLoad {
    context: Context<'static, mode::OnLoad>,
    /// What is to be enabled.
    pub(crate) events: Vec<EventType>,
}

impl OnLoad {
    /// # Safety
    /// `JVM_OnLoad` runs for as long as it lives.
    pub(crate) unsafe fn new(jvmpi: Jvmpi) -> Self {
        // SAFETY: as the caller promises; no thread is named.
        let context = unsafe { Context::new(jvmpi, ptr::null_mut(), false) };
        Self { context, events: Vec::new() }
    }

    /// Enables the event as soon as the agent is there to hear of it. If the VM cannot, the agent is not
    /// loaded.
    pub fn enable(&mut self, event: EventType) {
        if !self.events.contains(&event) {
            self.events.push(event);
        }
    }

    /// Enables events, as [`enable`](Self::enable) does.
    pub fn enable_all(&mut self, events: impl IntoIterator<Item = EventType>) {
        events.into_iter().for_each(|event| self.enable(event));
    }
}

impl Deref for OnLoad {
    type Target = Context<'static, mode::OnLoad>;

    fn deref(&self) -> &Self::Target {
        &self.context
    }
}

/// Why the agent refuses to be loaded: one line for the user.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LoadError(String);

impl LoadError {
    /// The error with this text: what is wrong, and what to do about it.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }
}

impl fmt::Display for LoadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for LoadError {}

impl From<String> for LoadError {
    fn from(text: String) -> Self {
        Self(text)
    }
}

impl From<&str> for LoadError {
    fn from(text: &str) -> Self {
        Self(text.to_owned())
    }
}
