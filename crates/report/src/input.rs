//! The contents of a page.

use std::time::Duration;

use jvmpi_formats::profile::{Profile, Time};

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

/// The profiled program and the conditions of the recording.
#[derive(Clone, Debug, Default)]
pub struct Recording {
    /// The command line of the program.
    pub command: String,
    /// Its process number.
    pub pid: Option<u32>,
    /// The JVM, as in `Java 17.0.9`.
    pub java: Option<String>,
    /// The time of its start. None if that is the start of the recording.
    pub started: Option<Time>,
    /// The time from the start of the recording to its end.
    pub duration: Duration,
    /// The time from one CPU sample to the next, if CPU time was sampled.
    pub interval: Option<Duration>,
    /// The mean number of bytes per allocation sample, if allocations were sampled.
    pub alloc_interval: Option<u32>,
}
