//! The tests that cannot run on the zero VM, and on JDKs newer than the tested ones.

use compat_tests::jdk::{Jdk, Vm};

const COMPILES_NOTHING: &str = "the zero VM compiles nothing";
/// Even without an agent, `System.gc()` does not return while a thread is in such a loop.
const DOES_NOT_STOP: &str = "the zero VM does not stop a thread in a loop without calls";

/// The beginnings of the names of cases that zero cannot run, and why.
const LEFT_OUT_ON_ZERO: [(&str, &str); 6] = [
    ("compiled/", COMPILES_NOTHING),
    ("methods/compiled_methods", COMPILES_NOTHING),
    ("sampling/stacks_have_only_calls", COMPILES_NOTHING),
    ("cli/doctor_tells_what_works", "the command looks at the usual VM of a JDK"),
    ("cli/top_shows_the_hottest_method", "Math.sqrt is a native method, and the hottest one"),
    ("traces/another_thread", DOES_NOT_STOP),
];

/// Why the case cannot run on this JVM; None if it can.
pub fn prevent(jdk: &Jdk, topic: &str, name: &str) -> Option<&'static str> {
    if jdk.vm != Vm::Zero {
        return None;
    }
    let name = format!("{topic}/{name}");
    let left_out = LEFT_OUT_ON_ZERO.iter().find(|(left_out, _)| name.starts_with(left_out));
    left_out.map(|(_, why)| *why)
}
