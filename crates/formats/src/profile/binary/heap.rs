//! Reads the records of heap dumps.

use super::cursor::Cursor;
use super::read::NamesById;
use crate::heap_tag::{self, NO_FRAME};
use crate::profile::error::Error;
use crate::profile::heap::{
    Class, Constant, Elements, Field, FieldType, Instance, Objects, Place, Primitives, Record,
    Root, RootKind,
};
use crate::profile::model::{HeapDump, ObjectId, Profile, ThreadSerial, TraceSerial};
use rustc_hash::{FxHashMap, FxHashSet};
use std::ops::Range;

/// Reads the records of one heap dump.
#[derive(Debug)]
pub struct HeapReader<'a> {
    all: Cursor<'a>,
    dump: &'a HeapDump,
    names: Names<'a>,
    layouts: Layouts<'a>,
    array_classes: ArrayClasses,
}

impl<'a> HeapReader<'a> {
    /// Reads the classes of the dump: they define the layout of instances.
    pub fn new(
        all: Cursor<'a>,
        ids: &'a NamesById,
        profile: &'a Profile,
        dump: &'a HeapDump,
    ) -> Self {
        let names = Names { ids, profile };
        let mut layouts = Layouts::default();
        let mut loaders = FxHashMap::default();
        let mut array_records = FxHashSet::default();
        let mut scratch = Scratch::default();
        for mut cursor in parts(all, dump) {
            // An unreadable record ends the second pass too, which reports it.
            while !cursor.is_at_end()
                && let Ok(encoded) = names.encoded(&mut cursor, &mut scratch)
            {
                match encoded {
                    Encoded::Whole(Record::Class(class)) => {
                        let (id, superclass) = (class.id, class.superclass);
                        loaders.insert(id, class.loader);
                        layouts.add(id, superclass, &scratch.fields);
                    }
                    Encoded::Whole(Record::Objects(array)) => {
                        array_records.insert(array.class);
                    }
                    _ => {}
                }
            }
        }
        layouts.link();
        let array_classes = ArrayClasses::of(names, &array_records, &loaders);
        Self { all, dump, names, layouts, array_classes }
    }

    /// Passes each record.
    pub fn records<E: From<Error>>(
        &self,
        each: &mut impl FnMut(&Record<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut scratch = Scratch::default();
        let mut fields = Vec::new();
        for mut cursor in parts(self.all, self.dump) {
            while !cursor.is_at_end() {
                match self.names.encoded(&mut cursor, &mut scratch)? {
                    Encoded::Whole(Record::Objects(mut array)) => {
                        self.array_classes.complete(&mut array);
                        each(&Record::Objects(array))?;
                    }
                    Encoded::Whole(record) => each(&record)?,
                    Encoded::Instance { id, trace, class, mut values } => {
                        fields.clear();
                        let size = values.left() as u64;
                        self.layouts.decode(class, &mut values, &mut fields)?;
                        let class_name = self.names.of_class(class);
                        let fields = &fields[..];
                        each(&Record::Instance(Instance {
                            id,
                            trace,
                            class,
                            class_name,
                            size,
                            fields,
                        }))?;
                    }
                }
            }
        }
        Ok(())
    }
}

/// Returns the places of a dump's records.
fn parts<'a>(all: Cursor<'a>, dump: &'a HeapDump) -> impl Iterator<Item = Cursor<'a>> {
    let place = |at: u64| usize::try_from(at).unwrap_or(usize::MAX);
    dump.parts.iter().map(move |part| all.part(place(part.start), place(part.end)))
}

/// The parts of a class record, kept for the next one.
#[derive(Default)]
struct Scratch<'a> {
    constants: Vec<Constant>,
    statics: Vec<Field<'a>>,
    fields: Vec<FieldType<'a>>,
}

/// A record; instances can't be decoded before all classes are known.
enum Encoded<'s, 'a> {
    Whole(Record<'s>),
    Instance { id: ObjectId, trace: TraceSerial, class: ObjectId, values: Cursor<'a> },
}

/// Finds names.
#[derive(Clone, Copy, Debug)]
struct Names<'a> {
    ids: &'a NamesById,
    profile: &'a Profile,
}

impl<'a> Names<'a> {
    fn get(self, cursor: &mut Cursor<'a>) -> Result<&'a str, Error> {
        let id = cursor.raw_id()?;
        Ok(self.ids.get(&id).map_or("", |name| self.profile.names.get(*name)))
    }

    fn of_class(self, class: ObjectId) -> &'a str {
        let class = self.profile.classes.of_object(class);
        class.map_or("", |class| self.profile.names.get(class.name))
    }

