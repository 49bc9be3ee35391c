//! `Thread.sleep`, for which JVMTI has no event: its native is replaced when the VM binds it, which
//! happens before the first class of the program is loaded.

use super::monitors;
use crate::boundary::guard;
use crate::jvm::{self, Jni, internals, symbols};
use crate::lock::Memo;
use jni_sys::{JNIEnv, jclass, jlong};
use std::ffi::{CStr, c_void};
use std::time::Duration;

type Function = unsafe extern "system" fn(*mut JNIEnv, jclass, jlong);

/// What the VM exports for the native of `Thread`, whatever that is called there.
struct Original {
    function: Function,
    unit: fn(u64) -> Duration,
}

static ORIGINAL: Memo<Option<Original>> = Memo::new();

/// The first JDK whose native takes nanoseconds, under the old name.
const NANOSECONDS_SINCE: u32 = 21;

fn find() -> Option<Original> {
    let find = |name: &CStr, unit| {
        let address = symbols::find(name)?;
        // SAFETY: the functions of these names have this type.
        let function = unsafe { std::mem::transmute::<*mut c_void, Function>(address.as_ptr()) };
        Some(Original { function, unit })
    };
    let unit = match jvm::get().feature_version() {
        NANOSECONDS_SINCE.. => Duration::from_nanos,
        _ => Duration::from_millis,
    };
    find(c"JVM_SleepNanos", Duration::from_nanos).or_else(|| find(c"JVM_Sleep", unit))
}

/// Whether the VM exports what sleeps.
pub fn is_known() -> bool {
    ORIGINAL.get_or_find(|| internals::SLEEP.find(find)).is_some()
}

/// What stands for this function of a native method, if that is the one that sleeps. It is known by its
/// address: the VM binds it before it can be asked for the method's name.
pub fn instead_of(function: *mut c_void) -> Option<*mut c_void> {
    let original = ORIGINAL.get()?.as_ref()?;
    (function == original.function as *mut c_void).then_some(sleep as *mut c_void)
}

/// Stands for the native of `Thread`, which platform threads call to sleep.
unsafe extern "system" fn sleep(env: *mut JNIEnv, class: jclass, time: jlong) {
    let Some(Some(original)) = ORIGINAL.get() else { return };
    let time_asked_for = (original.unit)(u64::try_from(time).unwrap_or(0));
    // SAFETY: the VM passes the environment of the thread that runs this.
    let is_reported = guard(false, || monitors::sleeping(unsafe { Jni::new(env) }, time_asked_for));
    // SAFETY: the arguments are those that the VM passes to the native.
    unsafe { (original.function)(env, class, time) };
    if is_reported {
        // SAFETY: as above.
        guard((), || monitors::slept(unsafe { Jni::new(env) }));
    }
}
