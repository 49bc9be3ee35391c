//! What cannot be tested on the zero VM, and on JDKs that are newer than the tested ones.

use compat_tests::jdk::{Jdk, Vm};

/// The beginnings of the names of cases that zero cannot run, and why.
const WITHOUT_A_COMPILER: [(&str, &str); 1] = [("compiled/", "the zero VM compiles nothing")];

/// Why the case cannot run on this JVM; None if it can.
pub fn prevent(jdk: &Jdk, topic: &str, name: &str) -> Option<&'static str> {
    if jdk.vm != Vm::Zero {
        return None;
    }
    let name = format!("{topic}/{name}");
    let left_out = WITHOUT_A_COMPILER.iter().find(|(left_out, _)| name.starts_with(left_out));
    left_out.map(|(_, why)| *why)
}
