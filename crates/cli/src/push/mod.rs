//! `jvmpi push`: sends profiles to a store; and what `jvmpi record --push` needs for that. Only with the feature `push`.

mod attributes;
mod client;
mod destination;
mod environment;
mod pusher;
mod requests;

use crate::convert;
use crate::failure::Failure;
use crate::units;
use crate::waiting::LOOK;
use client::Client;
use destination::Destination;
use jvmpi_formats::profile::{Profile, Section, Time, Weight, printable};
use pusher::{Outcome, Pusher};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

pub use attributes::{Attributes, Labels};

/// Send a profile to a store, such as Pyroscope or an OpenTelemetry collector
///
/// The beginning of the URL selects the protocol: otlp+https://HOST:4318 (OpenTelemetry) or
/// pyroscope+https://HOST:4040 (Pyroscope). The same profiles go out while a program runs with jvmpi record --push.
///
/// The environment has the settings, in the variables that programs with OpenTelemetry have in common: the URL of the
/// store in OTEL_EXPORTER_OTLP_ENDPOINT, credentials in OTEL_EXPORTER_OTLP_HEADERS, the name of the program in
/// OTEL_SERVICE_NAME.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    jvmpi push java.hprof.txt pyroscope+http://localhost:4040\n  \
    OTEL_SERVICE_NAME=shop jvmpi push profile.hprof otlp+https://collector:4318")]
pub struct Arguments {
    /// The profile: an HPROF file, text or binary, or a JFR file
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// The store; by default the one in the environment
    url: Option<String>,
    /// Time between the samples of FILE, such as 10ms: HPROF files do not have it
    #[arg(long, value_name = "TIME", value_parser = units::milliseconds)]
    interval: Option<u32>,
}

/// `jvmpi push`.
pub fn push(Arguments { file: path, url, interval }: &Arguments) -> Result<ExitCode, Failure> {
    let file = convert::open(path)?;
    let push = Push::new(url.as_deref())?;
    if let Some(problem) = file.problem() {
        eprintln!("jvmpi: warning: {}: {problem}", path.display());
    }
    let mut profile = file.into_profile();
    if Weight::of(&profile).is_empty() {
        return Err(format!("{}: there is nothing to push in it", path.display()).into());
    }
    set_interval(&mut profile, *interval);
    if profile.created == Time::default() {
        profile.created = Time::now();
    }
    push.add(&profile, &push.labels.of_file(path))?;
    let is_sent = push.finish(Some(path), || true);
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

/// A push in the background.
pub struct Push {
    destination: Destination,
    pusher: Arc<Pusher>,
    /// The attributes that the user gives.
    pub labels: Labels,
    /// The longest wait at the end.
    timeout: Duration,
}

impl Push {
    /// Checks everything that a push needs, so that a mistake is reported before a program starts. Without a URL the
    /// store is the one in the environment.
    ///
    /// # Errors
    /// Returns one line.
    pub fn new(url: Option<&str>) -> Result<Self, String> {
        let destination = url.map_or_else(environment::destination, Destination::parse)?;
        let (labels, timeout) = (Labels::of_environment()?, environment::timeout()?);
        let pusher = Pusher::start(Client::new(destination.clone(), timeout)?);
        Ok(Self { destination, pusher, labels, timeout })
    }

    /// Adds a profile, which goes out as soon as the store takes it. This does not wait for the store.
    ///
    /// # Errors
    /// Returns one line if the profile cannot be written.
    pub fn add(&self, profile: &Profile, attributes: &Attributes) -> Result<(), String> {
        let requests = requests::requests(profile, self.destination.protocol, attributes);
        let requests = requests.map_err(|error| format!("push: {error}"))?;
        requests.into_iter().for_each(|request| self.pusher.add(request));
        Ok(())
    }

    /// Waits for the store, for no longer than the user has allowed, and prints one line about what became of the
    /// profiles. `kept` is a file with all of them. From time to time it asks `goes_on`, which may end the wait. Returns
    /// true if the store has taken all.
    pub fn finish(&self, kept: Option<&Path>, mut goes_on: impl FnMut() -> bool) -> bool {
        let start = Instant::now();
        self.pusher.hurry();
        loop {
            let left = self.timeout.saturating_sub(start.elapsed());
            if left.is_zero() || self.pusher.wait(left.min(LOOK)) || !goes_on() {
                break;
            }
        }
        let outcome = self.pusher.outcome();
        let Outcome { sent, bytes, lost, failure } = &outcome;
        let kib = (*bytes as f64 / 1024.0 * 10.0).ceil() / 10.0;
        let mut line = format!("pushed {sent} requests ({kib} KiB) to {}", self.destination);
        if *lost > 0 {
            let why = failure.as_deref().unwrap_or(
                "no answer in time; OTEL_EXPORTER_OTLP_TIMEOUT sets the longest wait, in milliseconds",
            );
            line += &format!("; {lost} are lost: {why}");
            if let Some(kept) = kept {
                line += &format!("; {} has the profile", kept.display());
            }
        }
        eprintln!("jvmpi: {}", printable(&line));
        *lost == 0
    }
}
