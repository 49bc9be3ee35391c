//! The clock that agents read: `GetCurrentThreadCpuTime`.
//!
//! JVMPI's collections ran on the thread that GC_START and GC_FINISH name. Agents subtract the time
//! between the two, by its clock, from the time of its methods. Today's collectors have their own
//! threads, and a collection is delivered after its end. So for an agent that gets both events, the CPU
//! clock of that thread advances between them by the collector's pauses: the agent subtracts exactly
//! what was added. The clock of elapsed time contains the pauses already. In GC_FINISH it shows the end
//! of the last pause, in GC_START that time minus the length of the pauses.

use super::Thread;
use crate::records::agents::Agent;
use crate::records::pauses::Pauses;
use crate::threads;
use jvm::platform::cpu_clock;
use jvmpi_settings::CpuTime;
use jvmpi_sys::{JVMPI_EVENT_GC_FINISH, JVMPI_EVENT_GC_START};
use std::sync::LazyLock;
use std::time::{Duration, Instant};

/// Returns the time that the current thread's clock shows to the agent, in nanoseconds.
pub fn now(agent: &Agent) -> i64 {
    let thread = threads::known_current();
    if let Some(told) = thread.as_ref().and_then(|thread| thread.stand_in.clock()) {
        return told;
    }
    match agent.options().cputime {
        CpuTime::Cpu => thread.map_or_else(cpu_clock::current, |thread| {
            thread.own_cpu_time() + thread.stand_in.time_of_collections(agent)
        }),
        CpuTime::Wall => elapsed(Instant::now()),
    }
}

/// The zero of the clock of elapsed time.
static BEGAN: LazyLock<Instant> = LazyLock::new(Instant::now);

/// Starts the clock of elapsed time, before it is first read.
pub fn start() {
    LazyLock::force(&BEGAN);
}

/// Returns the nanoseconds since a moment that is the same for every thread.
fn elapsed(now: Instant) -> i64 {
    now.saturating_duration_since(*BEGAN).as_nanos() as i64
}

/// The clock that an agent sees while a collection is delivered in a thread's name.
#[derive(Clone, Copy)]
pub struct ShownClock {
    /// The time that it shows now.
    pub time: i64,
    /// The time by which it advances between GC_START and GC_FINISH.
    took: i64,
}

impl ShownClock {
    /// Sets the clock before GC_START.
    pub fn begin(agent: &Agent, thread: &Thread, pauses: Pauses) -> Self {
        let gets_both = agent.wants(JVMPI_EVENT_GC_START) && agent.wants(JVMPI_EVENT_GC_FINISH);
        let took = if gets_both { pauses.took } else { Duration::ZERO }.as_nanos() as i64;
        let time = match agent.options().cputime {
            CpuTime::Cpu => {
                thread.cpu_time().unwrap_or(0) + thread.stand_in.time_of_collections(agent)
            }
            CpuTime::Wall => elapsed(pauses.until.unwrap_or_else(Instant::now)) - took,
        };
        Self { time, took }
    }

    /// Advances the clock before GC_FINISH.
    pub fn finish(&mut self, agent: &Agent, thread: &Thread) {
        self.time += self.took;
        if agent.options().cputime == CpuTime::Cpu {
            thread.stand_in.add_collection(agent, self.took);
        }
    }
}
