//! Counts the objects that a program allocates, by class, and prints a table when the program ends.
//!
//! ```text
//! java -agentpath:libjvmpi.so=./liballocations.so:top=20 Main
//! ```
//!
//! The option `top` sets the number of classes to print (default 10). Classes are sorted by the total size of
//! their objects:
//!
//! ```text
//! allocations: 3 of 512 classes, 81920 objects, 4194304 bytes
//!     bytes  objects  class
//!   2097152     1024  byte[]
//! ```
//!
//! The table has [`SHARDS`] parts, each with its own lock; the class ID selects the part. So threads rarely wait
//! for each other.

use jvmpi::*;
use std::cell::RefCell;
use std::collections::HashMap;
use std::io::{self, Write};

/// The kind of an allocated object: an instance of a class, or an array with elements of a type.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Kind {
    Instance(Option<ClassId>),
    Array(Type, Option<ClassId>),
}

#[derive(Clone, Copy, Default)]
struct Count {
    objects: u64,
    bytes: u64,
}

type Table = RefCell<HashMap<Kind, Count>>;

const SHARDS: usize = 16;

struct Allocations {
    top: usize,
    /// The names of the classes.
    names: RawMonitor<RefCell<HashMap<ClassId, String>>>,
    counts: [RawMonitor<Table>; SHARDS],
}

impl Agent for Allocations {
    fn load(jvmpi: &mut OnLoad, options: &str) -> Result<Self, LoadError> {
        let top = match options.split_once('=') {
            None if options.is_empty() => 10,
            Some(("top", number)) => {
                number.parse().map_err(|_| format!("top must be a number, not {number:?}"))?
            }
            _ => return Err(format!("unknown option {options:?}; use top=NUMBER").into()),
        };
        jvmpi.enable_all([EventType::ClassLoad, EventType::ObjectAlloc, EventType::JvmShutDown]);
        Ok(Self {
            top,
            names: RawMonitor::new(jvmpi, c"_names", RefCell::default()),
            counts: std::array::from_fn(|_| RawMonitor::new(jvmpi, c"_counts", RefCell::default())),
        })
    }

    fn class_load(&self, jvmpi: &mut GcDisabled<'_>, class: ClassLoad<'_>) {
        let name = class.name().to_str().into_owned();
        self.names.enter(jvmpi).borrow_mut().insert(class.class(), name);
    }

    fn object_alloc(&self, jvmpi: &mut GcDisabled<'_>, alloc: ObjectAlloc) {
        let kind = match alloc.elements() {
            None => Kind::Instance(alloc.class()),
            Some(elements) => Kind::Array(elements, alloc.class()),
        };
        let shard = alloc.class().map_or(0, |class| class.as_usize() / 16 % SHARDS);
        let counts = self.counts[shard].enter(jvmpi);
        let mut counts = counts.borrow_mut();
        let count = counts.entry(kind).or_default();
        count.objects += 1;
        count.bytes += u64::from(alloc.size());
    }

    fn jvm_shut_down(&self, jvmpi: &mut MultiThreaded<'_>) {
        let mut counts = Vec::new();
        for shard in &self.counts {
            counts.extend(shard.enter(jvmpi).borrow().iter().map(|(kind, count)| (*kind, *count)));
        }
        counts.sort_by_key(|(_, count)| std::cmp::Reverse((count.bytes, count.objects)));
        let names = self.names.enter(jvmpi);
        // A failed write to stderr cannot be reported anywhere.
        let _ = print(&counts, self.top, |kind| kind.name(&names.borrow()));
    }
}

impl Kind {
    fn name(self, names: &HashMap<ClassId, String>) -> String {
        let name = |class: Option<ClassId>| {
            class.and_then(|class| names.get(&class)).map_or("?", String::as_str)
        };
        match self {
            Self::Instance(class) => name(class).to_owned(),
            Self::Array(Type::Reference, class) => format!("{}[]", name(class)),
            Self::Array(elements, _) => format!("{elements:?}[]").to_lowercase(),
        }
    }
}

fn print(
    counts: &[(Kind, Count)],
    top: usize,
    name: impl Fn(Kind) -> String,
) -> Result<(), io::Error> {
    let mut out = io::stderr().lock();
    let objects: u64 = counts.iter().map(|(_, count)| count.objects).sum();
    let bytes: u64 = counts.iter().map(|(_, count)| count.bytes).sum();
    let (shown, all) = (top.min(counts.len()), counts.len());
    writeln!(out, "allocations: {shown} of {all} classes, {objects} objects, {bytes} bytes")?;
    writeln!(out, "{:>12} {:>10}  class", "bytes", "objects")?;
    for (kind, Count { objects, bytes }) in &counts[..shown] {
        writeln!(out, "{bytes:>12} {objects:>10}  {}", name(*kind))?;
    }
    Ok(())
}

export_agent!(Allocations);
