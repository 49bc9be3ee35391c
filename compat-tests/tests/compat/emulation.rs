//! The tests that cannot run under an emulator of the processor.

use compat_tests::machine::Machine;

/// The beginnings of the names of cases, and why they are left out.
const LEFT_OUT: [(&str, &str); 2] = [
    ("dumps/without_memory", "the emulator does not limit the address space"),
    ("faults/", "a program that takes ten seconds counts as hung"),
];

/// Why the case cannot run here; None if it can.
pub fn prevents(topic: &str, name: &str) -> Option<&'static str> {
    Machine::this().emulator()?;
    let name = format!("{topic}/{name}");
    LEFT_OUT.iter().find(|(left_out, _)| name.starts_with(left_out)).map(|(_, why)| *why)
}
