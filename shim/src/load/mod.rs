//! Loading: the shim into the VM, agents into the shim.

mod command_line;
mod library;

use crate::boundary::{self, guard};
use crate::jvm;
use crate::lock::Lock;
use crate::options;
use crate::translate::{self, lifecycle, subscriptions};
use crate::world::agents::{self, Agent};
use crate::world::phase::{self, Phase};
use crate::{logging, table};
use jni_sys::{JNI_ERR, JNI_EVERSION, JNI_OK, JNIEnv, JavaVM, jint};
use jvmpi_sys::{JVMPI_VERSION_1, JVMPI_VERSION_1_1, JVMPI_VERSION_1_2};
use jvmti_sys::{jvmtiEnv, jvmtiEventCallbacks};
use library::{AgentLibrary, Instead, LibraryError, LoadedLibrary};
use std::cell::Cell;
use std::ffi::{CStr, CString, OsStr, c_void};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::ptr;
use std::sync::{Mutex, OnceLock};

/// An agent that the shim itself loads, and that has not begun yet.
struct Pending {
    library: AgentLibrary,
    options: Option<CString>,
}

static PENDING: Lock<Vec<Pending>> = Lock::new(Vec::new());

/// An agent of which is known, before it asks for the interface, that it will.
struct Expected {
    /// The address at which its library lies.
    base: usize,
    path: PathBuf,
    /// Its own options.
    options: String,
}

/// The agents that the shim itself loads and those of `-Xrun`, in the order in which they begin.
static EXPECTED: Lock<Vec<Expected>> = Lock::new(Vec::new());

fn expect(library: &AgentLibrary, options: &[u8]) {
    if let Some(LoadedLibrary { base, path }) = library::library_of(library.on_load as usize) {
        let options = String::from_utf8_lossy(options).into_owned();
        EXPECTED.lock().push(Expected { base, path, options });
    }
}

/// The VM loads the shim at its start, once for every `-agentpath` that names it. What goes wrong
/// ends the process with one line.
///
/// # Safety
/// `vm` is the JVM of this process; `options` is NULL or a NUL-terminated string.
pub unsafe fn at_start(vm: *mut JavaVM, options: *const std::ffi::c_char) -> jint {
    // SAFETY: as the caller promises.
    let loaded = unsafe { start(vm) }.and_then(|()| {
        check_xrun_libraries()?;
        // SAFETY: as the caller promises.
        unsafe { pending(options) }
    });
    match loaded {
        Ok(agent) => {
            PENDING.lock().extend(agent);
            JNI_OK
        }
        Err(message) => fail(&message),
    }
}

/// The VM loads the shim while it runs. What goes wrong leaves the program alone.
///
/// # Safety
/// As for [`at_start`].
pub unsafe fn at_attach(vm: *mut JavaVM, options: *const std::ffi::c_char) -> jint {
    // SAFETY: as the caller promises.
    let attached = unsafe { start(vm).and_then(|()| pending(options)) }.and_then(|agent| {
        let Some(agent) = agent else { return Ok(()) };
        let agent = begin(agent)?;
        let jni = jvm::get().jni().ok_or("the thread that attaches is not attached to the VM")?;
        lifecycle::go_live(jni, std::slice::from_ref(agent));
        Ok(())
    });
    match attached {
        Ok(()) => JNI_OK,
        Err(message) => {
            log::error!("{message}");
            JNI_ERR
        }
    }
}

/// Makes the shim work, once: log, options, JVMTI, and the answer to `GetEnv`.
///
/// # Safety
/// `vm` is the JVM of this process.
unsafe fn start(vm: *mut JavaVM) -> Result<(), String> {
    // Held over calls of the VM, as nothing of the shim works before it is through: who comes meanwhile
    // has to wait, and nobody else can.
    static STARTED: Mutex<bool> = Mutex::new(false);
    let mut started = STARTED.lock().unwrap_or_else(|e| e.into_inner());
    if *started {
        return Ok(());
    }
    library::keep_this_one();
    logging::start();
    boundary::report_panics();
    let options = options::read().map_err(|error| error.to_string())?;
    logging::set_level(options.log);
    // SAFETY: as the caller promises.
    let jvm = unsafe { jvm::start(vm) }?;
    let callbacks = jvmtiEventCallbacks { VMStart: Some(vm_start), ..translate::callbacks() };
    jvm.jvmti
        .set_callbacks(&callbacks)
        .and_then(|()| jvm.lookup_env.set_callbacks(&translate::lookup_callbacks()))
        .and_then(|()| jvm.class_env.set_callbacks(&translate::class_callbacks()))
        .and_then(|()| subscriptions::start())
        .map_err(|error| format!("the JVM refused the shim's callbacks: {error}"))?;
    // SAFETY: as the caller promises.
    unsafe { jvm::answer_get_env(vm, interface_for) };
    announce_start();
    *started = true;
    Ok(())
}

