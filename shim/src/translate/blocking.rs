//! Blocking calls for which JVMTI has no event: `Thread.sleep`, the end of `Object.wait` (when the thread
//! owns the monitor again), and `Unsafe.park`. The shim replaces their natives. It replaces the first two
//! when the VM binds them, before the first class of the program is loaded.

use super::jni_functions::{originals, replaces};
use super::monitors::{self, FindObject};
use crate::records::{tracker, waits};
use crate::threads;
use jni_sys::{JNI_OK, JNIEnv, JNINativeMethod, jclass, jint, jlong, jobject};
use jvm::boundary::guard;
use jvm::lock::Memo;
use jvm::platform::dynamic_loader::imported_by;
use jvm::{Jni, internals, symbols};
use jvmpi_settings::Park;
use std::ffi::{CStr, c_void};
use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use std::{ptr, slice};

type Sleep = unsafe extern "system" fn(*mut JNIEnv, jclass, jlong);
type Wait = unsafe extern "system" fn(*mut JNIEnv, jobject, jlong);
/// The Java `boolean` is a byte here. The verifier lets code pass any number for it, and `jboolean` is `bool`, which
/// must be 0 or 1.
type ParkFunction = unsafe extern "system" fn(*mut JNIEnv, jobject, u8, jlong);

/// The function that the VM exports for the sleeping native of `Thread`, whose name varies.
struct Sleeping {
    function: Sleep,
    unit: fn(u64) -> Duration,
}

static SLEEP: Memo<Option<Sleeping>> = Memo::new();
/// The function that the VM exports for the native of `Object.wait`.
static WAIT: Memo<Option<Wait>> = Memo::new();
static SLEEP_IS_BOUND: AtomicBool = AtomicBool::new(false);

/// The first JDK whose native takes nanoseconds under the old name.
const NANOSECONDS_SINCE: u32 = 21;

fn find_sleep() -> Option<Sleeping> {
    let find = |name: &CStr, unit| {
        let address = symbols::find(name)?;
        // SAFETY: the functions of these names have this type.
        let function = unsafe { std::mem::transmute::<*mut c_void, Sleep>(address.as_ptr()) };
        Some(Sleeping { function, unit })
    };
    let unit = match jvm::get().feature_version() {
        NANOSECONDS_SINCE.. => Duration::from_nanos,
        _ => Duration::from_millis,
    };
    find(c"JVM_SleepNanos", Duration::from_nanos).or_else(|| find(c"JVM_Sleep", unit))
}

fn find_wait() -> Option<Wait> {
    let address = symbols::find(c"JVM_MonitorWait")?;
    // SAFETY: the function of this name has this type.
    Some(unsafe { std::mem::transmute::<*mut c_void, Wait>(address.as_ptr()) })
}

/// Returns true if the VM exports a function that sleeps or waits.
pub fn is_known() -> bool {
    let sleeps = SLEEP.get_or_find(|| internals::SLEEP.find(find_sleep)).is_some();
    WAIT.get_or_find(|| internals::WAIT.find(find_wait)).is_some() || sleeps
}

/// Returns the replacement for this native function, if it is one of these. Functions are recognized by
/// address, because the VM binds them before it can be asked for the methods' names.
pub fn instead_of(function: *mut c_void) -> Option<*mut c_void> {
    // SAFETY: the VM binds a native to code.
    let function = unsafe { imported_by(function) };
    if SLEEP.get()?.as_ref().is_some_and(|sleep| function == sleep.function as *mut c_void) {
        SLEEP_IS_BOUND.store(true, Ordering::Relaxed);
        Some(sleep as *mut c_void)
    } else if WAIT.get()?.is_some_and(|wait| function == wait as *mut c_void) {
        waits::RETURNS_ARE_SEEN.store(true, Ordering::Relaxed);
        Some(wait as *mut c_void)
    } else {
        None
    }
}

/// Returns true if all exported functions of these are bound.
pub fn are_bound() -> bool {
    let sleep_is_left =
        matches!(SLEEP.get(), Some(Some(_))) && !SLEEP_IS_BOUND.load(Ordering::Relaxed);
    let wait_is_left =
        matches!(WAIT.get(), Some(Some(_))) && !waits::RETURNS_ARE_SEEN.load(Ordering::Relaxed);
    !sleep_is_left && !wait_is_left
}

