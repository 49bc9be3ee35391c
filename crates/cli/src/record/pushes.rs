//! Pushes the profiles of a recording to a store, part by part. Only with the feature `push`.

use super::received::Received;
use super::target::Target;
use crate::push::{Attributes, Push};
use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::path::Path;

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
    /// The sampling interval of allocations, if they are sampled.
    sample: Option<NonZeroU32>,
    /// The attributes of the JVMs, by the numbers of their connections.
    attributes: BTreeMap<usize, Attributes>,
}

impl Pushes {
    /// Prepares to push profiles, if the user wants that.
    ///
    /// # Errors
    /// Returns one line if the store cannot be pushed to.
    pub fn new(
        PushOptions { push }: &PushOptions,
        sample: Option<NonZeroU32>,
    ) -> Result<Option<Self>, String> {
        let Some(url) = push else { return Ok(None) };
        let push = Push::new(url.as_deref())?;
        Ok(Some(Self { push, sample, attributes: BTreeMap::new() }))
    }

    /// Pushes the data of a JVM since the last time, if there is any. This does not wait for the store.
    pub fn push(&mut self, number: usize, received: &mut Received, target: &Target) {
        let Self { push, sample, attributes } = self;
        // Found out while the JVM is there.
        let attributes = attributes.entry(number).or_insert_with(|| {
            push.labels.of_jvm(target.process(received.process()).ok().as_ref(), received.process())
        });
        let added = received.next_part(*sample, |part| push.add(part, attributes));
        if let Some(Err(why)) = added {
            eprintln!("jvmpi: warning: {why}");
        }
    }

    /// See [`Push::finish`].
    pub fn finish(self, kept: Option<&Path>, goes_on: impl FnMut() -> bool) {
        self.push.finish(kept, goes_on);
    }
}
