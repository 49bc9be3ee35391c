//! What rewritten code reports.

/// What rewritten classes report.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub struct Reports {
    /// Their allocations.
    pub allocations: bool,
    /// Which objects are constructed; of `Object` only.
    pub(super) constructed: bool,
    /// The calls of their methods.
    pub calls: Calls,
    /// Their instructions.
    pub instructions: bool,
    /// The monitors that they leave.
    pub monitor_exits: bool,
    /// Where virtual threads are put on carriers; of the scheduler's classes, if there is any report
    /// at all.
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

    /// Whether entries of constructors are held until their object is announced: METHOD_ENTRY2
    /// names it, and OBJECT_ALLOC comes before.
    pub fn objects_before_constructors(self) -> bool {
        self.calls.receivers || self.calls.entries && self.allocations
    }

    /// Whether these report all that the others do.
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

/// Which events of calls are reported.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub struct Calls {
    pub entries: bool,
    /// Entries come with the receiver, for METHOD_ENTRY2.
    pub receivers: bool,
    pub exits: bool,
}

impl Calls {
    pub const NONE: Self = Self { entries: false, receivers: false, exits: false };
}
