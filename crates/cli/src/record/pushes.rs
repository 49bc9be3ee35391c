//! Pushes the profiles of a recording to a store, part by part. Only with the feature `push`.

use super::received::Received;
use crate::process::Process;
use crate::push::{Attributes, Options, PUSH, Push, Pushing};
use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::time::{Duration, Instant};

pub use crate::push::SECRETS;

/// The options of a recording that is pushed.
#[derive(clap::Args)]
pub struct PushOptions {
    /// Also send a profile to this store every --every seconds: pyroscope+https://HOST:4040 or
    /// otlp+https://HOST:4318; see jvmpi help push
    #[arg(long = "push", value_name = "URL", help_heading = PUSH)]
    url: Option<String>,
    #[command(flatten)]
    options: Options,
}

impl PushOptions {
    /// Returns the store to push to, if any, after a check of everything that a push needs.
    pub fn checked(&self) -> Result<Option<Push>, String> {
        match &self.url {
            Some(url) => Push::new(url, &self.options).map(Some),
            None if self.options.describe_profiles() => {
                Err("--label and --ca-file are for --push: add it with the URL of a store".into())
            }
            None => Ok(None),
        }
    }
}

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

    /// Waits for the store, for no longer than the user has allowed, and reports what became of the profiles. Every
    /// `interval` it asks `goes_on`, which may end the wait.
    pub fn finish(self, interval: Duration, mut goes_on: impl FnMut() -> bool) {
        let (pushing, start) = (self.pushing, Instant::now());
        pushing.hurry();
        loop {
            let left = pushing.timeout().saturating_sub(start.elapsed());
            if left.is_zero() || pushing.wait(left.min(interval)) || !goes_on() {
                break;
            }
        }
        pushing.report();
    }
}
