//! The reports that rewritten code makes, and the classes that make them according to the settings.

use super::transitions;
use jvmpi_settings::Instructions;

/// The reports that rewritten classes make.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub struct Reports {
    /// Allocations.
    pub allocations: bool,
    /// Constructions of objects; for `Object` only.
    pub(super) constructed: bool,
    /// Calls of methods.
    pub calls: Calls,
    /// Instructions.
    pub instructions: bool,
    /// Exits from monitors.
    pub monitor_exits: bool,
    /// Transitions of virtual threads; for the scheduler's classes, if there is any report at all.
    pub(super) transitions: bool,
}

impl Reports {
    pub const NONE: Self = Self {
        allocations: false,
        constructed: false,
        calls: Calls::NONE,
        instructions: false,
        monitor_exits: false,
        transitions: false,
    };

    /// Returns true if entries of constructors are deferred until their object is announced:
    /// METHOD_ENTRY2 names the object, and OBJECT_ALLOC must come first.
    pub fn objects_before_constructors(self) -> bool {
        self.calls.receivers || self.calls.entries && self.allocations
    }

    /// Returns true if these reports include all of the others.
    pub fn include(self, others: Self) -> bool {
        let pairs = [
            (self.allocations, others.allocations),
            (self.calls.entries, others.calls.entries),
            (self.calls.receivers, others.calls.receivers),
            (self.calls.exits, others.calls.exits),
            (self.instructions, others.instructions),
            (self.monitor_exits, others.monitor_exits),
        ];
        pairs.into_iter().all(|(has, needs)| has || !needs)
    }

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

/// The events of calls that are reported.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub struct Calls {
    pub entries: bool,
    /// True if entries come with the receiver, for METHOD_ENTRY2.
    pub receivers: bool,
    pub exits: bool,
}

impl Calls {
    pub const NONE: Self = Self { entries: false, receivers: false, exits: false };
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
