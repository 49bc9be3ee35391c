//! Recordings of what tables and handlers in this file do, on threads of the tests'.

use super::*;
use crate::trace::coding::tag;
use crate::trace::fields::{Fields, Memory};
use jni_sys::{JNIEnv, jint};
use jvmpi_sys::*;
use std::ffi::{c_char, c_void};
use std::fs::{self, File};
use std::io::Read;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt, lchown, symlink};
use std::path::PathBuf;
use std::ptr;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Barrier};
use std::thread;

/// Returns an address that stands for something.
fn at<T>(address: usize) -> *mut T {
    ptr::without_provenance_mut(address)
}

const ENV: usize = 0x7000_1000;
/// Stands for a method's machine code.
static CODE: [u8; 64] = [0xc3; 64];

/// Far up, where method IDs lie.
const METHOD: usize = usize::MAX / 2 - 0xedcf;

fn text(text: &'static std::ffi::CStr) -> *mut c_char {
    text.as_ptr().cast_mut()
}

/// Returns METHOD_ENTRY or METHOD_EXIT of the method with this number.
fn method_event(event_type: jint, number: usize) -> JVMPI_Event {
    let mut event = event(event_type);
    event.u.method.method_id = at(METHOD + 8 * number);
    event
}

/// Returns an OBJECT_DUMP of these bytes.
fn object_dump(bytes: &mut [u8]) -> JVMPI_Event {
    let mut dump = event(JVMPI_EVENT_OBJECT_DUMP | JVMPI_REQUESTED_EVENT);
    let data_len = bytes.len() as jint;
    dump.u.object_dump = JVMPI_Event_object_dump { data_len, data: bytes.as_mut_ptr().cast() };
    dump
}

/// Returns an event with nothing but zeros in its arm.
fn event(event_type: jint) -> JVMPI_Event {
    // SAFETY: all arms consist of numbers and pointers.
    let u = unsafe { std::mem::zeroed() };
    JVMPI_Event { event_type, env_id: at(ENV), u }
}

unsafe extern "C" fn get_call_trace(trace: *mut JVMPI_CallTrace, depth: jint) {
    // SAFETY: the tests pass a trace with room.
    unsafe {
        (*trace).num_frames = depth;
        for i in 0..depth as usize {
            let method_id = at(METHOD + i * 8 % 64);
            (*trace).frames.add(i).write(JVMPI_CallFrame { lineno: i as jint - 2, method_id });
        }
    }
}

unsafe extern "C" fn enable(event_type: jint, _: *mut c_void) -> jint {
    if event_type == 0 { JVMPI_NOT_AVAILABLE } else { JVMPI_SUCCESS }
}

/// Sends the event that is asked for, to the topmost handler.
unsafe extern "C" fn request<const SLOT: usize>(event_type: jint, arg: *mut c_void) -> jint {
    let mut requested = event(event_type | JVMPI_REQUESTED_EVENT);
    requested.u.class_unload.class_id = arg.cast();
    send(TABLES[SLOT].load(Ordering::Relaxed), &mut requested);
    JVMPI_FAIL
}

unsafe extern "C" fn create(_: *mut c_char) -> JVMPI_RawMonitor {
    at(0x500)
}

unsafe extern "C" fn get_storage(env: *mut JNIEnv) -> *mut c_void {
    at(env.addr() + 1)
}

/// The tables below, by slot.
static TABLES: [AtomicUsize; 8] = [const { AtomicUsize::new(0) }; 8];

/// A table that is recorded in a file of its own, in slot `SLOT`.
struct Recorded {
    below: usize,
    above: *mut JVMPI_Interface,
    file: PathBuf,
}

fn record<const SLOT: usize>(handler: unsafe extern "C" fn(*mut JVMPI_Event)) -> Recorded {
    let file = std::env::temp_dir().join(format!("jvmpi-trace-{}-{SLOT}", std::process::id()));
    record_in::<SLOT>(file, handler)
}

