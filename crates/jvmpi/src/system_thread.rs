//! Threads that the agent creates.

use crate::boundary::{guard, report};
use crate::{Context, Jvmpi, MultiThreaded};
use jni_sys::{JNI_OK, JNI_VERSION_1_2};
use jvmpi_sys::{JVMPI_MAXIMUM_PRIORITY, JVMPI_MINIMUM_PRIORITY, JVMPI_NORMAL_PRIORITY};
use std::ffi::{CStr, c_void};
use std::fmt;
use std::ptr;
use std::sync::{Mutex, PoisonError};

/// The priority of a system thread.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
#[repr(i32)]
pub enum Priority {
    /// The lowest priority.
    Minimum = JVMPI_MINIMUM_PRIORITY,
    /// The default priority of Java threads.
    #[default]
    Normal = JVMPI_NORMAL_PRIORITY,
    /// The highest priority.
    Maximum = JVMPI_MAXIMUM_PRIORITY,
}

/// The error of [`create_system_thread`](Context::create_system_thread).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct ThreadNotCreated;

impl fmt::Display for ThreadNotCreated {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the VM did not create the thread; create threads from JVM_INIT_DONE on")
    }
}

impl std::error::Error for ThreadNotCreated {}

/// The closure that a new thread is to run.
struct Work {
    jvmpi: Jvmpi,
    run: Box<dyn FnOnce(&mut MultiThreaded<'_>) + Send>,
}

/// The number of threads that may be starting at the same time.
const PLACES: usize = 8;

/// The closures of the threads that are starting. CreateSystemThread takes a function but no argument for it, so
/// each slot has a function of its own.
static STARTING: [Mutex<Option<Work>>; PLACES] = [const { Mutex::new(None) }; PLACES];

const FUNCTIONS: [unsafe extern "C" fn(*mut c_void); PLACES] =
    [run::<0>, run::<1>, run::<2>, run::<3>, run::<4>, run::<5>, run::<6>, run::<7>];

fn take(place: usize) -> Option<Work> {
    STARTING[place].lock().unwrap_or_else(PoisonError::into_inner).take()
}

unsafe extern "C" fn run<const PLACE: usize>(_: *mut c_void) {
    guard("a system thread", || {
        let Some(Work { jvmpi, run }) = take(PLACE) else { return };
        let vm = jvmpi.table().vm;
        let mut env = ptr::null_mut();
        // SAFETY: the VM runs this function, and `env` has room for a pointer.
        if unsafe { ((**vm).v1_2.GetEnv)(vm, &mut env, JNI_VERSION_1_2) } != JNI_OK {
            return report(&"a system thread without a JNI environment is not run");
        }
        // SAFETY: a system thread starts multithreaded with GC enabled, and ends after this.
        run(&mut unsafe { Context::new(jvmpi, env.cast(), true) });
    });
}

impl MultiThreaded<'_> {
    /// CreateSystemThread: runs `work` in a new daemon Java thread. Call it from JVM_INIT_DONE on.
    ///
    /// # Errors
    /// Fails if the VM creates no thread, or if eight threads are starting at the moment.
    pub fn create_system_thread(
        &mut self,
        name: &CStr,
        priority: Priority,
        work: impl FnOnce(&mut MultiThreaded<'_>) + Send + 'static,
    ) -> Result<(), ThreadNotCreated> {
        let mut work = Some(Work { jvmpi: self.jvmpi(), run: Box::new(work) });
        let place = STARTING.iter().position(|place| {
            let mut place = place.lock().unwrap_or_else(PoisonError::into_inner);
            let is_free = place.is_none();
            if is_free {
                *place = work.take();
            }
            is_free
        });
        let place = place.ok_or(ThreadNotCreated)?;
        // SAFETY: this mode permits the call; the VM copies the name and does not change it. The function may
        // run on another thread because the closure is `Send`.
        let result = unsafe {
            (self.table().CreateSystemThread)(
                name.as_ptr().cast_mut(),
                priority as i32,
                Some(FUNCTIONS[place]),
            )
        };
        if result == JNI_OK {
            Ok(())
        } else {
            drop(take(place));
            Err(ThreadNotCreated)
        }
    }
}
