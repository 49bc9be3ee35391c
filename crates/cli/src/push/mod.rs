//! `jvmpi push`: sends profiles to a store; and what `jvmpi record --push` needs for that. Only with the feature `push`.

mod attributes;
mod client;
mod credentials;
mod destination;
mod pusher;
mod queue;
mod requests;

use crate::convert;
use crate::failure::Failure;
use crate::label;
use crate::waiting::seconds_or_never;
use client::{Client, Limits};
use credentials::Credentials;
use destination::Destination;
use jvmpi_formats::hprof::options::sample;
use jvmpi_formats::profile::{AttributeValue, Profile, Section, Time, Weight, printable};
use pusher::{Outcome, Pusher};
use queue::Queue;
use std::num::NonZeroU32;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

pub use attributes::Labels;
pub use credentials::SECRETS;

/// The attributes of a process.
pub type Attributes = Vec<(String, AttributeValue)>;

/// The heading of the options in the help.
pub const PUSH: &str = "Push";

/// Send a profile to a store, such as Pyroscope or an OpenTelemetry collector
///
/// The beginning of the URL selects the protocol: otlp+https://HOST:4318 (OpenTelemetry) or
/// pyroscope+https://HOST:4040 (Pyroscope). The same profiles go out while a program runs with jvmpi record --push.
///
/// A profile that the store does not take within --push-timeout stays in a queue on disk, and goes out with the next
/// push to this store. Without FILE, only the queue is sent.
///
/// Credentials are in the environment: JVMPI_PUSH_TOKEN, or JVMPI_PUSH_USER and JVMPI_PUSH_PASSWORD.
#[derive(clap::Args)]
#[command(
    allow_missing_positional = true,
    after_help = "Examples:\n  \
    jvmpi push java.hprof.txt pyroscope+http://localhost:4040\n  \
    jvmpi push --label service.name=shop profile.hprof otlp+https://collector:4318"
)]
pub struct Arguments {
    /// The profile: an HPROF file, text or binary
    #[arg(value_name = "FILE")]
    file: Option<PathBuf>,
    /// The store
    url: String,
    /// Time between the samples of FILE, in milliseconds: HPROF's files do not have it
    #[arg(long, value_name = "MS", value_parser = clap::value_parser!(u32).range(1..))]
    interval: Option<u32>,
    #[command(flatten)]
    options: Options,
}

/// The options of a push.
#[derive(clap::Args)]
pub struct Options {
    /// Attribute of the pushed profiles, for example service.name=shop; can be given several times
    #[arg(long = "label", value_name = "KEY=VALUE", value_parser = label::parse, help_heading = PUSH)]
    labels: Vec<(String, String)>,
    /// Wait at most this long at the end for the store
    #[arg(long, value_name = "SECONDS", default_value = "10", value_parser = seconds_or_never, help_heading = PUSH)]
    push_timeout: Duration,
    /// Greatest size of the queue of profiles that the store has not taken, such as 500k or 64m
    #[arg(long, value_name = "SIZE", default_value = "64m", value_parser = sample, help_heading = PUSH)]
    push_queue: NonZeroU32,
    /// File with certificates of more authorities than the system knows, in PEM format
    #[arg(long, value_name = "FILE", help_heading = PUSH)]
    ca_file: Option<PathBuf>,
}

impl Options {
    /// Returns true if there are labels or authorities, which only a push uses.
    pub fn describe_profiles(&self) -> bool {
        !self.labels.is_empty() || self.ca_file.is_some()
    }
}

