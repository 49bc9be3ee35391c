//! Chooses how allocations are reported: by the VM or by rewritten code.
//!
//! The VM can report every allocated object (`SampledObjectAlloc` for every byte). From JDK 17 on this misses nothing,
//! but it costs a global lock per object. Rewritten code costs much less and reports what Java code allocates, but not
//! what the VM allocates for itself. JDK 11 loses reports after an allocation outside the thread's TLAB, so rewritten
//! code is used there. It is also used after an attach: the VM chose long ago how many bytes each thread allocates
//! before its first report, half a megabyte on average.
//!
//! With a sampling interval the VM reports only the objects that contain a sample point. The distance between two
//! sample points is geometrically distributed, with the interval as its mean. No code is rewritten then.

use crate::records::agents;
use crate::threads;
use jni_sys::jint;
use jvm::capabilities;
use jvm::types::{JVMTI_EVENT_SAMPLED_OBJECT_ALLOC, JVMTI_PHASE_ONLOAD};
use jvmpi_settings::Alloc;
use std::num::NonZeroU32;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};

/// The first JDK whose own reports are complete.
const COMPLETE_SINCE: u32 = 17;

/// True if the VM's reports were unavailable when the shim needed them, because another agent holds the capability.
static IS_REFUSED: AtomicBool = AtomicBool::new(false);

/// True while the shim has the capability.
static IS_TAKEN: AtomicBool = AtomicBool::new(false);

/// The sampling interval of the VM if no agent sets one, in bytes.
const DEFAULT_INTERVAL: jint = 512 * 1024;

/// The interval that the VM uses now, in bytes.
static IN_USE: AtomicI32 = AtomicI32::new(DEFAULT_INTERVAL);

/// Makes the VM use the current interval.
fn set_interval() -> jvm::Result<()> {
    let bytes = agents::interval().map_or(0, NonZeroU32::get).cast_signed();
    jvm::get().jvmti.set_heap_sampling_interval(bytes)?;
    if IN_USE.swap(bytes, Ordering::Relaxed) == 0 && bytes != 0 {
        for thread in threads::all() {
            thread.reports_at_once.store(true, Ordering::Relaxed);
        }
    }
    Ok(())
}

/// Returns true if rewritten code reports allocations.
pub fn by_bytecode() -> bool {
    if agents::are_sampled() {
        return false;
    }
    static SAID: AtomicBool = AtomicBool::new(false);
    let is_refused = IS_REFUSED.load(Ordering::Relaxed);
    if is_refused && !SAID.swap(true, Ordering::Relaxed) {
        log::warn!(
            "another agent has the JVM report allocations to itself: rewritten code reports them, \
             as with alloc=bytecode"
        );
    }
    is_refused || prefers_bytecode()
}

/// Returns true if the options, or the VM, call for rewritten code.
fn prefers_bytecode() -> bool {
    if agents::are_sampled() {
        return false;
    }
    match jvmpi_settings::get().alloc {
        Alloc::Sampled | Alloc::Every(_) => false,
        Alloc::Bytecode => true,
        Alloc::Auto => {
            jvm::get().feature_version() < COMPLETE_SINCE || LATE.load(Ordering::Relaxed)
        }
    }
}

/// True if the program had begun before the shim took the VM's reports, so its threads may be in the middle of their
/// countdowns.
static LATE: AtomicBool = AtomicBool::new(false);

/// Takes the capability and makes the VM report every object, or each sample, once reports are on. The VM chooses a
/// thread's countdown to its first report when it creates the thread. So this runs before the first thread is created
/// if possible, although no agent may need allocations. While reports are off it costs nothing.
pub fn prepare() {
    let jvmti = jvm::get().jvmti;
    if IS_TAKEN.load(Ordering::Relaxed) || IS_REFUSED.load(Ordering::Relaxed) {
        return;
    }
    LATE.store(jvmti.phase() != Ok(JVMTI_PHASE_ONLOAD), Ordering::Relaxed);
    if prefers_bytecode() {
        return;
    }
    IS_TAKEN.store(true, Ordering::Relaxed);
    let taken = capabilities::take_sampled_allocations(jvmti);
    if let Err(error) = taken.and_then(|()| set_interval()) {
        log::debug!("the VM cannot report allocations: {error}");
        IS_REFUSED.store(true, Ordering::Relaxed);
    }
}

/// Lets other JVMTI agents have the VM's reports. Called if no agent wants allocations when the program begins. For an
/// agent that enables OBJECT_ALLOC later, rewritten code reports them, as after an attach.
pub fn give_back() {
    if IS_REFUSED.load(Ordering::Relaxed) || !IS_TAKEN.swap(false, Ordering::Relaxed) {
        return;
    }
    let jvmti = jvm::get().jvmti;
    let given = jvmti.set_heap_sampling_interval(DEFAULT_INTERVAL);
    IN_USE.store(DEFAULT_INTERVAL, Ordering::Relaxed);
    if let Err(error) = given.and_then(|()| capabilities::give_back_sampled_allocations(jvmti)) {
        log::debug!("no other agent can have the VM report allocations: {error}");
    }
}

pub fn switch_sampling(on: bool) -> jvm::Result<()> {
    let jvmti = jvm::get().jvmti;
    if on {
        set_interval()?;
    }
    jvmti.set_notification(JVMTI_EVENT_SAMPLED_OBJECT_ALLOC, on)?;
    if on && agents::are_sampled() {
        // Countdowns that begin now are too long for reports of every object.
        LATE.store(true, Ordering::Relaxed);
    } else if on {
        // Threads still allocate unreported in their present TLABs; a collection retires these.
        jvmti.force_garbage_collection()?;
    }
    Ok(())
}
