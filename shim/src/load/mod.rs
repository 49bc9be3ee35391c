//! Loads the shim into the VM, and agents into the shim.

mod get_env;
mod layers;
mod library;
mod on_load;
mod self_test;

use crate::gc::{arenas, gate};
use crate::records::agents;
use crate::records::phase::{self, Phase};
use crate::threads::agent_clock;
use crate::translate::{callbacks, lifecycle, subscriptions};
use get_env::interface_for;
use jni_sys::{JNI_EDETACHED, JNI_ERR, JNI_OK, JNIEnv, JavaVM, jint};
use jvm::boundary::{self, guard};
use jvm::platform::dynamic_loader::{self, library_of};
use jvm::platform::names::SHIM;
use jvm::types::{jthread, jvmtiEnv, jvmtiEventCallbacks};
use jvm::{Jni, logging};
use jvmpi_settings::{OnLoad, SelfTest};
use on_load::Pending;
use std::ffi::{CStr, c_char, c_void};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::{process, slice};

/// Handles `Agent_OnLoad`, which the VM calls during startup for every `-agentpath` that names the shim. An error ends
/// the process with one line.
///
/// # Safety
/// `vm` is the JVM of this process; `options` is NULL or a NUL-terminated string.
pub unsafe fn at_start(vm: *mut JavaVM, options: *const c_char) -> jint {
    // SAFETY: as the caller promises.
    let loaded = unsafe { start(vm) }.and_then(|()| {
        on_load::check_xrun_libraries()?;
        // SAFETY: as the caller promises.
        unsafe { on_load::pending(options) }
    });
    match loaded {
        Ok(agent) => {
            agent.into_iter().for_each(on_load::begin_later);
            JNI_OK
        }
        Err(message) => fail(&message),
    }
}

/// Handles `Agent_OnAttach`, which a running VM calls. An error is logged and leaves the program alone.
///
/// # Safety
/// The same as for [`at_start`].
pub unsafe fn at_attach(vm: *mut JavaVM, options: *const c_char) -> jint {
    // SAFETY: as the caller promises.
    if unsafe { jvm::is_starting(vm) } {
        // Not logged: `jvmpi` tries again.
        return JNI_EDETACHED;
    }
    // SAFETY: as the caller promises.
    let command = unsafe { command_in(options) };
    let settings = command.as_deref().and_then(|command| command.strip_prefix("set "));
    let attached = settings
        .map_or(Ok(()), |settings| jvmpi_settings::set(settings).map_err(|error| error.to_string()))
        // SAFETY: as the caller promises.
        .and_then(|()| unsafe { start(vm) })
        .and_then(|()| match &command {
            Some(_) if settings.is_some() => Ok(()),
            Some(command) => run(command),
            // SAFETY: as the caller promises.
            None => unsafe { on_load::pending(options) }.and_then(begin_now),
        });
    match attached {
        Ok(()) => JNI_OK,
        Err(message) => {
            log::error!("{message}");
            JNI_ERR
        }
    }
}

/// Returns the command to loaded agents in the shim's option string, if it is one: an attach to a running VM whose string
/// begins with `!` in place of an agent's name.
///
/// # Safety
/// `text` is NULL or a NUL-terminated string.
unsafe fn command_in(text: *const c_char) -> Option<String> {
    if text.is_null() {
        return None;
    }
    // SAFETY: as the caller promises.
    let text = unsafe { CStr::from_ptr(text) }.to_string_lossy();
    text.strip_prefix('!').map(String::from)
}

/// Runs the command.
///
/// # Errors
/// Returns the reason in one line if no agent is loaded or the command is unknown.
fn run(command: &str) -> Result<(), String> {
    if agents::all().is_empty() {
        return Err(format!("!{command}: no agent is loaded"));
    }
    match command {
        "reset" => lifecycle::request_reset(),
        _ => return Err(format!("!{command} is unknown; there are !reset and !set KEY=VALUE")),
    }
    Ok(())
}

/// Calls JVM_OnLoad of an agent in a running VM, and announces the existing threads, classes and objects to it.
fn begin_now(agent: Option<Pending>) -> Result<(), String> {
    let Some(agent) = agent else { return Ok(()) };
    let agent = on_load::begin(agent)?;
    let jni = jvm::get().jni().ok_or("the attaching thread has no JNI environment")?;
    lifecycle::go_live(jni, slice::from_ref(agent));
    // docs/howto/attach.md has the details.
    log::info!(
        "attached to a running JVM: calls in progress, existing JNI references and MONITOR_WAIT of Thread.sleep are \
         not reported"
    );
    Ok(())
}

