//! Each event reaches its method, in the mode in which it is sent. A failed load leaves no agent behind.

#[macro_use]
mod fake_vm;

use jvmpi::EventType;
use jvmpi::sys::jni_sys::{JNI_ERR, JNI_OK};
use jvmpi::sys::*;
use jvmpi::*;
use std::collections::BTreeMap;
use std::ffi::CStr;
use std::sync::Mutex;

/// The methods that were called, each with the ID in its data (0 if there is not exactly one).
static CALLED: Mutex<Vec<(&str, usize)>> = Mutex::new(Vec::new());

struct Recorder;

macro_rules! record {
    ($($method:ident: $mode:ident $(, $data:ident: $type:ty => $id:expr)?;)*) => {
        impl Agent for Recorder {
            fn load(jvmpi: &mut OnLoad, options: &str) -> Result<Self, LoadError> {
                if options == "panic" {
                    panic!("expected");
                }
                if !options.is_empty() {
                    return Err(format!("no options, not {options}").into());
                }
                let [entry, exit] = [EventType::MethodEntry, EventType::MethodExit];
                jvmpi.enable_all([entry, exit, entry]);
                jvmpi.enable(EventType::GcStart);
                Ok(Self)
            }

            $(fn $method(&self, _: &mut $mode<'_> $(, $data: $type)?) {
                let id: &[usize] = &[$($id)?];
                let id = id.first().copied().unwrap_or(0);
                CALLED.lock().unwrap().push((stringify!($method), id));
            })*
        }

        /// The mode of each method's context.
        const MODES: &[(&str, Mode)] =
            &[$((stringify!($method), <mode::$mode as mode::Loaded>::SPECIFIED),)*];
    };
}

record! {
    jvm_init_done: MultiThreaded;
    jvm_shut_down: MultiThreaded;
    data_dump_request: MultiThreaded;
    data_reset_request: MultiThreaded;
    thread_start: GcDisabled, start: ThreadStart<'_> => start.thread().as_usize();
    thread_end: MultiThreaded;
    class_load: GcDisabled, class: ClassLoad<'_> => class.class().as_usize();
    class_unload: Stopped, id: ClassId => id.as_usize();
    method_entry: MultiThreaded, id: MethodId => id.as_usize();
    method_entry2: GcDisabled, entry: MethodEntry2 => entry.receiver.unwrap().as_usize();
    method_exit: MultiThreaded, id: MethodId => id.as_usize();
    instruction_start: MultiThreaded, start: InstructionStart => start.offset as usize;
    compiled_method_load: MultiThreaded, code: CompiledMethodLoad<'_> => code.code_size() as usize;
    compiled_method_unload: MultiThreaded, code: CompiledMethodUnload => code.code_address.addr();
    object_alloc: GcDisabled, alloc: ObjectAlloc => alloc.object().as_usize();
    object_free: Stopped, id: ObjectId => id.as_usize();
    object_move: Stopped, moved: ObjectMove => moved.new_object.as_usize();
    arena_new: Stopped, new: ArenaNew<'_> => new.arena.0 as usize;
    arena_delete: Stopped, arena: ArenaId => arena.0 as usize;
    gc_start: MultiThreaded;
    gc_finish: MultiThreaded, heap: HeapUse => heap.total_object_space as usize;
    jni_globalref_alloc: GcDisabled, alloc: GlobalrefAlloc => alloc.object.unwrap().as_usize();
    jni_globalref_free: MultiThreaded, id: ReferenceId => id.as_usize();
    jni_weak_globalref_alloc: GcDisabled, alloc: GlobalrefAlloc => alloc.reference.as_usize();
    jni_weak_globalref_free: MultiThreaded, id: ReferenceId => id.as_usize();
    monitor_contended_enter: GcDisabled, id: ObjectId => id.as_usize();
    monitor_contended_entered: GcDisabled, id: ObjectId => id.as_usize();
    monitor_contended_exit: GcDisabled, id: ObjectId => id.as_usize();
    monitor_wait: GcDisabled, wait: MonitorWait => wait.object.unwrap().as_usize();
    raw_monitor_contended_enter: MultiThreaded, raw: RawMonitorContended<'_> => raw.monitor.as_usize();
    raw_monitor_contended_entered: MultiThreaded, raw: RawMonitorContended<'_> => raw.monitor.as_usize();
    raw_monitor_contended_exit: MultiThreaded, raw: RawMonitorContended<'_> => raw.monitor.as_usize();
    monitor_waited: GcDisabled, wait: MonitorWait => wait.timeout as usize;
    class_load_hook: MultiThreaded, _file: &mut ClassFile<'_> => ID;
}

