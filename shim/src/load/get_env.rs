//! Answers `GetEnv`: finds the agent that called it, and returns the agent's table.

use super::layers::topmost_table;
use super::library::AgentLibrary;
use crate::records::agents::{self, Agent};
use crate::records::phase::{self, Phase};
use crate::{table, threads};
use jni_sys::{JNI_ERR, JNI_EVERSION, JNIEnv, jint};
use jvm::boundary::OnDrop;
use jvm::lock::Lock;
use jvm::platform::dynamic_loader::{LoadedLibrary, library_of, symbol_in, this_library};
use jvmpi_settings::AgentOptions;
use jvmpi_sys::{JVMPI_CPU_SAMPLING_1, JVMPI_VERSION_1, JVMPI_VERSION_1_1, JVMPI_VERSION_1_2};
use std::cell::Cell;
use std::ffi::c_void;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;

/// An agent whose JVM_OnLoad will call `GetEnv`.
struct Expected {
    library: LoadedLibrary,
    /// The options for its JVM_OnLoad.
    options: String,
}

/// The agents that the shim itself loads and the `-Xrun` agents, in the order in which their JVM_OnLoad is called.
static EXPECTED: Lock<Vec<Expected>> = Lock::new(Vec::new());

/// Registers the agent in this library as expected.
pub fn expect(library: &AgentLibrary, options: String) {
    if let Some(library) = library_of(library.on_load as usize) {
        EXPECTED.lock().push(Expected { library, options });
    }
}

thread_local! {
    /// The agent whose JVM_OnLoad the shim is calling on the current thread.
    static BEGINNING: Cell<Option<&'static Agent>> = const { Cell::new(None) };
}

/// Runs `call`, the call of the agent's JVM_OnLoad.
pub fn while_beginning<R>(agent: &'static Agent, call: impl FnOnce() -> R) -> R {
    BEGINNING.set(Some(agent));
    agent.beginning.store(true, Ordering::Relaxed);
    let _after = OnDrop(|| {
        BEGINNING.set(None);
        agent.beginning.store(false, Ordering::Relaxed);
    });
    call()
}

/// Returns the agent of this library, and registers it if needed. Returns `None` if there are already `MAX_AGENTS`.
pub fn claim(library: LoadedLibrary) -> Option<&'static Agent> {
    let LoadedLibrary { base, path } = library;
    if let Some(known) = agents::in_library(base) {
        return Some(known);
    }
    let own_options = {
        let expected = EXPECTED.lock();
        let it = expected.iter().find(|expected| expected.library.base == base);
        it.map(|expected| expected.options.clone()).unwrap_or_default()
    };
    if needs_quirks(&path) {
        let quirks = jvmpi_settings::get().describe_quirks(&path, &own_options);
        if !quirks.is_empty() {
            log::info!("{} is known to need {quirks}", path.display());
        }
    }
    agents::claim(base, &path, settings_of(&path, &own_options), table::of)
}

/// Returns the settings for the agent in this library with these options.
pub fn settings_of(library: &Path, own_options: &str) -> AgentOptions {
    let settings = jvmpi_settings::get();
    if needs_quirks(library) {
        settings.agent(library, own_options)
    } else {
        settings.agent_without_quirks(library, own_options)
    }
}

/// Returns true unless the library opts out of quirks. Our HPROF does, because it has the name of the original.
fn needs_quirks(library: &Path) -> bool {
    symbol_in(library, c"jvmpi_no_quirks").is_none()
}

/// Returns the agent whose code called `GetEnv`, given the return address of that call.
fn agent_that_asks(caller: usize) -> Result<&'static Agent, String> {
    let library = library_of(caller);
    if let Some(known) = library.as_ref().and_then(|library| agents::in_library(library.base)) {
        return Ok(known);
    }
    let too_many = || {
        let most = agents::MAX_AGENTS;
        format!(
            "cannot give JVMPI to another library: there are already {most} agents, the maximum"
        )
    };
    let is_agent = |library: &LoadedLibrary| {
        let has = |name| symbol_in(&library.path, name).is_some();
        has(c"JVM_OnLoad") || has(c"jvmpi_OnLoad")
    };
    let new = |library| claim(library).ok_or_else(too_many);
    match library {
        Some(library) if is_agent(&library) => new(library),
        // The library is a secondary one of an agent. Or the agent called `GetEnv` by a tail call, so the return
        // address belongs to the caller of the agent's function.
        library => match (BEGINNING.get().or_else(agents::the_only_one), library) {
            (Some(agent), _) => Ok(agent),
            (None, Some(library)) if !is_of_the_vm(&library) => new(library),
            // The tail call is in a function that the VM called.
            (None, library) => match next_expected() {
                Some(expected) => new(expected),
                None if agents::all().is_empty() => {
                    new(library.unwrap_or(LoadedLibrary { base: 0, path: PathBuf::new() }))
                }
                None => Err(format!(
                    "cannot tell which of {} agents called GetEnv, because the call was compiled to a tail call; \
                     make the agent check the result of GetEnv",
                    agents::all().len()
                )),
            },
        },
    }
}

/// Returns the library of the first `-Xrun` option whose agent has not called `GetEnv` yet. Only while the VM starts,
/// when it calls the agents in this order.
fn next_expected() -> Option<LoadedLibrary> {
    if phase::now() != Phase::Loading {
        return None;
    }
    let expected = EXPECTED.lock();
    let mut libraries = expected.iter().map(|expected| &expected.library);
    libraries.find(|library| agents::in_library(library.base).is_none()).cloned()
}

/// Answers `GetEnv` for a version of JVMPI or of its extension: returns the table of the agent that called it.
pub fn interface_for(version: jint, caller: *const c_void) -> Result<*mut c_void, jint> {
    const VERSIONS: [jint; 4] =
        [JVMPI_VERSION_1, JVMPI_VERSION_1_1, JVMPI_VERSION_1_2, JVMPI_CPU_SAMPLING_1];
    if !VERSIONS.contains(&version) {
        return Err(JNI_EVERSION);
    }
    let agent = agent_that_asks(caller.addr()).map_err(|message| {
        log::error!("{message}");
        JNI_ERR
    })?;
    agent.asked.store(true, Ordering::Relaxed);
    if version == JVMPI_CPU_SAMPLING_1 {
        return Ok(table::cpu_samples::of(agent).cast_mut().cast());
    }
    Ok(topmost_table(agent).cast())
}

/// Answers `GetEnv` for JNI. On a virtual thread with an identity of its own, an agent gets the environment that
/// identifies this thread, which is not the VM's.
pub fn env_for(env: *mut JNIEnv, caller: *const c_void) -> *mut JNIEnv {
    let Some(thread) = threads::known_current().filter(|thread| thread.is_virtual()) else {
        return env;
    };
    let agent = library_of(caller.addr()).and_then(|library| agents::in_library(library.base));
    if agent.is_some() && thread.runs_in(env) { thread.env() } else { env }
}

/// Returns true if the library is the VM's or the shim's. These call agents but are not agents.
pub fn is_of_the_vm(library: &LoadedLibrary) -> bool {
    this_library().is_some_and(|own| own.base == library.base)
        || symbol_in(&library.path, c"JNI_CreateJavaVM").is_some()
}
