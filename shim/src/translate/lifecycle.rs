//! JVM_INIT_DONE, JVM_SHUT_DOWN, DATA_DUMP_REQUEST and DATA_RESET_REQUEST, and the announcements when the VM is ready.

use super::announce::{self, ClassFor};
use super::{
    blocking, class_files, classes, collection, compiled, entries, objects, subscriptions,
};
use crate::classes as class_records;
use crate::classes::{Linking, method_numbers, methods};
use crate::gc::{arenas, gate};
use crate::records::agents::{self, Agent};
use crate::records::phase::{self, Phase};
use crate::records::thread as thread_records;
use crate::threads::{self, Thread};
use jvm::Jni;
use jvm::boundary::guard;
use jvm::types::{jthread, jvmtiEnv};
use jvmpi_settings::{Reset, SelfTest};
use jvmpi_sys::*;

jvm::callbacks! {
    pub fn vm_init(_thread: jthread) => |jni, _| go_live(jni, agents::all());
    pub fn vm_death() => shut_down;
}

/// Starts the delivery of events, and announces what already exists (specification, "Starting up").
pub fn go_live(jni: Jni, agents: &'static [Agent]) {
    threads::locate_environments(jni);
    let thread = threads::started(jni);
    let _ = announce::SEND_DEFERRED.set(entries::send_held);
    if phase::advance(Phase::Replaying) {
        collection::start(jni);
        if blocking::parking_is_reported() {
            subscriptions::report_parking(jni);
        }
    }
    for agent in agents {
        announce::thread(jni, agent, &thread, &thread);
        arenas::all().for_each(|arena| announce::arena(jni, agent, &thread, arena));
    }
    show_class_files(jni, agents, &thread);
    if let Err(error) = subscriptions::update() {
        log::warn!("some enabled events are not available: {error}");
    }
    for agent in agents {
        replay(jni, agent, &thread);
    }
    phase::advance(Phase::Live);
    for agent in agents {
        announce::send(jni, agent, &thread, JVMPI_EVENT_JVM_INIT_DONE, ());
    }
    // Agents often enable events in their JVM_INIT_DONE handler.
    subscriptions::give_back_unwanted(jni);
}

/// Shows the files of loaded classes to the agents that have enabled CLASS_LOAD_HOOK, before other events name these
/// classes.
fn show_class_files(jni: Jni, agents: &'static [Agent], thread: &Thread) {
    let wants_files = |agent: &&Agent| agent.wants(JVMPI_EVENT_CLASS_LOAD_HOOK);
    let replays = agents.iter().filter(wants_files).filter_map(class_files::Replay::begin);
    let replays: Vec<_> = replays.collect();
    if replays.is_empty() || !subscriptions::begin_with(jni, JVMPI_EVENT_CLASS_LOAD_HOOK) {
        return;
    }
    for replay in replays {
        replay.run(jni, thread);
    }
}

/// Sends the defining events of existing classes, objects and other threads.
fn replay(jni: Jni, agent: &'static Agent, thread: &Thread) {
    if agent.wants(JVMPI_EVENT_CLASS_LOAD) {
        classes::announce_all(jni, agent, thread, ClassFor::Event(Linking::Boot));
    }
    if agent.wants(JVMPI_EVENT_OBJECT_ALLOC) {
        objects::replay(jni, agent, thread);
    }
    if agent.wants(JVMPI_EVENT_COMPILED_METHOD_LOAD) {
        compiled::replay(agent);
    }
    if agent.wants(JVMPI_EVENT_THREAD_START) {
        replay_threads(jni, agent, thread);
    }
}

fn replay_threads(jni: Jni, agent: &Agent, thread: &Thread) {
    jni.frame(jvm::LARGE_FRAME, |jni| {
        let Ok(all) = jvm::get().jvmti.all_threads() else { return };
        for other in all.iter().filter_map(|object| threads::discover(jni, *object)) {
            announce::thread(jni, agent, thread, &other);
        }
    });
}

fn shut_down(jni: Jni) {
    let thread = threads::current(jni);
    classes::announce_loaded(jni, &thread);
    // The handler may disable CLASS_LOAD and request dumps, which name classes that the VM has not reported. JDK 21 reports
    // no class that is loaded while a virtual thread leaves its carrier.
    for agent in agents::wanting(JVMPI_EVENT_CLASS_LOAD) {
        classes::announce_all(jni, agent, &thread, ClassFor::ShutDown);
    }
    // Agents hold their locks from GC_START to GC_FINISH.
    if !collection::between(|| phase::advance(Phase::ShuttingDown)) {
        return;
    }
    gate::let_pass();
    phase::sends_shut_down();
    let known = (class_records::count(), methods::count());
    log::debug!("at the end {} classes and {} methods are known", known.0, known.1);
    log::debug!("at the end there are {} records of threads", thread_records::count());
    log::debug!("rewritten code has {} numbers for methods", method_numbers::count());
    announce::send_to_all(jni, &thread, JVMPI_EVENT_JVM_SHUT_DOWN, ());
    phase::advance(Phase::Dead);
    if jvmpi_settings::get().selftest == SelfTest::On {
        jvm::internals::log_results();
    }
    // No event that another thread has requested arrives later.
    gate::let_pass();
    collection::end();
}

pub unsafe extern "system" fn data_dump_request(_: *mut jvmtiEnv) {
    guard((), || {
        let Some((jni, thread)) = threads::current_attached() else { return };
        for agent in agents::all() {
            announce::send(jni, agent, &thread, JVMPI_EVENT_DATA_DUMP_REQUEST, ());
            if agent.options().reset == Reset::AfterDump {
                announce::send(jni, agent, &thread, JVMPI_EVENT_DATA_RESET_REQUEST, ());
            }
        }
    });
}

pub fn request_reset() {
    if let Some((jni, thread)) = threads::current_attached() {
        announce::send_to_all(jni, &thread, JVMPI_EVENT_DATA_RESET_REQUEST, ());
    }
}
