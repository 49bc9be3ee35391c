//! From the VM's handler to the agent's methods.

use crate::context::mode::Mode;
use crate::{
    Agent, ArenaId, ArenaNew, ClassFile, ClassId, ClassLoad, CompiledMethodLoad,
    CompiledMethodUnload, Context, GlobalrefAlloc, HeapUse, InstructionStart, Jvmpi, MethodEntry2,
    MethodId, MonitorWait, ObjectAlloc, ObjectId, ObjectMove, RawMonitorContended, ReferenceId,
    ThreadStart, thread_local,
};
use jvmpi_sys::*;

/// Calls the method of the agent that the event is for. An event that is not known, or whose ID is NULL,
/// is for none.
///
/// # Safety
/// The event is one that the VM sends just now, and no requested one.
#[inline]
pub unsafe fn dispatch<A: Agent>(agent: &A, jvmpi: Jvmpi, event: *mut JVMPI_Event) {
    /// The data of the event.
    macro_rules! data {
        ($arm:ident) => {
            // SAFETY: this is the arm that its type names, so the VM has filled it.
            unsafe { &mut (*event).u.$arm }
        };
    }
    /// Calls the method, unless the data is None.
    macro_rules! call {
        ($method:ident) => {
            A::$method(agent, &mut in_mode!())
        };
        ($method:ident, some $data:expr) => {
            if let Some(data) = $data {
                A::$method(agent, &mut in_mode!(), data);
            }
        };
        ($method:ident, $data:expr) => {
            A::$method(agent, &mut in_mode!(), $data)
        };
    }
    /// The mode is that of the method's context; a test compares it with the specification.
    macro_rules! in_mode {
        () => {
            // SAFETY: the event is of a type that is sent in this mode.
            unsafe { context(jvmpi, event) }
        };
    }
    // SAFETY: as the caller promises.
    match unsafe { (*event).event_type } {
        JVMPI_EVENT_METHOD_ENTRY => {
            call!(method_entry, some MethodId::of(data!(method).method_id));
        }
        JVMPI_EVENT_METHOD_EXIT => {
            call!(method_exit, some MethodId::of(data!(method).method_id));
        }
        JVMPI_EVENT_METHOD_ENTRY2 => {
            call!(method_entry2, some MethodEntry2::of(*data!(method_entry2)));
        }
        JVMPI_EVENT_INSTRUCTION_START => {
            // SAFETY: as the type says.
            call!(instruction_start, some unsafe { InstructionStart::of(&raw const (*event).u.instruction) });
        }
        JVMPI_EVENT_COMPILED_METHOD_LOAD => {
            call!(compiled_method_load, some CompiledMethodLoad::of(data!(compiled_method_load)));
        }
        JVMPI_EVENT_COMPILED_METHOD_UNLOAD => {
            call!(compiled_method_unload, some CompiledMethodUnload::of(*data!(compiled_method_unload)));
        }

        JVMPI_EVENT_OBJECT_ALLOC => {
            call!(object_alloc, some ObjectAlloc::of(*data!(obj_alloc)));
        }
        JVMPI_EVENT_OBJECT_FREE => {
            call!(object_free, some ObjectId::of(data!(obj_free).obj_id));
        }
        JVMPI_EVENT_OBJECT_MOVE => {
            call!(object_move, some ObjectMove::of(*data!(obj_move)));
        }
        JVMPI_EVENT_ARENA_NEW => call!(arena_new, ArenaNew::of(data!(new_arena))),
        JVMPI_EVENT_ARENA_DELETE => {
            call!(arena_delete, ArenaId(data!(delete_arena).arena_id));
        }
        JVMPI_EVENT_GC_START => call!(gc_start),
        JVMPI_EVENT_GC_FINISH => call!(gc_finish, HeapUse::of(*data!(gc_info))),

        JVMPI_EVENT_THREAD_START => {
            call!(thread_start, some ThreadStart::of(data!(thread_start)));
        }
        JVMPI_EVENT_THREAD_END => {
            // SAFETY: the VM has filled it in.
            let _end = thread_local::AtEnd::new(jvmpi, unsafe { (*event).env_id });
            call!(thread_end);
        }

        JVMPI_EVENT_CLASS_LOAD => {
            call!(class_load, some ClassLoad::of(data!(class_load)));
        }
        JVMPI_EVENT_CLASS_UNLOAD => {
            call!(class_unload, some ClassId::of(data!(class_unload).class_id));
        }
        JVMPI_EVENT_CLASS_LOAD_HOOK => {
            call!(class_load_hook, &mut ClassFile::of(data!(class_load_hook)));
        }

        JVMPI_EVENT_JNI_GLOBALREF_ALLOC => {
            call!(jni_globalref_alloc, some GlobalrefAlloc::of(*data!(jni_globalref_alloc)));
        }
        JVMPI_EVENT_JNI_GLOBALREF_FREE => {
            call!(jni_globalref_free, some ReferenceId::of(data!(jni_globalref_free).ref_id));
        }
        JVMPI_EVENT_JNI_WEAK_GLOBALREF_ALLOC => {
            call!(jni_weak_globalref_alloc, some GlobalrefAlloc::of(*data!(jni_globalref_alloc)));
        }
        JVMPI_EVENT_JNI_WEAK_GLOBALREF_FREE => {
            call!(jni_weak_globalref_free, some ReferenceId::of(data!(jni_globalref_free).ref_id));
        }

        JVMPI_EVENT_MONITOR_CONTENDED_ENTER => {
            call!(monitor_contended_enter, some ObjectId::of(data!(monitor).object));
        }
        JVMPI_EVENT_MONITOR_CONTENDED_ENTERED => {
            call!(monitor_contended_entered, some ObjectId::of(data!(monitor).object));
        }
        JVMPI_EVENT_MONITOR_CONTENDED_EXIT => {
            call!(monitor_contended_exit, some ObjectId::of(data!(monitor).object));
        }
        JVMPI_EVENT_MONITOR_WAIT => call!(monitor_wait, MonitorWait::of(*data!(monitor_wait))),
        JVMPI_EVENT_MONITOR_WAITED => {
            call!(monitor_waited, MonitorWait::of(*data!(monitor_wait)));
        }

        JVMPI_EVENT_RAW_MONITOR_CONTENDED_ENTER => {
            call!(raw_monitor_contended_enter, some RawMonitorContended::of(data!(raw_monitor)));
        }
        JVMPI_EVENT_RAW_MONITOR_CONTENDED_ENTERED => {
            call!(raw_monitor_contended_entered, some RawMonitorContended::of(data!(raw_monitor)));
        }
        JVMPI_EVENT_RAW_MONITOR_CONTENDED_EXIT => {
            call!(raw_monitor_contended_exit, some RawMonitorContended::of(data!(raw_monitor)));
        }

        JVMPI_EVENT_JVM_INIT_DONE => call!(jvm_init_done),
        JVMPI_EVENT_JVM_SHUT_DOWN => call!(jvm_shut_down),
        JVMPI_EVENT_DATA_DUMP_REQUEST => call!(data_dump_request),
        JVMPI_EVENT_DATA_RESET_REQUEST => call!(data_reset_request),
        _ => {}
    }
}

/// # Safety
/// The event is one that the VM sends just now, in this mode.
#[inline(always)]
unsafe fn context<'e, M: Mode>(jvmpi: Jvmpi, event: *mut JVMPI_Event) -> Context<'e, M> {
    // SAFETY: as the caller promises. In the events of a collection the thread is some live one; others
    // are sent on the thread that they name, which does not end meanwhile.
    unsafe {
        let in_collection =
            matches!((*event).event_type, JVMPI_EVENT_GC_START | JVMPI_EVENT_GC_FINISH);
        Context::new(jvmpi, (*event).env_id, !in_collection)
    }
}
