//! The reports that rewritten code makes, and the classes that make them according to the settings.

use super::transitions;
use jvmpi_settings::Instructions;

/// A set of kinds of reports, as bits.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Reports(pub u16);

impl Reports {
    pub const NONE: Self = Self(0);
    pub const ENTRIES: Self = Self(1);
    /// Entries with the receiver, for METHOD_ENTRY2.
    pub const RECEIVERS: Self = Self(1 << 1);
    pub const EXITS: Self = Self(1 << 2);
    pub const CALLS: Self = Self::ENTRIES.and(Self::RECEIVERS).and(Self::EXITS);
    pub const INSTRUCTIONS: Self = Self(1 << 3);
    pub const ALLOCATIONS: Self = Self(1 << 4);
    pub const MONITOR_EXITS: Self = Self(1 << 5);
    /// JNI references, which functions of JNI report, no code.
    pub const REFERENCES: Self = Self(1 << 6);
    /// Constructions of objects; for `Object` only.
    pub const CONSTRUCTED: Self = Self(1 << 7);
    /// Transitions of virtual threads; for the scheduler's classes, if there is any report at all.
    pub const TRANSITIONS: Self = Self(1 << 8);

    /// Returns true if these reports include all of the others.
    #[inline]
    pub fn include(self, others: Self) -> bool {
        self.among(others) == others
    }

    /// Returns the reports of both sets.
    pub const fn and(self, others: Self) -> Self {
        Self(self.0 | others.0)
    }

    /// Returns those of the reports that are in both sets.
    #[inline]
    pub fn among(self, others: Self) -> Self {
        Self(self.0 & others.0)
    }

    pub fn without(self, others: Self) -> Self {
        Self(self.0 & !others.0)
    }

    pub fn have_entries(self) -> bool {
        self.include(Self::ENTRIES) || self.include(Self::RECEIVERS)
    }

    /// Returns true if entries of constructors are deferred until their object is announced:
    /// METHOD_ENTRY2 names the object, and OBJECT_ALLOC must come first.
    pub fn objects_before_constructors(self) -> bool {
        self.include(Self::RECEIVERS)
            || self.include(Self::ENTRIES) && self.include(Self::ALLOCATIONS)
    }

    /// Returns the reports that a class makes if these are made, given its name in class files
    /// and whether the boot loader defines it.
    pub fn of(self, name: &[u8], is_boot: bool) -> Self {
        let mut made = self;
        if !is_chosen(name) {
            made = made.without(Self::CALLS.and(Self::INSTRUCTIONS));
        }
        if is_boot && jvmpi_settings::get().instructions != Instructions::All {
            made = made.without(Self::INSTRUCTIONS);
        }
        if name == b"java/lang/Object"
            && (self.include(Self::ALLOCATIONS) || self.include(Self::RECEIVERS))
        {
            made = made.and(Self::CONSTRUCTED);
        }
        if transitions::makes(name) && self != Self::NONE {
            made = made.without(Self::MONITOR_EXITS).and(Self::TRANSITIONS);
        }
        made
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