    fn encoded<'s>(
        self,
        cursor: &mut Cursor<'a>,
        scratch: &'s mut Scratch<'a>,
    ) -> Result<Encoded<'s, 'a>, Error> {
        let before = *cursor;
        let tag = cursor.u1()?;
        let record = match tag {
            heap_tag::CLASS_DUMP => Record::Class(self.class(cursor, scratch)?),
            heap_tag::INSTANCE_DUMP => {
                let id = cursor.id()?;
                let trace = TraceSerial(cursor.u4()?);
                let class = cursor.id()?;
                let length = cursor.u4()? as usize;
                let start = cursor.at();
                cursor.take(length)?;
                let values = cursor.part(start, start + length);
                return Ok(Encoded::Instance { id, trace, class, values });
            }
            heap_tag::OBJ_ARRAY_DUMP => {
                let id = cursor.id()?;
                let trace = TraceSerial(cursor.u4()?);
                let length = cursor.u4()? as usize;
                let class = cursor.id()?;
                let id_size = cursor.id_size();
                let bytes = cursor.take(length.saturating_mul(id_size))?;
                Record::Objects(Objects {
                    id,
                    trace,
                    class,
                    class_name: self.of_class(class),
                    array_class: ObjectId(0),
                    size: bytes.len() as u64,
                    elements: Elements::Packed { bytes, id_size },
                })
            }
            heap_tag::PRIM_ARRAY_DUMP => {
                let id = cursor.id()?;
                let trace = TraceSerial(cursor.u4()?);
                let length = cursor.u4()?;
                let of_type = cursor.type_code()?;
                let width = of_type.width_with(cursor.id_size());
                let values = cursor.take((length as usize).saturating_mul(width))?;
                let size = values.len() as u64;
                Record::Primitives(Primitives { id, trace, of_type, size, length, values })
            }
            _ => Record::Root(self.root(tag, cursor, before)?),
        };
        Ok(Encoded::Whole(record))
    }

    fn root(self, tag: u8, cursor: &mut Cursor<'a>, before: Cursor<'a>) -> Result<Root<'a>, Error> {
        let object = cursor.id()?;
        let kind = match tag {
            heap_tag::ROOT_UNKNOWN => RootKind::Unknown,
            heap_tag::ROOT_JNI_GLOBAL => {
                RootKind::JniGlobal { reference: cursor.raw_id()?, trace: TraceSerial(0) }
            }
            heap_tag::ROOT_JNI_LOCAL => RootKind::JniLocal(place(cursor)?),
            heap_tag::ROOT_JAVA_FRAME => RootKind::JavaFrame(place(cursor)?),
            heap_tag::ROOT_NATIVE_STACK => RootKind::NativeStack(ThreadSerial(cursor.u4()?)),
            heap_tag::ROOT_STICKY_CLASS => RootKind::StickyClass { name: self.of_class(object) },
            heap_tag::ROOT_THREAD_BLOCK => RootKind::ThreadBlock(ThreadSerial(cursor.u4()?)),
            heap_tag::ROOT_MONITOR_USED => RootKind::MonitorUsed,
            heap_tag::ROOT_THREAD_OBJ => RootKind::ThreadObject {
                thread: ThreadSerial(cursor.u4()?),
                trace: TraceSerial(cursor.u4()?),
            },
            _ => return Err(before.error(format!("there is no record {tag:#04x} in heap dumps"))),
        };
        Ok(Root { object, kind })
    }

    fn class<'s>(
        self,
        cursor: &mut Cursor<'a>,
        scratch: &'s mut Scratch<'a>,
    ) -> Result<Class<'s>, Error> {
        let id = cursor.id()?;
        let trace = TraceSerial(cursor.u4()?);
        let [superclass, loader, signers, protection_domain, ..] = [
            cursor.id()?,
            cursor.id()?,
            cursor.id()?,
            cursor.id()?,
            // Two are reserved.
            cursor.id()?,
            cursor.id()?,
        ];
        let instance_size = cursor.u4()?;
        scratch.constants.clear();
        for _ in 0..cursor.u2()? {
            let index = cursor.u2()?;
            let of_type = cursor.type_code()?;
            scratch.constants.push(Constant { index, value: cursor.value(of_type)? });
        }
        scratch.statics.clear();
        for _ in 0..cursor.u2()? {
            let name = self.get(cursor)?;
            let of_type = cursor.type_code()?;
            scratch.statics.push(Field { name, value: cursor.value(of_type)? });
        }
        scratch.fields.clear();
        for _ in 0..cursor.u2()? {
            let name = self.get(cursor)?;
            scratch.fields.push(FieldType { name, of_type: cursor.type_code()? });
        }
        Ok(Class {
            id,
            trace,
            name: self.of_class(id),
            superclass,
            loader,
            signers,
            protection_domain,
            instance_size,
            constants: &scratch.constants,
            statics: &scratch.statics,
            fields: &scratch.fields,
        })
    }
}

