//! The fields of events.

use crate::trace::coding::{Out, State};
use crate::trace::fields::{Fields, Word, Write};
use jni_sys::jint;
use jvmpi_sys::*;

/// Returns the name of an event type, such as `METHOD_ENTRY`, with `requested` before it if the event was requested.
#[must_use]
pub fn event_name(event_type: jint) -> String {
    let requested = if event_type & JVMPI_REQUESTED_EVENT != 0 { "requested " } else { "" };
    match EventType::of(event_type & !JVMPI_REQUESTED_EVENT) {
        Some(known) => format!("{requested}{}", known.name()),
        None => format!("{requested}{event_type}"),
    }
}

/// Goes through the fields of the event other than its type and its `env_id`. An event of an unknown
/// type has none.
///
/// # Safety
/// The union member of the event's type is filled, and the memory it points to is valid. An
/// implementation that fills the fields needs only zeros.
pub unsafe fn fields<F: Fields>(f: &mut F, event_type: jint, u: &mut JVMPI_Event_u) {
    // SAFETY: the caller promises that the arm of the type is filled, and what it points to.
    unsafe {
        match event_type & !JVMPI_REQUESTED_EVENT {
            JVMPI_EVENT_CLASS_LOAD => class_load(f, &mut u.class_load),
            JVMPI_EVENT_CLASS_UNLOAD => f.field(&mut u.class_unload.class_id),
            JVMPI_EVENT_CLASS_LOAD_HOOK => {
                f.sized(&mut u.class_load_hook.class_data, &mut u.class_load_hook.class_data_len);
            }
            JVMPI_EVENT_OBJECT_ALLOC => {
                let u = &mut u.obj_alloc;
                f.field(&mut u.arena_id);
                f.field(&mut u.class_id);
                f.field(&mut u.is_array);
                f.field(&mut u.size);
                f.field(&mut u.obj_id);
            }
            JVMPI_EVENT_OBJECT_FREE => f.field(&mut u.obj_free.obj_id),
            JVMPI_EVENT_OBJECT_MOVE => {
                let u = &mut u.obj_move;
                f.field(&mut u.arena_id);
                f.field(&mut u.obj_id);
                f.field(&mut u.new_arena_id);
                f.field(&mut u.new_obj_id);
            }
            JVMPI_EVENT_ARENA_NEW => {
                f.field(&mut u.new_arena.arena_id);
                f.string(&mut u.new_arena.arena_name);
            }
            JVMPI_EVENT_ARENA_DELETE => f.field(&mut u.delete_arena.arena_id),
            JVMPI_EVENT_THREAD_START => {
                let u = &mut u.thread_start;
                f.string(&mut u.thread_name);
                f.string(&mut u.group_name);
                f.string(&mut u.parent_name);
                f.field(&mut u.thread_id);
                f.thread(&mut u.thread_env_id);
            }
            JVMPI_EVENT_HEAP_DUMP => {
                let u = &mut u.heap_dump;
                f.field(&mut u.dump_level);
                f.range(&mut u.begin, &mut u.end);
                f.counted(&mut u.num_traces, &mut u.traces, |f, it| call_trace(f, it));
            }
            JVMPI_EVENT_JNI_GLOBALREF_ALLOC | JVMPI_EVENT_JNI_WEAK_GLOBALREF_ALLOC => {
                f.field(&mut u.jni_globalref_alloc.obj_id);
                f.field(&mut u.jni_globalref_alloc.ref_id);
            }
            JVMPI_EVENT_JNI_GLOBALREF_FREE | JVMPI_EVENT_JNI_WEAK_GLOBALREF_FREE => {
                f.field(&mut u.jni_globalref_free.ref_id);
            }
            JVMPI_EVENT_METHOD_ENTRY | JVMPI_EVENT_METHOD_EXIT => {
                f.method_id(&mut u.method.method_id);
            }
            JVMPI_EVENT_METHOD_ENTRY2 => {
                f.method_id(&mut u.method_entry2.method_id);
                f.field(&mut u.method_entry2.obj_id);
            }
            JVMPI_EVENT_COMPILED_METHOD_LOAD => {
                let u = &mut u.compiled_method_load;
                f.method_id(&mut u.method_id);
                f.field(&mut u.code_addr);
                f.field(&mut u.code_size);
                let there = if u.code_addr.is_null() { 0 } else { u.code_size };
                f.code(u.code_addr.cast(), usize::try_from(there).unwrap_or(0));
                let size = &mut u.lineno_table_size;
                f.counted(size, &mut u.lineno_table, |f, line| {
                    f.field(&mut line.offset);
                    f.field(&mut line.lineno);
                });
            }
            JVMPI_EVENT_COMPILED_METHOD_UNLOAD => {
                f.method_id(&mut u.compiled_method_unload.method_id);
                f.field(&mut u.compiled_method_unload.code_addr);
            }
            JVMPI_EVENT_INSTRUCTION_START => {
                let u = &mut u.instruction;
                f.method_id(&mut u.method_id);
                f.field(&mut u.offset);
                // The kind of instruction is not written here: three words hold each of them.
                let u = &mut u.u.tableswitch_info;
                f.field(&mut u.key);
                f.field(&mut u.low);
                f.field(&mut u.hi);
            }
            JVMPI_EVENT_MONITOR_DUMP => {
                let u = &mut u.monitor_dump;
                f.range(&mut u.begin, &mut u.end);
                let mut statuses = u.num_traces;
                f.counted(&mut u.num_traces, &mut u.traces, |f, it| call_trace(f, it));
                f.counted(&mut statuses, &mut u.threads_status, |f, status| f.field(status));
                u.num_traces = u.num_traces.min(statuses);
            }
            JVMPI_EVENT_RAW_MONITOR_CONTENDED_ENTER
            | JVMPI_EVENT_RAW_MONITOR_CONTENDED_ENTERED
            | JVMPI_EVENT_RAW_MONITOR_CONTENDED_EXIT => {
                f.string(&mut u.raw_monitor.name);
                u.raw_monitor.id = Word::of(f.monitor(u.raw_monitor.id.word()));
            }
            JVMPI_EVENT_MONITOR_CONTENDED_ENTER
            | JVMPI_EVENT_MONITOR_CONTENDED_ENTERED
            | JVMPI_EVENT_MONITOR_CONTENDED_EXIT => f.field(&mut u.monitor.object),
            JVMPI_EVENT_MONITOR_WAIT | JVMPI_EVENT_MONITOR_WAITED => {
                f.field(&mut u.monitor_wait.object);
                f.field(&mut u.monitor_wait.timeout);
            }
            JVMPI_EVENT_GC_FINISH => {
                f.field(&mut u.gc_info.used_objects);
                f.field(&mut u.gc_info.used_object_space);
                f.field(&mut u.gc_info.total_object_space);
            }
            JVMPI_EVENT_OBJECT_DUMP => {
                f.sized(&mut u.object_dump.data, &mut u.object_dump.data_len);
            }
            // THREAD_END, GC_START, JVM_*, DATA_*: they have only the thread and the time.
            _ => {}
        }
    }
}

