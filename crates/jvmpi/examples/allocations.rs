//! Counts the objects that a program allocates, by class, and prints the table when it ends.
//!
//! ```text
//! java -agentpath:libjvmpi.so=./liballocations.so:top=20 Main
//! ```
//!
//! The option `top` is how many classes are printed, 10 unless it is given. The classes are sorted by the
//! bytes that their objects took:
//!
//! ```text
//! allocations: 3 of 512 classes, 81920 objects, 4194304 bytes
//!     bytes  objects  class
//!   2097152     1024  byte[]
//! ```
//!
//! An allocation costs the lock of one of [`SHARDS`] parts of the table, each with the classes whose IDs
//! belong to it, so that threads seldom meet.

use jvmpi::*;
use std::cell::RefCell;
use std::collections::HashMap;
use std::io::{self, Write};

/// What is allocated: a class, or the elements of an array.
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
    /// By ID.
    names: RawMonitor<RefCell<HashMap<ClassId, String>>>,
    counts: [RawMonitor<Table>; SHARDS],
}

impl Agent for Allocations {
    fn load(jvmpi: &mut OnLoad, options: &str) -> Result<Self, LoadError> {
        let top = match options.split_once('=') {
            None if options.is_empty() => 10,
            Some(("top", number)) => {
                number.parse().map_err(|_| format!("top is a number, not {number:?}"))?
            }
            _ => return Err(format!("no such option: {options:?}; there is top=NUMBER").into()),
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
        // There is nobody left to tell that it failed.
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
