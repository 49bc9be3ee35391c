//! The selection of reports that rewritten code makes.

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
