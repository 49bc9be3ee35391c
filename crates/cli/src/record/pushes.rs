//! Pushes the profiles of a recording to a store, part by part.

use super::received::Received;
use crate::process::Process;
use crate::push::{Attributes, Push, Pushing};
use std::collections::BTreeMap;
use std::num::NonZeroU32;

/// Pushes the profiles of the JVMs of a recording.
pub struct Pushes {
    pushing: Pushing,
    /// The JVM that was attached to.
    attached: Option<Process>,
    /// The variable in the environment of each JVM of a program that was started, with its value.
    variable: Option<(&'static str, String)>,
    /// The sampling interval of allocations, if they are sampled.
    sample: Option<NonZeroU32>,
    /// The attributes of the JVMs, by the numbers of their connections.
    attributes: BTreeMap<usize, Attributes>,
}

impl Pushes {
    /// Starts to push the profiles of a JVM that was attached to, or of the JVMs of a program. All of the latter have
    /// this variable in their environment.
    pub fn new(
        push: Push,
        attached: Option<Process>,
        variable: Option<(&'static str, &str)>,
        sample: Option<NonZeroU32>,
    ) -> Self {
        let variable = variable.map(|(name, value)| (name, value.to_owned()));
        Self { pushing: push.start(), attached, variable, sample, attributes: BTreeMap::new() }
    }

    /// Pushes the data of a JVM since the last time, if there is any. This does not wait for the store.
    pub fn push(&mut self, number: usize, received: &mut Received) {
        let process = received.process();
        let Self { pushing, attached, variable, sample, attributes } = self;
        // Found out while the JVM is there.
        let attributes = attributes.entry(number).or_insert_with(|| {
            let found = attached.clone().or_else(|| {
                let found = Process::jvm(process?.try_into().ok()?).ok()?;
                let (name, value) = variable.as_ref()?;
                // Otherwise the number is from another namespace, such as a container's.
                found.has_variable(name, value).then_some(found)
            });
            pushing.labels().of_jvm(found.as_ref(), process)
        });
        let added = received.next_part(*sample, |part| pushing.add(part, attributes));
        if let Some(Err(why)) = added {
            eprintln!("jvmpi: warning: {why}");
        }
    }

    /// Returns the push, for the wait at the end.
    pub fn pushing(&self) -> &Pushing {
        &self.pushing
    }
}
