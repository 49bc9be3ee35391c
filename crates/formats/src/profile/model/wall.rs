//! The states of threads in wall-clock samples (`cpu=wall`).
//!
//! The innermost frame of such a sample is the state, as a method of the class `[state]`. So every format of
//! HPROF can hold it.

use super::{FrameId, Profile, StackId, TraceSerial};

/// The class of the frames that stand for states. No Java class has this name.
const CLASS: &str = "[state]";

/// The state of a sampled thread.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum WallState {
    /// Runs Java code, or waits for a processor.
    Running,
    /// In native code: it runs there, or waits in a system call.
    Native,
    /// Waits to enter a monitor.
    Blocked,
    /// Waits to be notified: in `Object.wait`, or at a raw monitor.
    Waiting,
    /// Waits in `LockSupport.park`, as locks, queues and pools of `java.util.concurrent` do.
    Parked,
    /// Waits in `Thread.sleep`.
    Sleeping,
}

impl WallState {
    /// All states.
    pub const ALL: [Self; 6] =
        [Self::Running, Self::Native, Self::Blocked, Self::Waiting, Self::Parked, Self::Sleeping];

    /// Returns its name.
    pub fn name(self) -> &'static str {
        self.label().trim_matches(['[', ']'])
    }

    /// Returns its name as a frame of a stack has it.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Running => "[running]",
            Self::Native => "[native]",
            Self::Blocked => "[blocked]",
            Self::Waiting => "[waiting]",
            Self::Parked => "[parked]",
            Self::Sleeping => "[sleeping]",
        }
    }
}

impl Profile {
    /// Returns the frame that stands for a state.
    pub fn state_frame(&mut self, state: WallState) -> FrameId {
        self.made_frame(CLASS, state.name())
    }

    /// Returns the state that a wall-clock sample begins with, and the stack of the thread. None for other traces.
    pub fn state_of(&self, trace: TraceSerial) -> Option<(WallState, StackId)> {
        let (frame, stack) = self.traces.call(self.traces.frames_of(trace).id())?;
        let (_, method) = self.frame(frame)?;
        if self.names.get(method.class) != CLASS {
            return None;
        }
        let name = self.names.get(method.name);
        let state = WallState::ALL.into_iter().find(|state| state.name() == name)?;
        Some((state, stack))
    }
}
