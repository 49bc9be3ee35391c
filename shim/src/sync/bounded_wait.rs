//! Waits for other threads that end after a while.
//!
//! The other thread may be in an agent's handler, blocked on a lock that the waiting thread holds, or suspended: such a
//! wait would never end. So it ends after [`CHECKS`] checks in a row that find no step of the other thread. The waiting
//! thread passes a safepoint at each check, so pauses of the VM do not count.
//!
//! What happens then is late, but not wrong: GC events come in the next window, objects move in a later one, and an
//! event comes although a handler that was called before it has not returned. Waits for announcements are longer, because
//! few agents are prepared for that; and a thread that prepares one for so long is replaced by the one that waits.

use jvm::boundary::OnDrop;
use jvm::platform::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use jvm::platform::sync::sleep;
use std::time::Duration;

/// Counts the steps of work that other threads wait for: a collection's events, a replay.
static STEPS: AtomicU64 = AtomicU64::new(0);

/// Records a step of such work.
pub fn count_step() {
    STEPS.fetch_add(1, Ordering::Relaxed);
}

/// True while the thread that delivers a collection is in an agent's handler.
static DELIVERS: AtomicBool = AtomicBool::new(false);

/// Runs `call`, an agent's handler on the thread that delivers a collection. Only there that thread may need a lock that
/// other threads hold.
pub fn while_delivering(call: impl FnOnce()) {
    DELIVERS.store(true, Ordering::SeqCst);
    let _after = OnDrop(|| DELIVERS.store(false, Ordering::SeqCst));
    call();
}

/// The number of checks in a row without a step after which a wait ends. A busy machine slows them down too. They take
/// many times as long as a thread waits for a processor, beside 40 others that want one of two processors.
const CHECKS: u32 = 250;

/// The first and the longest pause between two checks. Most waits are over after the first pause.
const FIRST_PAUSE: Duration = Duration::from_micros(20);
const LAST_PAUSE: Duration = Duration::from_millis(1);

/// A wait for one or more threads.
pub struct BoundedWait {
    pause: Duration,
    /// The value of [`STEPS`] at the last check.
    steps: u64,
    /// The number of checks in a row without a step.
    checks: u32,
    /// The number after which the wait ends.
    limit: u32,
}

impl BoundedWait {
    pub fn new() -> Self {
        let steps = STEPS.load(Ordering::Relaxed);
        Self { pause: FIRST_PAUSE, steps, checks: 0, limit: CHECKS }
    }

    /// A wait for an announcement, which takes four times as many checks.
    pub fn for_announcement() -> Self {
        Self { limit: 4 * CHECKS, ..Self::new() }
    }

    /// Returns the pause before the next check, which is twice as long each time.
    pub fn pause(&mut self) -> Duration {
        let next = LAST_PAUSE.min(self.pause * 2);
        std::mem::replace(&mut self.pause, next)
    }

    pub fn sleep(&mut self) {
        sleep(self.pause());
    }

    /// Records a step that [`count_step`] does not count.
    pub fn step(&mut self) {
        self.checks = 0;
    }

    /// Checks. Returns false when the wait ends. The caller must hold no lock: the VM may stop the current thread here.
    pub fn goes_on(&mut self) -> bool {
        if let Some(jni) = jvm::try_get().and_then(jvm::Jvm::jni) {
            jni.pass_safepoint();
        }
        let steps = STEPS.load(Ordering::Relaxed);
        if std::mem::replace(&mut self.steps, steps) != steps {
            self.step();
        }
        self.checks += 1;
        self.checks < self.limit
    }

    /// Checks, in a wait for the thread that delivers a collection. The wait has no limit while that thread is in no
    /// handler.
    pub fn goes_on_in_handlers(&mut self) -> bool {
        if !DELIVERS.load(Ordering::SeqCst) {
            self.step();
        }
        self.goes_on()
    }
}
