//! Puts into events what is another one in the process of a replay: environments, raw monitors, machine code.

use super::known::Known;
use super::state::Replay;
use crate::trace::events;
use crate::trace::fields::{Fields, Word};
use crate::trace::read::Event;
use jni_sys::jint;
use jvmpi_formats::dump::{
    Buffer, Frame, HeapWriter, Id, Kind, Level, Record, Root, read_monitors, read_records,
    write_monitor,
};
use jvmpi_sys::*;
use std::ffi::{c_char, c_uint, c_void};
use std::{mem, ptr};

/// Replaces in the event what is another one in this process.
pub fn translate(replay: &'static Replay, event: &mut Event) {
    // SAFETY: the event was read, so that the union member of its type is filled.
    unsafe {
        events::fields(&mut Translate(replay), event.event_type, &mut event.u);
        match event.event_type & !JVMPI_REQUESTED_EVENT {
            JVMPI_EVENT_HEAP_DUMP => {
                let u = &mut event.u.heap_dump;
                let known = replay.known();
                let new = heap_dump(replay, &known, u.dump_level, between(u.begin, u.end));
                event.memory.replace(new, &mut u.begin, &mut u.end);
            }
            JVMPI_EVENT_MONITOR_DUMP => {
                let u = &mut event.u.monitor_dump;
                let new = monitor_dump(replay, between(u.begin, u.end));
                event.memory.replace(Some(new), &mut u.begin, &mut u.end);
            }
            JVMPI_EVENT_CLASS_LOAD_HOOK => {
                let u = &mut event.u.class_load_hook;
                (u.new_class_data, u.new_class_data_len) = (u.class_data, u.class_data_len);
                u.malloc_f = Some(allocate);
            }
            JVMPI_EVENT_COMPILED_METHOD_LOAD => {
                let code = mem::take(&mut event.memory.code);
                let u = &mut event.u.compiled_method_load;
                let code = replay.known().learn_code(u.code_addr.word(), &code);
                u.code_addr = code.as_ptr().cast_mut().cast();
                // A damaged recording may have less code than it says.
                u.code_size = u.code_size.min(jint::try_from(code.len()).unwrap_or(jint::MAX));
                event.memory.share(code);
            }
            JVMPI_EVENT_COMPILED_METHOD_UNLOAD => {
                let u = &mut event.u.compiled_method_unload;
                let code = replay.known().codes.remove(&u.code_addr.word());
                // It is freed after the event.
                if let Some(code) = code {
                    u.code_addr = code.as_ptr().cast_mut().cast();
                    event.memory.share(code);
                }
            }
            _ => {}
        }
    }
}

/// Frees the class file that a handler of CLASS_LOAD_HOOK has put in the place of the event's: the VM owns it.
pub fn free_class_file(event: &Event, u: &JVMPI_Event_u) {
    // SAFETY: an event of this type has this union member, and the specification wants memory of `allocate` there.
    unsafe {
        let data = u.class_load_hook.new_class_data;
        if data != event.u.class_load_hook.class_data {
            libc::free(data.cast());
        }
    }
}

unsafe extern "C" fn allocate(bytes: c_uint) -> *mut c_void {
    // SAFETY: any size will do.
    unsafe { libc::malloc(bytes as usize) }
}

/// # Safety
/// The bytes are there.
unsafe fn between<'a>(begin: *mut c_char, end: *mut c_char) -> &'a [u8] {
    let count = end.addr().saturating_sub(begin.addr());
    if count == 0 {
        return &[];
    }
    // SAFETY: as the caller promises.
    unsafe { std::slice::from_raw_parts(begin.cast(), count) }
}

/// Puts in the environments and raw monitors of this process.
struct Translate(&'static Replay);

impl Fields for Translate {
    fn env(&mut self, value: u64) -> u64 {
        env(self.0, value as Id) as u64
    }

    fn monitor(&mut self, value: u64) -> u64 {
        self.0.monitors.of(value).map_or(value, |monitor| ptr::from_ref(monitor).cast_mut().word())
    }
}

/// Returns the environment that stands for a recorded one.
fn env(replay: &'static Replay, recorded: Id) -> Id {
    if recorded == 0 { 0 } else { replay.envs.env(recorded as u64).pointer().word() as Id }
}

/// Returns a heap dump with the environments of this process. None if nothing has to be changed.
fn heap_dump(
    replay: &'static Replay,
    known: &Known,
    level: i32,
    bytes: &[u8],
) -> Option<Box<[u8]>> {
    let level = Level::from_number(level).filter(|level| *level > Level::Objects)?;
    let mut writer = HeapWriter::new(Buffer::new().ok()?, level);
    let env = |recorded| env(replay, recorded);
    let frame = |frame: Frame| Frame { thread: env(frame.thread), ..frame };
    let mut problem = None;
    for record in read_records(bytes, level, known) {
        let record = match record {
            Ok(Record::Root(root)) => Record::Root(match root {
                Root::JniLocal(object, at) => Root::JniLocal(object, frame(at)),
                Root::JavaFrame(object, at) => Root::JavaFrame(object, frame(at)),
                Root::NativeStack { object, thread } => {
                    Root::NativeStack { object, thread: env(thread) }
                }
                Root::ThreadBlock { object, thread } => {
                    Root::ThreadBlock { object, thread: env(thread) }
                }
                other => other,
            }),
            Ok(other) => other,
            Err(malformed) => {
                problem = Some(malformed.position);
                break;
            }
        };
        writer.record(&record).ok()?;
    }
    let mut written = writer.finish();
    if let Some(position) = problem {
        // The CLASS_LOAD of a class was not recorded.
        replay.note("heap dump whose threads are not known from some place on");
        written.append(&bytes[position..]).ok()?;
    }
    Some(written.to_vec().into_boxed_slice())
}

/// Returns a monitor dump with the environments and raw monitors of this process, up to the first damaged
/// record: the recorded names are pointers of another process, which no agent may follow.
pub fn monitor_dump(replay: &'static Replay, bytes: &[u8]) -> Box<[u8]> {
    let Ok(mut written) = Buffer::new() else { return Box::default() };
    let env = |recorded| env(replay, recorded);
    for monitor in read_monitors(bytes) {
        let Ok(mut monitor) = monitor else {
            replay.note("monitor dump that makes no sense from some place on");
            break;
        };
        if let Kind::Raw { name, monitor: id } = &mut monitor.kind {
            let known = replay.monitors.of(*id as u64);
            *name = known.map_or(c"", |known| known.name).as_ptr().expose_provenance();
            *id = known.map_or(*id, |known| ptr::from_ref(known).addr());
        }
        monitor.owner = env(monitor.owner);
        let threads =
            monitor.waiting_to_enter.iter_mut().chain(&mut monitor.waiting_to_be_notified);
        threads.for_each(|thread| *thread = env(*thread));
        if write_monitor(&mut written, &monitor).is_err() {
            break;
        }
    }
    written.to_vec().into_boxed_slice()
}
