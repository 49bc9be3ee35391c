//! Monitor dumps: the owners of monitors and the threads that wait for them.

use std::borrow::Cow;

use jvmpi_formats::profile::{Profile, ThreadSerial, ThreadState};
use serde::{Deserialize, Serialize};

use super::shared::Shared;
use super::stacks::{is_hidden, monitor_name};

/// All threads and monitors at one moment. A thread is an index, or −1 if it is not
/// known.
#[derive(Serialize, Deserialize)]
pub(super) struct Dump {
    pub(super) threads: Vec<Thread>,
    pub(super) monitors: Vec<Monitor>,
}

#[derive(Serialize, Deserialize)]
pub(super) struct Thread {
    pub(super) thread: i32,
    pub(super) node: u32,
    pub(super) state: Cow<'static, str>,
    pub(super) suspended: bool,
    pub(super) interrupted: bool,
}

#[derive(Serialize, Deserialize)]
pub(super) struct Monitor {
    pub(super) name: String,
    pub(super) owner: Option<i32>,
    pub(super) entries: u32,
    pub(super) entering: Vec<i32>,
    pub(super) waiting: Vec<i32>,
}

/// Returns the name of a state on the page.
pub(super) fn name(state: ThreadState) -> &'static str {
    match state {
        ThreadState::Runnable => "runnable",
        ThreadState::MonitorWait => "waits to enter a monitor",
        ThreadState::CondVarWait => "waits to be notified",
    }
}

/// Returns the monitor dumps of a profile.
pub(super) fn dumps(shared: &mut Shared, number: usize, profile: &Profile) -> Vec<Dump> {
    let mut dumps = Vec::new();
    for dump in profile.monitor_dumps() {
        let threads = dump.threads.iter().map(|status| Thread {
            thread: shared.threads.index(number, status.thread),
            node: shared.place(number, profile, status.trace).0,
            state: name(status.state).into(),
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
