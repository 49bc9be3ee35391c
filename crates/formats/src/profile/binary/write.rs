//! Writes binary files.

use super::{settings_flag, sites_flag, tag};
use crate::heap_tag::{self, NO_FRAME};
use crate::profile::heap::{
    self, Elements, Instance, LAST_ID, Objects, Place, Primitives, Record, Root, RootKind,
    array_name,
};
use crate::profile::model::{
    Class, ClassSerial, CpuSamples, FrameId, HeapDump, HeapSummary, NameId, ObjectId, Profile,
    Section, Sites, ThreadSerial, Time, TraceSerial, Value,
};
use crate::profile::writer::{EachRecord, Writer, unsupported};
use rustc_hash::FxHashMap;
use std::io::{self, Write};

/// The size of an ID in bytes in the files that are written.
const ID: usize = 8;
/// The number of bytes of a heap dump that are collected for one segment.
const SEGMENT: usize = 1 << 20;

/// The version of the format that is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Version {
    /// 1.0.1. It is not written with a heap dump, which would be one record of less than 4 GiB.
    V1_0_1,
    /// 1.0.2: a heap dump consists of segments.
    V1_0_2,
}

/// Writes a profile as a binary file.
#[derive(Debug)]
pub struct BinaryWriter<W> {
    out: W,
    version: Version,
    created: Time,
    /// The latest time that a record was written for.
    now: Time,
    /// A record's body before its length is known.
    body: Vec<u8>,
    /// The numbers of names and classes of the profile's tables that are written.
    names: usize,
    classes: usize,
    frames: usize,
    traces: usize,
    /// The classes by their names: methods know the names.
    class_named: FxHashMap<NameId, ClassSerial>,
    /// The number of classes that the writer has added to those of the profile.
    added: u32,
    /// The classes of arrays by those of their elements.
    array_classes: FxHashMap<ObjectId, ObjectId>,
    /// The classes of arrays that are not in the profile, each with the class of its elements.
    added_array_classes: Vec<(ObjectId, ObjectId)>,
    /// The loaders of the classes in heap dumps.
    loaders: FxHashMap<ObjectId, ObjectId>,
}

impl<W: Write> BinaryWriter<W> {
    /// Returns a writer that has written the beginning of the file.
    pub fn new(mut out: W, profile: &Profile, version: Version) -> io::Result<Self> {
        out.write_all(match version {
            Version::V1_0_1 => b"JAVA PROFILE 1.0.1\0",
            Version::V1_0_2 => b"JAVA PROFILE 1.0.2\0",
        })?;
        out.write_all(&(ID as u32).to_be_bytes())?;
        out.write_all(&profile.created.0.to_be_bytes())?;
        let mut writer = Self {
            out,
            version,
            created: profile.created,
            now: profile.created,
            body: Vec::new(),
            names: 0,
            classes: 0,
            frames: 0,
            traces: 0,
            class_named: FxHashMap::default(),
            added: 0,
            array_classes: FxHashMap::default(),
            added_array_classes: Vec::new(),
            loaders: FxHashMap::default(),
        };
        if let Some(settings) = profile.settings {
            let flags = (u32::from(settings.alloc_traces) * settings_flag::ALLOC_TRACES)
                | (u32::from(settings.cpu_sampling) * settings_flag::CPU_SAMPLING);
            writer.record(tag::CONTROL_SETTINGS, |body| {
                body.u4(flags);
                body.u2(settings.depth);
            })?;
        }
        Ok(writer)
    }

    /// Returns the writer below.
    pub fn into_inner(self) -> W {
        self.out
    }

    fn record(&mut self, tag: u8, fill: impl FnOnce(&mut Vec<u8>)) -> io::Result<()> {
        let mut body = std::mem::take(&mut self.body);
        body.clear();
        fill(&mut body);
        let written = self.header(tag, body.len() as u64).and_then(|()| self.out.write_all(&body));
        self.body = body;
        written
    }