fn announce_start() {
    let vm = |name: &CStr| {
        let property = jvm::get().jvmti.system_property(name);
        property.map(|value| value.to_string_lossy().into_owned()).unwrap_or_default()
    };
    let effective = options::get().describe();
    log::info!(
        "jvmpi {} on {} {}{}{}",
        env!("CARGO_PKG_VERSION"),
        vm(c"java.vm.name"),
        vm(c"java.vm.version"),
        if effective.is_empty() { "" } else { ", " },
        effective
    );
}

fn fail(message: &str) -> ! {
    log::error!("{message}");
    phase::advance(Phase::Dead);
    // SAFETY: exit may be called by any thread.
    unsafe { libc::exit(1) }
}

/// Reads `name:options` and opens the agent library that it names; None if there is none.
///
/// # Safety
/// `text` is NULL or a NUL-terminated string.
unsafe fn pending(text: *const std::ffi::c_char) -> Result<Option<Pending>, String> {
    if text.is_null() {
        return Ok(None);
    }
    // SAFETY: as the caller promises.
    let text = unsafe { CStr::from_ptr(text) }.to_bytes();
    if text.is_empty() {
        return Ok(None);
    }
    let mut parts = text.splitn(2, |byte| *byte == b':');
    let name = OsStr::from_bytes(parts.next().unwrap_or_default());
    let options = parts.next().and_then(|options| CString::new(options).ok());
    let library = open(name).map_err(|error| error.to_string())?;
    log::info!("agent {} with options {options:?}", library.path.display());
    Ok(Some(Pending { library, options }))
}

/// Loads an agent library by its whole path: some agents look for their files beside it.
fn open(name: &OsStr) -> Result<AgentLibrary, LibraryError> {
    let path = find(name)?;
    let path = std::path::absolute(&path).unwrap_or(path);
    library::examine(&path)?;
    library::open(&path)
}

/// The library that `-Xrun` would load for this name.
fn find(name: &OsStr) -> Result<PathBuf, LibraryError> {
    let property = |name: &CStr| jvm::get().jvmti.system_property(name).unwrap_or_default();
    let directories = [property(c"sun.boot.library.path"), property(c"java.library.path")];
    let search: Vec<PathBuf> = directories
        .iter()
        .flat_map(|list| std::env::split_paths(OsStr::from_bytes(list.to_bytes())))
        .filter(|directory| !directory.as_os_str().is_empty())
        .collect();
    library::find(name, &search)
}

/// Opens the libraries of `-Xrun` options before the VM does: what is wrong with one is
/// said in one line, and JDK 25 does not get to crash for want of `JVM_OnLoad`.
fn check_xrun_libraries() -> Result<(), String> {
    static CHECKED: OnceLock<()> = OnceLock::new();
    if CHECKED.set(()).is_err() {
        return Ok(());
    }
    for argument in command_line::xrun_arguments_of_this_process() {
        match open(&argument.name) {
            Ok(library) => expect(&library, argument.options.unwrap_or_default().as_bytes()),
            // The VM loads that as a JVMTI agent, which is no business of ours.
            Err(LibraryError::NoOnLoad { instead: Instead::AgentOnLoad, .. }) => {}
            Err(error) => return Err(error.to_string()),
        }
    }
    Ok(())
}

/// The VM runs Java code now, so JNI answers: agents that the shim itself loads begin.
unsafe extern "system" fn vm_start(_: *mut jvmtiEnv, _: *mut JNIEnv) {
    guard((), begin_agents);
}

/// Calls JVM_OnLoad of the agents that the shim itself loads, where JNI answers.
fn begin_agents() {
    let pending = std::mem::take(&mut *PENDING.lock());
    for agent in pending {
        if let Err(message) = begin(agent) {
            fail(&message);
        }
    }
}

fn begin(Pending { library, options }: Pending) -> Result<&'static Agent, String> {
    let path = library.path.display();
    expect(&library, options.as_deref().unwrap_or_default().to_bytes());
    let agent = library::library_of(library.on_load as usize).and_then(claim).ok_or_else(|| {
        format!("{path} is one agent too many: there may be {}", agents::MAX_AGENTS)
    })?;
    let _beginning = Beginning::new(agent);
    // The agent may keep and change the string.
    let options = options.map_or(ptr::null_mut(), CString::into_raw);
    // SAFETY: this is how the specification has the VM call an agent.
    let result = unsafe { (library.on_load)(jvm::get().vm(), options, ptr::null_mut()) };
    if result == JNI_OK {
        Ok(agent)
    } else {
        Err(format!(
            "JVM_OnLoad of {path} returned {result}: the agent refuses to run; check its options"
        ))
    }
}

