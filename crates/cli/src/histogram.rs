//! `jvmpi histogram`: the number of objects in heap dumps and their bytes, by class.

use crate::convert::open;
use crate::failure::Failure;
use crate::output::Printable;
use jvmpi_formats::profile::heap::{Instance, Objects, Primitives, Record};
use jvmpi_formats::profile::{Amount, File, HeapDump, ObjectId, Type};
use std::collections::HashMap;
use std::io::{self, BufWriter, Write};
use std::path::PathBuf;
use std::process::ExitCode;

/// Print the number of objects of each class in heap dumps, and their bytes
///
/// The file is an HPROF file, text or binary, also one of another tool such as jcmd GC.heap_dump.
#[derive(clap::Args)]
#[command(after_help = "Example: jvmpi histogram java.hprof")]
pub struct Arguments {
    /// The file
    file: PathBuf,
}

/// `jvmpi histogram`.
pub fn histogram(Arguments { file: path }: &Arguments) -> Result<ExitCode, Failure> {
    let failed = |error: io::Error| format!("{}: {error}", path.display());
    let mut out = Printable(BufWriter::new(io::stdout().lock()));
    let file = open(path)?;
    for dump in file.profile().heap_dumps() {
        print(&file, dump, &mut out).map_err(failed)?;
    }
    out.flush().map_err(failed)?;
    match file.problem() {
        Some(problem) => Err(format!("{}: {problem}", path.display()).into()),
        None if file.profile().heap_dumps().next().is_none() => {
            Err(format!("{}: there is no heap dump in it", path.display()).into())
        }
        None => Ok(ExitCode::SUCCESS),
    }
}

/// Prints the classes of a heap dump, the largest first.
fn print(file: &File, dump: &HeapDump, out: &mut dyn Write) -> io::Result<()> {
    let time = dump.at.map_or_else(String::new, |time| format!(" of {}", time.to_text()));
    writeln!(out, "heap dump{time}")?;
    // The key has the class's ID, so that each name is created only once.
    let mut by_class: HashMap<(ObjectId, bool, Option<Type>), Row> = HashMap::new();
    file.heap(dump).records::<io::Error>(|record| {
        let key = match record {
            Record::Instance(Instance { class, .. }) => (*class, false, None),
            Record::Objects(Objects { class, .. }) => (*class, true, None),
            Record::Primitives(Primitives { of_type, .. }) => (ObjectId(0), true, Some(*of_type)),
            Record::Root(_) | Record::Class(_) => return Ok(()),
        };
        let new = || Row { class: class_of(record), ..Row::default() };
        let row = by_class.entry(key).or_insert_with(new);
        row.objects.instances += 1;
        row.objects.bytes += record.object_size().unwrap_or(0);
        Ok(())
    })?;
    let mut rows: Vec<_> = by_class.into_values().collect();
    rows.sort_by(|a, b| b.objects.bytes.cmp(&a.objects.bytes).then_with(|| a.class.cmp(&b.class)));
    let mut all = Amount::default();
    writeln!(out, "{:>12} {:>15}  class", "objects", "bytes")?;
    for Row { class, objects: Amount { bytes, instances } } in &rows {
        writeln!(out, "{instances:>12} {bytes:>15}  {class}")?;
        all.bytes += bytes;
        all.instances += instances;
    }
    writeln!(out, "{:>12} {:>15}  in all", all.instances, all.bytes)
}

/// A class in a histogram.
#[derive(Default)]
struct Row {
    class: String,
    objects: Amount,
}

/// Returns the object's class, by its name in Java, or by its ID if the file has no name.
fn class_of(record: &Record<'_>) -> String {
    match record {
        Record::Instance(Instance { class, class_name: "", .. }) => format!("{:#x}", class.0),
        Record::Instance(Instance { class_name, .. }) => (*class_name).to_owned(),
        Record::Objects(array) => array.type_name(),
        Record::Primitives(Primitives { of_type, .. }) => format!("{}[]", of_type.name()),
        Record::Root(_) | Record::Class(_) => String::new(),
    }
}
