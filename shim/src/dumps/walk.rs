//! The heap walk that writes a heap dump.
//!
//! JVMTI visits each object once. It shows the edge to its class, its references and its values one
//! after the other. So the edge to the class begins the object's record, and the others fill it. The
//! walk keeps only the tag of an object, and the length of an array until it is visited. Classes are
//! different: their parts are gathered and written at the end.

use crate::classes::layouts::{self, Layout};
use crate::records::agents::Agent;
use crate::records::class::{Class, Instances};
use crate::records::ids::{self, Supply, Tag};
use crate::translate::objects::Unannounced;
use jni_sys::jint;
use jvm::heap::{Edge, Local, Next, Object, Primitive, Referrer, Root, Visitor};
use jvmpi_formats::dump::{
    Buffer, Class as ClassRecord, Frame, Full, HeapWriter, ID, Id, Level, Listed, Place,
    Root as RootRecord, Type, Value,
};
use rustc_hash::FxHashMap;
use std::collections::{HashMap, HashSet};
use std::fmt;
use std::sync::Arc;

/// The reason why a walk failed.
pub enum Failure {
    /// A class was not registered when the walk began.
    UnknownClass(Id),
    /// An object's class is not linked, so its fields are unknown.
    NotLinked(Id),
    /// There is no memory or no ID left, or the VM shows objects in a way that this code does not expect.
    Other(String),
}

impl From<Full> for Failure {
    fn from(full: Full) -> Self {
        Self::Other(full.to_string())
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownClass(id) | Self::NotLinked(id) => {
                write!(f, "class {id:#x} cannot be read")
            }
            Self::Other(what) => write!(f, "{what}"),
        }
    }
}

/// A class that the walk may meet.
struct Entry {
    class: Arc<Class>,
    /// None if the class is not linked.
    layout: Option<Arc<Layout>>,
    /// The type of the elements of an array class.
    elements: Option<Type>,
    /// True if the walk has met the class.
    is_met: bool,
    loader: Id,
    signers: Id,
    protection_domain: Id,
    /// The position of its static values among those of all classes.
    statics: usize,
}

/// A thread whose stack the dump contains.
#[derive(Clone, Copy)]
pub struct Stack {
    /// The thread's environment.
    pub thread: Id,
    /// The index of the thread in the list of those with a trace.
    pub number: usize,
    /// True if the thread may have created an object that has no ID yet.
    pub is_allocating: bool,
    /// The number of innermost frames that are left out.
    pub hidden_frames: jint,
}

/// The input of the walk.
pub struct Surroundings<'a> {
    pub level: Level,
    /// The classes that the walk may meet.
    pub classes: Vec<(Arc<Class>, Option<Arc<Layout>>)>,
    /// The IDs of threads, with their stacks.
    pub threads: HashMap<Id, Stack>,
    /// The IDs of threads and classes that are never shown to agents.
    pub hidden: Vec<Id>,
    /// The number of the shim's own global references to each object.
    pub own_references: HashMap<Id, usize>,
    /// The global references to each object that were reported to the agent.
    pub global_references: HashMap<Id, Vec<usize>>,
    /// The array of the objects that Class objects refer to. The array itself is left out.
    pub held: Option<Id>,
    /// The agent to which unannounced objects that the walk meets are announced afterwards.
    pub listener: Option<&'a Agent>,
}

/// A root whose frame is still to be looked up: the place of the frame number, the stack, and the
/// depth.
pub struct InFrame {
    pub place: Place,
    pub stack: usize,
    pub depth: usize,
}

/// The record that is being filled.
#[derive(Clone, Copy)]
struct Current {
    id: Id,
    place: Place,
    class: usize,
}

