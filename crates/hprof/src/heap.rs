//! HEAP_DUMP: the conversion of its records to those of the profile.

use crate::mutex::lock;
use crate::objects::Objects;
use crate::shared::Shared;
use crate::sites::SiteKey;
use crate::symbols::{LoadedClass, NO_TRACE, bring_up_to_date};
use jvmpi::dump::{self, Classes, Shape};
use jvmpi::{GcDisabled, HeapDump, ObjectId as RawObjectId};
use jvmpi_formats::profile::heap::{
    Class, Constant, Elements, Field, FieldType, Instance, Objects as ObjectArray, Place,
    Primitives, Record, Root, RootKind,
};
use jvmpi_formats::profile::{
    self, EachRecord, NameId, ObjectId, Profile, ThreadSerial, Time, TraceSerial, Type, Writer,
};
use rustc_hash::FxHashMap;
use std::io;
use std::sync::Arc;

/// Writes a dump of level 1 or 2, after the data that it refers to.
///
/// # Errors
/// Fails if the file does, or if a record is malformed.
pub fn write(
    shared: &Shared,
    jvmpi: &mut GcDisabled<'_>,
    dump: &HeapDump<'_>,
    profile: &mut Profile,
    writer: &mut dyn Writer,
) -> io::Result<()> {
    let session = shared.session();
    let classes = Symbols(lock(&shared.known).classes());
    let mut heap = Heap::default();

    // All requests to the VM come before anything is written.
    let mut unknown = Vec::new();
    {
        let known = shared.heap.enter(jvmpi);
        let known = &known.borrow().objects;
        for record in dump.records(&classes) {
            let id = match record.map_err(malformed)? {
                dump::Record::Root(_) => continue,
                dump::Record::Class(class) => {
                    heap.superclasses.insert(class.id as u64, class.superclass as u64);
                    class.id
                }
                dump::Record::Instance { id, .. }
                | dump::Record::Objects { id, .. }
                | dump::Record::Primitives { id, .. } => id,
            };
            if known.get(id as u64).is_none() {
                unknown.extend(RawObjectId::from_usize(id));
            }
        }
    }
    for id in unknown {
        shared.object(jvmpi, id);
    }
    for trace in dump.traces() {
        let Some(thread) = trace.thread else { continue };
        let serial = lock(&shared.known).thread(thread.as_usize());
        heap.traces.push((serial, shared.trace(&session, serial, trace.frames)));
    }
    let live = {
        let known = shared.heap.enter(jvmpi);
        let known = known.borrow();
        heap.objects = known.objects.clone();
        session.heap_summary(&known.freed).live
    };
    heap.sites = session.sites.all();
    bring_up_to_date(profile, &lock(&shared.known).profile);

    let section = profile::HeapDump { at: Some(Time::now()), live: Some(live), parts: Vec::new() };
    let profile = &*profile;
    writer.heap_dump(profile, &section, &mut |each| {
        heap.records(shared, dump, &classes, profile, each)
    })
}

fn malformed(why: dump::Malformed) -> io::Error {
    io::Error::other(format!("the VM's heap dump is malformed: {why}"))
}

/// The classes known at the time of the dump.
struct Symbols(FxHashMap<u64, Arc<LoadedClass>>);

impl Classes for Symbols {
    fn shape(&self, class: dump::Id) -> Option<Shape<'_>> {
        let class = self.0.get(&(class as u64))?;
        Some(Shape { interfaces: class.interfaces, statics: &class.static_types })
    }
}

/// The data on the heap at the time of a dump.
#[derive(Default)]
struct Heap {
    objects: Objects,
    sites: Vec<SiteKey>,
    superclasses: FxHashMap<u64, u64>,
    traces: Vec<(ThreadSerial, TraceSerial)>,
}

/// The names and types of fields.
type Layout = Vec<(NameId, Type)>;