    fn header(&mut self, tag: u8, length: u64) -> io::Result<()> {
        let length = u32::try_from(length).map_err(|_| invalid("a record is too long"))?;
        // The field has 32 bits and wraps around after 71 minutes.
        let microseconds = self.now.since(self.created).as_micros() as u32;
        self.out.write_all(&[tag])?;
        self.out.write_all(&microseconds.to_be_bytes())?;
        self.out.write_all(&length.to_be_bytes())
    }

    fn at(&mut self, time: Option<Time>) {
        self.now = self.now.max(time.unwrap_or_default());
    }

    fn names(&mut self, profile: &Profile) -> io::Result<()> {
        for index in self.names..profile.names.len() {
            let name = NameId(index as u32);
            self.record(tag::UTF8, |body| {
                body.name(name);
                body.extend_from_slice(profile.names.get(name).as_bytes());
            })?;
        }
        self.names = profile.names.len();
        Ok(())
    }

    fn classes(&mut self, profile: &Profile) -> io::Result<()> {
        self.names(profile)?;
        for class in profile.classes.iter().skip(self.classes) {
            self.class_named.insert(class.name, class.serial);
            self.load_class(class)?;
        }
        self.classes = profile.classes.iter().len();
        Ok(())
    }

    /// Returns the class with this name. One that is known by its name alone, as in text, is added.
    fn class_named(&mut self, profile: &Profile, name: NameId) -> io::Result<ClassSerial> {
        if let Some(serial) = self.class_named.get(&name) {
            return Ok(*serial);
        }
        let class = self.added_class(profile, name);
        self.class_named.insert(name, class.serial);
        self.load_class(&class)?;
        Ok(class.serial)
    }

    /// Returns a class that is not in the profile. Its number and its ID count down from the largest ones:
    /// readers distinguish classes by their IDs.
    fn added_class(&mut self, profile: &Profile, name: NameId) -> Class {
        // A file that this writer has written has such classes, too.
        while profile.classes.get(ClassSerial(u32::MAX - self.added)).is_some() {
            self.added += 1;
        }
        let added = self.added;
        self.added += 1;
        Class {
            serial: ClassSerial(u32::MAX - added),
            object: ObjectId(LAST_ID - 16 * u64::from(added)),
            name,
            trace: TraceSerial(0),
            unloaded: false,
        }
    }