/// The state of the walk.
pub struct Walk<'a> {
    writer: HeapWriter,
    around: Surroundings<'a>,
    classes: Vec<Entry>,
    by_id: FxHashMap<Id, usize>,
    /// The class that was looked up last.
    last: (Id, usize),
    class_of_classes: Id,
    statics: Vec<u8>,
    /// The lengths of arrays that were referred to and not yet visited.
    lengths: FxHashMap<Id, u32>,
    /// The IDs for objects without one.
    new_ids: Supply,
    /// The greatest ID before this walk; greater ones are given by this walk.
    last_before: Id,
    /// The Class objects that represent no linked class.
    mirrors: HashSet<Id>,
    current: Option<Current>,
    /// The roots in frames.
    pub in_frames: Vec<InFrame>,
    /// The objects that are to be announced to the listener.
    pub unannounced: Vec<Unannounced>,
    failure: Option<Failure>,
}

impl<'a> Walk<'a> {
    pub fn new(buffer: Buffer, mut around: Surroundings<'a>) -> Self {
        let mut statics = 0;
        let mut class_of_classes = 0;
        let mut classes = Vec::with_capacity(around.classes.len());
        let mut by_id = FxHashMap::default();
        for (class, layout) in around.classes.drain(..) {
            let id = class.id().addr();
            if matches!(class.instances(), Instances::Classes) {
                class_of_classes = id;
            }
            by_id.insert(id, classes.len());
            let length = layout.as_ref().map_or(0, |layout| layout.statics.length(around.level));
            classes.push(Entry {
                elements: layouts::elements(&class),
                class,
                layout,
                is_met: false,
                loader: 0,
                signers: 0,
                protection_domain: 0,
                statics,
            });
            statics += length;
        }
        Self {
            writer: HeapWriter::new(buffer, around.level),
            classes,
            by_id,
            last: (0, 0),
            class_of_classes,
            statics: vec![0; statics],
            lengths: FxHashMap::default(),
            new_ids: Supply::default(),
            last_before: ids::last() as Id,
            mirrors: HashSet::new(),
            current: None,
            in_frames: Vec::new(),
            unannounced: Vec::new(),
            failure: None,
            around,
        }
    }

    /// Returns the reason why the walk was stopped, if it was.
    pub fn failure(&mut self) -> Option<Failure> {
        self.failure.take()
    }

    /// Returns the linked classes that the walk has met.
    pub fn classes(&self) -> impl Iterator<Item = &Arc<Class>> {
        let met = self.classes.iter().filter(|entry| entry.is_met && entry.layout.is_some());
        met.map(|entry| &entry.class)
    }

    #[inline]
    fn class(&mut self, id: Id) -> Option<usize> {
        if self.last.0 != id {
            self.last = (id, *self.by_id.get(&id)?);
        }
        Some(self.last.1)
    }

    #[inline]
    fn level(&self) -> Level {
        self.around.level
    }

    /// Returns true if a root is left out: a reference of the shim's own, or an object that a thread
    /// is creating.
    fn is_own(&mut self, root: Root, tag: Tag) -> bool {
        if tag == Tag::OWN {
            return true;
        }
        match root {
            Root::JniGlobal => {
                let own = self.around.own_references.get_mut(&tag.id().addr());
                own.filter(|count| **count > 0).map(|count| *count -= 1).is_some()
            }
            Root::StackLocal(local) | Root::JniLocal(local) => {
                let thread = id_in(local.thread);
                let is_allocating = || {
                    let stack = self.around.threads.get(&thread);
                    stack.is_some_and(|stack| stack.is_allocating)
                };
                self.around.hidden.contains(&thread) || tag == Tag::NONE && is_allocating()
            }
            _ => false,
        }
    }