/// # Safety
/// The same as for [`fields`].
unsafe fn class_load<F: Fields>(f: &mut F, u: &mut JVMPI_Event_class_load) {
    // SAFETY: as the caller promises.
    unsafe {
        f.string(&mut u.class_name);
        f.string(&mut u.source_name);
        f.field(&mut u.num_interfaces);
        f.counted(&mut u.num_methods, &mut u.methods, |f, method| {
            f.string(&mut method.method_name);
            f.string(&mut method.method_signature);
            f.field(&mut method.start_lineno);
            f.field(&mut method.end_lineno);
            // Written as a number, it would take a place in the table of methods that are named often.
            f.field(&mut method.method_id);
        });
        f.counted(&mut u.num_static_fields, &mut u.statics, |f, it| field(f, it));
        f.counted(&mut u.num_instance_fields, &mut u.instances, |f, it| field(f, it));
        f.field(&mut u.class_id);
    }
}

/// # Safety
/// The same as for [`fields`].
unsafe fn field<F: Fields>(f: &mut F, field: &mut JVMPI_Field) {
    // SAFETY: as the caller promises.
    unsafe {
        f.string(&mut field.field_name);
        f.string(&mut field.field_signature);
    }
}

/// # Safety
/// The same as for [`fields`].
pub unsafe fn call_trace<F: Fields>(f: &mut F, trace: &mut JVMPI_CallTrace) {
    f.thread(&mut trace.env_id);
    // SAFETY: as the caller promises.
    unsafe { frames(f, trace) };
}

/// # Safety
/// The same as for [`fields`].
pub unsafe fn frames<F: Fields>(f: &mut F, trace: &mut JVMPI_CallTrace) {
    // SAFETY: as the caller promises.
    unsafe {
        f.counted(&mut trace.num_frames, &mut trace.frames, |f, frame| {
            f.method_id(&mut frame.method_id);
            f.field(&mut frame.lineno);
        });
    }
}

/// Returns all fields of the event as bytes, the same for events with the same content.
///
/// # Safety
/// The same as for [`fields`].
pub unsafe fn content(event_type: jint, u: &JVMPI_Event_u) -> Vec<u8> {
    let (mut state, mut out) = (State::new(), Out::new(&mut []));
    let mut write = Write { state: &mut state, out: &mut out };
    // SAFETY: as the caller promises; writing changes nothing.
    unsafe { fields(&mut write, event_type, &mut { *u }) };
    out.more
}