    /// Returns the record as the file has it: readers expect the array's class in an array of references. It is
    /// added if it is unknown and there is not exactly one of its name.
    fn with_array_class<'r>(
        &mut self,
        profile: &Profile,
        record: &Record<'r>,
    ) -> io::Result<Record<'r>> {
        let mut array = match *record {
            Record::Objects(array) => array,
            Record::Class(class) => {
                self.loaders.insert(class.id, class.loader);
                return Ok(*record);
            }
            _ => return Ok(*record),
        };
        let element = array.class;
        array.class = match (array.array_class, self.array_classes.get(&element)) {
            (ObjectId(0), Some(known)) => *known,
            (ObjectId(0), None) => {
                let class = self.array_class(profile, element, array.class_name)?;
                self.array_classes.insert(element, class);
                class
            }
            (known, _) => known,
        };
        Ok(Record::Objects(array))
    }

    /// Returns the class of arrays of this class. A class without a name or an ID stands for its arrays, too.
    fn array_class(
        &mut self,
        profile: &Profile,
        element: ObjectId,
        element_name: &str,
    ) -> io::Result<ObjectId> {
        if element_name.is_empty() || element == ObjectId(0) {
            return Ok(element);
        }
        let name = array_name(element_name);
        if let Some(class) = profile.class_of_name(&name) {
            return Ok(class);
        }
        // The profile has no entry for the name, so that the name gets the ID of the class.
        let Class { serial, object: id, .. } = self.added_class(profile, NameId::EMPTY);
        self.record(tag::UTF8, |body| {
            body.id(id);
            body.extend_from_slice(name.as_bytes());
        })?;
        self.record(tag::LOAD_CLASS, |body| {
            body.u4(serial.0);
            body.id(id);
            body.u4(0);
            body.id(id);
        })?;
        self.added_array_classes.push((id, element));
        Ok(id)
    }

    /// Returns the records of the classes that are added to a heap dump, which come last: then all loaders are
    /// known.
    fn added_records(&self, profile: &Profile) -> Vec<Record<'static>> {
        let superclass = profile.class_of_name("java.lang.Object").unwrap_or_default();
        let record = |(id, element): &(ObjectId, ObjectId)| {
            let loader = self.loaders.get(element).copied().unwrap_or_default();
            Record::Class(heap::Class { id: *id, superclass, loader, ..heap::Class::default() })
        };
        self.added_array_classes.iter().map(record).collect()
    }

    fn load_class(&mut self, class: &Class) -> io::Result<()> {
        self.record(tag::LOAD_CLASS, |body| {
            body.u4(class.serial.0);
            body.id(class.object);
            body.u4(class.trace.0);
            body.name(class.name);
        })
    }

    fn sites(&mut self, sites: &Sites) -> io::Result<()> {
        let flags = (u16::from(sites.incremental) * sites_flag::INCREMENTAL)
            | (u16::from(sites.by_allocation) * sites_flag::BY_ALLOCATION)
            | (u16::from(sites.after_gc) * sites_flag::AFTER_GC);
        self.record(tag::ALLOC_SITES, |body| {
            body.u2(flags);
            body.u4(sites.cutoff.to_bits());
            body.count(sites.live.bytes);
            body.count(sites.live.instances);
            body.u8(sites.allocated.bytes);
            body.u8(sites.allocated.instances);
            body.u4(sites.rows.len() as u32);
            for site in &sites.rows {
                body.push(site.array_of.map_or(0, |elements| elements as u8));
                body.u4(site.class.0);
                body.u4(site.trace.0);
                body.count(site.live.bytes);
                body.count(site.live.instances);
                body.count(site.allocated.bytes);
                body.count(site.allocated.instances);
            }
        })
    }

    fn heap_summary(&mut self, summary: &HeapSummary) -> io::Result<()> {
        self.record(tag::HEAP_SUMMARY, |body| {
            body.count(summary.live.bytes);
            body.count(summary.live.instances);
            body.u8(summary.allocated.bytes);
            body.u8(summary.allocated.instances);
        })
    }

    fn cpu_samples(&mut self, samples: &CpuSamples) -> io::Result<()> {
        self.record(tag::CPU_SAMPLES, |body| {
            body.count(samples.total);
            body.u4(samples.rows.len() as u32);
            for row in &samples.rows {
                body.count(row.samples);
                body.u4(row.trace.0);
            }
        })
    }

    /// Appends a record to the segment, which is written when it is full.
    fn segment_record(
        &mut self,
        profile: &Profile,
        record: &Record<'_>,
        segment: &mut Vec<u8>,
    ) -> io::Result<()> {
        let record = self.with_array_class(profile, record)?;
        let start = segment.len();
        let tail = tail(&record);
        encode(segment, profile, &record, tail.count)?;
        if segment.len() as u64 + tail.length() <= SEGMENT as u64 {
            return tail.write(segment);
        }
        // The bytes before go out first, and a record that is larger than a segment goes out on its own.
        if start > 0 {
            self.header(tag::HEAP_DUMP_SEGMENT, start as u64)?;
            self.out.write_all(&segment[..start])?;
            segment.drain(..start);
        }
        if segment.len() as u64 + tail.length() <= SEGMENT as u64 {
            return tail.write(segment);
        }
        self.header(tag::HEAP_DUMP_SEGMENT, segment.len() as u64 + tail.length())?;
        self.out.write_all(segment)?;
        segment.clear();
        tail.write(&mut self.out)
    }
}

