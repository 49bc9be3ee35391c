//! The clock that agents read: `GetCurrentThreadCpuTime`.
//!
//! JVMPI's collections ran on the thread that GC_START and GC_FINISH name, and agents take what its
//! clock shows between the two off the time of its methods. Collectors of today have threads of their
//! own, and a collection is told when it is over. So to an agent that gets both, the CPU clock of that
//! thread goes on by the collector's pauses between the two: what it then takes off is what was added.
//! The clock of elapsed time contains the pauses already. It shows when they were: in GC_FINISH when the
//! last one was over, in GC_START as much less as they took.

use super::Thread;
use crate::platform::cpu_clock;
use crate::records::agents::Agent;
use crate::records::pauses::Pauses;
use crate::threads;
use jvmpi_settings::CpuTime;
use jvmpi_sys::{JVMPI_EVENT_GC_FINISH, JVMPI_EVENT_GC_START};
use std::sync::LazyLock;
use std::time::{Duration, Instant};

/// What the clock of the current thread shows to the agent, in nanoseconds.
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

/// When the clock of elapsed time was at 0.
static BEGAN: LazyLock<Instant> = LazyLock::new(Instant::now);

/// Starts the clock of elapsed time, before anybody looks at it.
pub fn start() {
    LazyLock::force(&BEGAN);
}

/// Nanoseconds since a moment that is the same for every thread.
fn elapsed(now: Instant) -> i64 {
    now.saturating_duration_since(*BEGAN).as_nanos() as i64
}

/// What the clock shows to an agent while a collection is told in a thread's name.
#[derive(Clone, Copy)]
pub struct Told {
    /// What it shows now.
    pub time: i64,
    /// By how much it goes on between GC_START and GC_FINISH.
    took: i64,
}

impl Told {
    /// Before GC_START.
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

    /// Before GC_FINISH.
    pub fn finish(&mut self, agent: &Agent, thread: &Thread) {
        self.time += self.took;
        if agent.options().cputime == CpuTime::Cpu {
            thread.stand_in.add_collection(agent, self.took);
        }
    }
}