fn record_in<const SLOT: usize>(
    file: PathBuf,
    handler: unsafe extern "C" fn(*mut JVMPI_Event),
) -> Recorded {
    // SAFETY: zeros are a table without functions.
    let none: JVMPI_Interface = unsafe { std::mem::zeroed() };
    let below = Box::into_raw(Box::new(JVMPI_Interface {
        version: JVMPI_VERSION_1_2,
        EnableEvent: Some(enable),
        RequestEvent: Some(request::<SLOT>),
        GetCallTrace: Some(get_call_trace),
        RawMonitorCreate: Some(create),
        GetThreadLocalStorage: Some(get_storage),
        ..none
    }));
    TABLES[SLOT].store(below.expose_provenance(), Ordering::Relaxed);
    let recorder = Recorder::start(SLOT, file.to_str().unwrap(), "a\nb", "none").unwrap();
    // SAFETY: the table lives for ever.
    let above = unsafe { crate::layer::put_on(recorder, SLOT, below) }.unwrap();
    // SAFETY: as above.
    unsafe { (*above).NotifyEvent = Some(handler) };
    Recorded { below: below.expose_provenance(), above, file }
}

/// Sends the event through the table at this address.
fn send(table: usize, event: &mut JVMPI_Event) {
    let table: *mut JVMPI_Interface = ptr::with_exposed_provenance_mut(table);
    // SAFETY: the tests pass tables that live for ever.
    unsafe { (*table).NotifyEvent.unwrap()(event) };
}

impl Recorded {
    fn send(&self, mut event: JVMPI_Event) {
        send(self.below, &mut event);
    }

    /// Sends the last event, with which all is written, and returns the file's bytes.
    fn finish(&self) -> Vec<u8> {
        self.send(event(JVMPI_EVENT_JVM_SHUT_DOWN));
        let bytes = fs::read(&self.file).unwrap();
        fs::remove_file(&self.file).unwrap();
        bytes
    }
}

unsafe extern "C" fn ignore(_: *mut JVMPI_Event) {}

/// Returns the records of a thread as text.
fn lines(trace: &Trace, thread: usize) -> Vec<(Key, String)> {
    let line = |record| match record {
        Record::Method { is_exit: false, method } => format!("METHOD_ENTRY {method:#x}"),
        Record::Method { is_exit: true, method } => format!("METHOD_EXIT {method:#x}"),
        Record::Event(event) => event_name(event.event_type),
        Record::Call(call) => {
            format!("call {} {:x?} = {:#x}", call.function.name(), call.arguments, call.result)
        }
        Record::Begin(function, _) => format!("begin {}", function.name()),
        Record::Run => "run".into(),
        Record::End => "end".into(),
    };
    trace.records(thread).map(|entry| (entry.key, line(entry.record))).collect()
}

fn read(bytes: Vec<u8>) -> Trace {
    let trace = Trace::from_bytes(bytes).unwrap();
    assert_eq!(trace.problem(), None);
    assert!(trace.is_complete());
    trace
}

/// Fills each field with another value.
#[derive(Default)]
struct Fill {
    last: u64,
    memory: Memory,
}

impl Fields for Fill {
    fn number(&mut self, _: u64) -> u64 {
        self.last += 1;
        // Of both signs, for numbers of 32 and of 64 bits.
        self.last.wrapping_mul(0x9E37_79B9_7F4A_7C15)
    }

    unsafe fn text(&mut self, _: *mut c_char) -> *mut c_char {
        self.last += 1;
        let text = format!("text {}\u{fd}\0", self.last);
        if self.last.is_multiple_of(3) {
            ptr::null_mut()
        } else {
            self.memory.bytes(Box::from(text.as_bytes())).cast()
        }
    }

    unsafe fn bytes(&mut self, _: *mut u8, _: usize) -> (*mut u8, usize) {
        (self.memory.bytes(Box::from(*b"dump")), 4)
    }

