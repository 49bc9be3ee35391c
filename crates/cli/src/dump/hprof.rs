//! Prints the dumps in an HPROF file.

use jvmpi_formats::profile::heap::{
    Class, Elements, Field, Instance, Objects, Place, Primitives, Record, Root, RootKind,
};
use jvmpi_formats::profile::{
    self, Amount, Frame, HeapDump, Line, Method, Monitor, MonitorDump, MonitorStatus, ObjectId,
    Profile, Section, ThreadSerial, ThreadState, ThreadStatus, Time, TraceSerial, Type, qualified,
};
use std::collections::HashMap;
use std::io::{self, Write};

/// Prints all dumps, one record per line. With a class, prints only the objects of that class.
pub fn records(file: &profile::File, class: Option<&str>, out: &mut dyn Write) -> io::Result<()> {
    for section in &file.profile().sections {
        match section {
            Section::HeapDump(dump) => {
                writeln!(out, "heap dump{}", at(dump.at))?;
                file.heap(dump).records::<io::Error>(|record| {
                    if class.is_none_or(|name| class_of(record).as_deref() == Some(name)) {
                        show(record, out)?;
                    }
                    Ok(())
                })?;
            }
            Section::MonitorDump(dump) if class.is_none() => monitors(file.profile(), dump, out)?,
            _ => {}
        }
    }
    Ok(())
}

/// Prints the number and the bytes of the objects of each class, for each heap dump, largest first.
pub fn histograms(
    file: &profile::File,
    class: Option<&str>,
    out: &mut dyn Write,
) -> io::Result<()> {
    for dump in file.profile().heap_dumps() {
        writeln!(out, "heap dump{}", at(dump.at))?;
        histogram(file, dump, class, out)?;
    }
    Ok(())
}