impl Heap {
    /// Passes all records to `each`.
    fn records(
        &self,
        shared: &Shared,
        dump: &HeapDump<'_>,
        classes: &Symbols,
        profile: &Profile,
        each: &mut EachRecord<'_>,
    ) -> io::Result<()> {
        for (thread, trace) in &self.traces {
            let object = profile.threads.get(thread).map_or(ObjectId(0), |thread| thread.object);
            let kind = RootKind::ThreadObject { thread: *thread, trace: *trace };
            each(&Record::Root(Root { object, kind }))?;
        }
        let name = |class: u64| match classes.0.get(&class) {
            Some(class) => profile.names.get(class.name),
            None => "",
        };
        let mut layouts: FxHashMap<u64, Layout> = FxHashMap::default();
        let (mut fields, mut types, mut ids) = (Vec::new(), Vec::new(), Vec::new());
        for record in dump.records(classes) {
            match record.map_err(malformed)? {
                dump::Record::Root(root) => each(&Record::Root(self.root(shared, root, &name)))?,
                dump::Record::Class(class) => {
                    let loaded = classes.0.get(&(class.id as u64));
                    let (statics, own) = match loaded {
                        Some(loaded) => (&loaded.statics[..], &loaded.fields[..]),
                        None => (&[][..], &[][..]),
                    };
                    read_fields(statics, class.statics, dump.level(), profile, &mut fields)?;
                    types.clear();
                    types.extend(own.iter().map(|(name, of_type)| FieldType {
                        name: profile.names.get(*name),
                        of_type: *of_type,
                    }));
                    let constant = |constant: &dump::Constant| Constant {
                        index: constant.index,
                        value: constant.value.into(),
                    };
                    let constants: Vec<_> = class.constants.iter().map(constant).collect();
                    each(&Record::Class(Class {
                        id: id(class.id),
                        trace: self.trace(class.id).0,
                        name: name(class.id as u64),
                        superclass: id(class.superclass),
                        loader: id(class.loader),
                        signers: id(class.signers),
                        protection_domain: id(class.protection_domain),
                        instance_size: class.instance_size,
                        constants: &constants,
                        statics: &fields,
                        fields: &types,
                    }))?;
                }
                dump::Record::Instance { id: object, class, values } => {
                    let layout = layouts
                        .entry(class as u64)
                        .or_insert_with(|| self.layout(classes, class as u64));
                    read_fields(layout, values, dump.level(), profile, &mut fields)?;
                    let (trace, size) = self.trace(object);
                    each(&Record::Instance(Instance {
                        id: id(object),
                        trace,
                        class: id(class),
                        class_name: name(class as u64),
                        size,
                        fields: &fields,
                    }))?;
                }
                dump::Record::Objects { id: object, class, elements } => {
                    ids.clear();
                    ids.extend(elements.iter().map(id));
                    let (trace, size) = self.trace(object);
                    each(&Record::Objects(ObjectArray {
                        id: id(object),
                        trace,
                        class: id(class),
                        class_name: name(class as u64),
                        // JVMPI reports only the class of the elements.
                        array_class: ObjectId(0),
                        size,
                        elements: Elements::All(&ids),
                    }))?;
                }
                dump::Record::Primitives { id: object, of_type, count, values } => {
                    let (trace, size) = self.trace(object);
                    each(&Record::Primitives(Primitives {
                        id: id(object),
                        trace,
                        of_type,
                        size,
                        length: count,
                        values,
                    }))?;
                }
            }
        }
        Ok(())
    }

    /// Returns the trace of an object's allocation, and its size.
    fn trace(&self, object: usize) -> (TraceSerial, u64) {
        let Some(object) = self.objects.get(object as u64) else { return (NO_TRACE, 0) };
        let site = self.sites.get(object.site as usize);
        (site.map_or(NO_TRACE, |site| site.trace), object.size)
    }

    /// Returns the fields of instances of a class: its own first, then those of its superclass,
    /// and so on.
    fn layout(&self, classes: &Symbols, class: u64) -> Layout {
        let mut layout = Layout::new();
        let mut next = class;
        while let Some(class) = classes.0.get(&next) {
            layout.extend(&class.fields);
            // A class that is its own superclass would make this loop endless.
            next = match self.superclasses.get(&next) {
                Some(superclass) if *superclass != next => *superclass,
                _ => break,
            };
        }
        layout
    }

    fn root<'a>(
        &self,
        shared: &Shared,
        root: dump::Root,
        name: &impl Fn(u64) -> &'a str,
    ) -> Root<'a> {
        let serial = |env: usize| lock(&shared.known).thread(env);
        let place =
            |frame: dump::Frame| Place { thread: serial(frame.thread), frame: frame.number };
        let (object, kind) = match root {
            dump::Root::Unknown(object) => (object, RootKind::Unknown),
            dump::Root::JniGlobal { object, reference } => {
                let trace =
                    lock(&shared.references).get(&reference).map_or(NO_TRACE, |known| known.1);
                (object, RootKind::JniGlobal { reference: reference as u64, trace })
            }
            dump::Root::JniLocal(object, frame) => (object, RootKind::JniLocal(place(frame))),
            dump::Root::JavaFrame(object, frame) => (object, RootKind::JavaFrame(place(frame))),
            dump::Root::NativeStack { object, thread } => {
                (object, RootKind::NativeStack(serial(thread)))
            }
            dump::Root::StickyClass(object) => {
                (object, RootKind::StickyClass { name: name(object as u64) })
            }
            dump::Root::ThreadBlock { object, thread } => {
                (object, RootKind::ThreadBlock(serial(thread)))
            }
            dump::Root::MonitorUsed(object) => (object, RootKind::MonitorUsed),
        };
        Root { object: id(object), kind }
    }
}

fn id(id: usize) -> ObjectId {
    ObjectId(id as u64)
}

/// Reads the values of these fields from the dump, as far as its level contains them.
fn read_fields<'p>(
    layout: &[(NameId, Type)],
    mut values: &[u8],
    level: dump::Level,
    profile: &'p Profile,
    fields: &mut Vec<Field<'p>>,
) -> io::Result<()> {
    fields.clear();
    for (name, of_type) in layout {
        if !level.has(*of_type) {
            continue;
        }
        let (read, rest) = dump::Value::read(*of_type, values).ok_or_else(|| {
            io::Error::other("the VM's heap dump has an object with too few values")
        })?;
        fields.push(Field { name: profile.names.get(*name), value: read.into() });
        values = rest;
    }
    Ok(())
}
