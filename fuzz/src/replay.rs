//! The replay of a recording into an agent of this file, in a process of its own: there is one replay in a process, and
//! it ends the process when no thread can continue.

use jni_sys::{JNI_OK, JNI_VERSION_1_2, JNIEnv, JavaVM, jint};
use jvmpi_layers::trace::{Trace, for_tests, replay_functions};
use jvmpi_sys::*;
use std::cell::Cell;
use std::ffi::{c_char, c_void};
use std::io::{self, ErrorKind};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicPtr, AtomicU8, AtomicU32, AtomicUsize, Ordering};
use std::{array, fs, mem, panic, process, ptr, slice};

/// The first bytes of an input: the agent's actions, one for each event in turn.
const ACTIONS: usize = 16;
/// The greatest number of threads in a recording. Each of them takes tens of KiB.
const THREADS: u32 = 16;
/// The memory that a replay may take.
const MEMORY: u64 = 1 << 30;

/// Replays the recording whose chunks follow the agent's actions.
pub fn replay(bytes: &[u8]) {
    let Some((actions, chunks)) = bytes.split_first_chunk() else { return };
    let trace = Trace::from_bytes(for_tests::repaired(chunks, THREADS)).unwrap();
    assert_eq!(trace.problem(), None);
    // SAFETY: the new process uses no lock that another thread of this one may have, but those of the C library, which
    // are its own.
    let child = unsafe { libc::fork() };
    assert_ne!(child, -1, "fork");
    if child == 0 {
        run(trace, *actions);
    }
    // SAFETY: zeros are a valid one.
    let (mut status, mut usage) = (0, unsafe { mem::zeroed::<libc::rusage>() });
    let mut wait = || {
        // SAFETY: the child is this thread's, and the results are locals.
        unsafe { libc::wait4(child, &raw mut status, 0, &raw mut usage) }
    };
    let mut ended = wait();
    // The fuzzer's timer interrupts it.
    while ended == -1 && io::Error::last_os_error().kind() == ErrorKind::Interrupted {
        ended = wait();
    }
    assert_eq!((ended, status), (child, 0), "the replay has failed");
    let most = u64::try_from(usage.ru_maxrss).unwrap_or(0) << 10;
    assert!(most < MEMORY, "the replay has taken {most} bytes");
    copy_counters(false);
}

/// The actions of the agent.
static PLAN: OnceLock<[u8; ACTIONS]> = OnceLock::new();

/// Replays in this process, which then ends.
fn run(trace: Trace, actions: [u8; ACTIONS]) -> ! {
    panic::set_hook(Box::new(|info| {
        eprintln!("{info}");
        process::abort();
    }));
    // SAFETY: neither function has preconditions. The fuzzer may end first, after a time.
    unsafe {
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
        libc::atexit(end_in_order);
    }
    limit_memory();
    _ = PLAN.set(actions);
    // SAFETY: the functions below are an agent's.
    let summary = unsafe { replay_functions(trace, on_load, Some(on_unload), None) }.unwrap();
    assert!(summary.notes.keys().all(|note| !note.contains(char::is_control)));
    end()
}

extern "C" fn end_in_order() {
    end()
}

/// Ends the process. The fuzzer's own function of `atexit`, which would report a failure, does not run then.
fn end() -> ! {
    copy_counters(true);
    // SAFETY: it has no preconditions.
    unsafe { libc::_exit(0) }
}

/// Limits the memory of the process to [`MEMORY`] more than it has now.
fn limit_memory() {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let data =
        status.lines().find_map(|line| line.strip_prefix("VmData:")?.split(' ').rev().nth(1));
    if let Some(data) = data.and_then(|data| data.trim().parse::<u64>().ok()) {
        let most = (data << 10) + MEMORY;
        let limit = libc::rlimit { rlim_cur: most, rlim_max: most };
        // SAFETY: the structure is a local.
        unsafe { libc::setrlimit(libc::RLIMIT_DATA, &raw const limit) };
    }
}

/// The fuzzer's counters of this process's code, and memory that the child's are copied to.
static COUNTERS: OnceLock<[&[AtomicU8]; 2]> = OnceLock::new();

/// Adds the code that runs in child processes to the fuzzer's counters, which belong to its own process.
pub fn count_in_children(counters: &'static [AtomicU8]) {
    let access = libc::PROT_READ | libc::PROT_WRITE;
    let flags = libc::MAP_SHARED | libc::MAP_ANONYMOUS;
    // SAFETY: a new mapping, of zeros, which is never unmapped.
    let shared = unsafe {
        let new = libc::mmap(ptr::null_mut(), counters.len(), access, flags, -1, 0);
        assert_ne!(new, libc::MAP_FAILED);
        slice::from_raw_parts(new.cast(), counters.len())
    };
    _ = COUNTERS.set([counters, shared]);
}

