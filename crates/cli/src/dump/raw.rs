//! Prints the buffers that agents got in HEAP_DUMP, OBJECT_DUMP and MONITOR_DUMP and saved unchanged.
//!
//! A dump has neither the names of classes nor their fields: these are in CLASS_LOAD. An agent can
//! write them to a file, with a line for each class. It has the ID in hexadecimal, the number of
//! interfaces, the types of the static fields and of the instance fields, and the name. A type is the
//! first letter of its descriptor (`-` for no fields):
//!
//! ```text
//! 0x4e0 2 [J IBLL java.lang.String
//! ```

use std::collections::{HashMap, HashSet};
use std::fs;
use std::io::{self, Write};
use std::path::Path;

use jvmpi_formats::dump::{
    Classes, Frame, Id, Level, List, Monitors, Record, Records, Root, Shape, Type, Value,
};

struct Known {
    name: String,
    interfaces: usize,
    statics: Vec<Type>,
    instances: Vec<Type>,
}

#[derive(Default)]
struct Universe {
    classes: HashMap<Id, Known>,
    /// The superclass of each class in the dump.
    superclasses: HashMap<Id, Id>,
}

impl Classes for Universe {
    fn shape(&self, class: Id) -> Option<Shape<'_>> {
        let Known { interfaces, statics, .. } = self.classes.get(&class)?;
        Some(Shape { interfaces: *interfaces, statics })
    }
}

fn types(letters: &str) -> Result<Vec<Type>, String> {
    let letters = letters.strip_prefix('-').unwrap_or(letters);
    let one = |letter| Type::of_descriptor(letter).ok_or_else(|| format!("no type: {letters}"));
    letters.bytes().map(one).collect()
}

impl Universe {
    fn parse(text: &str) -> Result<Self, String> {
        let mut universe = Self::default();
        for line in text.lines() {
            let mut words = line.splitn(5, ' ');
            let mut word = || words.next().ok_or_else(|| format!("too short: {line}"));
            let id = word()?;
            let id = Id::from_str_radix(id.trim_start_matches("0x"), 16)
                .map_err(|e| format!("{id}: {e}"))?;
            let interfaces = word()?.parse().map_err(|e| format!("{line}: {e}"))?;
            let (statics, instances) = (types(word()?)?, types(word()?)?);
            let name = word()?.to_owned();
            universe.classes.insert(id, Known { name, interfaces, statics, instances });
        }
        Ok(universe)
    }

    /// Returns the class's name, or its ID if the name is unknown.
    fn name(&self, class: Id) -> String {
        self.classes.get(&class).map_or_else(|| format!("{class:#x}"), |known| known.name.clone())
    }

    /// Returns the types of all fields of an instance. None if the class or a superclass is unknown, or if the class
    /// is its own superclass.
    fn fields(&self, mut class: Id) -> Option<Vec<Type>> {
        let (mut types, mut seen) = (Vec::new(), HashSet::new());
        while class != 0 {
            if !seen.insert(class) {
                return None;
            }
            types.extend(&self.classes.get(&class)?.instances);
            class = *self.superclasses.get(&class)?;
        }
        Some(types)
    }

    fn values(&self, types: Option<Vec<Type>>, level: Level, bytes: &[u8]) -> String {
        let told = types.map(|types| types.into_iter().filter(|t| level.has(*t)));
        match told.and_then(|types| Value::read_all(types, bytes)) {
            Some(values) => list(values.into_iter().map(|value| super::value::text(value.into()))),
            None => format!("{} bytes", bytes.len()),
        }
    }

    fn line(&self, record: &Record<'_>, level: Level) -> String {
        match record {
            Record::Root(root) => self::root(*root),
            Record::Class(class) => {
                let types = self.classes.get(&class.id).map(|known| known.statics.clone());
                format!(
                    "class {:#x} {} super={:#x} loader={:#x} signers={:#x} domain={:#x} size={} \
                     interfaces={} statics={}",
                    class.id,
                    self.name(class.id),
                    class.superclass,
                    class.loader,
                    class.signers,
                    class.protection_domain,
                    class.instance_size,
                    list(class.interfaces.iter().map(|id| format!("{id:#x}"))),
                    self.values(types, level, class.statics),
                )
            }
            Record::Instance { id, class, values } => {
                let values = self.values(self.fields(*class), level, values);
                format!("instance {id:#x} {} {values}", self.name(*class))
            }
            Record::Objects { id, class, elements } => {
                let elements = list(elements.iter().map(|id| format!("{id:#x}")));
                format!("array {id:#x} of {} {elements}", self.name(*class))
            }
            Record::Primitives { id, of_type, count, values } => {
                let types = level.has_primitives().then(|| vec![*of_type; *count as usize]);
                let values = self.values(types, level, values);
                format!("array {id:#x} of {count} {of_type:?} {values}")
            }
        }
    }
}

