//! The quantities in a profile, with the names that stores know them by.

use crate::profile::model::{Profile, nanoseconds};
use crate::profile::text::sampled;
use crate::profile::weight::Weight;
use std::num::NonZeroU32;
use std::time::Duration;

/// Profiles that stores keep apart. Each has its own period.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Family {
    /// CPU time.
    Cpu,
    /// Elapsed time.
    Wall,
    /// Allocated and live objects.
    Memory,
    /// Waits for monitors.
    Monitors,
}

impl Family {
    /// All families.
    pub const ALL: [Self; 4] = [Self::Cpu, Self::Wall, Self::Memory, Self::Monitors];

    /// Returns the family that a weight belongs to.
    pub const fn of(weight: Weight) -> Self {
        match weight {
            Weight::CpuSamples | Weight::CpuTime => Self::Cpu,
            Weight::WallSamples => Self::Wall,
            Weight::AllocatedBytes
            | Weight::AllocatedObjects
            | Weight::LiveBytes
            | Weight::LiveObjects => Self::Memory,
            Weight::MonitorTime => Self::Monitors,
        }
    }
}

/// The name of a quantity and its unit.
pub type Kind = [&'static str; 2];

/// A quantity: a weight, as a file names it.
#[derive(Clone, Copy)]
pub struct Measure {
    pub weight: Weight,
    pub kind: Kind,
    /// The factor from the weight to the quantity.
    pub scale: u64,
}

impl Measure {
    /// Returns the quantity that is the weight itself. The names follow the custom of Go's profiles, which servers know.
    pub const fn of(weight: Weight) -> Self {
        let kind = match weight {
            Weight::CpuSamples => ["samples", "count"],
            Weight::WallSamples => ["wall_samples", "count"],
            Weight::CpuTime => ["cpu", "nanoseconds"],
            Weight::AllocatedBytes => ["alloc_space", "bytes"],
            Weight::AllocatedObjects => ["alloc_objects", "count"],
            Weight::LiveBytes => ["inuse_space", "bytes"],
            Weight::LiveObjects => ["inuse_objects", "count"],
            Weight::MonitorTime => ["delay", "nanoseconds"],
        };
        Self { weight, kind, scale: 1 }
    }

    /// Returns the time that samples stand for, if their interval is known.
    pub fn time(weight: Weight, profile: &Profile) -> Option<Self> {
        let name = match weight {
            Weight::CpuSamples => "cpu",
            Weight::WallSamples => "wall",
            _ => return None,
        };
        let scale = nanoseconds(interval(profile)?);
        Some(Self { weight, kind: [name, "nanoseconds"], scale })
    }

    pub fn value(&self, weight: u64) -> u64 {
        // Protocol buffers have signed numbers.
        weight.saturating_mul(self.scale).min(i64::MAX as u64)
    }
}

/// The number of events between two samples.
#[derive(Clone, Copy)]
pub struct Period {
    pub kind: Kind,
    /// At least 1: stores reject 0.
    pub value: u64,
}

impl Period {
    /// Returns the period of samples of a weight.
    pub fn of(weight: Weight, profile: &Profile) -> Self {
        let time = |name, counted| match interval(profile) {
            Some(interval) => ([name, "nanoseconds"], nanoseconds(interval)),
            None => ([counted, "count"], 1),
        };
        let (kind, value) = match weight {
            Weight::CpuSamples => time("cpu", "samples"),
            Weight::WallSamples => time("wall", "wall_samples"),
            Weight::CpuTime => (["cpu", "nanoseconds"], 1),
            Weight::MonitorTime => (["contentions", "count"], 1),
            _ => {
                let bytes = sampled(&profile.preamble).map_or(1, NonZeroU32::get);
                (["space", "bytes"], bytes.into())
            }
        };
        Self { kind, value: value.max(1) }
    }
}

/// Returns the time between two samples, if it is known.
pub fn interval(profile: &Profile) -> Option<Duration> {
    profile.cpu_samples().find_map(|samples| samples.interval).filter(|time| !time.is_zero())
}

/// Returns the start of a profile in nanoseconds since 1970, and its duration in nanoseconds.
pub fn start_and_duration(profile: &Profile) -> [u64; 2] {
    let ends = profile.sections.iter().filter_map(crate::profile::Section::at);
    let duration = ends.max().map_or(Duration::ZERO, |end| end.since(profile.created));
    [profile.created.0.saturating_mul(1_000_000), nanoseconds(duration)]
}