/// Copies the counters to the shared memory if the child `gives` them, otherwise from there.
fn copy_counters(gives: bool) {
    if let Some([own, shared]) = COUNTERS.get() {
        let (from, to) = if gives { (own, shared) } else { (shared, own) };
        for (from, to) in from.iter().zip(*to) {
            to.store(from.load(Ordering::Relaxed), Ordering::Relaxed);
        }
    }
}

/// The table of the replay.
static TABLE: AtomicPtr<JVMPI_Interface> = AtomicPtr::new(ptr::null_mut());
/// The raw monitor that all threads use.
static MONITOR: AtomicPtr<c_void> = AtomicPtr::new(ptr::null_mut());
/// The number of raw monitors and threads that the agent has created, and of its waits.
static MADE: AtomicU32 = AtomicU32::new(0);
static WAITS: AtomicU32 = AtomicU32::new(0);
/// Words of the last event, which stand for objects and methods.
static LAST: [AtomicUsize; 2] = [const { AtomicUsize::new(0) }; 2];

thread_local! {
    /// The number of the thread's actions, and of its handlers that have not returned.
    static COUNT: Cell<usize> = const { Cell::new(0) };
    static DEPTH: Cell<usize> = const { Cell::new(0) };
}

unsafe extern "system" fn on_load(vm: *mut JavaVM, _: *mut c_char, _: *mut c_void) -> jint {
    let mut table = ptr::null_mut();
    // SAFETY: this is how an agent gets its table.
    unsafe {
        assert_eq!(((**vm).v1_2.GetEnv)(vm, &raw mut table, JVMPI_VERSION_1), JNI_OK);
        let table = table.cast::<JVMPI_Interface>();
        TABLE.store(table, Ordering::Relaxed);
        (*table).NotifyEvent = Some(notify);
        MONITOR.store(
            (*table).RawMonitorCreate.unwrap()(c"shared".as_ptr().cast_mut()).cast(),
            Ordering::Relaxed,
        );
        for event in EVENTS {
            (*table).EnableEvent.unwrap()(event.number, ptr::null_mut());
        }
        let mut env = ptr::null_mut();
        assert_eq!(((**vm).v1_2.GetEnv)(vm, &raw mut env, JNI_VERSION_1_2), JNI_OK);
        act(env.cast());
    }
    JNI_OK
}

unsafe extern "system" fn on_unload(_: *mut JavaVM) {
    assert!(!TABLE.load(Ordering::Relaxed).is_null());
}

/// The handler.
unsafe extern "C" fn notify(event: *mut JVMPI_Event) {
    // SAFETY: the replay passes a whole event, whose type says which arm is filled.
    unsafe {
        for_tests::read_event(&*event);
        let u = (*event).u;
        match (*event).event_type & !JVMPI_REQUESTED_EVENT {
            JVMPI_EVENT_CLASS_LOAD => {
                LAST[0].store(u.class_load.class_id.addr(), Ordering::Relaxed);
            }
            JVMPI_EVENT_THREAD_START => {
                LAST[0].store(u.thread_start.thread_id.addr(), Ordering::Relaxed);
                act(u.thread_start.thread_env_id);
            }
            JVMPI_EVENT_METHOD_ENTRY => LAST[1].store(u.method.method_id.addr(), Ordering::Relaxed),
            JVMPI_EVENT_CLASS_LOAD_HOOK => replace(&mut (*event).u.class_load_hook),
            _ => {}
        }
        DEPTH.set(DEPTH.get() + 1);
        act((*event).env_id);
        DEPTH.set(DEPTH.get() - 1);
        // The memory of the event is valid until the handler returns.
        for_tests::read_event(&*event);
    }
}

/// Replaces class files of an even length.
unsafe fn replace(u: &mut JVMPI_Event_class_load_hook) {
    if u.class_data_len % 2 == 0 {
        // SAFETY: the memory is the VM's afterwards.
        unsafe {
            u.new_class_data = u.malloc_f.unwrap()(4).cast();
            u.new_class_data.write_bytes(0, 4);
        }
        u.new_class_data_len = 4;
    }
}

/// The function of a thread of the agent's own.
unsafe extern "C" fn own(_: *mut c_void) {
    for _ in 0..24 {
        // SAFETY: no thread has this environment, which the functions notice.
        unsafe { act(ptr::null_mut()) };
    }
}

