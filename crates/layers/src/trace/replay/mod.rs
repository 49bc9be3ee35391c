//! Feeds an agent from a recording, in a process without a VM.
//!
//! Each thread of the recording is a thread here, and one runs at a time ([`turns`]), so that an agent does the
//! same in every replay. The agent's calls are answered from the recording ([`player`]). Some, such as raw
//! monitors and thread-local storage, are implemented ([`table`]).

mod jni;
mod known;
mod library;
mod monitors;
mod player;
mod registry;
mod state;
mod table;
#[cfg(test)]
mod tests;
mod translate;
mod turns;
mod vm;

use crate::layer;
use crate::trace::event_name;
use crate::trace::read::Trace;
use crate::trace::stats::{Statistics, statistics};
use jni_sys::{JNI_OK, jint};
use jvmpi_sys::{JVM_OnLoad, JVM_OnUnload};
use player::Player;
use state::Replay;
use std::collections::BTreeMap;
use std::ffi::CString;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use std::{process, ptr, thread};

/// The outcome of a replay.
#[derive(Clone, Debug, Default)]
pub struct Summary {
    /// The events that the agent got, by type.
    pub delivered: BTreeMap<jint, u64>,
    /// The differences from the recorded agent, with their counts.
    pub notes: BTreeMap<String, u64>,
    /// The time that the events took.
    pub took: Duration,
}

/// Replays the recording into the agent of this library, once in a process.
///
/// # Errors
/// Returns one line if the library is not an agent, or refuses to run.
pub fn replay(trace: Trace, library: &Path, options: Option<CString>) -> Result<Summary, String> {
    let (on_load, on_unload) = library::open(library)?;
    // SAFETY: the library stays loaded, and its functions are an agent's.
    unsafe { replay_functions(trace, on_load, on_unload, options) }
}

/// Replays the recording into the agent with these functions, once in a process.
///
/// # Errors
/// Returns one line if the agent refuses to run, or if the process has replayed a recording before.
///
/// # Safety
/// The functions must be those of an agent, and must stay loaded as long as the process runs.
pub unsafe fn replay_functions(
    trace: Trace,
    on_load: JVM_OnLoad,
    on_unload: Option<JVM_OnUnload>,
    options: Option<CString>,
) -> Result<Summary, String> {
    trace.check_word_size()?;
    let statistics = statistics(&trace);
    let (replay, first) = Replay::new(trace, start);
    let (Some(table), Some(replay)) = (layer::put_alone(replay, table::SLOT), table::replay())
    else {
        return Err("this process has replayed a recording before".to_owned());
    };
    replay.table.store(table, Ordering::Relaxed);
    jni::VM.store(vm::java_vm(), Ordering::Relaxed);
    // The agent may keep and change the string.
    let options = options.map_or(ptr::null_mut(), CString::into_raw);
    let load = || {
        // SAFETY: this is how the specification has the VM call an agent.
        let result = unsafe { on_load(vm::java_vm(), options, ptr::null_mut()) };
        if result == JNI_OK {
            Ok(())
        } else {
            Err(format!(
                "JVM_OnLoad returned {result}: the agent refuses to run; check its options"
            ))
        }
    };
    let supervisor = thread::spawn(|| replay.turns.supervise());
    let player = Player::new(replay, first);
    player.load(load)?;
    note_missing_events(replay, &statistics);
    let began = Instant::now();
    player.play();
    _ = supervisor.join();
    let took = began.elapsed();
    if let Some(on_unload) = on_unload {
        // SAFETY: this is how the library for JVMs calls it.
        unsafe { on_unload(vm::java_vm()) };
    }
    let delivered = (0..).zip(&replay.delivered);
    let delivered =
        delivered.map(|(event_type, count)| (event_type, count.load(Ordering::Relaxed)));
    let delivered = delivered.filter(|(_, count)| *count > 0).collect();
    Ok(Summary { delivered, notes: replay.notes(), took })
}

/// Notes events that the agent wants and the recorded one has not enabled.
fn note_missing_events(replay: &Replay, statistics: &Statistics) {
    for event_type in 1..64 {
        if replay.wants(event_type) && !statistics.events.contains_key(&event_type) {
            replay.note(format!("enabled, but none was recorded: {}", event_name(event_type)));
        }
    }
}

/// The size of a thread's stack; memory is used only as it is needed.
const STACK: usize = 8 << 20;

/// Starts the thread of the recording that has its turn.
fn start(number: usize) {
    let play = move || {
        let play = || table::replay().map(|replay| Player::new(replay, number).play());
        // The others would wait for this thread.
        if catch_unwind(AssertUnwindSafe(play)).is_err() {
            eprintln!("jvmpi: error: the replay has failed");
            process::exit(1);
        }
    };
    if let Err(error) = thread::Builder::new().stack_size(STACK).spawn(play) {
        eprintln!("jvmpi: error: the replay cannot start a thread: {error}");
        process::exit(1);
    }
}
