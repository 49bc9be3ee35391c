//! Walks through the heap from the GC roots.
//!
//! HotSpot can crash if a virtual thread is created meanwhile (`JvmtiEnvBase::is_vthread_alive`). So all other threads are
//! suspended, unless the program has no virtual threads.

use super::deaths;
use crate::classes::stopped::Stopped;
use crate::threads::{self, Thread};
use jvm::heap::Visitor;
use jvm::suspending;
use jvm::{Jni, Jvmti, virtual_threads};

/// Suspends the other threads if necessary, walks, and resumes them.
///
/// # Errors
/// Returns the reason why that is not possible.
pub fn from_roots<V: Visitor>(
    jni: Jni,
    current: &Thread,
    jvmti: Jvmti,
    visitor: &mut V,
) -> Result<(), String> {
    if suspending::is_suspending() {
        return Err("the thread has suspended others".to_owned());
    }
    let has_virtual_threads = threads::internally(jni, || virtual_threads::get(jni).is_some());
    let stopped = match has_virtual_threads {
        true => Some(Stopped::begin(jni, current)?.0),
        false => None,
    };
    let walked = walk(stopped.as_ref(), jvmti, visitor);
    walked.map_err(|error| error.to_string())
}

/// Walks while the caller has suspended the other threads.
pub fn from_roots_while<V: Visitor>(
    stopped: &Stopped,
    jvmti: Jvmti,
    visitor: &mut V,
) -> jvm::Result<()> {
    walk(Some(stopped), jvmti, visitor)
}

/// Walks. Without a [`Stopped`] there are no virtual threads.
fn walk<V: Visitor>(_: Option<&Stopped>, jvmti: Jvmti, visitor: &mut V) -> jvm::Result<()> {
    // SAFETY: no virtual thread is being created: `Stopped` has checked the suspended threads, or there are none.
    deaths::during_walk(|| unsafe { jvmti.follow_from_roots(visitor) })
}
