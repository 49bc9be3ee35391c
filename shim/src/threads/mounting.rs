//! The mounting of virtual threads on carriers, as the VM reports it. While a virtual thread is mounted,
//! its record is that of the current thread.

use super::objects::learn_object;
use crate::records::registry::{self, own, record, virtual_record};
use crate::records::thread::{Current, Thread, known_current};
use crate::records::virtual_thread;
use jni_sys::{jint, jobject};
use jvm::lock::Memo;
use jvm::platform::cpu_clock;
use jvm::platform::os_thread::os_thread;
use jvm::types::JVMTI_THREAD_STATE_ALIVE;
use jvm::{FieldId, Jni, internals};
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// True if the scheduler's rewritten code reports the beginning and end of each transition.
static NOTICES: AtomicBool = AtomicBool::new(false);

/// Sets whether the scheduler's code reports transitions.
pub fn expect_notices(notices: bool) {
    NOTICES.store(notices, Ordering::SeqCst);
}

/// Called when the VM reports that this virtual thread now runs on the current carrier.
pub fn mounted(jni: Jni, object: jobject) -> Option<Current> {
    let thread = virtual_record(number(jni, object)?);
    let carrier = record(jni.env());
    thread.mount(&carrier, jni);
    let current = Current::of(&thread);
    own(Some(thread));
    if current.object().is_none() {
        jni.frame(8, |jni| learn_object(&current, jni, object));
    }
    Some(current)
}

/// Called when the VM reports that the current virtual thread leaves its carrier.
pub fn unmounted(jni: Jni) {
    let Some(thread) = known_current().filter(|thread| thread.is_virtual()) else { return };
    let carrier = record(jni.env());
    thread.unmount(&carrier);
    own(Some(carrier));
}

/// Returns the virtual thread that is mounted on the current carrier without a report, because the shim
/// was loaded later.
pub fn find_mounted(jni: Jni) -> Option<Current> {
    jni.frame(8, |jni| {
        let object = jvm::get().jvmti.current_thread().ok()?;
        if is_alive(object) && jni.is_virtual(object) { mounted(jni, object) } else { None }
    })
}

/// Returns the record of a live virtual thread, if these are threads of their own.
pub fn find(jni: Jni, object: jobject) -> Option<Arc<Thread>> {
    if !virtual_thread::are_threads() || !jni.is_virtual(object) || !is_alive(object) {
        return None;
    }
    let number = number(jni, object)?;
    let thread = virtual_record(number);
    if thread.object().is_none() {
        learn_object(&thread, jni, object);
    }
    if !is_alive(object) {
        // It has ended meanwhile, perhaps before its record was created. Then no other call removes that.
        registry::forget(&thread);
        return None;
    }
    Some(thread)
}

/// Returns true for the `java.lang.Thread` of a thread that has started and not ended. False for NULL.
pub fn is_alive(thread: jobject) -> bool {
    let state = || jvm::get().jvmti.thread_state(thread).unwrap_or(0);
    !thread.is_null() && state() & JVMTI_THREAD_STATE_ALIVE as jint != 0
}

/// Returns true if the numbers of threads can be read.
pub fn numbers_are_known(jni: Jni) -> bool {
    let current = jvm::get().jvmti.current_thread();
    current.is_ok_and(|current| number(jni, current).is_some())
}

/// Returns the number that `java.lang.Thread` gives each thread.
fn number(jni: Jni, object: jobject) -> Option<i64> {
    static FIELD: Memo<Option<FieldId>> = Memo::new();
    let look = || jni.frame(4, |jni| jni.field(jni.find_class(c"java/lang/Thread")?, c"tid", c"J"));
    let field = (*FIELD.get_or_find(|| internals::THREAD_NUMBER.find(look)))?;
    Some(jni.long_field(object, field))
}

impl Thread {
    /// Records that the virtual thread now runs on this carrier, which is the current thread.
    fn mount(&self, carrier: &Self, jni: Jni) {
        if self.runs_in(jni.env()) {
            return;
        }
        if let Some(as_virtual) = &self.as_virtual {
            as_virtual.mount(jni.env());
        }
        carrier.hand_os_thread_to(self);
        self.runs_in.store(jni.env(), Ordering::Relaxed);
        carrier.new_ids.hand_over(&self.new_ids);
        // The VM reports the mount after the transition.
        for thread in [carrier, self] {
            thread.transition.clear();
        }
    }

    /// Records that the virtual thread leaves this carrier.
    fn unmount(&self, carrier: &Self) {
        self.runs_in.store(ptr::null_mut(), Ordering::Relaxed);
        self.hand_os_thread_to(carrier);
        // The signal would find the carrier's record.
        self.sample.abandon();
        self.new_ids.hand_over(&carrier.new_ids);
        // A transition begins. Its end is reported on the carrier.
        carrier.transition.note(NOTICES.load(Ordering::SeqCst));
        carrier.short_cut.forbid();
    }

    /// Assigns the current OS thread, with the CPU time that it uses from now on, to the other thread.
    fn hand_os_thread_to(&self, other: &Self) {
        let clock = cpu_clock::current();
        self.consumed.end(clock);
        self.os_thread.store(0, Ordering::SeqCst);
        other.os_thread.store(os_thread(), Ordering::SeqCst);
        other.consumed.begin(clock);
    }

    /// Returns the CPU time of the thread in nanoseconds. None if its clock cannot be read.
    pub fn cpu_time(&self) -> Option<i64> {
        self.consumed.time(|| cpu_clock::of(self.os_thread()))
    }

    /// Returns the same as [`Self::cpu_time`] for the current thread.
    pub fn own_cpu_time(&self) -> i64 {
        self.consumed.time(|| Some(cpu_clock::current())).unwrap_or(0)
    }
}
