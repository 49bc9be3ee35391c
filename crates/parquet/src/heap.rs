//! The tables of a heap dump.

use std::io;

use jvmpi_formats::profile::heap::{Record, type_name};
use jvmpi_formats::profile::{
    Error, File, HeapDump, HeapReader, ObjectId, Profile, ThreadSerial, TraceSerial,
    without_address,
};
use jvmpi_report::heap::{Analysis, Collector, Graph, Slot, or_unknown, references};

use crate::profile::{Used, thread};
use crate::strings::Strings;
use crate::table::{Cell, Table};

/// The tables of a heap dump.
pub struct Tables {
    pub classes: Table,
    pub instances: Table,
    pub refs: Table,
    pub roots: Table,
    pub strings: Table,
    pub arrays: Table,
}

/// The reason why reading ends early.
enum Stop {
    /// The dump is cut off or invalid.
    Read,
    Write(io::Error),
}

impl From<Error> for Stop {
    fn from(_: Error) -> Self {
        Self::Read
    }
}

impl From<io::Error> for Stop {
    fn from(error: io::Error) -> Self {
        Self::Write(error)
    }
}

impl Tables {
    /// Writes all rows, and returns the reason if the dump is cut off. The dump is read twice, because the retained
    /// sizes must be known first.
    ///
    /// # Errors
    /// Returns the error of a file.
    pub fn write(
        &mut self,
        file: &File,
        dump: &HeapDump,
        used: &mut Used,
    ) -> io::Result<Option<Error>> {
        let reader = file.heap(dump);
        let mut collector = Collector::default();
        let mut strings = Strings::default();
        let cut = reader.records(|record| {
            collector.record(record);
            strings.add(record);
            Ok::<(), Error>(())
        });
        let graph = collector.finish().map_err(io::Error::other)?;
        strings.sort();
        let analysis = Analysis::of(&graph);
        self.roots(file.profile(), &graph)?;
        let objects = Objects { profile: file.profile(), graph, analysis, strings };
        self.objects(&reader, &objects, used)?;
        Ok(cut.err())
    }

    fn roots(&mut self, profile: &Profile, graph: &Graph) -> io::Result<()> {
        for root in graph.roots() {
            let thread_name = thread(profile, ThreadSerial(root.thread));
            let number = Some(root.thread).filter(|number| *number != 0);
            self.roots.row(&[
                graph.id(root.object).into(),
                root.reason.into(),
                number.into(),
                thread_name.as_deref().into(),
            ])?;
        }
        Ok(())
    }

    fn objects(
        &mut self,
        reader: &HeapReader<'_>,
        objects: &Objects<'_>,
        used: &mut Used,
    ) -> io::Result<()> {
        // The graph numbers the objects in the order of the dump.
        let mut next = 0;
        let read = reader.records(|record| -> Result<(), Stop> {
            if record.object_size().is_some() && (next as usize) < objects.graph.len() {
                self.object(objects, next, record, used)?;
                next += 1;
            }
            Ok(())
        });
        match read {
            Err(Stop::Write(error)) => Err(error),
            Err(Stop::Read) | Ok(()) => Ok(()),
        }
    }

    fn object(
        &mut self,
        objects: &Objects<'_>,
        number: u32,
        record: &Record<'_>,
        used: &mut Used,
    ) -> io::Result<()> {
        let Objects { graph, analysis, .. } = objects;
        let id = graph.id(number);
        let class = without_address(graph.kind_name(graph.kind(number)));
        let (kind, class_id, trace) = match record {
            Record::Root(_) => return Ok(()),
            Record::Class(class) => {
                self.classes.row(&[
                    id.into(),
                    type_name(without_address(or_unknown(class.name))).as_str().into(),
                    known(class.superclass).into(),
                    known(class.loader).into(),
                    u64::from(class.instance_size).into(),
                ])?;
                ("class", ObjectId(0), class.trace)
            }
            Record::Instance(instance) => ("instance", instance.class, instance.trace),
            Record::Objects(array) => {
                self.array(id, class, array.elements.length())?;
                ("array", array.array_class, array.trace)
            }
            Record::Primitives(array) => {
                self.array(id, class, array.length)?;
                let table = &mut self.strings;
                objects.strings.of_array(array, |string, length, text| {
                    table.row(&[string.0.into(), id.into(), length.into(), text.into()])
                })?;
                ("array", ObjectId(0), array.trace)
            }
        };
        let is_reached = analysis.reaches(number);
        self.instances.row(&[
            id.into(),
            kind.into(),
            known(class_id).into(),
            class.into(),
            graph.size(number).into(),
            is_reached.then(|| analysis.retained(number)).into(),
            analysis.dominator(number).map(|dominator| graph.id(dominator)).into(),
            objects.stack(trace, used).into(),
        ])?;
        let mut written = Ok(());
        references(record, |slot, to| {
            let (field, index) = match slot {
                // That is the column `class_id` of the object.
                Slot::ClassOf => return,
                Slot::Field(name) => (Some(name), Cell::Null),
                Slot::Element(index) => (None, index.into()),
            };
            let is_weak = field == Some("referent") && !objects.keeps(number, "referent");
            if written.is_ok() {
                let cells = [id.into(), field.into(), index, to.0.into(), is_weak.into()];
                written = self.refs.row(&cells);
            }
        });
        written
    }

    fn array(&mut self, id: u64, class: &str, length: u32) -> io::Result<()> {
        let element_type = class.strip_suffix("[]").unwrap_or(class);
        self.arrays.row(&[id.into(), element_type.into(), length.into()])
    }
}

/// The objects of a dump.
struct Objects<'a> {
    profile: &'a Profile,
    graph: Graph,
    analysis: Analysis,
    strings: Strings,
}

impl Objects<'_> {
    /// Returns the ID of the stack that allocated an object, if that is known.
    fn stack(&self, trace: TraceSerial, used: &mut Used) -> Option<u64> {
        used.id(self.profile.traces.frames_of(trace).id())
    }

    /// Returns true if the object's reference in this field keeps its target alive.
    fn keeps(&self, object: u32, field: &str) -> bool {
        self.graph.references(object).any(|(label, _)| self.graph.label_name(label) == field)
    }
}

fn known(id: ObjectId) -> Option<u64> {
    (id != ObjectId(0)).then_some(id.0)
}
