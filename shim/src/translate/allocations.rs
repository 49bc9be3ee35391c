//! How allocations are reported: by the VM or by rewritten code.
//!
//! The VM can report every object that is allocated (`SampledObjectAlloc` for every byte), which
//! misses nothing from JDK 17 on but costs a global lock for each object. Rewritten code reports
//! what code allocates, for much less, but not what the VM allocates for itself. JDK 11 loses
//! reports after an allocation outside the thread's buffer, so there it is rewritten code. It also is
//! rewritten code in a JVM that ran before the shim was loaded: the VM has drawn long ago how many bytes
//! each of its threads allocates before the first report, half a megabyte on average.

use crate::jvm::{self, capabilities};
use jni_sys::jint;
use jvmpi_settings::Alloc;
use jvmti_sys::{JVMTI_EVENT_SAMPLED_OBJECT_ALLOC, JVMTI_PHASE_ONLOAD};
use std::sync::atomic::{AtomicBool, Ordering};

/// The first JDK whose own reports are complete.
const COMPLETE_SINCE: u32 = 17;

/// Set if the VM's reports were unavailable when the shim needed them: another agent has the
/// capability.
static IS_REFUSED: AtomicBool = AtomicBool::new(false);

/// True while the shim has the capability.
static IS_TAKEN: AtomicBool = AtomicBool::new(false);

/// The interval that the VM has if no agent sets one.
const DEFAULT_INTERVAL: jint = 512 * 1024;

/// Whether rewritten code reports them.
pub fn by_bytecode() -> bool {
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

/// Whether the options, or the VM, want rewritten code.
fn prefers_bytecode() -> bool {
    match jvmpi_settings::get().alloc {
        Alloc::Sampled => false,
        Alloc::Bytecode => true,
        Alloc::Auto => {
            jvm::get().feature_version() < COMPLETE_SINCE || LATE.load(Ordering::Relaxed)
        }
    }
}

/// True if the program had begun before the shim took the VM's reports, so its threads may be in the middle of their
/// countdowns.
static LATE: AtomicBool = AtomicBool::new(false);

/// Makes the VM report every object once reports are on, unless that was done. The VM draws a thread's countdown to
/// its first report when it creates the thread, so this comes before the first one if the shim is
/// loaded that early, although nobody knows then if an agent will want allocations. While reports are off it costs
/// nothing.
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
    if let Err(error) = taken.and_then(|()| jvmti.set_heap_sampling_interval(0)) {
        log::debug!("the VM cannot report every object: {error}");
        IS_REFUSED.store(true, Ordering::Relaxed);
    }
}

/// Lets other agents of JVMTI have the VM's reports. Called if no agent wants allocations when the program begins. For
/// an agent that enables OBJECT_ALLOC later, rewritten code reports them, as after an attach.
pub fn give_back() {
    if IS_REFUSED.load(Ordering::Relaxed) || !IS_TAKEN.swap(false, Ordering::Relaxed) {
        return;
    }
    let jvmti = jvm::get().jvmti;
    let given = jvmti.set_heap_sampling_interval(DEFAULT_INTERVAL);
    if let Err(error) = given.and_then(|()| capabilities::give_back_sampled_allocations(jvmti)) {
        log::debug!("no other agent can have the VM report allocations: {error}");
    }
}

/// Starts or stops the VM's reports.
pub fn switch_sampling(on: bool) -> jvm::Result<()> {
    let jvmti = jvm::get().jvmti;
    jvmti.set_notification(JVMTI_EVENT_SAMPLED_OBJECT_ALLOC, on)?;
    if on {
        // Threads go on allocating unreported in their TLABs; a collection retires those.
        jvmti.force_garbage_collection()?;
    }
    Ok(())
}