/// Initializes the shim once: log, options, JVMTI, and the answer to `GetEnv`.
///
/// # Safety
/// `vm` is the JVM of this process.
unsafe fn start(vm: *mut JavaVM) -> Result<(), String> {
    // Unlike other locks this is held while the VM is called. That is safe because nothing in the shim works before
    // it has started, so another thread that loads the shim has to wait anyway.
    static STARTED: Mutex<bool> = Mutex::new(false);
    let mut started = STARTED.lock().unwrap_or_else(PoisonError::into_inner);
    if *started {
        return Ok(());
    }
    // The VM would unload the library after a failed `Agent_OnAttach`, although threads may be in its callbacks and agents
    // hold its table.
    dynamic_loader::this_library().iter().for_each(dynamic_loader::keep);
    logging::start();
    boundary::report_panics();
    let options = jvmpi_settings::read().map_err(|error| error.to_string())?;
    logging::set_level(options.log.into());
    // SAFETY: as the caller promises.
    let jvm = unsafe { jvm::start(vm) }?;
    gate::register_early();
    arenas::begin();
    agent_clock::start();
    let callbacks = jvmtiEventCallbacks {
        VMStart: Some(vm_start),
        VMInit: Some(vm_init),
        ..callbacks::of_main_env()
    };
    jvm.jvmti
        .set_callbacks(&callbacks)
        .and_then(|()| jvm.reader_env.set_callbacks(&callbacks::of_reader_env()))
        .and_then(|()| jvm.lookup_env.set_callbacks(&callbacks::of_lookup_env()))
        .and_then(|()| jvm.class_env.set_callbacks(&callbacks::of_class_env()))
        .and_then(|()| subscriptions::start())
        .map_err(|error| format!("the JVM refused the shim's callbacks: {error}"))?;
    // SAFETY: as the caller promises.
    unsafe { jvm::answer_get_env(vm, interface_for, get_env::env_for) };
    log_start();
    *started = true;
    Ok(())
}

fn log_start() {
    let effective = jvmpi_settings::get().describe();
    // Outside the macro, so that it is found without log=info too: the VM does not report it while it starts.
    let vm = jvm::get().name_and_version();
    log::info!(
        "jvmpi {} on {}{}{}",
        env!("CARGO_PKG_VERSION"),
        vm,
        if effective.is_empty() { "" } else { ", " },
        effective
    );
}

fn fail(message: &str) -> ! {
    log::error!("{message}");
    phase::advance(Phase::Dead);
    process::exit(1)
}

/// Calls JVM_OnLoad of the agents that the shim itself loads. The VM can now run Java code, so JNI works.
unsafe extern "system" fn vm_start(_: *mut jvmtiEnv, _: *mut JNIEnv) {
    guard((), || on_load::begin_all(OnLoad::Start).unwrap_or_else(|message| fail(&message)));
}

/// Calls JVM_OnLoad of the agents with `onload=init`, and starts sending events. The program is about to run.
unsafe extern "system" fn vm_init(vm: *mut jvmtiEnv, env: *mut JNIEnv, thread: jthread) {
    guard((), || {
        on_load::begin_all(OnLoad::Init).unwrap_or_else(|message| fail(&message));
        if agents::all().is_empty() {
            log::warn!(
                "no agent was named, as in -agentpath:…/{SHIM}=foo:options or -Xrunfoo:options: only a \
                 library of the program that asks for JVMPI gets it"
            );
        }
    });
    // SAFETY: as JVMTI promises.
    unsafe { lifecycle::vm_init(vm, env, thread) };
    if jvmpi_settings::get().selftest == SelfTest::On {
        // SAFETY: JVMTI passes the environment of the thread that runs this.
        guard((), || self_test::run(unsafe { Jni::new(env) }));
    }
}

/// Returns the interface to a C program that embeds the VM. The shim need not be loaded yet.
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
    // The program that calls this counts as an agent.
    library_of(caller.addr()).filter(|l| !get_env::is_of_the_vm(l)).and_then(get_env::claim);
    let interface = interface_for(version, caller)?;
    let started_late = phase::now() == Phase::Loading
        && jvm::get().jvmti.phase() == Ok(jvm::types::JVMTI_PHASE_LIVE);
    if let Some(jni) = jvm::get().jni().filter(|_| started_late) {
        lifecycle::go_live(jni, agents::all());
    }
    Ok(interface)
}

/// Calls JVM_OnUnload of the agents that have it, once, because the VM does not.
pub fn at_end() {
    static ENDED: OnceLock<()> = OnceLock::new();
    if ENDED.set(()).is_err() {
        return;
    }
    phase::advance(Phase::Dead);
    for agent in agents::all() {
        if let Some(on_unload) = library::on_unload(agent.path()) {
            guard((), || {
                // SAFETY: the VM still exists, and the agent's library stays loaded.
                unsafe { on_unload(jvm::get().vm()) };
            });
        }
    }
}
