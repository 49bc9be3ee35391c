//! MONITOR_DUMP: the state of all threads, and the threads that wait
//! for each monitor.

use crate::mutex::lock;
use crate::shared::Shared;
use jvmpi::dump::Kind;
use jvmpi::{Context, EventError, ObjectId, ThreadId, mode};
use jvmpi_formats::profile::{
    self, Monitor, MonitorDump, MonitorStatus, ThreadSerial, ThreadState, ThreadStatus,
};

/// Returns the section.
///
/// # Errors
/// Fails if the VM does.
pub fn dump<M: mode::Loaded + mode::MayLock>(
    shared: &Shared,
    jvmpi: &mut Context<'_, M>,
) -> Result<MonitorDump, EventError> {
    let session = shared.session();
    jvmpi.monitor_dump(|jvmpi, dump| {
        let serial = |env: usize| lock(&shared.known).thread(env);
        let threads = dump.threads().map(|(trace, status)| {
            let thread = trace.thread.map_or(ThreadSerial(0), |thread| serial(thread.as_usize()));
            ThreadStatus {
                thread,
                trace: shared.trace(&session, thread, trace.frames),
                state: status.map_or(ThreadState::Runnable, |status| status.state),
                suspended: status.is_some_and(|status| status.suspended),
                interrupted: status.is_some_and(|status| status.interrupted),
            }
        });
        let threads = threads.collect();
        let mut monitors = Vec::new();
        for (monitor, name) in dump.monitors().map_while(Result::ok) {
            let what = match monitor.kind {
                Kind::Java { object } => Monitor::Java {
                    object: profile::ObjectId(object as u64),
                    class: match ObjectId::from_usize(object) {
                        Some(object) => shared.class_name(jvmpi, object),
                        None => profile::NameId::EMPTY,
                    },
                },
                Kind::Raw { monitor, .. } => {
                    let name = name.map(|name| name.to_str()).unwrap_or_default();
                    let name = lock(&shared.known).profile.names.intern(&name);
                    Monitor::Raw { id: profile::ObjectId(monitor as u64), name }
                }
            };
            let serials = |threads: &[usize]| threads.iter().map(|env| serial(*env)).collect();
            monitors.push(MonitorStatus {
                monitor: what,
                owner: ThreadId::from_usize(monitor.owner).map(|owner| serial(owner.as_usize())),
                entry_count: monitor.entry_count,
                waiting_to_enter: serials(&monitor.waiting_to_enter),
                waiting_to_be_notified: serials(&monitor.waiting_to_be_notified),
            });
        }
        MonitorDump { threads, monitors }
    })
}