    fn meet(
        &mut self,
        edge: Edge,
        object: Object,
        raw: &mut i64,
        referrer: Option<Referrer>,
    ) -> Result<Next, Failure> {
        let mut tag = Tag::from_raw(*raw);
        if self.around.held == Some(tag.id().addr()) {
            return Ok(Next::Follow);
        }
        let is_held = |referrer: Referrer| Some(id_in(referrer.tag)) == self.around.held;
        let (edge, referrer) = match edge {
            Edge::Element(_) if referrer.is_some_and(is_held) => (Edge::Root(Root::Other), None),
            _ => (edge, referrer),
        };
        if let Edge::Root(root) = edge
            && self.is_own(root, tag)
        {
            return Ok(Next::Skip);
        }
        if self.around.hidden.contains(&tag.id().addr()) {
            return Ok(Next::Skip);
        }
        let is_class = id_in(object.class) == self.class_of_classes;
        let is_new = tag.id().is_null();
        if is_new {
            tag = self.new_ids.fresh().map_err(|error| Failure::Other(error.to_string()))?;
        }
        if let Some(listener) = self.around.listener
            && !is_class
            && !tag.is_announced_to(listener)
        {
            tag = tag.announced_to(listener);
            let class = Tag::from_raw(object.class).id();
            self.unannounced.push(Unannounced { class, tag, size: object.size });
        }
        if tag.raw() != *raw {
            *raw = tag.raw();
        }
        let id = tag.id().addr();
        if is_class {
            self.meet_class(id);
        } else if object.length >= 0 && (is_new || id <= self.last_before) {
            self.lengths.insert(id, object.length as u32);
        }
        if self.level() != Level::Objects || edge == Edge::Class {
            self.note(edge, id, referrer)?;
        }
        Ok(Next::Follow)
    }

    fn meet_class(&mut self, id: Id) {
        match self.class(id) {
            Some(class) => self.classes[class].is_met = true,
            None => drop(self.mirrors.insert(id)),
        }
    }

    /// Writes the ID of a referenced object at its place.
    fn note(&mut self, edge: Edge, id: Id, referrer: Option<Referrer>) -> Result<(), Failure> {
        if let Edge::Root(root) = edge {
            return Ok(self.root(root, id)?);
        }
        let Some(referrer) = referrer else { return Ok(()) };
        let from = id_in(referrer.tag);
        match edge {
            Edge::Class => self.begin(from, id_in(referrer.class))?,
            Edge::Field(index) => self.set_field(from, index, Value::Reference(id))?,
            Edge::Element(index) => {
                let current = self.current(from)?;
                self.writer.set(current.place, index as usize * ID, Value::Reference(id));
            }
            Edge::Static(index) => self.set_static(from, index, Value::Reference(id)),
            Edge::Loader => self.of_class(from, |entry| entry.loader = id),
            Edge::Signers => self.of_class(from, |entry| entry.signers = id),
            Edge::ProtectionDomain => self.of_class(from, |entry| entry.protection_domain = id),
            Edge::OfClass | Edge::Root(_) => {}
        }
        Ok(())
    }

    fn root(&mut self, root: Root, object: Id) -> Result<(), Full> {
        let thread = |id: Id| self.around.threads.get(&id).copied();
        let record = match root {
            // JVMTI does not say which reference it is, so each known one is used once.
            Root::JniGlobal => {
                let known = self.around.global_references.get_mut(&object).and_then(Vec::pop);
                RootRecord::JniGlobal { object, reference: known.unwrap_or(object) }
            }
            Root::SystemClass if self.by_id.contains_key(&object) => {
                RootRecord::StickyClass(object)
            }
            Root::Monitor => RootRecord::MonitorUsed(object),
            Root::Thread => match thread(object) {
                Some(stack) => RootRecord::ThreadBlock { object, thread: stack.thread },
                None => RootRecord::Unknown(object),
            },
            Root::StackLocal(local) => return self.local(RootRecord::JavaFrame, local, object),
            Root::JniLocal(local) => return self.local(RootRecord::JniLocal, local, object),
            Root::SystemClass | Root::Other => RootRecord::Unknown(object),
        };
        self.writer.root(record).map(drop)
    }

