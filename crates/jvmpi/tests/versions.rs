//! A VM with version 1 of JVMPI, whose table is shorter; a VM that refuses an event; and a VM that loads the
//! agent again.

#[macro_use]
mod fake_vm;

use jvmpi::EventType;
use jvmpi::sys::jni_sys::{JNI_ERR, JNI_OK};
use jvmpi::sys::*;
use jvmpi::*;
use std::num::NonZeroU32;
use std::sync::atomic::Ordering;

struct Suspender;

impl Agent for Suspender {
    fn load(jvmpi: &mut OnLoad, _: &str) -> Result<Self, LoadError> {
        jvmpi.enable_all([EventType::MonitorWait, EventType::MonitorWaited]);
        Ok(Self)
    }

    fn load_again(&self, jvmpi: &mut OnLoad, options: &str) -> Result<(), LoadError> {
        if options != "more" {
            return Err("not again".into());
        }
        jvmpi.enable(EventType::GcStart);
        jvmpi.sample_allocations(NonZeroU32::new(4096).unwrap());
        Ok(())
    }

    fn monitor_wait(&self, jvmpi: &mut GcDisabled<'_>, _: MonitorWait) {
        let mut list: ThreadList =
            [16, 32, 48, 64].into_iter().filter_map(ThreadId::from_usize).collect();
        let object = ObjectId::from_usize(16).unwrap();
        let has_references = jvmpi.version() > JVMPI_VERSION_1;
        assert_eq!(jvmpi.jobject(object).is_null(), !has_references);
        let mut stopped = jvmpi.suspend(&mut list);
        stopped.resume(ThreadId::from_usize(64).unwrap());
        // The current thread is not suspended.
        assert!(stopped.threads().all(|thread| thread != stopped.thread()));
    }

    fn monitor_waited(&self, jvmpi: &mut GcDisabled<'_>, _: MonitorWait) {
        // The VM says it sent the first event, but sent none. The second one goes to the caller alone.
        let dumped = jvmpi.monitor_dump(|_, _| ());
        assert_eq!(dumped, Err(EventError::Failed("MONITOR_DUMP")));
        let object = ObjectId::from_usize(0x40).unwrap();
        let alloc = jvmpi.object_alloc(object).unwrap();
        assert_eq!((alloc.object(), alloc.arena()), (object, ArenaId(0x40)));
        let monitor = RawMonitor::new(jvmpi, c"_monitor", ());
        let mut monitor = monitor.enter(jvmpi);
        monitor.wait(jvmpi, None);
        monitor.wait(jvmpi, Some(std::time::Duration::from_micros(3)));
        monitor.wait(jvmpi, Some(std::time::Duration::from_millis(1700)));
    }
}

macro_rules! loaded {
    ($version:expr) => {{
        let vm = fake_vm::vm($version);
        let load = move |options| load!(Suspender, vm, options);
        (load(std::ptr::null()), load)
    }};
}

#[test]
fn agents_run_on_versions_with_fewer_functions() {
    fake_vm::REFUSED.store(JVMPI_EVENT_MONITOR_WAITED, Ordering::Relaxed);
    assert_eq!(loaded!(JVMPI_VERSION_1_2).0, JNI_ERR);
    let (wait, waited) = (JVMPI_EVENT_MONITOR_WAIT as usize, JVMPI_EVENT_MONITOR_WAITED as usize);
    let expected = [("EnableEvent", wait), ("EnableEvent", waited), ("DisableEvent", wait)];
    assert_eq!(fake_vm::calls(), expected);
    fake_vm::REFUSED.store(0, Ordering::Relaxed);

    let (loaded, load_again) = loaded!(JVMPI_VERSION_1_2);
    assert_eq!(loaded, JNI_OK);
    _ = fake_vm::calls();
    assert_eq!(load_again(c"other".as_ptr()), JNI_ERR);
    assert_eq!(fake_vm::calls(), []);
    assert_eq!(load_again(c"more".as_ptr()), JNI_OK);
    let events = [JVMPI_EVENT_GC_START, JVMPI_EVENT_OBJECT_ALLOC];
    let [start, alloc] = events.map(|event| ("EnableEvent", event as usize));
    assert_eq!(fake_vm::calls(), [start, alloc, ("its argument", 4096)]);
    // The fake VM fails to suspend every other thread of a list.
    fake_vm::send(JVMPI_EVENT_MONITOR_WAIT, 16);
    let suspended = [32, 48, 64].map(|thread| ("SuspendThreadList", thread));
    let resumed = [64, 32].map(|thread| ("ResumeThread", thread));
    assert_eq!(fake_vm::calls(), [&suspended[..], &resumed].concat());

    assert_eq!(loaded!(JVMPI_VERSION_1).0, JNI_OK);
    _ = fake_vm::calls();
    fake_vm::send(JVMPI_EVENT_MONITOR_WAIT, 16);
    let suspended = [32, 48, 64].map(|thread| ("SuspendThread", thread));
    let resumed = [64, 32, 48].map(|thread| ("ResumeThread", thread));
    assert_eq!(fake_vm::calls(), [&suspended[..], &resumed].concat());

    fake_vm::send(JVMPI_EVENT_MONITOR_WAITED, 16);
    let [request, other] = [JVMPI_EVENT_MONITOR_DUMP, JVMPI_EVENT_OBJECT_ALLOC];
    let requests = [request, other].map(|event| ("RequestEvent", event as usize));
    let waits = [0, 1, 1700].map(|ms| ("RawMonitorWait", ms));
    assert_eq!(fake_vm::calls(), [&requests[..], &waits].concat());
}
