//! The tests that cannot run on the zero VM, and on JDKs newer than the tested ones.

use compat_tests::jdk::{Jdk, Vm};

const COMPILES_NOTHING: &str = "the zero VM compiles nothing";
/// Even without an agent, `System.gc()` does not return while a thread is in such a loop.
const DOES_NOT_STOP: &str = "the zero VM does not stop a thread in a loop without calls";

/// The beginnings of the names of cases that zero cannot run, and why.
const LEFT_OUT_ON_ZERO: [(&str, &str); 7] = [
    ("compiled/", COMPILES_NOTHING),
    ("methods/methods_of_the_chosen_classes", COMPILES_NOTHING),
    ("sampling/stacks_have_only_calls", COMPILES_NOTHING),
    ("cli/doctor_lists_what_works", "the command looks at the usual VM of a JDK"),
    ("cli/top_shows_the_hottest_method", "Math.sqrt is a native method, and the hottest one"),
    ("faults/", "the faults are those of the usual VM"),
    ("traces/computing_threads_are_sampled_anywhere", DOES_NOT_STOP),
];

/// The names of cases that cannot run from this JDK on, and why.
const LEFT_OUT_SINCE: [(u32, &str, &str); 2] = [
    (
        26,
        "methods/native_methods_of_a_running_vm",
        "the functions of bound native methods are not found, because a method ID is a number",
    ),
    (26, "samples/record_keeps_survivors", "the VM does not report what dies in VMDeath"),
];

/// Why the case cannot run on this JVM; None if it can.
pub fn prevent(jdk: &Jdk, topic: &str, name: &str) -> Option<&'static str> {
    let name = format!("{topic}/{name}");
    if jdk.vm != Vm::Zero {
        let left_out =
            LEFT_OUT_SINCE.iter().find(|(since, of, _)| jdk.feature >= *since && name == *of);
        return left_out.map(|(_, _, why)| *why);
    }
    let left_out = LEFT_OUT_ON_ZERO.iter().find(|(left_out, _)| name.starts_with(left_out));
    left_out.map(|(_, why)| *why)
}
