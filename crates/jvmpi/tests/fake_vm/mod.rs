//! A VM that consists of a JVMPI table alone, for behavior that no real VM shows on demand.

#![allow(dead_code, reason = "each test uses a part of it")]

use jvmpi::sys::jni_sys::{JNI_EVERSION, JNI_OK, JNIEnv, JNIInvokeInterface_, JavaVM, jint, jlong};
use jvmpi::sys::*;
use std::ffi::{c_char, c_void};
use std::mem::{MaybeUninit, offset_of};
use std::ptr;
use std::sync::Mutex;
use std::sync::atomic::{AtomicI32, AtomicPtr, Ordering};

/// The event that cannot be enabled.
pub static REFUSED: AtomicI32 = AtomicI32::new(0);
/// The functions that were called, in order, each with an argument.
pub static CALLS: Mutex<Vec<(&str, usize)>> = Mutex::new(Vec::new());
static TABLE: AtomicPtr<JVMPI_Interface> = AtomicPtr::new(ptr::null_mut());
static VERSION: AtomicI32 = AtomicI32::new(0);
/// The thread-local data of the threads with the numbers 16 to `THREADS * 16`. Accesses are only as ordered as a
/// VM promises.
static STORAGE: [AtomicPtr<c_void>; THREADS] = [const { AtomicPtr::new(ptr::null_mut()) }; THREADS];
const THREADS: usize = 64;

fn called(what: &'static str, with: usize) {
    CALLS.lock().unwrap().push((what, with));
}

/// Returns the calls since the last time.
pub fn calls() -> Vec<(&'static str, usize)> {
    std::mem::take(&mut CALLS.lock().unwrap())
}

/// Creates a VM whose newest version of JVMPI is `version`, with a table that ends where that version's table
/// ends.
pub fn vm(version: jint) -> *mut JavaVM {
    let mut whole = table();
    whole.version = version;
    let length = match version {
        JVMPI_VERSION_1 => offset_of!(JVMPI_Interface, jobjectID2jobject),
        JVMPI_VERSION_1_1 => offset_of!(JVMPI_Interface, SuspendThreadList),
        _ => size_of::<JVMPI_Interface>(),
    };
    let words = vec![0_usize; length / size_of::<usize>()].leak();
    // SAFETY: both have `length` bytes, and the copied part consists of whole pointers.
    unsafe {
        ptr::copy_nonoverlapping(
            (&raw const whole).cast(),
            words.as_mut_ptr().cast::<u8>(),
            length,
        );
    };
    TABLE.store(words.as_mut_ptr().cast(), Ordering::Relaxed);
    VERSION.store(version, Ordering::Relaxed);

    let functions = Box::leak(Box::new(MaybeUninit::<JNIInvokeInterface_>::zeroed()));
    // SAFETY: the allocation has room for the table. Only `GetEnv` is ever called.
    unsafe { (&raw mut (*functions.as_mut_ptr()).v1_2.GetEnv).write(get_env) };
    Box::leak(Box::new(functions.as_ptr()))
}

unsafe extern "system" fn get_env(_: *mut JavaVM, out: *mut *mut c_void, version: jint) -> jint {
    if version > VERSION.load(Ordering::Relaxed) {
        return JNI_EVERSION;
    }
    // SAFETY: `out` points to room for a pointer.
    unsafe { out.write(TABLE.load(Ordering::Relaxed).cast()) };
    JNI_OK
}

/// Loads an agent of this type into a VM, with these options. Each use has an agent of its own.
macro_rules! load {
    ($agent:ty, $vm:expr, $options:expr) => {{
        static AGENT: jvmpi::export::Loaded<$agent> = jvmpi::export::Loaded::new();
        unsafe extern "C" fn notify_event(event: *mut JVMPI_Event) {
            // SAFETY: the fake VM calls this function with an event.
            unsafe { AGENT.notify_event(event) }
        }
        // SAFETY: the VM is a fake one whose `GetEnv` works.
        unsafe { AGENT.on_load($vm, $options, env!("CARGO_CRATE_NAME"), notify_event) }
    }};
}

/// Returns the handler that the agent has written into the table.
pub fn notify_event() -> Option<unsafe extern "C" fn(*mut JVMPI_Event)> {
    // SAFETY: `vm` stored the table, which is never freed.
    unsafe { (*TABLE.load(Ordering::Relaxed)).NotifyEvent }
}

/// Returns the environment of the thread with this number.
pub fn env(number: usize) -> *mut JNIEnv {
    ptr::without_provenance_mut(number)
}

/// Sends the agent an event in which every word is `word`.
pub fn send(event_type: jint, word: usize) {
    let mut event = MaybeUninit::<JVMPI_Event>::uninit();
    let words = event.as_mut_ptr().cast::<usize>();
    for i in 0..size_of::<JVMPI_Event>() / size_of::<usize>() {
        // SAFETY: `i` is below the number of words in the event.
        unsafe { words.add(i).write(word) };
    }
    let event = event.as_mut_ptr();
    // SAFETY: all words of the event are written, with values that its type permits.
    unsafe {
        (*event).event_type = event_type;
        (*event).env_id = env(word);
        notify_event().expect("the agent is loaded")(event);
    }
}