/// An empty string.
static TEXT: u64 = 0;
/// An ID for events that do not dereference it.
const ID: usize = 0x1230;

/// Returns the mode of each event, by the name of its method, from the event's line in the header. Where the
/// line names two modes, the event is sent in the last one, which permits less.
fn modes_of_the_header() -> BTreeMap<String, Mode> {
    let header = include_str!("../../../jvmpi.h");
    let enabled = EVENTS.iter().filter(|event| event.enabled);
    let mode = |event: &sys::EventType| {
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
    let methods: BTreeMap<_, _> =
        MODES.iter().map(|(name, mode)| ((*name).to_owned(), *mode)).collect();
    assert_eq!(methods, modes_of_the_header());
    // Deviations from the specification permit less.
    let differs = |event: &&sys::EventType| {
        event.enabled && methods[&event.name().to_lowercase()] != event.mode
    };
    let names: Vec<_> = EVENTS.iter().filter(differs).map(|event| event.name()).collect();
    assert_eq!(names, ["CLASS_UNLOAD", "ARENA_NEW"]);
    assert!(names.iter().all(|name| methods[&name.to_lowercase()] == Mode::STOPPED));
}

#[test]
fn each_event_reaches_its_method() {
    let vm = fake_vm::vm(JVMPI_VERSION_1_2);
    let load = |options: &CStr| load!(Recorder, vm, options.as_ptr());
    // Refused options and a panic leave no agent behind.
    assert_eq!(load(c"x"), JNI_ERR);
    assert_eq!(load(c"panic"), JNI_ERR);
    assert_eq!(load(c"\xff"), JNI_ERR);
    assert_eq!(fake_vm::calls(), []);

    assert_eq!(load(c""), JNI_OK);
    let enabled = [JVMPI_EVENT_METHOD_ENTRY, JVMPI_EVENT_METHOD_EXIT, JVMPI_EVENT_GC_START];
    assert_eq!(fake_vm::calls(), enabled.map(|event| ("EnableEvent", event as usize)));
    assert_eq!(load(c""), JNI_ERR, "it is loaded already");

    // Each word that may be the address of a string is one, so it serves as an ID too.
    let word = (&raw const TEXT).addr();
    for event in EVENTS.iter().filter(|event| event.enabled) {
        // The word is also the length of these events' lists, which the methods above do not read.
        let lists =
            matches!(event.number, JVMPI_EVENT_CLASS_LOAD | JVMPI_EVENT_COMPILED_METHOD_LOAD);
        let word = if lists { ID } else { word };
        fake_vm::send(event.number, word);
        let method = event.name().to_lowercase();
        let called = std::mem::take(&mut *CALLED.lock().unwrap());
        let [(name, id)] = called[..] else { panic!("{method}: {called:?}") };
        assert_eq!(name, method);
        let whole = [0, ID, word, word & u32::MAX as usize, word as u32 as i32 as usize];
        assert!(whole.contains(&id), "{method}: {id:#x}");
    }

    // Unknown events, and events without a required ID, call no method.
    for event in [0, 10, 36, 62, -1, i32::MAX & !JVMPI_REQUESTED_EVENT] {
        fake_vm::send(event, ID);
    }
    fake_vm::send(JVMPI_EVENT_METHOD_ENTRY, 0);
    fake_vm::send(JVMPI_EVENT_OBJECT_ALLOC, 0);
    fake_vm::send(JVMPI_EVENT_OBJECT_ALLOC | JVMPI_REQUESTED_EVENT, ID);
    assert_eq!(*CALLED.lock().unwrap(), []);
}
