//! Selects by the settings which classes make which reports.

use super::reports::{Calls, Reports};
use super::transitions;
use jvmpi_settings::Instructions;

impl Reports {
    /// Returns the subset of these reports that a class makes, given its name in class files
    /// and whether the boot loader defines it.
    pub fn of(self, name: &[u8], is_boot: bool) -> Self {
        let is_chosen = is_chosen(name);
        let has_instructions = !is_boot || jvmpi_settings::get().instructions == Instructions::All;
        Self {
            allocations: self.allocations,
            constructed: name == b"java/lang/Object" && (self.allocations || self.calls.receivers),
            calls: if is_chosen { self.calls } else { Calls::NONE },
            instructions: self.instructions && is_chosen && has_instructions,
            monitor_exits: self.monitor_exits && !transitions::makes(name),
            transitions: transitions::makes(name) && self != Self::default(),
        }
    }
}

/// Returns true if the calls of this native method may be reported.
pub fn reports_calls_of(class: &[u8], method: &[u8]) -> bool {
    is_chosen(class) && !transitions::calls_unnoticed(class, method)
}

/// Returns true if a class of this name may report calls and instructions.
fn is_chosen(name: &[u8]) -> bool {
    let options = jvmpi_settings::get();
    options.include.match_name(name)
        && !options.exclude.match_name(name)
        && !transitions::makes(name)
}