fn list(items: impl Iterator<Item = String>) -> String {
    format!("[{}]", items.collect::<Vec<_>>().join(" "))
}

fn root(root: Root) -> String {
    let in_frame = |kind: &str, object: Id, frame: Frame| {
        let number = frame.number.map_or("none".to_owned(), |number| number.to_string());
        format!("root {kind} {object:#x} thread={:#x} frame={number}", frame.thread)
    };
    match root {
        Root::Unknown(object) => format!("root unknown {object:#x}"),
        Root::JniGlobal { object, reference } => {
            format!("root jni_global {object:#x} reference={reference:#x}")
        }
        Root::JniLocal(object, frame) => in_frame("jni_local", object, frame),
        Root::JavaFrame(object, frame) => in_frame("java_frame", object, frame),
        Root::NativeStack { object, thread } => {
            format!("root native_stack {object:#x} thread={thread:#x}")
        }
        Root::StickyClass(object) => format!("root sticky_class {object:#x}"),
        Root::ThreadBlock { object, thread } => {
            format!("root thread {object:#x} thread={thread:#x}")
        }
        Root::MonitorUsed(object) => format!("root monitor {object:#x}"),
    }
}

fn print_records(
    dump: &[u8],
    level: Level,
    mut universe: Universe,
    out: &mut dyn Write,
) -> io::Result<()> {
    let superclasses = Records::new(dump, level, &universe)
        .filter_map(|record| match record {
            Ok(Record::Class(class)) => Some((class.id, class.superclass)),
            _ => None,
        })
        .collect();
    universe.superclasses = superclasses;
    for record in Records::new(dump, level, &universe) {
        writeln!(out, "{}", universe.line(&record.map_err(io::Error::other)?, level))?;
    }
    Ok(())
}

fn print_list(dump: &[u8], out: &mut dyn Write) -> io::Result<()> {
    for object in List::new(dump) {
        let object = object.map_err(io::Error::other)?;
        match object.elements {
            None => writeln!(out, "{:#x}", object.id)?,
            Some(of_type) => writeln!(out, "{:#x} array of {of_type:?}", object.id)?,
        }
    }
    Ok(())
}

fn print_monitors(dump: &[u8], out: &mut dyn Write) -> io::Result<()> {
    for monitor in Monitors::new(dump) {
        writeln!(out, "{:x?}", monitor.map_err(io::Error::other)?)?;
    }
    Ok(())
}

/// The kind of a saved dump.
#[derive(Clone, Copy, clap::ValueEnum)]
pub enum Kind {
    /// A heap dump of level 0: the objects
    #[value(name = "0")]
    List,
    /// A heap dump of level 1: the objects and their references
    #[value(name = "1")]
    References,
    /// A heap dump of level 2: the objects and all of their values
    #[value(name = "2")]
    Values,
    /// An object dump
    Object,
    /// A monitor dump
    Monitors,
}

/// Prints the dump in this file, one record per line, with the names and fields of classes from the
/// other file.
///
/// # Errors
/// Returns the fault of one of the files.
pub fn show(
    kind: Kind,
    dump: &Path,
    classes: Option<&Path>,
    out: &mut dyn Write,
) -> Result<(), String> {
    let error = |path: &Path, e: &io::Error| format!("{}: {e}", path.display());
    let content = fs::read(dump).map_err(|e| error(dump, &e))?;
    let universe = match classes {
        None => Universe::default(),
        Some(path) => Universe::parse(&fs::read_to_string(path).map_err(|e| error(path, &e))?)?,
    };
    let shown = match kind {
        Kind::List => print_list(&content, out),
        Kind::References => print_records(&content, Level::References, universe, out),
        Kind::Values | Kind::Object => print_records(&content, Level::Values, universe, out),
        Kind::Monitors => print_monitors(&content, out),
    };
    shown.map_err(|e| error(dump, &e))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn class_that_is_its_own_superclass_has_no_fields() {
        let mut universe = Universe::parse("0x10 0 - I A\n0x20 0 - JL B\n").unwrap();
        universe.superclasses = HashMap::from([(0x10, 0), (0x20, 0x10)]);
        assert_eq!(universe.fields(0x20).unwrap().len(), 3);
        universe.superclasses.insert(0x10, 0x20);
        assert!(universe.fields(0x20).is_none());
    }
}
