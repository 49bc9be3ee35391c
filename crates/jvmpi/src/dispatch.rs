//! Dispatches an event from the VM to the agent's method for it.

use crate::context::mode::Mode;
use crate::{
    Agent, ArenaId, ArenaNew, ClassFile, ClassId, ClassLoad, CompiledMethodLoad,
    CompiledMethodUnload, Context, GlobalrefAlloc, HeapUse, InstructionStart, Jvmpi, MethodEntry2,
    MethodId, MonitorWait, ObjectAlloc, ObjectId, ObjectMove, RawMonitorContended, ReferenceId,
    ThreadStart, request, thread_local,
};
use jvmpi_sys::*;

/// An event that the VM is sending.
pub struct Sent<'a, A> {
    agent: &'a A,
    jvmpi: Jvmpi,
    event: *mut JVMPI_Event,
}

/// Borrows the event's data: the union member that its type selects.
macro_rules! arm {
    ($sent:ident.$arm:ident) => {
        // SAFETY: the VM has filled this member, as the event has the type that uses it.
        unsafe { &mut (*$sent.event).u.$arm }
    };
}

impl<'a, A: Agent> Sent<'a, A> {
    /// # Safety
    /// The VM is sending `event` and waits for the handler to return.
    #[inline]
    pub unsafe fn new(agent: &'a A, jvmpi: Jvmpi, event: *mut JVMPI_Event) -> Self {
        Self { agent, jvmpi, event }
    }

    /// Returns the type of the event.
    #[inline]
    pub fn event_type(&self) -> jni_sys::jint {
        // SAFETY: `new`'s caller promised a valid event.
        unsafe { (*self.event).event_type }
    }

    /// Calls the agent's method for the event, or passes the event to the request that waits for it. Events of
    /// unknown type and events with a NULL ID are dropped.
    ///
    /// The most frequent events are handled here, and all others in [`rare`]. That keeps this function's stack
    /// frame and its use of registers small.
    #[inline]
    pub fn dispatch(&self) {
        match self.event_type() {
            JVMPI_EVENT_METHOD_ENTRY => {
                self.call_some(A::method_entry, MethodId::of(arm!(self.method).method_id));
            }
            JVMPI_EVENT_METHOD_EXIT => {
                self.call_some(A::method_exit, MethodId::of(arm!(self.method).method_id));
            }
            JVMPI_EVENT_METHOD_ENTRY2 => {
                self.call_some(A::method_entry2, MethodEntry2::of(*arm!(self.method_entry2)));
            }
            JVMPI_EVENT_OBJECT_ALLOC => {
                self.call_some(A::object_alloc, ObjectAlloc::of(*arm!(self.obj_alloc)));
            }
            JVMPI_EVENT_INSTRUCTION_START => {
                let instruction = InstructionStart::of(arm!(self.instruction));
                self.call_some(A::instruction_start, instruction);
            }
            _ => rare(self.agent, self.jvmpi, self.event),
        }
    }

