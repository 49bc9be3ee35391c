//! Pushes the profiles of a recording to a store, part by part. Only with the feature `push`.

use super::received::Received;
use crate::process::Process;
use crate::push::{Attributes, Push};
use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::path::Path;
use std::time::{Duration, Instant};

/// The option of a recording that is pushed.
#[derive(clap::Args)]
pub struct PushOptions {
    /// Also send a profile to this store every --every seconds: pyroscope+https://HOST:4040 or
    /// otlp+https://HOST:4318, by default the one in OTEL_EXPORTER_OTLP_ENDPOINT; see jvmpi help push
    #[arg(long, value_name = "URL", num_args = 0..=1, help_heading = "Output")]
    push: Option<Option<String>>,
}

/// Pushes the profiles of the JVMs of a recording.
pub struct Pushes {
    push: Push,
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
    /// Prepares to push the profiles of a JVM that was attached to, or of the JVMs of a program, if the user wants
    /// that. All of the latter have this variable in their environment.
    ///
    /// # Errors
    /// Returns one line if the store cannot be pushed to.
    pub fn new(
        PushOptions { push }: &PushOptions,
        attached: Option<Process>,
        variable: Option<(&'static str, &str)>,
        sample: Option<NonZeroU32>,
    ) -> Result<Option<Self>, String> {
        let Some(url) = push else { return Ok(None) };
        let push = Push::new(url.as_deref())?;
        let variable = variable.map(|(name, value)| (name, value.to_owned()));
        Ok(Some(Self { push, attached, variable, sample, attributes: BTreeMap::new() }))
    }

    /// Pushes the data of a JVM since the last time, if there is any. This does not wait for the store.
    pub fn push(&mut self, number: usize, received: &mut Received) {
        let process = received.process();
        let Self { push, attached, variable, sample, attributes } = self;
        // Found out while the JVM is there.
        let attributes = attributes.entry(number).or_insert_with(|| {
            let found = attached.clone().or_else(|| {
                let found = Process::jvm(process?.try_into().ok()?).ok()?;
                let (name, value) = variable.as_ref()?;
                // Otherwise the number is from another namespace, such as a container's.
                found.has_variable(name, value).then_some(found)
            });
            push.labels.of_jvm(found.as_ref(), process)
        });
        let added = received.next_part(*sample, |part| push.add(part, attributes));
        if let Some(Err(why)) = added {
            eprintln!("jvmpi: warning: {why}");
        }
    }

    /// Waits for the store, for no longer than the user has allowed, and reports what became of the profiles, which
    /// `kept` has, too. Every `interval` it asks `goes_on`, which may end the wait.
    pub fn finish(
        self,
        kept: Option<&Path>,
        interval: Duration,
        mut goes_on: impl FnMut() -> bool,
    ) {
        let (push, start) = (self.push, Instant::now());
        push.hurry();
        loop {
            let left = push.timeout.saturating_sub(start.elapsed());
            if left.is_zero() || push.wait(left.min(interval)) || !goes_on() {
                break;
            }
        }
        push.report(kept);
    }
}
