//! The values in dumps that differ in a replay: environments of threads, and raw monitors.

use super::{Known, Replay};
use crate::trace::fields::{Field, Look};
use crate::trace::read::Event;
use jvmpi_formats::dump::{
    Buffer, Classes, Frame, HeapWriter, Id, Kind, Level, Monitors, Record, Records, Root, Shape,
    Type, write_monitor,
};
use std::collections::HashMap;
use std::marker::PhantomData;

/// A heap dump with the environments of this process. None if nothing has to be changed.
pub fn heap_dump(replay: &'static Replay, level: i32, bytes: &[u8]) -> Option<Box<[u8]>> {
    let level = Level::from_number(level).filter(|level| *level > Level::Objects)?;
    let shapes = replay.known(Shapes::of);
    let mut writer = HeapWriter::new(Buffer::new().ok()?, level);
    let env = |recorded| env(replay, recorded);
    let frame = |frame: Frame| Frame { thread: env(frame.thread), ..frame };
    let mut problem = None;
    for record in Records::new(bytes, level, &shapes) {
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

/// A monitor dump with the environments and raw monitors of this process. None if it makes no sense.
pub fn monitor_dump(replay: &'static Replay, bytes: &[u8]) -> Option<Box<[u8]>> {
    let mut written = Buffer::new().ok()?;
    let env = |recorded| env(replay, recorded);
    for monitor in Monitors::new(bytes) {
        let mut monitor = monitor.ok()?;
        if let Kind::Raw { name, monitor: id } = &mut monitor.kind {
            let known = replay.monitors.of(*id as u64);
            *name = known.map_or(c"", |known| known.name).as_ptr().expose_provenance();
            *id = known.map_or(*id, |known| std::ptr::from_ref(known).addr());
        }
        monitor.owner = env(monitor.owner);
        let threads =
            monitor.waiting_to_enter.iter_mut().chain(&mut monitor.waiting_to_be_notified);
        threads.for_each(|thread| *thread = env(*thread));
        write_monitor(&mut written, &monitor).ok()?;
    }
    Some(written.to_vec().into_boxed_slice())
}

/// The environment that stands for a recorded one.
fn env(replay: &'static Replay, recorded: Id) -> Id {
    if recorded == 0 { 0 } else { replay.envs.of(recorded as u64).pointer().addr() }
}

/// The shapes of classes that dumps presuppose.
struct Shapes(HashMap<Id, (usize, Vec<Type>)>);

impl Shapes {
    fn of(known: &mut Known) -> Self {
        let shape = |event: &mut Event| {
            let (mut interfaces, mut statics, mut list) = (0, Vec::new(), "");
            let with = |name: &'static str, field: Field<'_>| match field {
                Field::Number(count) if name == "num_interfaces" => interfaces = count as usize,
                Field::List(_) => list = name,
                Field::Text(Some(text)) if list == "statics" && name == "field_signature" => {
                    statics.extend(
                        text.to_bytes().first().and_then(|first| Type::of_descriptor(*first)),
                    );
                }
                _ => {}
            };
            let mut look = Look { with, lifetime: PhantomData };
            // SAFETY: the event was read, so that all its fields are filled.
            unsafe { crate::trace::events::fields(&mut look, event.event_type, &mut event.u) };
            (interfaces, statics)
        };
        let classes = known.classes.iter_mut();
        let last = classes.filter_map(|(class, events)| Some((*class, events.last_mut()?)));
        Self(last.map(|(class, event)| (class as Id, shape(event))).collect())
    }
}

impl Classes for Shapes {
    fn shape(&self, class: Id) -> Option<Shape<'_>> {
        let (interfaces, statics) = self.0.get(&class)?;
        Some(Shape { interfaces: *interfaces, statics })
    }
}
