//! The functions of the extension for CPU samples: StartCpuSamples, StopCpuSamples, NextCpuSample.

use super::traces::{self, Room};
use super::{of_each_agent, threads::prepare};
use crate::records::agents::{self, Agent, MAX_AGENTS};
use crate::records::phase::{self, Phase};
use crate::suspension::cpu_samples::{self, Head, Next};
use crate::suspension::sampling;
use crate::translate::frames::{Resolver, Walked};
use crate::{classes, threads};
use jni_sys::{jint, jlong};
use jvm::async_call_trace::RawFrame;
use jvm::boundary::guard;
use jvmpi_sys::*;

static TABLES: [JVMPI_CpuSampling; MAX_AGENTS] = of_each_agent!(table);

pub fn of(agent: &Agent) -> *const JVMPI_CpuSampling {
    &raw const TABLES[agent.index]
}

const fn table<const AGENT: usize>() -> JVMPI_CpuSampling {
    JVMPI_CpuSampling {
        StartCpuSamples: Some(start_for::<AGENT>),
        StopCpuSamples: Some(stop_for::<AGENT>),
        NextCpuSample: Some(next_for::<AGENT>),
    }
}

unsafe extern "C" fn start_for<const AGENT: usize>(interval: jlong, depth: jint) -> jint {
    guard(JVMPI_FAIL, || start(agents::get(AGENT), interval, depth))
}

unsafe extern "C" fn stop_for<const AGENT: usize>() {
    guard((), || cpu_samples::stop(agents::get(AGENT)));
}

unsafe extern "C" fn next_for<const AGENT: usize>(
    sample: *mut JVMPI_CpuSample,
    depth: jint,
) -> jint {
    // SAFETY: the agent passes NULL or a sample with this much space.
    guard(NEVER, || unsafe { next(agents::get(AGENT), sample, depth) })
}

/// The time after which an agent may ask again if there is nothing to be had, in milliseconds.
const NEVER: jint = 1000;

fn start(agent: &Agent, interval: jlong, depth: jint) -> jint {
    if phase::now() < Phase::Live || !phase::vm_answers() {
        return JVMPI_FAIL;
    }
    prepare(sampling::prepare);
    cpu_samples::start(agent, interval, usize::try_from(depth).unwrap_or(0))
}

/// # Safety
/// `sample` is NULL or points to a sample whose `trace.frames` is NULL or has space for `depth` frames.
unsafe fn next(agent: &Agent, sample: *mut JVMPI_CpuSample, depth: jint) -> jint {
    // SAFETY: as the caller promises.
    let Some(sample) = (unsafe { sample.as_mut() }) else { return NEVER };
    let Some((jni, current)) = threads::current_attached() else { return NEVER };
    if depth <= 0 || sample.trace.frames.is_null() || !phase::vm_answers() {
        return NEVER;
    }
    classes::class_fields(jni);
    let (frames, depth) = (sample.trace.frames, depth as usize);
    let mut room = Room::take();
    let places = room.places(depth);
    let copy = |frames: &[RawFrame]| _ = traces::copy(frames, places);
    match cpu_samples::next(agent, copy) {
        Next::Nothing(time) => {
            return jint::try_from(time.as_millis()).unwrap_or(NEVER).max(1);
        }
        Next::Taken(head, truncated) => {
            describe(sample, head);
            sample.truncated = truncated || head.frames > places.len();
            let count = head.frames.min(places.len());
            let resolver = &mut Resolver::of(Walked::Running);
            // SAFETY: `next` has copied these frames, and the caller promises space for `depth` ones.
            sample.trace.num_frames = unsafe {
                let found = places[..count].assume_init_ref();
                traces::resolve(jni, agent, &current, resolver, found, frames, true)
            } as jint;
        }
        Next::ByClock(head) => {
            describe(sample, head);
            let thread = threads::by_env(head.env);
            // SAFETY: as above.
            let walked = thread.map_or(0, |thread| unsafe {
                traces::fill(jni, agent, &current, Some(&thread), frames, depth)
            });
            sample.trace.num_frames = walked as jint;
            sample.truncated = walked == depth;
        }
    }
    if sample.kind == JVMPI_CPU_SAMPLE_JAVA && sample.trace.num_frames == 0 {
        sample.kind = JVMPI_CPU_SAMPLE_VM;
    }
    0
}

/// Writes what the sample says apart from its frames.
fn describe(sample: &mut JVMPI_CpuSample, head: Head) {
    (sample.trace.env_id, sample.thread_id, sample.kind) = (head.env, head.object, head.kind);
    sample.count = jint::try_from(head.count).unwrap_or(jint::MAX);
}