impl<W: Write> Writer for BinaryWriter<W> {
    fn thread_start(&mut self, profile: &Profile, thread: ThreadSerial) -> io::Result<()> {
        let Some(thread) = profile.threads.get(&thread) else { return Ok(()) };
        // As in JDK 8, the first classes precede the first thread.
        self.classes(profile)?;
        self.at(thread.started);
        self.record(tag::START_THREAD, |body| {
            body.u4(thread.serial.0);
            body.id(thread.object);
            body.u4(thread.trace.0);
            body.name(thread.name);
            body.name(thread.group);
            body.name(thread.parent_group);
        })
    }

    fn thread_end(&mut self, _: &Profile, thread: ThreadSerial) -> io::Result<()> {
        self.record(tag::END_THREAD, |body| body.u4(thread.0))
    }

    fn class_unload(&mut self, profile: &Profile, class: ClassSerial) -> io::Result<()> {
        self.classes(profile)?;
        self.record(tag::UNLOAD_CLASS, |body| body.u4(class.0))
    }

    fn traces(&mut self, profile: &Profile) -> io::Result<()> {
        self.classes(profile)?;
        for index in self.frames..profile.frames.len() {
            let id = FrameId(index as u32);
            let Some((frame, method)) = profile.frame(id) else { continue };
            let class = self.class_named(profile, method.class)?;
            self.record(tag::FRAME, |body| {
                body.frame(id);
                body.name(method.name);
                body.name(method.signature);
                body.name(method.source);
                body.u4(class.0);
                body.u4(frame.line.code() as u32);
            })?;
        }
        self.frames = profile.frames.len();
        for trace in profile.traces.iter().skip(self.traces) {
            self.record(tag::TRACE, |body| {
                body.u4(trace.serial.0);
                body.u4(trace.thread.0);
                body.u4(trace.frames.len() as u32);
                for frame in trace.frames.iter() {
                    body.frame(frame);
                }
            })?;
        }
        self.traces = profile.traces.len();
        Ok(())
    }

    fn section(&mut self, profile: &Profile, section: &Section) -> io::Result<()> {
        if self.holds(section) {
            self.traces(profile)?;
            self.at(section.at());
        }
        match section {
            Section::Sites(sites) => self.sites(sites),
            Section::HeapSummary(summary) => self.heap_summary(summary),
            Section::CpuSamples(samples) => self.cpu_samples(samples),
            Section::HeapDump(_) => Err(unsupported("a heap dump is written with its records")),
            Section::CpuTimes(_) | Section::CpuOld(_) => {
                Err(unsupported("binary files have no CPU times, text has"))
            }
            Section::MonitorTimes(_) | Section::MonitorDump(_) => {
                Err(unsupported("binary files have no monitors, text has"))
            }
        }
    }