    fn local(
        &mut self,
        record: fn(Id, Frame) -> RootRecord,
        local: Local,
        object: Id,
    ) -> Result<(), Full> {
        // The stack of a virtual thread belongs to no JVMPI thread.
        let Some(stack) = self.around.threads.get(&id_in(local.thread)).copied() else {
            return self.writer.root(RootRecord::Unknown(object)).map(drop);
        };
        let frame = Frame { thread: stack.thread, number: None };
        let place = self.writer.root(record(object, frame))?;
        let depth = local.depth.map(|depth| depth - stack.hidden_frames);
        let depth = depth.and_then(|depth| usize::try_from(depth).ok());
        if let Some((place, depth)) = place.zip(depth) {
            self.in_frames.push(InFrame { place, stack: stack.number, depth });
        }
        Ok(())
    }

    fn begin(&mut self, id: Id, class: Id) -> Result<(), Failure> {
        if class == self.class_of_classes || self.around.held == Some(id) {
            return Ok(());
        }
        let number = self.class(class).ok_or(Failure::UnknownClass(class))?;
        let entry = &self.classes[number];
        let layout = entry.layout.as_ref().ok_or(Failure::NotLinked(class))?;
        if self.around.level == Level::Objects {
            return Ok(self.writer.listed(Listed { elements: entry.elements, id })?);
        }
        let place = match entry.class.instances() {
            Instances::Classes | Instances::Objects(_) => {
                let length = layout.instances.length(self.around.level) as u32;
                self.writer.instance(id, class, length)?
            }
            Instances::References(element) => {
                let length = self.lengths.remove(&id);
                let length = length.ok_or_else(|| unexpected("visits an unmet array"))?;
                let element = element.as_ref().map_or(0, |element| element.id().addr());
                self.writer.objects(id, element, length)?
            }
            Instances::Primitives(_) => {
                self.lengths.remove(&id);
                // The record is written when the elements arrive.
                Place::default()
            }
        };
        self.current = Some(Current { id, place, class: number });
        Ok(())
    }

    /// Returns the record that is being filled, which must be that of this object.
    #[inline]
    fn current(&self, id: Id) -> Result<Current, Failure> {
        let current = self.current.filter(|current| current.id == id);
        current.ok_or_else(|| unexpected("shows the parts of an object apart"))
    }

    #[inline]
    fn set_field(&mut self, id: Id, index: jint, value: Value) -> Result<(), Failure> {
        let current = self.current(id)?;
        let layout = self.classes[current.class].layout.as_deref();
        let Some(fields) = layout.map(|layout| &layout.instances) else { return Ok(()) };
        let Some(offset) = fields.offset(index, value.of_type(), self.around.level) else {
            // JVMTI hides some fields of JDK classes, but a walk shows some of these.
            if !fields.has(index) {
                return Ok(());
            }
            let class = self.classes[current.class].class.id().addr();
            let what = format!("shows field {index} of class {class:#x} with another type");
            return Err(unexpected(&what));
        };
        self.writer.set(current.place, offset, value);
        Ok(())
    }

    fn set_static(&mut self, class: Id, index: jint, value: Value) {
        let Some(number) = self.class(class) else { return };
        let entry = &self.classes[number];
        let Some(layout) = &entry.layout else { return };
        let offset = layout.statics.offset(index, value.of_type(), self.around.level);
        if let Some(offset) = offset {
            let begin = entry.statics + offset;
            value.write(&mut self.statics[begin..begin + value.of_type().width()]);
        }
    }

    fn of_class(&mut self, class: Id, change: impl FnOnce(&mut Entry)) {
        if let Some(number) = self.class(class) {
            change(&mut self.classes[number]);
        }
    }

    /// Sets the frames of roots: `number` maps a stack and a depth in it to the index in the trace.
    pub fn number_frames(&mut self, number: impl Fn(usize, usize) -> Option<u32>) {
        for InFrame { place, stack, depth } in std::mem::take(&mut self.in_frames) {
            self.writer.set_frame(place, number(stack, depth));
        }
    }