/// Replaces the native of `Thread` that platform threads call to sleep.
unsafe extern "system" fn sleep(env: *mut JNIEnv, class: jclass, time: jlong) {
    let Some(Some(original)) = SLEEP.get() else { return };
    let time_asked_for = (original.unit)(u64::try_from(time).unwrap_or(0));
    // SAFETY: the VM passes the environment of the thread that runs this.
    let jni = || unsafe { Jni::new(env) };
    const NO_OBJECT: FindObject = |_| Some(ptr::null_mut());
    let begin = || monitors::begin_pause(jni(), time_asked_for, NO_OBJECT);
    // Sleeping for no time is not waiting; as a timeout, 0 means no limit.
    let is_reported = !time_asked_for.is_zero() && guard(false, begin);
    // SAFETY: the arguments are those that the VM passes to the native.
    unsafe { (original.function)(env, class, time) };
    if is_reported {
        guard((), || monitors::end_pause(jni(), NO_OBJECT));
    }
}

/// Replaces the native of `Object.wait`. A virtual thread may be unmounted when the original returns, and
/// then the VM must not be called. In that case the carrier's record has nothing to report.
unsafe extern "system" fn wait(env: *mut JNIEnv, object: jobject, time: jlong) {
    let Some(Some(original)) = WAIT.get() else { return };
    let outer = threads::known_current().map(|thread| thread.waits.set_called(true));
    // SAFETY: the arguments are those that the VM passes to the native.
    unsafe { original(env, object, time) };
    let Some(thread) = threads::known_current() else { return };
    thread.waits.set_called(outer.unwrap_or(false));
    if thread.waits.has_entered_again() {
        // SAFETY: the VM passes the environment of the thread that runs this.
        guard((), || monitors::entered_again(unsafe { Jni::new(env) }, object));
    }
}

/// The VM's function for `Unsafe.park`; NULL until it is known.
static PARK: AtomicPtr<c_void> = AtomicPtr::new(ptr::null_mut());
/// The environment of the thread that is looking for [`PARK`].
static LOOKS: AtomicPtr<JNIEnv> = AtomicPtr::new(ptr::null_mut());

const UNSAFE: &CStr = c"jdk/internal/misc/Unsafe";
const NAME_OF_PARK: &CStr = c"park";
const DESCRIPTOR_OF_PARK: &CStr = c"(ZJ)V";

/// Returns true if the settings ask for reports of threads that park.
pub fn parking_is_reported() -> bool {
    jvmpi_settings::get().park == Park::Monitor
}

/// Starts to report threads that park. The Tracker must be defined.
pub fn report_parking(jni: Jni) {
    threads::internally(jni, || {
        if internals::PARK.is_there(|| jni.frame(8, find_park))
            && !tracker::bind(jni, tracker::BIND_PARK)
        {
            log::warn!("Unsafe.park cannot be replaced");
        }
    });
}

/// Finds the function of `Unsafe.park`, which the VM does not export. `Unsafe` is asked to register its
/// natives again; the shim intercepts that call and only reads the list.
fn find_park(jni: Jni) -> bool {
    let ask = || {
        let class = jni.find_class(UNSAFE)?;
        jni.call_static_void(class, jni.static_method(class, c"registerNatives", c"()V")?)
    };
    if replace(true).is_err() {
        return false;
    }
    LOOKS.store(jni.env(), Ordering::SeqCst);
    let is_asked = ask().is_some();
    LOOKS.store(ptr::null_mut(), Ordering::SeqCst);
    replace(false).is_ok() && is_asked && !PARK.load(Ordering::SeqCst).is_null()
}

replaces! { pub fn replace: RegisterNatives }

