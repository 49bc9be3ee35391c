//! Two agents, each under two layers, on tables that record their calls.

use super::*;
use std::sync::Mutex;

/// The recorded calls, in order: caller, slot, and a number that was passed.
static LOG: Mutex<Vec<(&str, usize, i64)>> = Mutex::new(Vec::new());

fn note(who: &'static str, slot: usize, value: i64) {
    LOG.lock().unwrap().push((who, slot, value));
}

/// Returns the calls since the last time.
fn happened() -> Vec<(&'static str, usize, i64)> {
    mem::take(&mut *LOG.lock().unwrap())
}

unsafe extern "C" fn enable_event<const VM: usize>(event_type: jint, arg: *mut c_void) -> jint {
    note("EnableEvent", VM, i64::from(event_type) + arg.addr() as i64);
    JVMPI_NOT_AVAILABLE
}

unsafe extern "C" fn wait<const VM: usize>(lock_id: JVMPI_RawMonitor, ms: jlong) {
    note("RawMonitorWait", VM, ms + lock_id.addr() as i64);
}

unsafe extern "C" fn get_storage<const VM: usize>(env: *mut JNIEnv) -> *mut c_void {
    ptr::without_provenance_mut(env.addr() + VM)
}

unsafe extern "C" fn nobody(_: *mut JVMPI_Event) {
    note("nobody", 0, 0);
}

/// Creates the table of a VM, which is never freed.
fn vm<const VM: usize>() -> *mut JVMPI_Interface {
    // SAFETY: zeros are a table without functions.
    let none: JVMPI_Interface = unsafe { mem::zeroed() };
    Box::into_raw(Box::new(JVMPI_Interface {
        version: JVMPI_VERSION_1_2,
        NotifyEvent: Some(nobody),
        EnableEvent: Some(enable_event::<VM>),
        RawMonitorWait: Some(wait::<VM>),
        GetThreadLocalStorage: Some(get_storage::<VM>),
        ..none
    }))
}

/// The lower layer: passes everything on and records the calls that it overrides.
struct Lower(usize);

impl Layer for Lower {
    fn slots() -> &'static Slots<Self> {
        static SLOTS: Slots<Lower> = Slots::new();
        &SLOTS
    }

    unsafe fn EnableEvent(&self, next: &Neighbours, event_type: jint, arg: *mut c_void) -> jint {
        note("lower", self.0, i64::from(event_type));
        // SAFETY: as the caller promises.
        unsafe { next.EnableEvent(event_type + 1, arg) }
    }

    unsafe fn NotifyEvent(&self, next: &Neighbours, event: *mut JVMPI_Event) {
        // SAFETY: as the caller promises.
        unsafe {
            note("lower", self.0, i64::from((*event).event_type));
            (*event).event_type += 1;
            next.NotifyEvent(event);
        }
        note("lower", self.0, -1);
    }
}

/// The upper layer: answers some calls itself, drops one event and panics on another.
struct Upper(usize);

const DROPPED: jint = 100;
const PANICS: jint = 200;

impl Layer for Upper {
    fn slots() -> &'static Slots<Self> {
        static SLOTS: Slots<Upper> = Slots::new();
        &SLOTS
    }

    unsafe fn EnableEvent(&self, next: &Neighbours, event_type: jint, arg: *mut c_void) -> jint {
        assert_ne!(event_type, PANICS);
        note("upper", self.0, i64::from(next.has_handler()));
        // SAFETY: as the caller promises.
        unsafe { next.EnableEvent(event_type, arg) + 10 }
    }

    unsafe fn NotifyEvent(&self, next: &Neighbours, event: *mut JVMPI_Event) {
        // SAFETY: as the caller promises.
        unsafe {
            assert_ne!((*event).event_type, PANICS);
            if (*event).event_type != DROPPED {
                next.NotifyEvent(event);
            }
        }
    }
}

