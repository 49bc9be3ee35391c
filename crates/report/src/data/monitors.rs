//! Monitor dumps: the owners of monitors and the threads that wait for them.

use jvmpi_formats::profile::{Profile, ThreadSerial, ThreadState};
use serde::Serialize;

use super::shared::Shared;
use super::stacks::{is_hidden, monitor_name};

/// All threads and monitors at one moment. A thread is an index, or −1 if it is not
/// known.
#[derive(Serialize)]
pub(super) struct Dump {
    threads: Vec<Thread>,
    monitors: Vec<Monitor>,
}

#[derive(Serialize)]
struct Thread {
    thread: i64,
    node: u32,
    state: &'static str,
    suspended: bool,
    interrupted: bool,
}

#[derive(Serialize)]
struct Monitor {
    name: String,
    owner: Option<i64>,
    entries: u32,
    entering: Vec<i64>,
    waiting: Vec<i64>,
}

/// Returns the monitor dumps of a profile.
pub(super) fn dumps(shared: &mut Shared, number: usize, profile: &Profile) -> Vec<Dump> {
    let mut dumps = Vec::new();
    for dump in profile.monitor_dumps() {
        let threads = dump.threads.iter().map(|status| Thread {
            thread: shared.threads.index(number, status.thread),
            node: shared.place(number, profile, status.trace).0,
            state: match status.state {
                ThreadState::Runnable => "runnable",
                ThreadState::MonitorWait => "waits to enter a monitor",
                ThreadState::CondVarWait => "waits to be notified",
            },
            suspended: status.suspended,
            interrupted: status.interrupted,
        });
        let threads = threads.collect();
        let indices = |threads: &[ThreadSerial]| {
            threads.iter().map(|&thread| shared.threads.index(number, thread)).collect()
        };
        let monitors = dump.monitors.iter();
        let monitors = monitors.filter(|status| !is_hidden(profile, status.monitor));
        let monitors = monitors.map(|status| Monitor {
            name: monitor_name(profile, status.monitor, true),
            owner: status.owner.map(|owner| shared.threads.index(number, owner)),
            entries: status.entry_count,
            entering: indices(&status.waiting_to_enter),
            waiting: indices(&status.waiting_to_be_notified),
        });
        let monitors = monitors.collect();
        dumps.push(Dump { threads, monitors });
    }
    dumps
}