    fn heap_dump(
        &mut self,
        profile: &Profile,
        dump: &HeapDump,
        records: &mut dyn FnMut(&mut EachRecord<'_>) -> io::Result<()>,
    ) -> io::Result<()> {
        if self.version == Version::V1_0_1 {
            return Err(unsupported("heap dumps are written in version 1.0.2"));
        }
        self.traces(profile)?;
        self.at(dump.at);
        // A segment is kept until its length is known.
        let mut segment = Vec::with_capacity(SEGMENT);
        records(&mut |record| self.segment_record(profile, record, &mut segment))?;
        for record in self.added_records(profile) {
            self.segment_record(profile, &record, &mut segment)?;
        }
        if !segment.is_empty() {
            self.header(tag::HEAP_DUMP_SEGMENT, segment.len() as u64)?;
            self.out.write_all(&segment)?;
        }
        self.header(tag::HEAP_DUMP_END, 0)
    }

    fn holds(&self, section: &Section) -> bool {
        matches!(
            section,
            Section::Sites(_)
                | Section::HeapSummary(_)
                | Section::HeapDump(_)
                | Section::CpuSamples(_)
        )
    }

    fn needs_values(&self) -> bool {
        true
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

fn invalid(what: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, what)
}

/// The parts of a body.
trait Body {
    fn u1(&mut self, value: u8);
    fn u2(&mut self, value: u16);
    fn u4(&mut self, value: u32);
    fn u8(&mut self, value: u64);

    fn id(&mut self, id: ObjectId) {
        self.u8(id.0);
    }

    /// Names have IDs from 1, as 0 is none to readers.
    fn name(&mut self, name: NameId) {
        self.u8(u64::from(name.0) + 1);
    }

    /// Frames have IDs from 1, as 0 is none to readers.
    fn frame(&mut self, frame: FrameId) {
        self.u8(u64::from(frame.0) + 1);
    }

    /// A number for which the format has 32 bits; what is larger becomes the largest.
    fn count(&mut self, count: u64) {
        self.u4(u32::try_from(count).unwrap_or(u32::MAX));
    }

    fn place(&mut self, place: Place) {
        self.u4(place.thread.0);
        self.u4(place.frame.unwrap_or(NO_FRAME));
    }

    fn value(&mut self, value: Value) {
        match value {
            Value::Reference(object) => self.id(object),
            Value::Boolean(value) => self.u1(value.into()),
            Value::Char(value) => self.u2(value),
            Value::Float(value) => self.u4(value.to_bits()),
            Value::Double(value) => self.u8(value.to_bits()),
            Value::Byte(value) => self.u1(value as u8),
            Value::Short(value) => self.u2(value as u16),
            Value::Int(value) => self.u4(value as u32),
            Value::Long(value) => self.u8(value as u64),
        }
    }

    fn typed(&mut self, value: Value) {
        self.u1(value.of_type() as u8);
        self.value(value);
    }
}

impl Body for Vec<u8> {
    fn u1(&mut self, value: u8) {
        self.push(value);
    }

    fn u2(&mut self, value: u16) {
        self.extend_from_slice(&value.to_be_bytes());
    }

    fn u4(&mut self, value: u32) {
        self.extend_from_slice(&value.to_be_bytes());
    }

    fn u8(&mut self, value: u64) {
        self.extend_from_slice(&value.to_be_bytes());
    }
}

/// The end of a record, which need not be copied: the elements of an array, as many of them as have room in a segment.
struct Tail<'a> {
    elements: Elements<'a>,
    values: &'a [u8],
    /// The number of elements.
    count: u32,
}

fn tail<'a>(record: &Record<'a>) -> Tail<'a> {
    let fitting =
        |length: usize, head: usize, width: usize| length.min((u32::MAX as usize - head) / width);
    match record {
        Record::Objects(array) => {
            let count = fitting(array.elements.length() as usize, 1 + ID + 4 + 4 + ID, ID);
            Tail { elements: array.elements, values: &[], count: count as u32 }
        }
        Record::Primitives(array) => {
            let width = array.of_type.width_with(ID);
            let count = fitting(array.values.len() / width, 1 + ID + 4 + 4 + 1, width);
            let values = &array.values[..count * width];
            Tail { elements: Elements::All(&[]), values, count: count as u32 }
        }
        _ => Tail { elements: Elements::All(&[]), values: &[], count: 0 },
    }
}

impl Tail<'_> {
    fn length(&self) -> u64 {
        self.values.len() as u64 + u64::from(self.elements.length().min(self.count)) * ID as u64
    }

    fn write(&self, out: &mut impl Write) -> io::Result<()> {
        out.write_all(self.values)?;
        let mut written = 0;
        // The elements in between are NULL.
        let nulls = |out: &mut dyn Write, n: u32| (0..n).try_for_each(|_| out.write_all(&[0; ID]));
        let end = self.elements.length().min(self.count);
        for (index, object) in self.elements.iter().take_while(|(index, _)| *index < end) {
            nulls(out, index - written)?;
            out.write_all(&object.0.to_be_bytes())?;
            written = index + 1;
        }
        nulls(out, end - written)
    }
}

fn values_length(instance: &Instance<'_>) -> usize {
    instance.fields.iter().map(|field| field.value.of_type().width_with(ID)).sum()
}

