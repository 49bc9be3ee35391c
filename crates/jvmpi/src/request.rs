//! Requests: events that the VM sends to the thread that asks for them, before RequestEvent returns.

use crate::context::mode::{Loaded, MayLock, Mode};
use crate::{
    ClassId, ClassLoad, Context, EventError, GcDisabled, HeapDump, Level, MonitorDump, ObjectAlloc,
    ObjectDump, ObjectId, ThreadStart,
};
use jni_sys::jint;
use jvmpi_sys::*;
use std::cell::Cell;
use std::ffi::c_void;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::ptr;

thread_local! {
    /// The innermost request of the current thread that is still waiting for its event.
    static WAITING: Cell<Option<*mut Waiting<'static>>> = const { Cell::new(None) };
}

struct Waiting<'a> {
    event_type: jint,
    answer: &'a mut dyn FnMut(*mut JVMPI_Event),
}

/// Passes a requested event to the request of the current thread that waits for it.
///
/// # Safety
/// `event` is a requested event, and the VM is sending it.
pub unsafe fn answer(event: *mut JVMPI_Event) {
    // Taking it out keeps a nested call from borrowing it twice.
    let Some(place) = WAITING.take() else { return };
    // SAFETY: it lives in the frame of `request` further up on this stack, and only `WAITING` refers to it.
    let waiting = unsafe { &mut *place };
    // SAFETY: as the caller promises.
    if unsafe { (*event).event_type } == waiting.event_type | JVMPI_REQUESTED_EVENT {
        (waiting.answer)(event);
    }
    WAITING.set(Some(place));
}