unsafe extern "C" fn agent<const AGENT: usize>(event: *mut JVMPI_Event) {
    // SAFETY: the tests pass live events.
    note("agent", AGENT, i64::from(unsafe { (*event).event_type }));
}

/// Puts both layers on a table. Returns the VM's table and the agent's.
fn stack<const SLOT: usize>() -> (*mut JVMPI_Interface, *mut JVMPI_Interface) {
    let vm = vm::<SLOT>();
    // SAFETY: the tables are never freed.
    unsafe {
        let lower = put_on(Lower(SLOT), SLOT, vm).unwrap();
        assert!(put_on(Lower(SLOT), SLOT, vm).is_none(), "the slot is already used");
        (vm, put_on(Upper(SLOT), SLOT, lower).unwrap())
    }
}

fn send(vm: *mut JVMPI_Interface, event_type: jint) {
    // SAFETY: the layers and agents of these tests read only `event_type`.
    unsafe {
        let mut event: JVMPI_Event = mem::zeroed();
        event.event_type = event_type;
        (*vm).NotifyEvent.unwrap()(&raw mut event);
    }
}

#[test]
fn calls_and_events_pass_all_layers_of_their_own_agent() {
    let (vm0, table0) = stack::<0>();
    let (vm5, table5) = stack::<5>();
    assert_eq!(Upper::slots().get(5).unwrap().0, 5);
    assert!(Upper::slots().get(1).is_none());

    // Before the agent writes its handler, events go to the VM's initial handler.
    send(vm0, 7);
    assert_eq!(happened(), [("lower", 0, 7), ("nobody", 0, 0), ("lower", 0, -1)]);

    // SAFETY: the tables are never freed, and their functions accept any arguments.
    unsafe {
        let arg = ptr::without_provenance_mut(1000);
        let enable = (*table0).EnableEvent.unwrap();
        assert_eq!(enable(7, arg), JVMPI_NOT_AVAILABLE + 10);
        assert_eq!(happened(), [("upper", 0, 0), ("lower", 0, 7), ("EnableEvent", 0, 1008)]);

        (*table0).NotifyEvent = Some(agent::<0>);
        (*table5).NotifyEvent = Some(agent::<5>);
        assert_eq!((*table5).EnableEvent.unwrap()(1, arg), JVMPI_NOT_AVAILABLE + 10);
        assert_eq!(happened(), [("upper", 5, 1), ("lower", 5, 1), ("EnableEvent", 5, 1002)]);

        // Calls that no layer overrides pass unchanged, and so do their results.
        (*table5).RawMonitorWait.unwrap()(ptr::without_provenance_mut(3), 4_000_000_000);
        assert_eq!(happened(), [("RawMonitorWait", 5, 4_000_000_003)]);
        let storage = (*table5).GetThreadLocalStorage.unwrap();
        assert_eq!(storage(ptr::without_provenance_mut(50)).addr(), 55);
        assert!((*table5).RunGC.is_none(), "the VM's table lacks this function");
        assert_eq!((*table5).version, JVMPI_VERSION_1_2);
    }

    send(vm5, 7);
    assert_eq!(happened(), [("lower", 5, 7), ("agent", 5, 8), ("lower", 5, -1)]);
    send(vm0, DROPPED - 1);
    assert_eq!(happened(), [("lower", 0, 99), ("lower", 0, -1)]);

    // A panic does not leave its layer.
    send(vm0, PANICS - 1);
    assert_eq!(happened(), [("lower", 0, 199), ("lower", 0, -1)]);
    // SAFETY: as above.
    unsafe {
        assert_eq!((*table0).EnableEvent.unwrap()(PANICS, ptr::null_mut()), JVMPI_FAIL);
        // An agent may remove its handler.
        (*table0).NotifyEvent = None;
    }
    send(vm0, 7);
    assert_eq!(happened(), [("lower", 0, 7), ("lower", 0, -1)]);
}
