//! Feeds an agent from a recording, in a process without a VM.
//!
//! Each thread of the recording is a thread here, and one runs at a time ([`order`]), so that an agent does the
//! same in every replay. The agent's calls are answered from the recording ([`player`]). Some, such as raw
//! monitors and thread-local storage, are implemented ([`table`]).

mod dumps;
mod envs;
mod jni;
mod library;
mod monitors;
mod order;
mod player;
mod progress;
mod slab;
mod table;
#[cfg(test)]
mod tests;
mod vm;

use crate::trace::read::{Event, Trace};
use crate::trace::stats::Statistics;
use crate::trace::{event_name, statistics};
use envs::Envs;
use jni_sys::{JNI_OK, jint};
use jvmpi_sys::{JVM_OnLoad, JVM_OnUnload};
use monitors::Monitors;
use order::Order;
use player::Player;
use std::collections::{BTreeMap, HashMap};
use std::ffi::CString;
use std::path::Path;
use std::ptr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

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

/// The replay of this process: the interface passes no context.
static REPLAY: OnceLock<Replay> = OnceLock::new();

/// A replay.
struct Replay {
    trace: Trace,
    /// The place in the recording of the thread that begins.
    first: Option<usize>,
    order: Order,
    envs: Envs,
    monitors: Monitors,
    /// The events that the agent has enabled.
    enabled: AtomicU64,
    delivered: [AtomicU64; 64],
    notes: Mutex<BTreeMap<String, u64>>,
    known: Mutex<Known>,
    /// The functions that the agent has passed to CreateSystemThread, in order.
    functions: Mutex<Vec<usize>>,
}

/// The classes and threads that were announced.
#[derive(Default)]
struct Known {
    classes: HashMap<u64, Class>,
    /// Machine code, by its recorded address.
    codes: HashMap<u64, Arc<[u8]>>,
    class_of_method: HashMap<u64, u64>,
    thread_objects: HashMap<u64, u64>,
}

/// The CLASS_LOAD events of a class.
struct Class {
    /// Each event with another content than those before, by its content. Some agents keep the names, so
    /// the events live as long as their class.
    events: HashMap<Vec<u8>, Arc<Event>>,
    /// The last of them.
    last: Arc<Event>,
    shape: dumps::ClassShape,
}

impl Known {
    /// Returns an earlier event of the class with the same content, if there is one: a VM passes the same strings
    /// each time.
    fn told(&self, class: u64, event: &Event) -> Option<Arc<Event>> {
        let class = self.classes.get(&class)?;
        class.events.get(&event.content()).cloned()
    }

    /// Keeps a CLASS_LOAD of the class, unless one with the same content is kept already.
    fn learn_class(&mut self, class: u64, event: Box<Event>) {
        let content = event.content();
        if self.classes.get(&class).is_some_and(|class| class.events.contains_key(&content)) {
            return;
        }
        let shape = dumps::ClassShape::of(&event);
        let last = Arc::<Event>::from(event);
        let new =
            || Class { events: HashMap::new(), last: Arc::clone(&last), shape: shape.clone() };
        let kept = self.classes.entry(class).or_insert_with(new);
        kept.events.insert(content, Arc::clone(&last));
        (kept.last, kept.shape) = (last, shape);
    }

    /// Keeps the machine code that was recorded at this address.
    fn learn_code(&mut self, recorded: u64, code: &[u8]) -> Arc<[u8]> {
        let kept = self.codes.entry(recorded).or_default();
        if **kept != *code {
            *kept = code.into();
        }
        Arc::clone(kept)
    }
}

impl Replay {
    fn new(trace: Trace) -> Self {
        let first = (0..trace.threads().len()).min_by_key(|i| trace.threads()[*i].first());
        Self {
            order: Order::new(&trace, first),
            first,
            trace,
            envs: Envs::new(),
            monitors: Monitors::new(),
            enabled: AtomicU64::new(0),
            delivered: [const { AtomicU64::new(0) }; 64],
            notes: Mutex::default(),
            known: Mutex::default(),
            functions: Mutex::default(),
        }
    }

    /// Returns the replay.
    fn get() -> &'static Self {
        REPLAY.get().expect("the agent gets the interface from a replay")
    }

    /// Takes note of something that is not as it was recorded.
    fn note(&self, what: impl Into<String>) {
        let mut notes = self.notes.lock().unwrap_or_else(PoisonError::into_inner);
        *notes.entry(what.into()).or_default() += 1;
    }

    fn known<R>(&self, with: impl FnOnce(&mut Known) -> R) -> R {
        with(&mut self.known.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn wants(&self, event_type: jint) -> bool {
        self.enabled.load(Ordering::Relaxed) & (1 << event_type) != 0
    }
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
/// Returns one line if the agent refuses to run.
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
    let replay = REPLAY.get_or_init(|| Replay::new(trace));
    // The agent may keep and change the string.
    let options = options.map_or(ptr::null_mut(), CString::into_raw);

    let player = replay.first.map(|first| Player::new(replay, first));
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
    let began;
    match player {
        Some(player) => {
            player.load(load)?;
            note_what_is_missing(replay, &statistics);
            began = Instant::now();
            player.play();
            replay.order.wait_for_the_end();
        }
        None => {
            player::attach(replay);
            load()?;
            began = Instant::now();
        }
    }
    let took = began.elapsed();
    if let Some(on_unload) = on_unload {
        // SAFETY: this is how the library for JVMs calls it.
        unsafe { on_unload(vm::java_vm()) };
    }
    Ok(summary(replay, took))
}

/// Events that the agent wants and the recorded one has not enabled.
fn note_what_is_missing(replay: &Replay, statistics: &Statistics) {
    for event_type in 1..64 {
        if replay.wants(event_type) && !statistics.events.contains_key(&event_type) {
            replay.note(format!("enabled, but none was recorded: {}", event_name(event_type)));
        }
    }
}

fn summary(replay: &Replay, took: Duration) -> Summary {
    let delivered = (0..).zip(&replay.delivered);
    let delivered =
        delivered.map(|(event_type, count)| (event_type, count.load(Ordering::Relaxed)));
    let notes = replay.notes.lock().unwrap_or_else(PoisonError::into_inner).clone();
    Summary { delivered: delivered.filter(|(_, count)| *count > 0).collect(), notes, took }
}