/// RequestEvent: requests an event and returns the result of `take` for it.
///
/// # Safety
/// `arg` is the argument that the specification requires for this event, and the mode permits the request.
unsafe fn request<M: Mode, R>(
    jvmpi: &Context<'_, M>,
    event_type: jint,
    arg: *mut c_void,
    take: impl FnOnce(&mut GcDisabled<'_>, *mut JVMPI_Event) -> R,
) -> Result<R, EventError> {
    let vm = jvmpi.jvmpi();
    let mut take = Some(take);
    let mut taken = None;
    let mut answer = |event: *mut JVMPI_Event| {
        // An object that the requested event names may be announced before, with the same flag.
        // SAFETY: the VM has filled this member, as the event has the type that uses it.
        let is_other = || unsafe { (*event).u.obj_alloc.obj_id.cast() } != arg;
        if event_type == JVMPI_EVENT_OBJECT_ALLOC && is_other() {
            return;
        }
        let Some(take) = take.take() else { return };
        // A panic resumes in the caller of `request`; it must not unwind through the VM.
        taken = Some(catch_unwind(AssertUnwindSafe(|| {
            // SAFETY: the VM has filled in the event.
            let env = unsafe { (*event).env_id };
            let is_current = jvmpi.current() == Some(env);
            // SAFETY: all requested events are sent with GC disabled, on the requesting thread.
            take(&mut unsafe { Context::new(vm, env, is_current) }, event)
        })));
    };
    let mut waiting = Waiting { event_type, answer: &mut answer };
    let outer = WAITING.replace(Some((&raw mut waiting).cast()));
    // SAFETY: as the caller promises. The handler lets no panic out.
    let result = unsafe { (vm.table().RequestEvent)(event_type, arg) };
    WAITING.set(outer);
    let name = EventType::of(event_type).map_or("", EventType::name);
    match taken {
        Some(Ok(taken)) => Ok(taken),
        Some(Err(panic)) => resume_unwind(panic),
        // Some VMs return success although they sent no event.
        None => Err(EventError::check(result, name).err().unwrap_or(EventError::Failed(name))),
    }
}

/// Requests for the events that describe an ID. They need not be enabled. The data goes to the closure, not to
/// a method of [`Agent`](crate::Agent).
impl GcDisabled<'_> {
    /// Requests CLASS_LOAD for a class.
    pub fn class_load<R>(
        &mut self,
        class: ClassId,
        take: impl FnOnce(&mut GcDisabled<'_>, ClassLoad<'_>) -> R,
    ) -> Result<R, EventError> {
        // SAFETY: this mode permits the request; its argument is an ID. The VM fills `class_load`.
        unsafe {
            request(self, JVMPI_EVENT_CLASS_LOAD, class.as_ptr().cast(), |jvmpi, event| {
                let class = ClassLoad::of(&(*event).u.class_load)?;
                Some(take(jvmpi, class))
            })
        }?
        .ok_or(EventError::Failed("CLASS_LOAD"))
    }

    /// Requests THREAD_START for a Thread object.
    pub fn thread_start<R>(
        &mut self,
        thread: ObjectId,
        take: impl FnOnce(&mut GcDisabled<'_>, ThreadStart<'_>) -> R,
    ) -> Result<R, EventError> {
        // SAFETY: this mode permits the request; its argument is an ID. The VM fills `thread_start`.
        unsafe {
            request(self, JVMPI_EVENT_THREAD_START, thread.as_ptr().cast(), |jvmpi, event| {
                let thread = ThreadStart::of(&(*event).u.thread_start)?;
                Some(take(jvmpi, thread))
            })
        }?
        .ok_or(EventError::Failed("THREAD_START"))
    }

    /// Requests OBJECT_ALLOC for an object.
    pub fn object_alloc(&mut self, object: ObjectId) -> Result<ObjectAlloc, EventError> {
        // SAFETY: this mode permits the request; its argument is an ID. The VM fills `obj_alloc`.
        unsafe {
            request(self, JVMPI_EVENT_OBJECT_ALLOC, object.as_ptr().cast(), |_, event| {
                ObjectAlloc::of((*event).u.obj_alloc)
            })
        }?
        .ok_or(EventError::Failed("OBJECT_ALLOC"))
    }

    /// Requests OBJECT_DUMP for an object.
    pub fn object_dump<R>(
        &mut self,
        object: ObjectId,
        take: impl FnOnce(&mut GcDisabled<'_>, ObjectDump<'_>) -> R,
    ) -> Result<R, EventError> {
        // SAFETY: this mode permits the request; its argument is an ID. The VM fills `object_dump`.
        unsafe {
            request(self, JVMPI_EVENT_OBJECT_DUMP, object.as_ptr().cast(), |jvmpi, event| {
                take(jvmpi, ObjectDump::of(&(*event).u.object_dump))
            })
        }
    }
}

/// Requests for dumps of the whole heap and of all monitors.
impl<M: Loaded + MayLock> Context<'_, M> {
    /// Requests HEAP_DUMP at the given level.
    pub fn heap_dump<R>(
        &mut self,
        level: Level,
        take: impl FnOnce(&mut GcDisabled<'_>, HeapDump<'_>) -> R,
    ) -> Result<R, EventError> {
        let mut arg = JVMPI_HeapDumpArg { heap_dump_level: level as jint };
        // SAFETY: these modes permit the request; its argument is a level. The VM fills `heap_dump`.
        unsafe {
            request(self, JVMPI_EVENT_HEAP_DUMP, (&raw mut arg).cast(), |jvmpi, event| {
                take(jvmpi, HeapDump::of(&(*event).u.heap_dump))
            })
        }
    }

    /// Requests MONITOR_DUMP.
    pub fn monitor_dump<R>(
        &mut self,
        take: impl FnOnce(&mut GcDisabled<'_>, MonitorDump<'_>) -> R,
    ) -> Result<R, EventError> {
        // SAFETY: these modes permit the request, which takes no argument. The VM fills `monitor_dump`.
        unsafe {
            request(self, JVMPI_EVENT_MONITOR_DUMP, ptr::null_mut(), |jvmpi, event| {
                take(jvmpi, MonitorDump::of(&(*event).u.monitor_dump))
            })
        }
    }
}
