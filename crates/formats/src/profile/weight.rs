//! The weights of traces, and the stacks with their weights.

use crate::profile::model::{
    FramePath, Label, NameId, Profile, Site, StackId, ThreadSerial, TraceSerial, WallState,
    nanoseconds,
};
use indexmap::IndexMap;
use rustc_hash::FxBuildHasher;
use std::borrow::Cow;
use std::fmt::{self, Display};
use std::str::FromStr;

/// A weight of traces.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Weight {
    /// The CPU samples.
    CpuSamples,
    /// The wall-clock samples.
    WallSamples,
    /// The time in the innermost method, in nanoseconds.
    CpuTime,
    /// The bytes that were allocated.
    AllocatedBytes,
    /// The objects that were allocated.
    AllocatedObjects,
    /// The bytes that live.
    LiveBytes,
    /// The objects that live.
    LiveObjects,
    /// The time for which monitors were waited for, in nanoseconds.
    MonitorTime,
}

/// The units of weights.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs)]
pub enum Unit {
    Samples,
    Nanoseconds,
    Bytes,
    Objects,
}

impl Weight {
    /// All weights, in default order. If none is requested, the first with data in the profile is used.
    pub const ALL: [Self; 8] = [
        Self::CpuSamples,
        Self::WallSamples,
        Self::CpuTime,
        Self::AllocatedBytes,
        Self::AllocatedObjects,
        Self::LiveBytes,
        Self::LiveObjects,
        Self::MonitorTime,
    ];

    /// Returns the weights with data in `profile`, in the order of [`ALL`](Self::ALL).
    pub fn of(profile: &Profile) -> Vec<Self> {
        Self::ALL.into_iter().filter(|weight| weight.sum(profile) > 0).collect()
    }

    /// Returns the sum of the weights of all stacks of `profile`.
    pub fn sum(self, profile: &Profile) -> u64 {
        let mut sum: u64 = 0;
        each_row(profile, self, |_, _, value| sum = sum.saturating_add(value));
        sum
    }

    /// Returns the name as users write it, the name for people, and the unit.
    const fn description(self) -> (&'static str, &'static str, Unit) {
        match self {
            Self::CpuSamples => ("cpu-samples", "CPU samples", Unit::Samples),
            Self::WallSamples => ("wall-samples", "Wall-clock samples", Unit::Samples),
            Self::CpuTime => ("cpu-time", "CPU time", Unit::Nanoseconds),
            Self::AllocatedBytes => ("allocated-bytes", "Allocated bytes", Unit::Bytes),
            Self::AllocatedObjects => ("allocated-objects", "Allocated objects", Unit::Objects),
            Self::LiveBytes => ("live-bytes", "Live bytes", Unit::Bytes),
            Self::LiveObjects => ("live-objects", "Live objects", Unit::Objects),
            Self::MonitorTime => ("monitor-time", "Time waited for monitors", Unit::Nanoseconds),
        }
    }

    /// Its name, as users write it.
    pub const fn name(self) -> &'static str {
        self.description().0
    }

    /// Its name for people.
    pub const fn title(self) -> &'static str {
        self.description().1
    }

    /// Returns the unit of the weight.
    pub const fn unit(self) -> Unit {
        self.description().2
    }
}

impl Display for Weight {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Weight {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|weight| weight.name() == name);
        found.ok_or_else(|| {
            let names = Self::ALL.map(Self::name).join(", ");
            format!("there is no weight `{name}`; there are {names}")
        })
    }
}

/// A stack with its weight.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Stack<'a> {
    /// The thread, if traces are kept by thread.
    pub thread: ThreadSerial,
    /// The frames, innermost first.
    pub frames: FramePath<'a>,
    /// The frame above the innermost one: the class of the allocated object or of the monitor, or the state of the
    /// thread in brackets.
    pub subject: Option<Cow<'a, str>>,
    /// The state of the thread, in wall-clock samples.
    pub state: Option<WallState>,
    /// The weight.
    pub value: u64,
}

impl Stack<'_> {
    /// Returns true if the stack lacks its outermost frames, because it was deeper than the profiler looked.
    pub fn is_cut_off(&self, profile: &Profile) -> bool {
        self.frames
            .iter()
            .last()
            .is_some_and(|outermost| profile.has_label(outermost, Label::Truncated))
    }
}

/// Returns all stacks of a profile with a weight; equal stacks are summed up.
///
/// Sections of CPU and monitors count from the last dump, so that the run is their sum. Sites cover the
/// whole run, so that the last section counts.
pub fn stacks(profile: &Profile, weight: Weight) -> Vec<Stack<'_>> {
    // A state is known by its label.
    type Key<'a> = (ThreadSerial, StackId, Option<Cow<'a, str>>);
    let mut sums: IndexMap<Key<'_>, (Option<WallState>, u64), FxBuildHasher> = IndexMap::default();
    each_row(profile, weight, |trace, subject, value| {
        let thread = profile.traces.get(trace).map_or(ThreadSerial(0), |trace| trace.thread);
        let (state, stack) = match subject {
            Subject::State(state, stack) => (Some(state), stack),
            _ => (None, profile.traces.frames_of(trace).id()),
        };
        let subject = match subject {
            Subject::None => None,
            Subject::State(state, _) => Some(state.label().into()),
            Subject::Monitor(name) => Some(profile.names.get(name).into()),
            Subject::Site(site) => Some(profile.site_type(site)),
        };
        let (_, sum) = sums.entry((thread, stack, subject)).or_insert((state, 0));
        *sum = sum.saturating_add(value);
    });
    let stacks = sums.into_iter().map(|((thread, stack, subject), (state, value))| {
        let frames = profile.traces.path(stack);
        Stack { thread, frames, subject, state, value }
    });
    stacks.collect()
}

/// The part of a row that stands above the innermost frame.
#[derive(Clone, Copy)]
enum Subject<'a> {
    None,
    State(WallState, StackId),
    Monitor(NameId),
    Site(&'a Site),
}

/// Passes on the trace, the subject and the weight of each row that weighs anything.
fn each_row<'a>(
    profile: &'a Profile,
    weight: Weight,
    mut visit: impl FnMut(TraceSerial, Subject<'a>, u64),
) {
    let mut visit = |trace, subject, value: u64| {
        if value > 0 {
            visit(trace, subject, value);
        }
    };
    let site = |site: &Site| match weight {
        Weight::AllocatedBytes => site.allocated.bytes,
        Weight::AllocatedObjects => site.allocated.instances,
        Weight::LiveBytes => site.live.bytes,
        _ => site.live.instances,
    };
    match weight {
        Weight::CpuSamples | Weight::WallSamples => {
            for row in profile.cpu_samples().flat_map(|section| &section.rows) {
                let state = profile.state_of(row.trace);
                if state.is_some() == (weight == Weight::WallSamples) {
                    let subject = state.map_or(Subject::None, |(of, at)| Subject::State(of, at));
                    visit(row.trace, subject, row.samples);
                }
            }
        }
        Weight::CpuTime => {
            for row in profile.cpu_times().flat_map(|section| &section.rows) {
                visit(row.trace, Subject::None, nanoseconds(row.own));
            }
        }
        Weight::MonitorTime => {
            for row in profile.monitor_times().flat_map(|section| &section.rows) {
                let name = row.monitor.name();
                visit(row.trace, Subject::Monitor(name), nanoseconds(row.time));
            }
        }
        _ => {
            for row in profile.sites().next_back().into_iter().flat_map(|section| &section.rows) {
                visit(row.trace, Subject::Site(row), site(row));
            }
        }
    }
}