unsafe extern "C" fn enable(event: jint, arg: *mut c_void) -> jint {
    called("EnableEvent", event as usize);
    if !arg.is_null() {
        called("its argument", arg.addr());
    }
    if event == REFUSED.load(Ordering::Relaxed) { JVMPI_NOT_AVAILABLE } else { JVMPI_SUCCESS }
}
unsafe extern "C" fn disable(event: jint, _: *mut c_void) -> jint {
    called("DisableEvent", event as usize);
    JVMPI_SUCCESS
}
unsafe extern "C" fn request(event: jint, arg: *mut c_void) -> jint {
    // Some VMs return success although they have nothing to send.
    called("RequestEvent", event as usize);
    if arg.is_null() {
        return JVMPI_SUCCESS;
    }
    if event == JVMPI_EVENT_OBJECT_ALLOC {
        // Another object is announced before.
        send(event | JVMPI_REQUESTED_EVENT, arg.addr() + 16);
    }
    send(event | JVMPI_REQUESTED_EVENT, arg.addr());
    JVMPI_SUCCESS
}
unsafe extern "C" fn call_trace(_: *mut JVMPI_CallTrace, _: jint) {}
unsafe extern "C" fn exit(_: jint) {}
unsafe extern "C" fn create(_: *mut c_char) -> JVMPI_RawMonitor {
    ptr::without_provenance_mut(16)
}
unsafe extern "C" fn monitor(_: JVMPI_RawMonitor) {}
unsafe extern "C" fn wait(_: JVMPI_RawMonitor, ms: jlong) {
    called("RawMonitorWait", ms as usize);
}
unsafe extern "C" fn time() -> jlong {
    0
}
unsafe extern "C" fn suspend(env: *mut JNIEnv) {
    called("SuspendThread", env.addr());
}
unsafe extern "C" fn resume(env: *mut JNIEnv) {
    called("ResumeThread", env.addr());
}
unsafe extern "C" fn status(_: *mut JNIEnv) -> jint {
    0
}
unsafe extern "C" fn has_run(_: *mut JNIEnv) -> bool {
    false
}
unsafe extern "C" fn thread(
    _: *mut c_char,
    _: jint,
    _: Option<unsafe extern "C" fn(*mut c_void)>,
) -> jint {
    -1
}
fn place(env: *mut JNIEnv) -> &'static AtomicPtr<c_void> {
    &STORAGE[env.addr() / 16 % THREADS]
}
unsafe extern "C" fn set_storage(env: *mut JNIEnv, value: *mut c_void) {
    place(env).store(value, Ordering::Release);
}
unsafe extern "C" fn storage(env: *mut JNIEnv) -> *mut c_void {
    place(env).load(Ordering::Acquire)
}
unsafe extern "C" fn disable_gc() {
    called("DisableGC", 0);
}
unsafe extern "C" fn enable_gc() {
    called("EnableGC", 0);
}
unsafe extern "C" fn run_gc() {
    called("RunGC", 0);
}
unsafe extern "C" fn thread_object(_: *mut JNIEnv) -> jobjectID {
    ptr::null_mut()
}
unsafe extern "C" fn method_class(_: jni_sys::jmethodID) -> jobjectID {
    ptr::null_mut()
}
unsafe extern "C" fn object(_: jobjectID) -> jni_sys::jobject {
    ptr::without_provenance_mut(16)
}
unsafe extern "C" fn id(_: jni_sys::jobject) -> jobjectID {
    ptr::without_provenance_mut(16)
}
/// Fails to suspend every other thread.
unsafe extern "C" fn suspend_list(count: jint, envs: *mut *mut JNIEnv, results: *mut jint) {
    for i in 0..count as usize {
        // SAFETY: both lists have `count` elements.
        unsafe {
            called("SuspendThreadList", (*envs.add(i)).addr());
            results.add(i).write((i % 2) as jint);
        }
    }
}

fn table() -> JVMPI_Interface {
    JVMPI_Interface {
        version: 0,
        NotifyEvent: None,
        EnableEvent: Some(enable),
        DisableEvent: Some(disable),
        RequestEvent: Some(request),
        GetCallTrace: Some(call_trace),
        ProfilerExit: Some(exit),
        RawMonitorCreate: Some(create),
        RawMonitorEnter: Some(monitor),
        RawMonitorExit: Some(monitor),
        RawMonitorWait: Some(wait),
        RawMonitorNotifyAll: Some(monitor),
        RawMonitorDestroy: Some(monitor),
        GetCurrentThreadCpuTime: Some(time),
        SuspendThread: Some(suspend),
        ResumeThread: Some(resume),
        GetThreadStatus: Some(status),
        ThreadHasRun: Some(has_run),
        CreateSystemThread: Some(thread),
        SetThreadLocalStorage: Some(set_storage),
        GetThreadLocalStorage: Some(storage),
        DisableGC: Some(disable_gc),
        EnableGC: Some(enable_gc),
        RunGC: Some(run_gc),
        GetThreadObject: Some(thread_object),
        GetMethodClass: Some(method_class),
        jobjectID2jobject: Some(object),
        jobject2jobjectID: Some(id),
        SuspendThreadList: Some(suspend_list),
        ResumeThreadList: Some(suspend_list),
    }
}