#[allow(non_snake_case)]
unsafe extern "system" fn RegisterNatives(
    env: *mut JNIEnv,
    class: jclass,
    methods: *const JNINativeMethod,
    count: jint,
) -> jint {
    if LOOKS.load(Ordering::SeqCst) != env || methods.is_null() {
        // SAFETY: the caller's arguments go to the function that they were meant for.
        return unsafe { (originals().RegisterNatives)(env, class, methods, count) };
    }
    // SAFETY: the VM passes `count` methods, with their names and descriptors.
    let methods = unsafe { slice::from_raw_parts(methods, usize::try_from(count).unwrap_or(0)) };
    // SAFETY: as above.
    let text = |text: *mut _| unsafe { CStr::from_ptr(text) };
    let is_park = |method: &&JNINativeMethod| {
        text(method.name) == NAME_OF_PARK && text(method.signature) == DESCRIPTOR_OF_PARK
    };
    if let Some(method) = methods.iter().find(is_park) {
        PARK.store(method.fnPtr, Ordering::SeqCst);
    }
    JNI_OK
}

/// Binds `Unsafe.park` to this module's function.
pub fn bind_park(jni: Jni) {
    let method = JNINativeMethod {
        name: NAME_OF_PARK.as_ptr().cast_mut(),
        signature: DESCRIPTOR_OF_PARK.as_ptr().cast_mut(),
        fnPtr: park as *mut c_void,
    };
    // SAFETY: the function has the C type of the descriptor.
    let bind = |class| unsafe { jni.register_natives(class, &[method]) };
    if !jni.frame(4, |jni| jni.find_class(UNSAFE).is_some_and(bind)) {
        log::warn!("Unsafe.park cannot be replaced");
    }
}

/// Replaces `Unsafe.park`.
unsafe extern "system" fn park(env: *mut JNIEnv, receiver: jobject, is_absolute: u8, time: jlong) {
    // SAFETY: the VM passes the environment of the thread that runs this.
    let jni = || unsafe { Jni::new(env) };
    let timeout = timeout_of_park(is_absolute != 0, time);
    let begin = |time| monitors::begin_pause(jni(), time, monitors::blocker);
    let is_reported = guard(false, || timeout.is_some_and(begin));
    // SAFETY: `PARK` holds the function that this one replaces, which has this type.
    let original =
        unsafe { std::mem::transmute::<*mut c_void, ParkFunction>(PARK.load(Ordering::SeqCst)) };
    // SAFETY: the arguments are those that the VM passes to the native.
    unsafe { original(env, receiver, is_absolute, time) };
    if is_reported {
        guard((), || monitors::end_pause(jni(), monitors::blocker));
    }
}

/// Returns the time that `Unsafe.park` waits with these arguments: zero for no limit, None if it does not
/// wait.
fn timeout_of_park(is_absolute: bool, time: jlong) -> Option<Duration> {
    if !is_absolute {
        return u64::try_from(time).ok().map(Duration::from_nanos);
    }
    let until = Duration::from_millis(u64::try_from(time).ok()?);
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    until.checked_sub(now).filter(|left| !left.is_zero())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicU8;

    #[test]
    fn park_passes_on_a_boolean_that_is_any_byte() {
        static SEEN: AtomicU8 = AtomicU8::new(0);
        unsafe extern "system" fn original(_: *mut JNIEnv, _: jobject, is_absolute: u8, _: jlong) {
            SEEN.store(is_absolute, Ordering::SeqCst);
        }
        PARK.store(original as *mut c_void, Ordering::SeqCst);
        // SAFETY: parking until a time in the past is not reported, so nothing uses the environment.
        unsafe { park(ptr::null_mut(), ptr::null_mut(), 2, -1) };
        PARK.store(ptr::null_mut(), Ordering::SeqCst);
        assert_eq!(SEEN.load(Ordering::SeqCst), 2);
    }

    #[test]
    fn only_parking_for_a_time_ends_by_itself() {
        assert_eq!(timeout_of_park(false, 0), Some(Duration::ZERO));
        assert_eq!(timeout_of_park(false, 5), Some(Duration::from_nanos(5)));
        assert_eq!(timeout_of_park(false, -5), None);
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis() as jlong;
        assert_eq!((timeout_of_park(true, 0), timeout_of_park(true, now - 1)), (None, None));
        let minute = timeout_of_park(true, now + 60_000).unwrap();
        assert!((59_000..=60_000).contains(&minute.as_millis()), "{minute:?}");
    }
}