    fn dispatch_rare(&self) {
        match self.event_type() {
            JVMPI_EVENT_OBJECT_FREE => {
                self.call_some(A::object_free, ObjectId::of(arm!(self.obj_free).obj_id));
            }
            JVMPI_EVENT_OBJECT_MOVE => {
                self.call_some(A::object_move, ObjectMove::of(*arm!(self.obj_move)));
            }
            JVMPI_EVENT_ARENA_NEW => {
                self.call_with(A::arena_new, ArenaNew::of(arm!(self.new_arena)));
            }
            JVMPI_EVENT_ARENA_DELETE => {
                self.call_with(A::arena_delete, ArenaId(arm!(self.delete_arena).arena_id));
            }
            JVMPI_EVENT_GC_START => self.call(A::gc_start),
            JVMPI_EVENT_GC_FINISH => {
                self.call_with(A::gc_finish, HeapUse::of(*arm!(self.gc_info)));
            }

            JVMPI_EVENT_THREAD_START => {
                self.call_some(A::thread_start, ThreadStart::of(arm!(self.thread_start)));
            }
            JVMPI_EVENT_THREAD_END => {
                // SAFETY: `new`'s caller promised a valid event.
                let env = unsafe { (*self.event).env_id };
                let _end = thread_local::AtEnd { jvmpi: self.jvmpi, env };
                self.call(A::thread_end);
            }

            JVMPI_EVENT_CLASS_LOAD => {
                self.call_some(A::class_load, ClassLoad::of(arm!(self.class_load)));
            }
            JVMPI_EVENT_CLASS_UNLOAD => {
                self.call_some(A::class_unload, ClassId::of(arm!(self.class_unload).class_id));
            }
            JVMPI_EVENT_CLASS_LOAD_HOOK => {
                let mut class_file = ClassFile::of(arm!(self.class_load_hook));
                self.call_with(A::class_load_hook, &mut class_file);
            }

            JVMPI_EVENT_COMPILED_METHOD_LOAD => {
                let code = CompiledMethodLoad::of(arm!(self.compiled_method_load));
                self.call_some(A::compiled_method_load, code);
            }
            JVMPI_EVENT_COMPILED_METHOD_UNLOAD => {
                let code = CompiledMethodUnload::of(*arm!(self.compiled_method_unload));
                self.call_some(A::compiled_method_unload, code);
            }

            JVMPI_EVENT_JNI_GLOBALREF_ALLOC => {
                let alloc = GlobalrefAlloc::of(*arm!(self.jni_globalref_alloc));
                self.call_some(A::jni_globalref_alloc, alloc);
            }
            JVMPI_EVENT_JNI_GLOBALREF_FREE => {
                let reference = ReferenceId::of(arm!(self.jni_globalref_free).ref_id);
                self.call_some(A::jni_globalref_free, reference);
            }
            JVMPI_EVENT_JNI_WEAK_GLOBALREF_ALLOC => {
                let alloc = GlobalrefAlloc::of(*arm!(self.jni_globalref_alloc));
                self.call_some(A::jni_weak_globalref_alloc, alloc);
            }
            JVMPI_EVENT_JNI_WEAK_GLOBALREF_FREE => {
                let reference = ReferenceId::of(arm!(self.jni_globalref_free).ref_id);
                self.call_some(A::jni_weak_globalref_free, reference);
            }

            JVMPI_EVENT_MONITOR_CONTENDED_ENTER => {
                self.call_some(A::monitor_contended_enter, ObjectId::of(arm!(self.monitor).object));
            }
            JVMPI_EVENT_MONITOR_CONTENDED_ENTERED => {
                let object = ObjectId::of(arm!(self.monitor).object);
                self.call_some(A::monitor_contended_entered, object);
            }
            JVMPI_EVENT_MONITOR_CONTENDED_EXIT => {
                self.call_some(A::monitor_contended_exit, ObjectId::of(arm!(self.monitor).object));
            }
            JVMPI_EVENT_MONITOR_WAIT => {
                self.call_with(A::monitor_wait, MonitorWait::of(*arm!(self.monitor_wait)));
            }
            JVMPI_EVENT_MONITOR_WAITED => {
                self.call_with(A::monitor_waited, MonitorWait::of(*arm!(self.monitor_wait)));
            }

            JVMPI_EVENT_RAW_MONITOR_CONTENDED_ENTER => {
                let monitor = RawMonitorContended::of(arm!(self.raw_monitor));
                self.call_some(A::raw_monitor_contended_enter, monitor);
            }
            JVMPI_EVENT_RAW_MONITOR_CONTENDED_ENTERED => {
                let monitor = RawMonitorContended::of(arm!(self.raw_monitor));
                self.call_some(A::raw_monitor_contended_entered, monitor);
            }
            JVMPI_EVENT_RAW_MONITOR_CONTENDED_EXIT => {
                let monitor = RawMonitorContended::of(arm!(self.raw_monitor));
                self.call_some(A::raw_monitor_contended_exit, monitor);
            }

            JVMPI_EVENT_JVM_INIT_DONE => self.call(A::jvm_init_done),
            JVMPI_EVENT_JVM_SHUT_DOWN => self.call(A::jvm_shut_down),
            JVMPI_EVENT_DATA_DUMP_REQUEST => self.call(A::data_dump_request),
            JVMPI_EVENT_DATA_RESET_REQUEST => self.call(A::data_reset_request),

            event_type if event_type & JVMPI_REQUESTED_EVENT != 0 => {
                // SAFETY: the VM is sending this requested event.
                unsafe { request::answer(self.event) }
            }
            _ => {}
        }
    }

    /// Calls a method whose event has no data.
    #[inline]
    fn call<M: Mode>(&self, method: impl FnOnce(&A, &mut Context<'_, M>)) {
        method(self.agent, &mut self.context());
    }

    /// Calls a method with the event's data.
    #[inline]
    fn call_with<M: Mode, D>(&self, method: impl FnOnce(&A, &mut Context<'_, M>, D), data: D) {
        method(self.agent, &mut self.context(), data);
    }

    /// Calls a method if the event's data is complete.
    #[inline]
    fn call_some<M: Mode, D>(
        &self,
        method: impl FnOnce(&A, &mut Context<'_, M>, D),
        data: Option<D>,
    ) {
        if let Some(data) = data {
            self.call_with(method, data);
        }
    }

    /// Returns a context in the mode that the method expects. The test `modes` compares the modes of all methods
    /// with those of the specification.
    #[inline]
    fn context<M: Mode>(&self) -> Context<'_, M> {
        // The `env_id` of GC_START and GC_FINISH is some live thread; all other events are sent on the
        // thread that they name.
        let in_collection =
            matches!(self.event_type(), JVMPI_EVENT_GC_START | JVMPI_EVENT_GC_FINISH);
        // SAFETY: the VM is sending the event, in this mode, and the thread lives until the handler returns.
        unsafe { Context::new(self.jvmpi, (*self.event).env_id, !in_collection) }
    }
}

/// Dispatches the less frequent events. It takes its arguments in registers and is never inlined.
#[inline(never)]
fn rare<A: Agent>(agent: &A, jvmpi: Jvmpi, event: *mut JVMPI_Event) {
    Sent { agent, jvmpi, event }.dispatch_rare();
}
