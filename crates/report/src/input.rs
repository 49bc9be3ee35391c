//! The contents of a page.

use std::time::Duration;

use jvmpi_formats::profile::{Profile, Time};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::heap;

/// A profile to be shown.
#[derive(Clone, Copy, Debug)]
pub struct Input<'a> {
    /// Its name on the page: the file's name.
    pub name: &'a str,
    /// The profile.
    pub profile: &'a Profile,
    /// The objects of its heap dump, as a [`heap::Collector`] gathers them.
    pub heap: Option<&'a heap::Graph>,
    /// The reason why data is missing, if some is: the place where the file is cut off.
    pub problem: Option<&'a str>,
    /// The program and the conditions of the recording, if they are known.
    pub recording: Option<&'a Recording>,
}

/// The profiled program and the conditions of the recording. The times are microseconds in the data of a page.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Recording {
    /// The command line of the program.
    pub command: String,
    /// Its process number.
    pub pid: Option<u32>,
    /// The JVM, as in `Java 17.0.9`.
    pub java: Option<String>,
    /// The time of its start. None if that is the start of the recording.
    #[serde(skip)]
    pub started: Option<Time>,
    /// The time from the start of the recording to its end.
    #[serde(rename = "microseconds", with = "micros")]
    pub duration: Duration,
    /// The time from one CPU sample to the next, if CPU time was sampled.
    #[serde(with = "optional_micros")]
    pub interval: Option<Duration>,
    /// The mean number of bytes per allocation sample, if allocations were sampled.
    pub alloc_interval: Option<u32>,
}

pub(crate) fn microseconds(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}

mod micros {
    use super::*;

    pub fn serialize<S: Serializer>(time: &Duration, to: S) -> Result<S::Ok, S::Error> {
        microseconds(*time).serialize(to)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Duration, D::Error> {
        u64::deserialize(from).map(Duration::from_micros)
    }
}

mod optional_micros {
    use super::*;

    pub fn serialize<S: Serializer>(time: &Option<Duration>, to: S) -> Result<S::Ok, S::Error> {
        time.map(microseconds).serialize(to)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Duration>, D::Error> {
        Ok(Option::deserialize(from)?.map(Duration::from_micros))
    }
}
