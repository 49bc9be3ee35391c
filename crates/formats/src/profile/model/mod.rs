//! The model: what a profile tells, whatever format it is in.

mod code;
mod ids;
mod label;
mod names;
mod profile;
mod rank;
mod section;
mod time;
mod value;
mod wall;

pub use code::{Frame, FramePath, Frames, Method, Methods, StackId, Trace, Traces};
pub use ids::{ClassSerial, FrameId, MethodId, NameId, ObjectId, ThreadSerial, TraceSerial};
pub use label::{Label, qualified};
pub use names::Names;
pub use profile::{Class, Classes, Profile, Settings, Thread};
pub use section::{
    Amount, BucketSamples, Call, CpuOld, CpuSample, CpuSamples, CpuTime, CpuTimes, HeapDump,
    HeapSummary, Monitor, MonitorDump, MonitorStatus, MonitorTime, MonitorTimes, Section, Site,
    Sites, StackTime, ThreadStatus, Timeline,
};
pub use time::Time;
pub(crate) use time::nanoseconds;
pub use value::{Line, ThreadState, Type, Value};
pub use wall::WallState;