/// Does the next action of the plan.
unsafe fn act(env: *mut JNIEnv) {
    let plan = PLAN.get().unwrap();
    let count = COUNT.replace(COUNT.get() + 1);
    let action = plan[count % ACTIONS].wrapping_add((count / ACTIONS) as u8);
    let argument = jint::from(action >> 5);
    let [object, method] = array::from_fn(|i| LAST[i].load(Ordering::Relaxed));
    let object = ptr::with_exposed_provenance_mut::<_jobjectID>(object);
    let method = ptr::with_exposed_provenance_mut(method);
    let shared = MONITOR.load(Ordering::Relaxed).cast();
    let is_few = |counter: &AtomicU32, most| counter.fetch_add(1, Ordering::Relaxed) < most;
    // SAFETY: the arguments are those that the functions ask for; the table is never freed.
    unsafe {
        let table = *TABLE.load(Ordering::Relaxed);
        macro_rules! call {
            ($name:ident $($argument:expr),*) => { table.$name.unwrap()($($argument),*) };
        }
        match action & 0x1f {
            0 => {
                let mut frames = vec![mem::zeroed::<JVMPI_CallFrame>(); argument as usize];
                let frames_of = if argument == 7 { ptr::null_mut() } else { frames.as_mut_ptr() };
                let mut trace = JVMPI_CallTrace { env_id: env, num_frames: 0, frames: frames_of };
                call!(GetCallTrace &raw mut trace, argument);
                assert!((0..=argument).contains(&trace.num_frames));
            }
            // The event's handler may act in the same way.
            1 if DEPTH.get() < 4 => _ = call!(RequestEvent JVMPI_EVENT_CLASS_LOAD, object.cast()),
            2 => {
                let mut level = JVMPI_HeapDumpArg { heap_dump_level: argument };
                let level = if argument == 7 { ptr::null_mut() } else { &raw mut level };
                _ = call!(RequestEvent JVMPI_EVENT_HEAP_DUMP, level.cast());
            }
            3 => _ = call!(RequestEvent JVMPI_EVENT_MONITOR_DUMP, ptr::null_mut()),
            4 => _ = call!(RequestEvent JVMPI_EVENT_OBJECT_DUMP, object.cast()),
            5 => _ = call!(RequestEvent JVMPI_EVENT_THREAD_START, object.cast()),
            6 => call!(SetThreadLocalStorage env, ptr::from_ref(plan).cast_mut().cast()),
            7 => {
                let stored = call!(GetThreadLocalStorage env);
                assert!(stored.is_null() || stored == ptr::from_ref(plan).cast_mut().cast());
            }
            8 if is_few(&MADE, 16) => {
                let name = [c"one", c"shared", c"", c"_hprof dump lock"][argument as usize % 4];
                let monitor = call!(RawMonitorCreate name.as_ptr().cast_mut());
                call!(RawMonitorEnter monitor);
                call!(RawMonitorNotifyAll monitor);
                call!(RawMonitorExit monitor);
                call!(RawMonitorDestroy monitor);
            }
            9 | 10 => {
                call!(RawMonitorEnter shared);
                call!(RawMonitorNotifyAll shared);
                call!(RawMonitorExit shared);
            }
            11 if is_few(&WAITS, 64) => {
                call!(RawMonitorEnter shared);
                call!(RawMonitorWait shared, 1);
                call!(RawMonitorExit shared);
            }
            // Others act meanwhile.
            12 if DEPTH.get() < 4 => {
                call!(RawMonitorEnter shared);
                act(env);
                call!(RawMonitorExit shared);
            }
            13 => _ = call!(GetThreadObject env),
            14 => _ = call!(GetMethodClass method),
            15 => _ = call!(jobjectID2jobject object),
            16 => _ = call!(jobject2jobjectID object.cast()),
            17 => call!(SuspendThread env),
            18 => call!(ResumeThread env),
            19 => {
                let mut envs = [env, ptr::null_mut(), object.cast()];
                let mut results = [-1; 3];
                call!(SuspendThreadList 3, envs.as_mut_ptr(), results.as_mut_ptr());
                call!(ResumeThreadList argument % 4, envs.as_mut_ptr(), results.as_mut_ptr());
            }
            20 => _ = call!(GetThreadStatus env),
            21 => _ = call!(ThreadHasRun env),
            22 if is_few(&MADE, 16) => {
                call!(CreateSystemThread c"agent".as_ptr().cast_mut(), argument, Some(own));
            }
            23 => call!(DisableGC),
            24 => call!(EnableGC),
            25 => call!(RunGC),
            26 => _ = call!(GetCurrentThreadCpuTime),
            27 => _ = call!(DisableEvent action.into(), ptr::null_mut()),
            28 => _ = call!(EnableEvent argument + 33, ptr::null_mut()),
            29 if DEPTH.get() < 4 => _ = call!(RequestEvent argument * 9, object.cast()),
            30 => _ = call!(GetThreadObject object.cast()),
            _ => {}
        }
    }
}
