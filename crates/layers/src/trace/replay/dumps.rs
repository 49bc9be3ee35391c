//! The values in dumps that differ in a replay: environments of threads, and raw monitors.

use super::{Known, Replay};
use crate::trace::read::Event;
use jvmpi_formats::dump::{
    Buffer, Classes, Frame, HeapWriter, Id, Kind, Level, Monitors, Record, Records, Root, Shape,
    Type, write_monitor,
};
use std::ptr::NonNull;

/// Returns a heap dump with the environments of this process. None if nothing has to be changed.
pub fn heap_dump(replay: &'static Replay, level: i32, bytes: &[u8]) -> Option<Box<[u8]>> {
    let level = Level::from_number(level).filter(|level| *level > Level::Objects)?;
    replay.known(|known| heap_dump_of(replay, known, level, bytes))
}

fn heap_dump_of(
    replay: &'static Replay,
    known: &Known,
    level: Level,
    bytes: &[u8],
) -> Option<Box<[u8]>> {
    let mut writer = HeapWriter::new(Buffer::new().ok()?, level);
    let env = |recorded| env(replay, recorded);
    let frame = |frame: Frame| Frame { thread: env(frame.thread), ..frame };
    let mut problem = None;
    for record in Records::new(bytes, level, known) {
        let record = match record {
            Ok(Record::Root(root)) => Record::Root(match root {
                Root::JniLocal(object, at) => Root::JniLocal(object, frame(at)),
                Root::JavaFrame(object, at) => Root::JavaFrame(object, frame(at)),
                Root::NativeStack { object, thread } => {
                    Root::NativeStack { object, thread: env(thread) }
                }
                Root::ThreadBlock { object, thread } => {
                    Root::ThreadBlock { object, thread: env(thread) }
                }
                other => other,
            }),
            Ok(other) => other,
            Err(malformed) => {
                problem = Some(malformed.position);
                break;
            }
        };
        writer.record(&record).ok()?;
    }
    let mut written = writer.finish();
    if let Some(position) = problem {
        // The CLASS_LOAD of a class was not recorded.
        replay.note("heap dump whose threads are not known from some place on");
        written.append(&bytes[position..]).ok()?;
    }
    Some(written.to_vec().into_boxed_slice())
}

/// Returns a monitor dump with the environments and raw monitors of this process, up to the first damaged
/// record: the recorded names are pointers of another process, which no agent may follow.
pub fn monitor_dump(replay: &'static Replay, bytes: &[u8]) -> Box<[u8]> {
    let Ok(mut written) = Buffer::new() else { return Box::default() };
    let env = |recorded| env(replay, recorded);
    for monitor in Monitors::new(bytes) {
        let Ok(mut monitor) = monitor else {
            replay.note("monitor dump that makes no sense from some place on");
            break;
        };
        if let Kind::Raw { name, monitor: id } = &mut monitor.kind {
            let known = replay.monitors.of(*id as u64);
            *name = known.map_or(c"", |known| known.name).as_ptr().expose_provenance();
            *id = known.map_or(*id, |known| std::ptr::from_ref(known).addr());
        }
        monitor.owner = env(monitor.owner);
        let threads =
            monitor.waiting_to_enter.iter_mut().chain(&mut monitor.waiting_to_be_notified);
        threads.for_each(|thread| *thread = env(*thread));
        if write_monitor(&mut written, &monitor).is_err() {
            break;
        }
    }
    written.to_vec().into_boxed_slice()
}

/// Returns the environment that stands for a recorded one.
fn env(replay: &'static Replay, recorded: Id) -> Id {
    if recorded == 0 { 0 } else { replay.envs.of(recorded as u64).pointer().addr() }
}

/// The properties of a class that a reader of heap dumps needs.
#[derive(Clone)]
pub struct ClassShape {
    interfaces: usize,
    statics: Vec<Type>,
}

impl ClassShape {
    /// Returns the shape of the class that a CLASS_LOAD describes.
    pub fn of(event: &Event) -> Self {
        // SAFETY: the event was read as one of this type, with as many fields as it says.
        let (class, statics) = unsafe {
            let class = event.u.class_load;
            let statics = (0..usize::try_from(class.num_static_fields).unwrap_or(0))
                .filter_map(|i| NonNull::new((*class.statics.add(i)).field_signature))
                .filter_map(|signature| Type::of_descriptor(*signature.as_ptr().cast()));
            (class, statics.collect())
        };
        Self { interfaces: usize::try_from(class.num_interfaces).unwrap_or(0), statics }
    }
}

impl Classes for Known {
    fn shape(&self, class: Id) -> Option<Shape<'_>> {
        let ClassShape { interfaces, statics } = &self.classes.get(&(class as u64))?.shape;
        Some(Shape { interfaces: *interfaces, statics })
    }
}