thread_local! {
    /// The agent whose JVM_OnLoad the shim has called on the thread that runs.
    static BEGINNING: Cell<Option<&'static Agent>> = const { Cell::new(None) };
}

/// An agent's JVM_OnLoad runs until this is dropped.
struct Beginning;

impl Beginning {
    fn new(agent: &'static Agent) -> Self {
        BEGINNING.set(Some(agent));
        Self
    }
}

impl Drop for Beginning {
    fn drop(&mut self) {
        BEGINNING.set(None);
    }
}

/// The agent that this library is, a new one if it has none yet; None when all places are taken.
fn claim(library: LoadedLibrary) -> Option<&'static Agent> {
    let LoadedLibrary { base, path } = library;
    if let Some(known) = agents::in_library(base) {
        return Some(known);
    }
    let of_its_own = {
        let expected = EXPECTED.lock();
        let it = expected.iter().find(|expected| expected.base == base);
        it.map(|expected| expected.options.clone()).unwrap_or_default()
    };
    let quirks = options::get().describe_quirks(&path, &of_its_own);
    if !quirks.is_empty() {
        log::info!("{} is known to need {quirks}", path.display());
    }
    agents::claim(base, &path, options::get().agent(&path, &of_its_own), table::of)
}

/// The agent whose code a call of `GetEnv` returns to.
fn agent_that_asks(caller: usize) -> Result<&'static Agent, String> {
    let library = library::library_of(caller);
    if let Some(known) = library.as_ref().and_then(|library| agents::in_library(library.base)) {
        return Ok(known);
    }
    let too_many =
        || format!("there are {} agents already: no other gets JVMPI", agents::MAX_AGENTS);
    let is_agent =
        |library: &LoadedLibrary| library::symbol_in(&library.path, c"JVM_OnLoad").is_some();
    let new = |library| claim(library).ok_or_else(too_many);
    match library {
        Some(library) if is_agent(&library) => new(library),
        // Part of an agent that consists of several libraries; or the call was the last thing that a
        // function did, and returns to whoever called that.
        library => match (BEGINNING.get().or_else(agents::the_only_one), library) {
            (Some(agent), _) => Ok(agent),
            (None, Some(library)) if !library::is_of_the_vm(&library) => new(library),
            // A function that the VM has called.
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

/// The library of the `-Xrun` option whose turn it is while the VM begins.
fn next_expected() -> Option<LoadedLibrary> {
    if phase::now() != Phase::Loading {
        return None;
    }
    let expected = EXPECTED.lock();
    let next = expected.iter().find(|expected| agents::in_library(expected.base).is_none())?;
    Some(LoadedLibrary { base: next.base, path: next.path.clone() })
}

/// Answers `GetEnv` for a JVMPI version: the table of the agent that asks.
fn interface_for(version: jint, caller: *const c_void) -> Result<*mut c_void, jint> {
    if ![JVMPI_VERSION_1, JVMPI_VERSION_1_1, JVMPI_VERSION_1_2].contains(&version) {
        return Err(JNI_EVERSION);
    }
    let agent = agent_that_asks(caller.addr()).map_err(|message| {
        log::error!("{message}");
        JNI_ERR
    })?;
    agent.note_that_it_asked();
    Ok(agent.interface().cast())
}

/// Gives a C program that embeds the VM the interface, whether or not the shim was loaded before.
///
/// # Safety
/// `vm` is the JVM of this process.
pub unsafe fn embed(
    vm: *mut JavaVM,
    version: jint,
    caller: *const c_void,
) -> Result<*mut c_void, jint> {
    // SAFETY: as the caller promises.
    if let Err(message) = unsafe { start(vm) } {
        log::error!("{message}");
        return Err(JNI_ERR);
    }
    // A program that calls this is an agent of its own.
    library::library_of(caller.addr()).filter(|l| !library::is_of_the_vm(l)).and_then(claim);
    let interface = interface_for(version, caller)?;
    let started_late = phase::now() == Phase::Loading
        && jvm::get().jvmti.phase() == Ok(jvmti_sys::JVMTI_PHASE_LIVE);
    if let Some(jni) = jvm::get().jni().filter(|_| started_late) {
        lifecycle::go_live(jni, agents::all());
    }
    Ok(interface)
}

/// Calls JVM_OnUnload of the agents that have one, once; the VM itself never does.
pub fn at_end() {
    static ENDED: OnceLock<()> = OnceLock::new();
    if ENDED.set(()).is_err() {
        return;
    }
    phase::advance(Phase::Dead);
    for agent in agents::all() {
        if let Some(on_unload) = library::on_unload(agent.path()) {
            guard((), || {
                // SAFETY: the VM is still there, and the agent's library stays loaded.
                unsafe { on_unload(jvm::get().vm()) };
            });
        }
    }
}
