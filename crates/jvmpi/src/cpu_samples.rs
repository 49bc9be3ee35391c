//! Samples of CPU time: an extension of `libjvmpi.so`.

use crate::call_trace::Frames;
use crate::{Frame, GcDisabled, MultiThreaded, ObjectId, ThreadId};
use jni_sys::{JNI_OK, jint};
use jvmpi_sys::*;
use std::fmt;
use std::ptr;
use std::time::Duration;

/// The kind of thread that a sample is of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum CpuSampleKind {
    /// A thread with Java frames, also in native or VM code.
    Java,
    /// A Java thread whose stack could not be walked.
    Unknown,
    /// A Java thread that ended before it took its samples.
    Ended,
    /// Another thread, or a Java thread without Java frames.
    Vm,
    /// A thread that collects garbage.
    Gc,
    /// A JIT compiler thread.
    Compiler,
    /// A thread of `libjvmpi.so` itself.
    Profiler,
}

impl CpuSampleKind {
    fn of(kind: jint) -> Self {
        match kind {
            JVMPI_CPU_SAMPLE_JAVA => Self::Java,
            JVMPI_CPU_SAMPLE_ENDED => Self::Ended,
            JVMPI_CPU_SAMPLE_VM => Self::Vm,
            JVMPI_CPU_SAMPLE_GC => Self::Gc,
            JVMPI_CPU_SAMPLE_COMPILER => Self::Compiler,
            JVMPI_CPU_SAMPLE_PROFILER => Self::Profiler,
            _ => Self::Unknown,
        }
    }
}

/// A sample: the stack of a thread when it had used an interval of CPU time.
#[derive(Clone, Copy, Debug)]
pub struct CpuSample<'a> {
    /// The kind of thread. Only [`CpuSampleKind::Java`] has frames.
    pub kind: CpuSampleKind,
    /// The Java thread, which may have ended.
    pub thread: Option<ThreadId>,
    /// The thread's object, as THREAD_START has reported it.
    pub object: Option<ObjectId>,
    /// The frames, innermost first.
    pub frames: &'a [Frame],
    /// The number of intervals of CPU time that the sample stands for, at least 1.
    pub count: u32,
    /// True if the stack has more frames.
    pub truncated: bool,
}

/// The reason why there are no CPU samples.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum CpuSamplesError {
    /// The VM does not have this extension of `libjvmpi.so`.
    NotSupported,
    /// Another agent takes CPU samples.
    InUse,
    /// The VM is not ready, or the interval or the depth is out of range.
    Failed,
}

impl fmt::Display for CpuSamplesError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NotSupported => "this VM takes no CPU samples; load the agent through jvmpi",
            Self::InUse => "another agent takes CPU samples; only one can",
            Self::Failed => "the VM does not take CPU samples with this interval and depth",
        })
    }
}

impl std::error::Error for CpuSamplesError {}

/// The running sampler of CPU time. It ends when this is dropped, and samples that wait are dropped with it.
#[derive(Debug)]
pub struct CpuSampler(&'static JVMPI_CpuSampling);

impl MultiThreaded<'_> {
    /// StartCpuSamples: runs a timer on the CPU clock of each thread of the process. A sample stands for each interval
    /// of CPU time, and has at most `depth` frames. Call it from JVM_INIT_DONE on.
    ///
    /// # Errors
    /// Fails if the VM lacks this extension, or if another agent uses it.
    pub fn start_cpu_samples(
        &mut self,
        interval: Duration,
        depth: usize,
    ) -> Result<CpuSampler, CpuSamplesError> {
        let (vm, mut functions) = (self.java_vm(), ptr::null_mut());
        // SAFETY: the VM is running, and `functions` has room for a pointer.
        let result = unsafe { ((**vm).v1_2.GetEnv)(vm, &mut functions, JVMPI_CPU_SAMPLING_1) };
        // SAFETY: if GetEnv succeeds, it returns the functions of this version, which are never freed.
        let functions = (result == JNI_OK)
            .then(|| unsafe { functions.cast::<JVMPI_CpuSampling>().as_ref() })
            .flatten();
        let functions = functions.ok_or(CpuSamplesError::NotSupported)?;
        let start = functions.StartCpuSamples.ok_or(CpuSamplesError::NotSupported)?;
        let interval = i64::try_from(interval.as_nanos()).unwrap_or(i64::MAX);
        // SAFETY: this mode permits the call, which checks its arguments.
        match unsafe { start(interval, jint::try_from(depth).unwrap_or(jint::MAX)) } {
            JVMPI_SUCCESS => Ok(CpuSampler(functions)),
            JVMPI_NOT_AVAILABLE => Err(CpuSamplesError::InUse),
            _ => Err(CpuSamplesError::Failed),
        }
    }
}

impl CpuSampler {
    /// NextCpuSample: takes the next sample. The class of each frame is reported before.
    ///
    /// # Errors
    /// If no sample waits, returns the time after which the agent should ask again.
    pub fn next<'a>(
        &mut self,
        _: &mut GcDisabled<'_>,
        frames: &'a mut Frames,
    ) -> Result<CpuSample<'a>, Duration> {
        let (room, depth) = frames.room();
        let trace = JVMPI_CallTrace { env_id: ptr::null_mut(), num_frames: 0, frames: room };
        let mut sample = JVMPI_CpuSample {
            trace,
            thread_id: ptr::null_mut(),
            kind: JVMPI_CPU_SAMPLE_UNKNOWN,
            count: 0,
            truncated: false,
        };
        const NEVER: Duration = Duration::from_secs(1);
        let next = self.0.NextCpuSample.ok_or(NEVER)?;
        // SAFETY: GC is disabled, the array has space for `depth` frames, and `&mut self` lets in one thread at a time.
        let wait = unsafe { next(&mut sample, depth) };
        if wait != 0 {
            return Err(Duration::from_millis(u64::try_from(wait).unwrap_or(1)));
        }
        Ok(CpuSample {
            kind: CpuSampleKind::of(sample.kind),
            thread: ThreadId::of(sample.trace.env_id),
            object: ObjectId::of(sample.thread_id),
            frames: frames.filled(sample.trace.num_frames),
            count: u32::try_from(sample.count).unwrap_or(0),
            truncated: sample.truncated,
        })
    }
}

impl Drop for CpuSampler {
    fn drop(&mut self) {
        if let Some(stop) = self.0.StopCpuSamples {
            // SAFETY: any thread that the VM knows may call the function at any time.
            unsafe { stop() };
        }
    }
}