/// `jvmpi push`.
pub fn push(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let profile = arguments.file.as_deref().map(convert::open).transpose()?;
    let push = Push::new(&arguments.url, &arguments.options)?.start();
    if let (Some(file), Some(path)) = (profile, &arguments.file) {
        if let Some(problem) = file.problem() {
            eprintln!("jvmpi: warning: {}: {problem}", path.display());
        }
        let mut profile = file.into_profile();
        if Weight::of(&profile).is_empty() {
            return Err(format!("{}: there is nothing to push in it", path.display()).into());
        }
        set_interval(&mut profile, arguments.interval);
        if profile.created == Time::default() {
            profile.created = Time::now();
        }
        push.add(&profile, &push.labels().of_file(path))?;
    }
    push.hurry();
    let is_done = push.wait(arguments.options.push_timeout);
    let outcome = push.report();
    let is_sent = is_done && outcome.refused == 0 && outcome.dropped == 0;
    Ok(if is_sent { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn set_interval(profile: &mut Profile, milliseconds: Option<u32>) {
    let Some(milliseconds) = milliseconds else { return };
    for section in &mut profile.sections {
        if let Section::CpuSamples(samples) = section {
            samples.interval = Some(Duration::from_millis(milliseconds.into()));
        }
    }
}

/// A store to push to, before anything is sent.
pub struct Push {
    destination: Destination,
    queue: Queue,
    client: Client,
    labels: Labels,
    timeout: Duration,
}

impl Push {
    /// Checks everything that a push needs, so that a mistake is reported before a program starts.
    ///
    /// # Errors
    /// Returns one line.
    pub fn new(url: &str, options: &Options) -> Result<Self, String> {
        let destination = Destination::parse(url)?;
        let credentials = Credentials::of_environment()?;
        if let Some(warning) = credentials.warning(&destination) {
            eprintln!("jvmpi: warning: push: {}", printable(&warning));
        }
        let authorities = options.ca_file.as_deref();
        let client = Client::new(destination.clone(), credentials, authorities, Limits::default())?;
        let queue = Queue::open(&destination, options.push_queue.get().into())?;
        let labels = Labels::new(&options.labels);
        Ok(Self { destination, queue, client, labels, timeout: options.push_timeout })
    }

    /// Starts to send.
    pub fn start(self) -> Pushing {
        let Self { destination, queue, client, labels, timeout } = self;
        Pushing { destination, labels, timeout, pusher: Pusher::start(queue, client) }
    }
}

/// A push in the background.
pub struct Pushing {
    destination: Destination,
    labels: Labels,
    pusher: Pusher,
    timeout: Duration,
}

impl Pushing {
    /// Returns the labels of the user.
    pub fn labels(&self) -> &Labels {
        &self.labels
    }

    /// Returns the longest wait at the end.
    pub fn timeout(&self) -> Duration {
        self.timeout
    }

    /// Adds a profile, which goes out as soon as the store takes it. This does not wait for the store.
    ///
    /// # Errors
    /// Returns one line if the profile cannot be written.
    pub fn add(&self, profile: &Profile, attributes: &Attributes) -> Result<(), String> {
        let requests = requests::requests(profile, self.destination.protocol, attributes);
        for request in requests.map_err(|error| format!("push: {error}"))? {
            self.pusher.add(&request);
        }
        Ok(())
    }

    /// Tries once more at once, because the command is about to end.
    pub fn hurry(&self) {
        self.pusher.hurry();
    }

    /// Waits until all is sent, but not longer than this time. Returns true if all is sent.
    pub fn wait(&self, longest: Duration) -> bool {
        self.pusher.wait(longest)
    }

    /// Prints one line about what became of the profiles.
    pub fn report(&self) -> Outcome {
        let outcome = self.pusher.outcome();
        eprintln!("jvmpi: {}", printable(&self.line(&outcome)));
        outcome
    }

    fn line(&self, outcome: &Outcome) -> String {
        let Outcome { sent, bytes, dropped, refused, waiting, failure } = outcome;
        let destination = &self.destination;
        let kib = (*bytes as f64 / 1024.0 * 10.0).ceil() / 10.0;
        let mut line = format!("pushed {sent} requests ({kib} KiB) to {destination}");
        if *dropped > 0 {
            line += &format!(
                "; {dropped} were dropped because the queue was full or could not be written"
            );
        }
        if *refused > 0 {
            line += &format!("; the store refused {refused}");
        }
        if *waiting > 0 {
            let directory = self.pusher.directory().display();
            line += &format!("; {waiting} wait in {directory} for the next push to this store");
        }
        match failure {
            Some(why) => line += &format!(": {why}"),
            None if *waiting > 0 => {
                line += ": the store had not taken them when the wait ended; --push-timeout sets a longer wait";
            }
            None => {}
        }
        line
    }
}