    unsafe fn list<T: Copy>(
        &mut self,
        _: *mut T,
        _: usize,
        mut each: impl FnMut(&mut Self, &mut T),
    ) -> (*mut T, usize) {
        let items = self.memory.zeros::<T>(2);
        // SAFETY: there are two items, of zeros.
        (0..2).for_each(|i| each(self, unsafe { &mut *items.add(i) }));
        (items, 2)
    }
}

/// Returns events of each type except JVM_SHUT_DOWN, with something in all of their fields.
fn all_events(fill: &mut Fill) -> Vec<JVMPI_Event> {
    let types = EVENTS.iter().flat_map(|event| {
        let requested = event.requested.then_some(event.number | JVMPI_REQUESTED_EVENT);
        requested.into_iter().chain(event.enabled.then_some(event.number))
    });
    let types = types.filter(|event_type| *event_type != JVMPI_EVENT_JVM_SHUT_DOWN);
    let events = types.map(|event_type| {
        let mut event = event(event_type);
        // SAFETY: zeros are enough for an implementation that fills the fields.
        unsafe { fields(fill, event_type, &mut event.u) };
        if event_type == JVMPI_EVENT_COMPILED_METHOD_LOAD {
            event.u.compiled_method_load.code_addr = CODE.as_ptr().cast_mut().cast();
            event.u.compiled_method_load.code_size = 64;
        }
        event
    });
    events.collect()
}

/// Returns the types and contents of the events of the only thread. Methods have no event of their own in a trace.
fn contents(trace: &Trace) -> Vec<(jint, Vec<u8>)> {
    let mut records = trace.records(0);
    let contents = records.by_ref().filter_map(|entry| match entry.record {
        Record::Event(read) => {
            Some(content(&JVMPI_Event { event_type: read.event_type, env_id: at(ENV), u: read.u }))
        }
        Record::Method { is_exit, method } => {
            let mut entered = event(JVMPI_EVENT_METHOD_ENTRY + jint::from(is_exit) * EXIT);
            entered.u.method.method_id = at(method as usize);
            Some(content(&entered))
        }
        _ => None,
    });
    let contents = contents.collect();
    assert_eq!(records.problem(), None);
    contents
}

/// The number of METHOD_EXIT is this much greater than that of METHOD_ENTRY.
const EXIT: jint = JVMPI_EVENT_METHOD_EXIT - JVMPI_EVENT_METHOD_ENTRY;

/// Returns the type and the content of an event.
fn content(event: &JVMPI_Event) -> (jint, Vec<u8>) {
    // SAFETY: the tests fill the union member of an event's type.
    (event.event_type, unsafe { events::content(event.event_type, &event.u) })
}

#[test]
fn every_event_is_read_as_it_was_and_a_file_that_is_cut_up_to_there() {
    let recorded = record::<0>(ignore);
    let mut fill = Fill::default();
    let mut events = all_events(&mut fill);
    assert!(events.len() > 30);
    events.extend_from_within(..);
    events.iter().for_each(|event| recorded.send(*event));
    let bytes = recorded.finish();
    let trace = read(bytes.clone());
    assert_eq!((trace.about("agent"), trace.about("vm")), ("a b", "none"));
    events.push(event(JVMPI_EVENT_JVM_SHUT_DOWN));
    let all = contents(&trace);
    assert_eq!(all, events.iter().map(content).collect::<Vec<_>>());
    let codes = trace.records(0).filter_map(|entry| match entry.record {
        Record::Event(event) => Some(event.memory.code).filter(|code| !code.is_empty()),
        _ => None,
    });
    assert_eq!(codes.collect::<Vec<_>>(), [CODE.into(), CODE.into()]);

    // All records are in one chunk, so a file that is cut off has all or none of them.
    for length in 0..bytes.len() {
        let Ok(cut) = Trace::from_bytes(bytes[..length].to_vec()) else { continue };
        let is_empty = cut.threads().is_empty();
        assert!(is_empty || contents(&cut) == all, "{length}");
        assert!(!cut.is_complete());
    }
    // Damaged records are not taken for anything else.
    for i in 0..bytes.len() {
        let mut damaged = bytes.clone();
        damaged[i] ^= 0x10;
        if let Ok(damaged) = Trace::from_bytes(damaged) {
            assert!(damaged.problem().is_some(), "byte {i}");
        }
    }
}