/// Appends a record without its tail, which has `count` elements.
fn encode(
    body: &mut Vec<u8>,
    profile: &Profile,
    record: &Record<'_>,
    count: u32,
) -> io::Result<()> {
    match record {
        Record::Root(root) => encode_root(body, root),
        Record::Class(class) => encode_class(body, profile, class)?,
        Record::Instance(instance) => {
            body.push(heap_tag::INSTANCE_DUMP);
            body.id(instance.id);
            body.u4(instance.trace.0);
            body.id(instance.class);
            body.u4(values_length(instance) as u32);
            for field in instance.fields {
                body.value(field.value);
            }
        }
        Record::Objects(Objects { id, trace, class, .. }) => {
            body.push(heap_tag::OBJ_ARRAY_DUMP);
            body.id(*id);
            body.u4(trace.0);
            body.u4(count);
            body.id(*class);
        }
        Record::Primitives(Primitives { id, trace, of_type, .. }) => {
            body.push(heap_tag::PRIM_ARRAY_DUMP);
            body.id(*id);
            body.u4(trace.0);
            body.u4(count);
            body.push(*of_type as u8);
        }
    }
    Ok(())
}

fn encode_root(body: &mut Vec<u8>, root: &Root<'_>) {
    body.push(match root.kind {
        RootKind::Unknown => heap_tag::ROOT_UNKNOWN,
        RootKind::JniGlobal { .. } => heap_tag::ROOT_JNI_GLOBAL,
        RootKind::JniLocal(_) => heap_tag::ROOT_JNI_LOCAL,
        RootKind::JavaFrame(_) => heap_tag::ROOT_JAVA_FRAME,
        RootKind::NativeStack(_) => heap_tag::ROOT_NATIVE_STACK,
        RootKind::StickyClass { .. } => heap_tag::ROOT_STICKY_CLASS,
        RootKind::ThreadBlock(_) => heap_tag::ROOT_THREAD_BLOCK,
        RootKind::MonitorUsed => heap_tag::ROOT_MONITOR_USED,
        RootKind::ThreadObject { .. } => heap_tag::ROOT_THREAD_OBJ,
    });
    body.id(root.object);
    match root.kind {
        RootKind::Unknown | RootKind::StickyClass { .. } | RootKind::MonitorUsed => {}
        RootKind::JniGlobal { reference, .. } => body.u8(reference),
        RootKind::JniLocal(place) | RootKind::JavaFrame(place) => body.place(place),
        RootKind::NativeStack(thread) | RootKind::ThreadBlock(thread) => body.u4(thread.0),
        RootKind::ThreadObject { thread, trace } => {
            body.u4(thread.0);
            body.u4(trace.0);
        }
    }
}

fn encode_class(body: &mut Vec<u8>, profile: &Profile, class: &heap::Class<'_>) -> io::Result<()> {
    let name = |name: &str| {
        let missing = || invalid(format!("the name {name:?} is not among those of the profile"));
        profile.names.find(name).ok_or_else(missing)
    };
    body.push(heap_tag::CLASS_DUMP);
    body.id(class.id);
    body.u4(class.trace.0);
    for object in [class.superclass, class.loader, class.signers, class.protection_domain] {
        body.id(object);
    }
    body.extend_from_slice(&[0; 2 * ID]);
    body.u4(class.instance_size);
    let count = |n: usize| {
        u16::try_from(n).map_err(|_| invalid("a class has more fields or constants than 65535"))
    };
    body.u2(count(class.constants.len())?);
    for constant in class.constants {
        body.u2(constant.index);
        body.typed(constant.value);
    }
    body.u2(count(class.statics.len())?);
    for field in class.statics {
        body.name(name(field.name)?);
        body.typed(field.value);
    }
    body.u2(count(class.fields.len())?);
    for field in class.fields {
        body.name(name(field.name)?);
        body.push(field.of_type as u8);
    }
    Ok(())
}
