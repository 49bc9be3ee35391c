//! The self-test of `selftest=on`: looks up every internal (docs/explanation/internals.md) on which some agent could
//! rely, in the way in which the shim does it for an agent. The rest of the shim looks up the others in each JVM that
//! has an agent for METHOD events. [`internals::log_results`](jvm::internals::log_results) reports the results.

use crate::dumps::object_dump;
use crate::translate::{collection, monitors, receivers, subscriptions};
use crate::{classes, table, threads};
use jvm::Jni;

/// Looks them up. The VM is ready to run Java code, and the program has not begun.
pub fn run(jni: Jni) {
    table::threads::prepare_to_suspend();
    collection::moves_only_in_pauses();
    monitors::holds_lock_function();
    // This defines the Tracker too, which the next test needs.
    subscriptions::report_parking(jni);
    threads::internally(jni, || receivers::prepare(jni));
    jni.frame(jvm::LARGE_FRAME, |jni| {
        classes::class_fields(jni);
        threads::numbers_are_known(jni);
        if let Some(class) = jni.find_class(c"java/lang/Object") {
            object_dump::protection_domain(jni, class);
        }
        jvm::thread_snapshot::get(jni);
        // The field can be found once the class is initialized, as this does.
        if jni.find_class(c"java/lang/VirtualThread").is_some() {
            jvm::virtual_threads::get(jni);
        }
    });
}
