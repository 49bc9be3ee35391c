//! Classes that were unloaded. The VM tells of their death inside a collection or on a thread of
//! its own, where no agent may be called; a thread of the shim passes it on when IDs may die.

use super::classes::{self, Class};
use super::gate;
use super::threads::{self, Thread};
use crate::jvm::Jni;
use std::sync::{Condvar, Mutex, MutexGuard};
use std::time::Duration;

/// The tags of classes that died. Whoever holds the lock never calls the VM: ObjectFree may come
/// while the world is stopped.
static DIED: Mutex<Vec<i64>> = Mutex::new(Vec::new());
static MORE: Condvar = Condvar::new();

fn died() -> MutexGuard<'static, Vec<i64>> {
    DIED.lock().unwrap_or_else(|e| e.into_inner())
}

/// Takes note that a class object was freed.
pub fn class_died(tag: i64) {
    died().push(tag);
    MORE.notify_one();
}

/// Starts the thread that calls `report` for every class that dies, while no event is in flight
/// and garbage collection is not disabled.
pub fn start(jni: Jni, report: fn(&Thread, &Class)) {
    let run = move |jni| {
        let thread = threads::current(jni);
        loop {
            let dead = wait_for_dead();
            while !gate::report_deaths(|| {
                for id in &dead {
                    if let Some(class) = classes::forget(*id) {
                        report(&thread, &class);
                    }
                }
            }) {
                std::thread::sleep(Duration::from_millis(1));
            }
        }
    };
    if let Err(error) = threads::start_hidden(jni, c"jvmpi", run) {
        log::error!("classes that are unloaded cannot be reported: {error}");
    }
}

fn wait_for_dead() -> Vec<i64> {
    let mut died = died();
    while died.is_empty() {
        died = MORE.wait(died).unwrap_or_else(|e| e.into_inner());
    }
    std::mem::take(&mut died)
}