fn histogram(
    file: &profile::File,
    dump: &HeapDump,
    class: Option<&str>,
    out: &mut dyn Write,
) -> io::Result<()> {
    // The key has the class's ID, so that each name is created only once.
    let mut by_class: HashMap<(ObjectId, bool, Option<Type>), Row> = HashMap::new();
    file.heap(dump).records::<io::Error>(|record| {
        let key = match record {
            Record::Instance(Instance { class, .. }) => (*class, false, None),
            Record::Objects(Objects { class, .. }) => (*class, true, None),
            Record::Primitives(Primitives { of_type, .. }) => (ObjectId(0), true, Some(*of_type)),
            Record::Root(_) | Record::Class(_) => return Ok(()),
        };
        let new = || Row { class: class_of(record).unwrap_or_default(), ..Row::default() };
        let row = by_class.entry(key).or_insert_with(new);
        row.objects.instances += 1;
        row.objects.bytes += record.object_size().unwrap_or(0);
        Ok(())
    })?;
    let mut rows: Vec<_> = by_class.into_values().collect();
    rows.retain(|row| class.is_none_or(|class| class == row.class));
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

fn at(time: Option<Time>) -> String {
    time.map_or_else(String::new, |time| format!(" of {}", time.to_text()))
}

/// Returns the object's class, by its name in Java.
fn class_of(record: &Record<'_>) -> Option<String> {
    match record {
        Record::Root(_) => None,
        Record::Class(_) => Some("java.lang.Class".into()),
        Record::Instance(Instance { class, class_name, .. }) => Some(named(class_name, *class)),
        Record::Objects(array) => Some(array.type_name()),
        Record::Primitives(Primitives { of_type, .. }) => Some(format!("{}[]", of_type.name())),
    }
}

fn named(name: &str, id: ObjectId) -> String {
    if name.is_empty() { format!("{:#x}", id.0) } else { name.to_owned() }
}

fn show(record: &Record<'_>, out: &mut dyn Write) -> io::Result<()> {
    match record {
        Record::Root(Root { object, kind }) => {
            write!(out, "root {:#x} ", object.0)?;
            root(kind, out)?;
        }
        Record::Class(class) => self::class(class, out)?,
        Record::Instance(Instance { id, class, class_name, size, trace, fields }) => {
            write!(out, "instance {:#x} {} size={size}", id.0, named(class_name, *class))?;
            write!(out, " trace={}", trace.0)?;
            self::fields(" ", fields, out)?;
        }
        Record::Objects(array) => {
            let name = class_of(record).unwrap_or_default();
            let length = array.elements.length();
            write!(out, "array {:#x} {name} size={} length={length}", array.id.0, array.size)?;
            write!(out, " trace={}", array.trace.0)?;
            elements(array.elements, out)?;
        }
        Record::Primitives(Primitives { id, of_type, size, length, trace, .. }) => {
            let name = of_type.name();
            write!(
                out,
                "array {:#x} {name}[] size={size} length={length} trace={}",
                id.0, trace.0
            )?;
        }
    }
    writeln!(out)
}

fn root(kind: &RootKind<'_>, out: &mut dyn Write) -> io::Result<()> {
    let place = |Place { thread, frame }: &Place| {
        let frame = frame.map_or("none".to_owned(), |frame| frame.to_string());
        format!("thread={} frame={frame}", thread.0)
    };
    match kind {
        RootKind::Unknown => write!(out, "unknown"),
        RootKind::JniGlobal { reference, trace } => {
            write!(out, "jni_global reference={reference:#x} trace={}", trace.0)
        }
        RootKind::JniLocal(at) => write!(out, "jni_local {}", place(at)),
        RootKind::JavaFrame(at) => write!(out, "java_frame {}", place(at)),
        RootKind::NativeStack(thread) => write!(out, "native_stack thread={}", thread.0),
        RootKind::StickyClass { name } => write!(out, "sticky_class {name}"),
        RootKind::ThreadBlock(thread) => write!(out, "thread_block thread={}", thread.0),
        RootKind::MonitorUsed => write!(out, "monitor_used"),
        RootKind::ThreadObject { thread, trace } => {
            write!(out, "thread_object thread={} trace={}", thread.0, trace.0)
        }
    }
}

fn class(class: &Class<'_>, out: &mut dyn Write) -> io::Result<()> {
    write!(
        out,
        "class {:#x} {} super={:#x} loader={:#x} signers={:#x} domain={:#x} size={} trace={}",
        class.id.0,
        named(class.name, class.id),
        class.superclass.0,
        class.loader.0,
        class.signers.0,
        class.protection_domain.0,
        class.instance_size,
        class.trace.0
    )?;
    fields(" statics=", class.statics, out)
}

fn fields(before: &str, fields: &[Field<'_>], out: &mut dyn Write) -> io::Result<()> {
    write!(out, "{before}[")?;
    for (i, Field { name, value }) in fields.iter().enumerate() {
        write!(out, "{}{name}={}", if i == 0 { "" } else { " " }, super::value::text(*value))?;
    }
    write!(out, "]")
}

fn elements(elements: Elements<'_>, out: &mut dyn Write) -> io::Result<()> {
    write!(out, " [")?;
    for (i, (index, id)) in elements.iter().enumerate() {
        write!(out, "{}{index}:{:#x}", if i == 0 { "" } else { " " }, id.0)?;
    }
    write!(out, "]")
}

fn monitors(profile: &Profile, dump: &MonitorDump, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "monitor dump")?;
    for ThreadStatus { thread, trace, state, suspended, interrupted } in &dump.threads {
        let state = match state {
            ThreadState::Runnable => "runnable",
            ThreadState::MonitorWait => "waits to enter a monitor",
            ThreadState::CondVarWait => "waits to be notified",
        };
        let suspended = if *suspended { ", suspended" } else { "" };
        let interrupted = if *interrupted { ", interrupted" } else { "" };
        writeln!(
            out,
            "thread {}: {state}{suspended}{interrupted}",
            self::thread(profile, *thread)
        )?;
        stack(profile, *trace, out)?;
    }
    for MonitorStatus { monitor, owner, entry_count, waiting_to_enter, waiting_to_be_notified } in
        &dump.monitors
    {
        let name = match monitor {
            Monitor::Java { object, class } => {
                format!("{}({:#x})", profile.names.get(*class), object.0)
            }
            Monitor::Raw { id, name } => {
                format!("raw monitor \"{}\"({:#x})", profile.names.get(*name), id.0)
            }
        };
        write!(out, "monitor {name}: ")?;
        match owner {
            None => write!(out, "nobody owns it")?,
            Some(owner) => {
                write!(out, "owned by {}, entered {entry_count} times", thread(profile, *owner))?;
            }
        }
        let threads = |threads: &[ThreadSerial]| {
            threads.iter().map(|serial| thread(profile, *serial)).collect::<Vec<_>>().join(", ")
        };
        if !waiting_to_enter.is_empty() {
            write!(out, "; wait to enter: {}", threads(waiting_to_enter))?;
        }
        if !waiting_to_be_notified.is_empty() {
            write!(out, "; wait to be notified: {}", threads(waiting_to_be_notified))?;
        }
        writeln!(out)?;
    }
    Ok(())
}

fn thread(profile: &Profile, serial: ThreadSerial) -> String {
    profile.threads.get(&serial).map_or_else(
        || format!("{}", serial.0),
        |thread| format!("{} \"{}\"", serial.0, profile.names.get(thread.name)),
    )
}

fn stack(profile: &Profile, trace: TraceSerial, out: &mut dyn Write) -> io::Result<()> {
    let frames = profile.traces.frames_of(trace);
    for (Frame { line, .. }, Method { class, name, source, .. }) in
        frames.iter().filter_map(|frame| profile.frame(frame))
    {
        let [class, name, source] = [class, name, source].map(|name| profile.names.get(name));
        let name = qualified(class, name);
        let source = if source.is_empty() { "Unknown Source" } else { source };
        match line {
            Line::Number(line) => writeln!(out, "    {name}({source}:{line})")?,
            Line::Native => writeln!(out, "    {name}(Native Method)")?,
            Line::Compiled | Line::Unknown => writeln!(out, "    {name}({source})")?,
        }
    }
    Ok(())
}