    /// Returns the loader of a class. JVMTI shows no loader of an array class; it has that of its
    /// element class.
    fn loader<'b>(&self, classes: &'b [Entry], mut entry: &'b Entry) -> Id {
        while let Instances::References(Some(element)) = entry.class.instances() {
            let Some(number) = self.by_id.get(&element.id().addr()) else { return 0 };
            entry = &classes[*number];
        }
        entry.loader
    }

    /// Writes the classes that the walk has met and returns the dump. A Class object that represents
    /// no class, or a class that is left out, is written as an instance of Class. JVMTI gives no
    /// values of its fields.
    pub fn finish(mut self, is_shown: impl Fn(&Class) -> bool) -> Result<Buffer, Failure> {
        let met = std::mem::take(&mut self.classes);
        let mut instances: Vec<Id> = self.mirrors.drain().collect();
        instances.sort_unstable();
        for entry in met.iter().filter(|entry| entry.is_met) {
            let id = entry.class.id().addr();
            match &entry.layout {
                Some(layout) if is_shown(&entry.class) && self.level() != Level::Objects => {
                    let values = entry.statics..;
                    let statics = layout.statics.length(self.around.level);
                    let record = ClassRecord {
                        loader: self.loader(&met, entry),
                        signers: entry.signers,
                        protection_domain: entry.protection_domain,
                        ..layout.class_record(id, &self.statics[values][..statics])
                    };
                    self.writer.class(&record)?;
                }
                _ => instances.push(id),
            }
        }
        let layout = met.iter().find(|entry| entry.class.id().addr() == self.class_of_classes);
        let layout = layout.and_then(|entry| entry.layout.as_deref());
        let length = layout.map_or(0, |layout| layout.instances.length(self.around.level));
        for id in instances {
            if self.around.level == Level::Objects {
                self.writer.listed(Listed { elements: None, id })?;
            } else {
                self.writer.instance(id, self.class_of_classes, length as u32)?;
            }
        }
        Ok(self.writer.finish())
    }
}

#[cold]
fn unexpected(what: &str) -> Failure {
    Failure::Other(format!("the VM {what}"))
}

#[inline]
fn id_in(tag: i64) -> Id {
    Tag::from_raw(tag).id().addr()
}

/// Returns the value as the dump has it.
pub fn value_of(value: Primitive) -> Value {
    match value {
        Primitive::Boolean(value) => Value::Boolean(value),
        Primitive::Byte(value) => Value::Byte(value),
        Primitive::Char(value) => Value::Char(value),
        Primitive::Short(value) => Value::Short(value),
        Primitive::Int(value) => Value::Int(value),
        Primitive::Long(value) => Value::Long(value),
        Primitive::Float(value) => Value::Float(value),
        Primitive::Double(value) => Value::Double(value),
    }
}

impl Walk<'_> {
    fn go_on(&mut self, result: Result<Next, Failure>) -> Next {
        result.unwrap_or_else(|failure| {
            self.failure = Some(failure);
            Next::Stop
        })
    }
}

impl Visitor for Walk<'_> {
    fn wants_fields(&self) -> bool {
        self.around.level.has_primitives()
    }

    fn wants_arrays(&self) -> bool {
        self.around.level != Level::Objects
    }

    fn reference(
        &mut self,
        edge: Edge,
        object: Object,
        tag: &mut i64,
        referrer: Option<Referrer>,
    ) -> Next {
        let next = self.meet(edge, object, tag, referrer);
        self.go_on(next)
    }

    fn field(&mut self, edge: Edge, tag: i64, value: Primitive) -> Next {
        let id = id_in(tag);
        match edge {
            Edge::Static(index) => self.set_static(id, index, value_of(value)),
            Edge::Field(index) => {
                let set = self.set_field(id, index, value_of(value)).map(|()| Next::Follow);
                return self.go_on(set);
            }
            _ => {}
        }
        Next::Follow
    }

    fn array(&mut self, tag: i64, elements: &[u8]) -> Next {
        let id = id_in(tag);
        let written =
            self.current(id).and_then(|current| match self.classes[current.class].elements {
                Some(of_type) => Ok(self.writer.primitives(id, of_type, elements)?),
                None => Err(unexpected("shows elements of an object that is no array")),
            });
        self.go_on(written.map(|()| Next::Follow))
    }
}
