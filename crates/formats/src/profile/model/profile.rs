//! The profile itself, with its threads and classes.

use super::{
    ClassSerial, CpuOld, CpuSamples, CpuTimes, Frame, FrameId, Frames, HeapDump, HeapSummary,
    Method, MethodId, Methods, MonitorDump, MonitorTimes, NameId, Names, ObjectId, Section, Site,
    Sites, ThreadSerial, Time, TraceSerial, Traces, Type,
};
use crate::profile::heap::type_name;
use indexmap::IndexMap;
use rustc_hash::{FxBuildHasher, FxHashMap};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// The contents of a file of HPROF, without the objects of its heap dumps.
#[derive(Clone, Debug, Default)]
pub struct Profile {
    /// The time when the profiler started.
    pub created: Time,
    /// The text between the first line and `--------` (text).
    pub preamble: String,
    /// The settings of the profiler (binary).
    pub settings: Option<Settings>,
    /// The names that the other tables refer to.
    pub names: Names,
    /// The methods of the frames.
    pub methods: Methods,
    /// The frames of the traces.
    pub frames: Frames,
    /// The traces that sections refer to.
    pub traces: Traces,
    /// The threads, ended ones too, in the order in which they started.
    pub threads: IndexMap<ThreadSerial, Thread, FxBuildHasher>,
    /// The classes that sections and heap dumps refer to.
    pub classes: Classes,
    /// The dumped sections, in the order of the file; [`Profile::sites`] and its like pick one kind.
    pub sections: Vec<Section>,
}

/// The settings of a profiler.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Settings {
    /// True if objects have the trace of their allocation.
    pub alloc_traces: bool,
    /// True if the CPU is sampled.
    pub cpu_sampling: bool,
    /// The greatest number of frames in a trace.
    pub depth: u16,
}

/// A thread.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Thread {
    /// Its number.
    pub serial: ThreadSerial,
    /// The `java.lang.Thread`.
    pub object: ObjectId,
    /// Its name.
    pub name: NameId,
    /// The name of its group.
    pub group: NameId,
    /// The name of the parent of its group (binary).
    pub parent_group: NameId,
    /// The trace of its start (binary).
    pub trace: TraceSerial,
    /// The time of its start (binary).
    pub started: Option<Time>,
    /// True if it has ended.
    pub ended: bool,
}

/// A class.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Class {
    /// Its number.
    pub serial: ClassSerial,
    /// Its Class object; NULL where sections of text name it without one.
    pub object: ObjectId,
    /// Its name, with dots.
    pub name: NameId,
    /// The trace of its loading (binary).
    pub trace: TraceSerial,
    /// True if it was unloaded (binary).
    pub unloaded: bool,
}

/// The classes of a profile.
#[derive(Clone, Debug, Default)]
pub struct Classes {
    by_serial: IndexMap<ClassSerial, Class, FxBuildHasher>,
    by_object: FxHashMap<ObjectId, ClassSerial>,
    /// Those that are known by their names alone.
    by_name: FxHashMap<NameId, ClassSerial>,
}

impl Classes {
    /// Adds a class. One that has its number is replaced.
    pub fn insert(&mut self, class: Class) {
        if class.object != ObjectId(0) {
            self.by_object.insert(class.object, class.serial);
        }
        self.by_serial.insert(class.serial, class);
    }

    /// Returns the number of a class that is known by its name alone, as in files without numbers of classes. It is added
    /// if it is new.
    pub fn named(&mut self, name: NameId) -> ClassSerial {
        let next = ClassSerial(self.by_name.len() as u32 + 1);
        let serial = *self.by_name.entry(name).or_insert(next);
        if serial == next {
            self.insert(Class { serial, name, ..Class::default() });
        }
        serial
    }

    /// Returns the class with this number.
    pub fn get(&self, serial: ClassSerial) -> Option<&Class> {
        self.by_serial.get(&serial)
    }

    /// Returns the class with this number, to be changed.
    pub fn get_mut(&mut self, serial: ClassSerial) -> Option<&mut Class> {
        self.by_serial.get_mut(&serial)
    }

    /// Returns the class of this Class object; if there were several, the last that was added.
    pub fn of_object(&self, object: ObjectId) -> Option<&Class> {
        self.by_object.get(&object).and_then(|serial| self.get(*serial))
    }

    /// Returns all classes in the order in which they were added.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &Class> {
        self.by_serial.values()
    }
}

impl Profile {
    /// Returns the method with this class, name, signature and source, which is added if it is new.
    pub fn intern_method(&mut self, parts: [&str; 4]) -> MethodId {
        let [class, name, signature, source] = parts.map(|part| self.names.intern(part));
        self.methods.intern(Method { class, name, signature, source })
    }

    /// Returns a frame with its method.
    pub fn frame(&self, id: FrameId) -> Option<(Frame, Method)> {
        let frame = self.frames.get(id)?;
        self.methods.get(frame.method).map(|method| (frame, method))
    }

    /// Returns the class with this name, if there is exactly one.
    pub fn class_of_name(&self, name: &str) -> Option<ObjectId> {
        let name = self.names.find(name)?;
        let mut named = self.classes.iter().filter(|class| class.name == name && !class.unloaded);
        match (named.next(), named.next()) {
            (Some(class), None) => Some(class.object).filter(|object| *object != ObjectId(0)),
            _ => None,
        }
    }

    /// Returns the type of the objects allocated at a site, in Java source: `java.lang.Object[]`, for which a
    /// site of JVMPI has the class of the elements, and one of JDK 8 a class of this name; or `int[]`.
    pub fn site_type(&self, site: &Site) -> Cow<'_, str> {
        let class = self.classes.get(site.class).map(|class| self.names.get(class.name));
        match (class, site.array_of) {
            (Some(class), Some(Type::Reference)) if !class.ends_with("[]") => {
                format!("{}[]", type_name(class)).into()
            }
            (Some(class), _) if class.starts_with('[') => type_name(class).into(),
            (Some(class), _) => class.into(),
            (None, Some(elements)) => type_name(elements.array_name()).into(),
            (None, None) => "<Unknown>".into(),
        }
    }
}

macro_rules! kinds {
    ($($(#[$doc:meta])* $function:ident: $kind:ident;)*) => {
        impl Profile {$(
            $(#[$doc])*
            pub fn $function(&self) -> impl DoubleEndedIterator<Item = &$kind> {
                self.sections.iter().filter_map(|section| match section {
                    Section::$kind(content) => Some(content),
                    _ => None,
                })
            }
        )*}
        $(impl From<$kind> for Section {
            fn from(content: $kind) -> Self {
                Self::$kind(content)
            }
        })*
    };
}

kinds! {
    /// The monitor dumps in the order of the file; `next_back()` is the last.
    monitor_dumps: MonitorDump;
    /// The monitor times in the order of the file; each counts from the one before.
    monitor_times: MonitorTimes;
    /// The heap dumps in the order of the file; `next_back()` is the last.
    heap_dumps: HeapDump;
    /// The sizes of the heap in the order of the file; `next_back()` is the last.
    heap_summaries: HeapSummary;
    /// The allocation sites in the order of the file; `next_back()` covers the whole run.
    sites: Sites;
    /// The CPU samples in the order of the file; each counts from the one before.
    cpu_samples: CpuSamples;
    /// The CPU times in the order of the file; each counts from the one before.
    cpu_times: CpuTimes;
    /// The calls of `cpu=old` in the order of the file.
    cpu_old: CpuOld;
}
