//! What `GetEnv` answers: which agent asks for the interface, and its table.

use super::layers::topmost_table;
use super::library::AgentLibrary;
use crate::dynamic_loader::{LoadedLibrary, library_of, symbol_in, this_library};
use crate::lock::Lock;
use crate::table;
use crate::world::agents::{self, Agent};
use crate::world::phase::{self, Phase};
use crate::world::threads;
use jni_sys::{JNI_ERR, JNI_EVERSION, JNIEnv, jint};
use jvmpi_sys::{JVMPI_VERSION_1, JVMPI_VERSION_1_1, JVMPI_VERSION_1_2};
use options::AgentOptions;
use std::cell::Cell;
use std::ffi::c_void;
use std::path::{Path, PathBuf};

/// An agent that is expected to ask for the interface.
struct Expected {
    /// The address at which its library lies.
    base: usize,
    path: PathBuf,
    /// The options that its JVM_OnLoad gets.
    options: String,
}

/// The agents that the shim itself loads and those of `-Xrun`, in the order in which their
/// JVM_OnLoad is called.
static EXPECTED: Lock<Vec<Expected>> = Lock::new(Vec::new());

/// Registers the agent in this library as expected, with its options.
pub fn expect(library: &AgentLibrary, options: &[u8]) {
    if let Some(LoadedLibrary { base, path }) = library_of(library.on_load as usize) {
        let options = String::from_utf8_lossy(options).into_owned();
        EXPECTED.lock().push(Expected { base, path, options });
    }
}

thread_local! {
    /// The agent whose JVM_OnLoad the shim has called on the current thread.
    static BEGINNING: Cell<Option<&'static Agent>> = const { Cell::new(None) };
}

/// An agent's JVM_OnLoad runs until this is dropped.
pub struct Beginning;

impl Beginning {
    pub fn new(agent: &'static Agent) -> Self {
        BEGINNING.set(Some(agent));
        agent.set_beginning(true);
        Self
    }
}

impl Drop for Beginning {
    fn drop(&mut self) {
        if let Some(agent) = BEGINNING.take() {
            agent.set_beginning(false);
        }
    }
}

/// The agent of this library, which is registered if it is not yet; None if there are `MAX_AGENTS`
/// already.
pub fn claim(library: LoadedLibrary) -> Option<&'static Agent> {
    let LoadedLibrary { base, path } = library;
    if let Some(known) = agents::in_library(base) {
        return Some(known);
    }
    let own_options = {
        let expected = EXPECTED.lock();
        let it = expected.iter().find(|expected| expected.base == base);
        it.map(|expected| expected.options.clone()).unwrap_or_default()
    };
    if needs_quirks(&path) {
        let quirks = options::get().describe_quirks(&path, &own_options);
        if !quirks.is_empty() {
            log::info!("{} is known to need {quirks}", path.display());
        }
    }
    agents::claim(base, &path, settings_of(&path, &own_options), table::of)
}

/// The settings for the agent in this library, which has these options.
pub fn settings_of(library: &Path, own_options: &str) -> AgentOptions {
    let settings = options::get();
    if needs_quirks(library) {
        settings.agent(library, own_options)
    } else {
        settings.agent_without_quirks(library, own_options)
    }
}

/// Whether an agent of this name may be one that is known. Our HPROF has the name of the original.
fn needs_quirks(library: &Path) -> bool {
    symbol_in(library, c"jvmpi_no_quirks").is_none()
}

/// The agent whose code a call of `GetEnv` returns to.
fn agent_that_asks(caller: usize) -> Result<&'static Agent, String> {
    let library = library_of(caller);
    if let Some(known) = library.as_ref().and_then(|library| agents::in_library(library.base)) {
        return Ok(known);
    }
    let too_many =
        || format!("there are {} agents already: no other gets JVMPI", agents::MAX_AGENTS);
    let is_agent = |library: &LoadedLibrary| symbol_in(&library.path, c"JVM_OnLoad").is_some();
    let new = |library| claim(library).ok_or_else(too_many);
    match library {
        Some(library) if is_agent(&library) => new(library),
        // One of several libraries of an agent; or `GetEnv` was called by a tail call, so that it
        // returns to the caller of the agent's function.
        library => match (BEGINNING.get().or_else(agents::the_only_one), library) {
            (Some(agent), _) => Ok(agent),
            (None, Some(library)) if !is_of_the_vm(&library) => new(library),
            // The tail call is in a function that the VM has called.
            (None, library) => match next_expected() {
                Some(expected) => new(expected),
                None if agents::all().is_empty() => {
                    new(library.unwrap_or(LoadedLibrary { base: 0, path: PathBuf::new() }))
                }
                None => Err(format!(
                    "it cannot be told which of {} agents has asked for JVMPI, as the call of GetEnv was \
                     the last in its function: let the agent look at the result",
                    agents::all().len()
                )),
            },
        },
    }
}

/// While the VM starts: the library of the first `-Xrun` option whose agent has not asked yet, as
/// the VM calls them in order.
fn next_expected() -> Option<LoadedLibrary> {
    if phase::now() != Phase::Loading {
        return None;
    }
    let expected = EXPECTED.lock();
    let next = expected.iter().find(|expected| agents::in_library(expected.base).is_none())?;
    Some(LoadedLibrary { base: next.base, path: next.path.clone() })
}

/// Answers `GetEnv` for a JVMPI version: the table of the agent that asks.
pub fn interface_for(version: jint, caller: *const c_void) -> Result<*mut c_void, jint> {
    if ![JVMPI_VERSION_1, JVMPI_VERSION_1_1, JVMPI_VERSION_1_2].contains(&version) {
        return Err(JNI_EVERSION);
    }
    let agent = agent_that_asks(caller.addr()).map_err(|message| {
        log::error!("{message}");
        JNI_ERR
    })?;
    agent.note_that_it_asked();
    Ok(topmost_table(agent).cast())
}

/// Answers `GetEnv` for JNI: an agent gets the environment by which it knows the current thread, which of a
/// virtual thread is not that of the VM.
pub fn env_for(env: *mut JNIEnv, caller: *const c_void) -> *mut JNIEnv {
    let Some(thread) = threads::known_current().filter(|thread| thread.is_virtual()) else {
        return env;
    };
    let agent = library_of(caller.addr()).and_then(|library| agents::in_library(library.base));
    if agent.is_some() && thread.runs_in(env) { thread.env() } else { env }
}

/// Whether the library is the VM's or the shim's, which call agents but are none.
pub fn is_of_the_vm(library: &LoadedLibrary) -> bool {
    this_library().is_some_and(|own| own.base == library.base)
        || symbol_in(&library.path, c"JNI_CreateJavaVM").is_some()
}
