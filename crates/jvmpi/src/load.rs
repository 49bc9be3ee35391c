//! The context of `JVM_OnLoad`, and the errors that stop a load.

use crate::context::mode;
use crate::{Context, EventType, Jvmpi};
use std::fmt;
use std::num::NonZeroU32;
use std::ops::Deref;
use std::ptr;

/// The context of `JVM_OnLoad`, while the agent is being loaded.
///
/// It permits creating raw monitors and calling the functions that every mode has.
#[derive(Debug)]
pub struct OnLoad {
    context: Context<'static, mode::OnLoad>,
    /// The events to enable once the agent exists.
    pub(crate) events: Vec<EventType>,
    /// The sampling interval of OBJECT_ALLOC.
    pub(crate) interval: Option<NonZeroU32>,
}

impl OnLoad {
    /// # Safety
    /// `JVM_OnLoad` does not return while the result is alive.
    pub(crate) unsafe fn new(jvmpi: Jvmpi) -> Self {
        // SAFETY: as the caller promises; no thread is named.
        let context = unsafe { Context::new(jvmpi, ptr::null_mut(), false) };
        Self { context, events: Vec::new(), interval: None }
    }

    /// Enables an event, as soon as the agent exists and can receive it. The load fails if the VM refuses.
    pub fn enable(&mut self, event: EventType) {
        if !self.events.contains(&event) {
            self.events.push(event);
        }
    }

    /// Enables several events, each as by [`enable`](Self::enable).
    pub fn enable_all(&mut self, events: impl IntoIterator<Item = EventType>) {
        events.into_iter().for_each(|event| self.enable(event));
    }

    /// Enables OBJECT_ALLOC for samples only, as
    /// [`enable_sampled_allocations`](Jvmpi::enable_sampled_allocations) does.
    pub fn sample_allocations(&mut self, interval: NonZeroU32) {
        self.enable(EventType::ObjectAlloc);
        self.interval = Some(interval);
    }
}

impl Deref for OnLoad {
    type Target = Context<'static, mode::OnLoad>;

    fn deref(&self) -> &Self::Target {
        &self.context
    }
}

/// The reason why an agent cannot be loaded: one line for the user.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LoadError(String);

impl LoadError {
    /// Creates an error. The text should say what is wrong and what to do about it.
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
