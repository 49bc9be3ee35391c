//! stub until the real one arrives
use super::threads::Thread;
use crate::jvm;
use jni_sys::{jint, jmethodID};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
#[derive(Default)]
pub struct Stop(AtomicBool);
pub struct RawFrame {
    pub method: jmethodID,
    pub bci: jint,
}
pub fn suspend(t: &Arc<Thread>) -> bool {
    if t.stop.0.swap(true, Ordering::SeqCst) {
        return true;
    }
    t.object().is_some_and(|o| jvm::get().jvmti.suspend(o.get()).is_ok())
}
pub fn suspend_all(ts: &[Option<Arc<Thread>>], mut r: impl FnMut(usize, bool)) {
    for (i, t) in ts.iter().enumerate() {
        r(i, t.as_ref().is_some_and(suspend));
    }
}
pub fn resume(t: &Arc<Thread>) -> bool {
    if !t.stop.0.swap(false, Ordering::SeqCst) {
        return false;
    }
    t.object().is_some_and(|o| jvm::get().jvmti.resume(o.get()).is_ok())
}
pub fn is_suspended(t: &Thread) -> bool {
    t.stop.0.load(Ordering::SeqCst)
}
pub fn has_run(_: &Thread) -> bool {
    true
}
pub fn with_trace<R>(_: &Thread, _: impl FnOnce(&[RawFrame]) -> R) -> Option<R> {
    None
}
pub fn wants_method_ids() -> bool {
    false
}
