//! Frames that stand for something other than a Java method.
//!
//! Such a frame is a method without a class, so every format of HPROF can hold it.

use super::{Frame, FrameId, Line, Method, NameId, Profile};
use std::fmt::Display;

/// The name of a frame that is not a Java method.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Label {
    /// CPU time of the threads that collect garbage.
    Gc,
    /// CPU time of the threads that compile Java code.
    Compiler,
    /// CPU time of other native threads, of Java threads without Java frames, and of the start of the VM.
    Vm,
    /// CPU time of Java threads whose stack is not known.
    UnknownJava,
    /// CPU time of the profiler's own threads.
    Profiler,
    /// The frames that the maximum depth of the stack has cut off.
    Truncated,
}

impl Label {
    /// Returns the name as a frame of a stack has it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Gc => "[GC]",
            Self::Compiler => "[JIT compiler]",
            Self::Vm => "[VM]",
            Self::UnknownJava => "[unknown Java]",
            Self::Profiler => "[profiler]",
            Self::Truncated => "[truncated]",
        }
    }
}

impl Profile {
    /// Returns the frame with this name.
    pub fn label_frame(&mut self, label: Label) -> FrameId {
        self.made_frame("", label.name())
    }

    /// Returns the frame of a method that is none of Java.
    pub(super) fn made_frame(&mut self, class: &str, name: &str) -> FrameId {
        let method = self.intern_method([class, name, "", "<Unknown>"]);
        self.frames.intern(Frame { method, line: Line::Unknown })
    }

    /// Returns true if the frame has this name.
    pub fn has_label(&self, frame: FrameId, label: Label) -> bool {
        let method = self.frame(frame).map(|(_, method)| method).unwrap_or_default();
        self.names.get(method.class).is_empty() && self.names.get(method.name) == label.name()
    }

    /// Returns the name of a method with its class, without the signature: `java.lang.Object.wait`, or `[GC]`.
    pub fn qualified(&self, method: Method) -> String {
        let name = |id: NameId| self.names.get(id);
        qualified(name(method.class), name(method.name))
    }
}

/// Joins the names of a class and a method. A method without a class stands for something else ([`Label`]).
pub fn qualified(class: impl Display, method: impl Display) -> String {
    let class = class.to_string();
    if class.is_empty() { method.to_string() } else { format!("{class}.{method}") }
}