unsafe extern "C" fn asks<const SLOT: usize>(event: *mut JVMPI_Event) {
    let above = ABOVE[SLOT].load(Ordering::Relaxed);
    let above: *mut JVMPI_Interface = ptr::with_exposed_provenance_mut(above);
    // SAFETY: the table lives for ever, and is called as it wants.
    unsafe {
        match (*event).event_type {
            JVMPI_EVENT_METHOD_ENTRY => {
                _ = (*above).GetThreadLocalStorage.unwrap()((*event).env_id);
                let mut frames = [JVMPI_CallFrame { lineno: 0, method_id: ptr::null_mut() }; 2];
                let mut trace = JVMPI_CallTrace {
                    env_id: (*event).env_id,
                    num_frames: 0,
                    frames: frames.as_mut_ptr(),
                };
                (*above).GetCallTrace.unwrap()(&raw mut trace, 2);
            }
            JVMPI_EVENT_GC_START => {
                _ = (*above).RequestEvent.unwrap()(JVMPI_EVENT_CLASS_UNLOAD, at(0x100));
            }
            _ => {}
        }
    }
}

/// The tables that agents have, by slot.
static ABOVE: [AtomicUsize; 8] = [const { AtomicUsize::new(0) }; 8];

#[test]
fn calls_are_part_of_the_events_that_they_are_made_in() {
    let recorded = record::<1>(asks::<1>);
    ABOVE[1].store(recorded.above.expose_provenance(), Ordering::Relaxed);
    // SAFETY: the table lives for ever.
    unsafe {
        assert_eq!((*recorded.above).EnableEvent.unwrap()(0, ptr::null_mut()), JVMPI_NOT_AVAILABLE);
        assert_eq!((*recorded.above).RawMonitorCreate.unwrap()(text(c"r")), at(0x500));
    }
    recorded.send(method_event(JVMPI_EVENT_METHOD_ENTRY, 0));
    recorded.send(method_event(JVMPI_EVENT_METHOD_EXIT, 0));
    // Not in the event before.
    // SAFETY: the table lives for ever.
    unsafe { _ = (*recorded.above).EnableEvent.unwrap()(1, ptr::null_mut()) };
    recorded.send(event(JVMPI_EVENT_GC_START));
    let lines = lines(&read(recorded.finish()), 0);
    let lines: Vec<_> = lines.iter().map(|(_, line)| line.as_str()).collect();
    assert_eq!(
        lines,
        [
            "call EnableEvent [0, 0, 0] = 0x1",
            "call RawMonitorCreate [0, 0, 0] = 0x500",
            &format!("METHOD_ENTRY {METHOD:#x}"),
            "call GetThreadLocalStorage [70001000, 0, 0] = 0x70001001",
            "call GetCallTrace [70001000, 2, 0] = 0x0",
            "end",
            &format!("METHOD_EXIT {METHOD:#x}"),
            "end",
            "call EnableEvent [1, 0, 0] = 0x0",
            "GC_START",
            "begin RequestEvent",
            "requested CLASS_UNLOAD",
            "end",
            "call RequestEvent [2b, 100, 0] = 0xffffffffffffffff",
            "end",
            "JVM_SHUT_DOWN",
        ]
    );
}