fn place(cursor: &mut Cursor<'_>) -> Result<Place, Error> {
    let thread = ThreadSerial(cursor.u4()?);
    let frame = Some(cursor.u4()?).filter(|frame| *frame != NO_FRAME);
    Ok(Place { thread, frame })
}

/// The class that the records of arrays of references have.
#[derive(Debug)]
enum ArrayClasses {
    /// The class of the elements, as in JVMPI's HPROF.
    AreNotTold,
    /// The array's class, as in files of HotSpot and JVMTI's HPROF; with the classes of the elements.
    AreTold(FxHashMap<ObjectId, ObjectId>),
}

impl ArrayClasses {
    /// Finds the class of the elements for each class of arrays by its name and loader. `records` are the classes
    /// in the records of arrays of references. If fewer than half of them are classes of arrays, these are
    /// elements too: each program has arrays of more classes than arrays of arrays.
    fn of(
        names: Names<'_>,
        records: &FxHashSet<ObjectId>,
        loaders: &FxHashMap<ObjectId, ObjectId>,
    ) -> Self {
        let named = |id: &ObjectId| names.of_class(*id);
        let (arrays, others): (Vec<_>, Vec<_>) = records
            .iter()
            .map(named)
            .filter(|name| !name.is_empty())
            .partition(|name| element_name(name).is_some());
        if arrays.len() < others.len() {
            return Self::AreNotTold;
        }
        let classes: FxHashMap<_, _> =
            loaders.iter().map(|(id, loader)| ((named(id), *loader), *id)).collect();
        let elements = loaders.iter().filter_map(|(id, loader)| {
            let name = element_name(named(id))?;
            Some((*id, *classes.get(&(name, *loader))?))
        });
        Self::AreTold(elements.collect())
    }

    /// Sets both classes of an array from the class in its record. A class that is not one of arrays is that of
    /// the elements in each file.
    fn complete(&self, array: &mut Objects<'_>) {
        let Self::AreTold(elements) = self else { return };
        let element = element_name(array.class_name);
        if element.is_some() || array.class_name.is_empty() {
            array.array_class = array.class;
            array.class_name = element.unwrap_or("");
            array.class = elements.get(&array.class).copied().unwrap_or_default();
        }
    }
}

/// Returns the name of the element class of an array of references with a class of this name. JDK 8's HPROF writes
/// `java.lang.String[]`, others the name that the JVM has for it.
fn element_name(name: &str) -> Option<&str> {
    if let Some(element) = name.strip_suffix("[]") {
        return Some(element);
    }
    match name.strip_prefix('[')? {
        elements if elements.starts_with('[') => Some(elements),
        elements => elements.strip_prefix('L')?.strip_suffix(';'),
    }
}

/// The greatest number of superclasses. A broken file may have classes that are above themselves.
const MOST_SUPERCLASSES: usize = 1 << 12;

/// The fields of the instances of each class.
#[derive(Debug, Default)]
struct Layouts<'a> {
    by_class: FxHashMap<ObjectId, usize>,
    layouts: Vec<Layout>,
    /// The fields of all classes.
    fields: Vec<FieldType<'a>>,
}

#[derive(Debug)]
struct Layout {
    superclass: ObjectId,
    /// Its own fields.
    fields: Range<usize>,
    /// The place of its superclass.
    above: Option<usize>,
}

impl<'a> Layouts<'a> {
    fn add(&mut self, class: ObjectId, superclass: ObjectId, fields: &[FieldType<'a>]) {
        let start = self.fields.len();
        self.fields.extend_from_slice(fields);
        self.by_class.insert(class, self.layouts.len());
        let fields = start..self.fields.len();
        self.layouts.push(Layout { superclass, fields, above: None });
    }

    /// Finds the superclass of each class.
    fn link(&mut self) {
        for layout in &mut self.layouts {
            layout.above = self.by_class.get(&layout.superclass).copied();
        }
    }

    /// The fields of an instance of `class` with these values.
    fn decode(
        &self,
        class: ObjectId,
        values: &mut Cursor<'_>,
        fields: &mut Vec<Field<'a>>,
    ) -> Result<(), Error> {
        let mut next = self.by_class.get(&class).copied();
        for _ in 0..MOST_SUPERCLASSES {
            let Some(layout) = next.map(|index| &self.layouts[index]) else { break };
            if values.is_at_end() {
                break;
            }
            for FieldType { name, of_type } in &self.fields[layout.fields.clone()] {
                fields.push(Field { name, value: values.value(*of_type)? });
            }
            next = layout.above;
        }
        Ok(())
    }
}
