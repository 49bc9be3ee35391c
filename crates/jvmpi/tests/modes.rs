//! The method for each event gets a context of the mode in which the event is sent.

use jvmpi::mode::Loaded;
use jvmpi::sys::{EVENTS, Mode};
use jvmpi::{Agent, Context, LoadError, OnLoad};
use std::collections::BTreeMap;

struct Nothing;

impl Agent for Nothing {
    fn load(_: &mut OnLoad, _: &str) -> Result<Self, LoadError> {
        Ok(Self)
    }
}

fn bare<M: Loaded>(_: fn(&Nothing, &mut Context<'_, M>)) -> Mode {
    M::SPECIFIED
}

fn with_data<M: Loaded, D>(_: fn(&Nothing, &mut Context<'_, M>, D)) -> Mode {
    M::SPECIFIED
}

/// Returns the mode of each method's context, by the method's name.
fn modes_of_methods() -> BTreeMap<&'static str, Mode> {
    macro_rules! modes {
        ($($kind:ident: $($method:ident)*;)*) => {
            BTreeMap::from([$($((stringify!($method), $kind(Nothing::$method)),)*)*])
        };
    }
    modes! {
        bare: jvm_init_done jvm_shut_down data_dump_request data_reset_request thread_end gc_start;
        with_data: thread_start class_load class_unload method_entry method_entry2 method_exit
            instruction_start compiled_method_load compiled_method_unload object_alloc object_free
            object_move arena_new arena_delete gc_finish jni_globalref_alloc jni_globalref_free
            jni_weak_globalref_alloc jni_weak_globalref_free monitor_contended_enter
            monitor_contended_entered monitor_contended_exit monitor_wait monitor_waited
            raw_monitor_contended_enter raw_monitor_contended_entered raw_monitor_contended_exit
            class_load_hook;
    }
}

/// Returns the mode of each event, by the name of its method, from the event's line in the header. Where the
/// line names two modes, the event is sent in the last one, which permits less.
fn modes_of_the_header() -> BTreeMap<String, Mode> {
    let header = include_str!("../../../jvmpi.h");
    let enabled = EVENTS.iter().filter(|event| event.enabled);
    let mode = |event: &jvmpi::sys::EventType| {
        let start = format!("#define {} ", event.constant);
        let line = header.lines().find(|line| line.starts_with(&start)).expect("it has a line");
        let modes = line.split(';').nth(1).expect("the line names modes");
        let last = modes.trim_end_matches("*/").rsplit(',').next().expect("there is one");
        let mode = match last.trim() {
            "MT" => Mode::MT,
            "GC-off" => Mode::GC_OFF,
            "stopped" => Mode::STOPPED,
            other => panic!("{other} is no mode, in {line}"),
        };
        (event.name().to_lowercase(), mode)
    };
    enabled.map(mode).collect()
}

#[test]
fn methods_get_the_modes_of_their_events() {
    let methods = modes_of_methods();
    let methods: BTreeMap<_, _> =
        methods.into_iter().map(|(name, mode)| (name.to_owned(), mode)).collect();
    assert_eq!(methods, modes_of_the_header());
}

#[test]
fn deviations_from_the_specification_permit_less() {
    let methods = modes_of_methods();
    let differs = |event: &&jvmpi::sys::EventType| {
        let name = event.name().to_lowercase();
        event.enabled && methods[name.as_str()] != event.mode
    };
    let names: Vec<_> = EVENTS.iter().filter(differs).map(|event| event.name()).collect();
    assert_eq!(names, ["CLASS_UNLOAD", "ARENA_NEW"]);
    assert!(names.iter().all(|name| methods[name.to_lowercase().as_str()] == Mode::STOPPED));
}