#[test]
fn ordered_records_of_several_threads_are_in_order() {
    let recorded = record::<2>(ignore);
    let table = recorded.below;
    let turns = Arc::new(Barrier::new(2));
    let threads: Vec<_> = (0..2)
        .map(|thread| {
            let turns = turns.clone();
            thread::spawn(move || {
                for i in 0..1000 {
                    if i % 2 == thread {
                        let mut load = event(JVMPI_EVENT_CLASS_UNLOAD);
                        load.u.class_unload.class_id = at(i);
                        send(table, &mut load);
                        // It comes before the other thread's next.
                        send(table, &mut method_event(JVMPI_EVENT_METHOD_ENTRY, i));
                    }
                    turns.wait();
                }
            })
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    let trace = read(recorded.finish());
    let mut all: Vec<_> = (0..trace.threads().len()).flat_map(|i| lines(&trace, i)).collect();
    all.sort_by_key(|(key, _)| *key);
    let all: Vec<_> = all.iter().map(|(_, line)| line.as_str()).collect();
    let methods = (0..1000).map(|i| format!("METHOD_ENTRY {:#x}", METHOD + 8 * i));
    let methods: Vec<_> = methods.collect();
    let expected = methods.iter().flat_map(|method| ["CLASS_UNLOAD", method]);
    assert_eq!(all, expected.chain(["JVM_SHUT_DOWN"]).collect::<Vec<_>>());
}

#[test]
fn long_records_and_many_are_read_as_they_were() {
    let recorded = record::<3>(asks::<7>);
    ABOVE[7].store(recorded.above.expose_provenance(), Ordering::Relaxed);
    let mut bytes: Vec<u8> = (0..1_000_000_u32).map(|i| i as u8).collect();
    let mut frames = vec![JVMPI_CallFrame { lineno: 0, method_id: ptr::null_mut() }; 5000];
    let mut trace = JVMPI_CallTrace { env_id: at(ENV), num_frames: 0, frames: frames.as_mut_ptr() };
    let (mut exits, mut lengths) = (0, Vec::new());
    for i in 0..3 {
        for j in 0..50_000_usize {
            recorded.send(method_event(JVMPI_EVENT_METHOD_EXIT, j * j % 3000));
            exits += 1;
            // Some of these begin at each place before the end of a buffer.
            if j % 3 == 0 {
                let mut short = object_dump(&mut bytes[..j % 61]);
                short.env_id = at(ENV + j % 2);
                recorded.send(short);
                lengths.push(j % 61);
            }
        }
        recorded.send(object_dump(&mut bytes));
        lengths.push(bytes.len());
        // SAFETY: the trace has room for that many frames.
        unsafe { (*recorded.above).GetCallTrace.unwrap()(&raw mut trace, 4990 + i) };
    }
    let trace = read(recorded.finish());
    let (mut dumps, mut depths, mut methods) = (Vec::new(), Vec::new(), Vec::new());
    for entry in trace.records(0) {
        match entry.record {
            Record::Event(event) if event.event_type != JVMPI_EVENT_JVM_SHUT_DOWN => {
                // SAFETY: an event of this type has this union member, and has this many bytes.
                let read = unsafe {
                    let u = event.u.object_dump;
                    std::slice::from_raw_parts(u.data.cast::<u8>(), u.data_len as usize)
                };
                assert!(bytes.starts_with(read));
                dumps.push(read.len());
            }
            Record::Call(call) => depths.push(call.details.trace.num_frames),
            Record::Method { method, .. } => methods.push(method),
            _ => {}
        }
    }
    assert!(dumps == lengths, "{} dumps", dumps.len());
    assert_eq!(depths, [4990, 4991, 4992]);
    let expected = |i: usize| (METHOD + 8 * ((i % 50_000) * (i % 50_000) % 3000)) as u64;
    assert!(methods.len() == exits && (0..exits).all(|i| methods[i] == expected(i)));
    assert_eq!(statistics(&trace).events[&JVMPI_EVENT_METHOD_EXIT], exits as u64);
}

#[test]
fn records_that_come_faster_than_they_are_written_wait() {
    let file = std::env::temp_dir().join(format!("jvmpi-trace-{}-fifo", std::process::id()));
    let name = std::ffi::CString::new(file.to_str().unwrap()).unwrap();
    // SAFETY: the name is a string.
    assert_eq!(unsafe { libc::mkfifo(name.as_ptr(), 0o600) }, 0);
    // Opened without waiting for the writer.
    let mut options = File::options();
    let mut pipe = options.read(true).custom_flags(libc::O_NONBLOCK).open(&file).unwrap();
    let below = record_in::<4>(file.clone(), ignore).below;
    // SAFETY: the descriptor is open; from here on, reading waits for the writer.
    assert_eq!(unsafe { libc::fcntl(pipe.as_raw_fd(), libc::F_SETFL, 0) }, 0);
    // Nearly twice what the queue takes.
    let all = 8_000_000_u64;
    let sent = AtomicU64::new(0);
    let mut bytes = Vec::new();
    thread::scope(|scope| {
        scope.spawn(|| {
            for i in 0..all {
                send(below, &mut method_event(JVMPI_EVENT_METHOD_ENTRY, i as usize % 7));
                sent.store(i, Ordering::Relaxed);
            }
            send(below, &mut event(JVMPI_EVENT_JVM_SHUT_DOWN));
        });
        // The queue has room for these.
        while sent.load(Ordering::Relaxed) < 4_000_000 {
            thread::yield_now();
        }
        let mut piece = vec![0; 1 << 20];
        let last =
            file::Header { flags: file::Header::LAST, thread: u32::MAX, ..Default::default() };
        while !bytes.ends_with(&last.chunk(&[])) {
            let count = pipe.read(&mut piece).unwrap();
            bytes.extend_from_slice(&piece[..count]);
        }
    });
    fs::remove_file(&file).unwrap();
    assert_eq!(statistics(&read(bytes)).events[&JVMPI_EVENT_METHOD_ENTRY], all);
}

#[test]
fn file_that_is_no_recording_is_refused() {
    for other in [&b"JAVA PROFILE 1.0.1, no trace"[..], b""] {
        let why = Trace::from_bytes(other.to_vec()).err().unwrap();
        assert_eq!(why, "is not a recording of the setting trace");
    }
    let mut newer = file::head("");
    newer[8] = 9;
    let why = Trace::from_bytes(newer).err().unwrap();
    assert!(why.starts_with("is of version 9 of the format"), "{why}");
    assert!(Recorder::start(5, "/nowhere/trace", "", "").is_err());
}

#[test]
fn recording_is_for_its_owner_alone() {
    let recorded = record::<6>(ignore);
    let mode = fs::metadata(&recorded.file).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    recorded.finish();
}

#[test]
fn recording_is_not_written_where_another_user_has_put_a_link() {
    // SAFETY: geteuid has no precondition.
    if unsafe { libc::geteuid() } != 0 {
        println!("skipped: only root can make files of another user");
        return;
    }
    const NOBODY: u32 = 65534;
    let directory = std::env::temp_dir().join(format!("jvmpi-trace-{}-shared", std::process::id()));
    fs::create_dir_all(&directory).unwrap();
    fs::set_permissions(&directory, fs::Permissions::from_mode(0o1777)).unwrap();
    let victim = directory.join("victim");
    fs::write(&victim, "precious").unwrap();
    fs::set_permissions(&victim, fs::Permissions::from_mode(0o666)).unwrap();
    let link = directory.join("link");
    symlink(&victim, &link).unwrap();
    for planted in [&link, &victim] {
        lchown(planted, Some(NOBODY), None).unwrap();
        let refused = Recorder::start(5, planted.to_str().unwrap(), "", "").err();
        let line = format!("cannot record in {}: it belongs to another user", planted.display());
        assert!(refused.as_ref().is_some_and(|why| why.starts_with(&line)), "{refused:?}");
    }
    assert_eq!(fs::read_to_string(&victim).unwrap(), "precious");
    fs::remove_dir_all(&directory).unwrap();
}

#[test]
fn records_that_make_no_sense_end_their_thread() {
    for records in [&[0x4f][..], &[tag::REQUESTED, 0], &[tag::CALL + 31], &[tag::ENTRY], &[4, 1]] {
        let trace = Trace::from_bytes(for_tests::file(&[records])).unwrap();
        let mut of_thread = trace.records(0);
        assert!(of_thread.next().is_none());
        let problem = of_thread.problem().unwrap();
        assert!(problem.starts_with("the records of thread 0 are malformed"), "{problem}");
    }
}
