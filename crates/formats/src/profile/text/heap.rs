//! Reads the records of heap dumps.

use super::lines::{Lines, Words};
use crate::profile::error::Error;
use crate::profile::heap::{
    Class, Constant, Elements, Field, Instance, Objects, Place, Primitives, Record, Root, RootKind,
};
use crate::profile::model::{HeapDump, ObjectId, ThreadSerial, TraceSerial, Type, Value};
use std::borrow::Cow;

/// Reads the records of one heap dump.
#[derive(Debug)]
pub struct HeapReader<'a> {
    bytes: &'a [u8],
    dump: &'a HeapDump,
}

impl<'a> HeapReader<'a> {
    pub fn new(bytes: &'a [u8], dump: &'a HeapDump) -> Self {
        Self { bytes, dump }
    }

    /// Passes each record.
    pub fn records<E: From<Error>>(
        &self,
        each: &mut impl FnMut(&Record<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let place = |at: u64| usize::try_from(at).unwrap_or(usize::MAX);
        let mut below = Vec::new();
        for part in &self.dump.parts {
            let mut lines = Lines::new(self.bytes).part(place(part.start), place(part.end));
            while let Some(line) = lines.next() {
                let head = lines;
                below.clear();
                while let Some(line) = lines.peek().filter(|line| line.starts_with('\t')) {
                    lines.next();
                    below.push(line);
                }
                let known = record(&line, &below, |record| each(record));
                known.unwrap_or_else(|| {
                    let start: String = line.chars().take(60).collect();
                    Err(E::from(head.error(format!("this is no record of a heap dump: {start:?}"))))
                })?;
            }
        }
        Ok(())
    }
}

/// Passes the record of a line and of those below it. None if they are none.
fn record<T>(line: &str, below: &[Cow<'_, str>], each: impl FnOnce(&Record<'_>) -> T) -> Option<T> {
    let (kind, rest) = line.split_once(' ')?;
    let mut words = Words(rest.strip_suffix(')')?);
    let id = ObjectId(words.hex()?);
    words.text(" (")?;
    match kind {
        "ROOT" => Some(each(&Record::Root(Root { object: id, kind: root(words)? }))),
        "CLS" => {
            words.text("name=")?;
            let name = words.until_last(", trace=")?;
            let mut class =
                Class { id, trace: TraceSerial(words.digits()?), name, ..Class::default() };
            let mut constants = Vec::new();
            let mut statics = Vec::new();
            for line in below {
                let (name, object) = field(line)?;
                if let Some(name) = name.strip_prefix("static ") {
                    statics.push(Field { name, value: Value::Reference(object) });
                } else if let Some(index) = name
                    .strip_prefix("constant pool entry ")
                    .or_else(|| name.strip_prefix("constant[")?.strip_suffix(']'))
                {
                    let index = index.parse().ok()?;
                    constants.push(Constant { index, value: Value::Reference(object) });
                } else {
                    *match name {
                        "super" => &mut class.superclass,
                        "loader" => &mut class.loader,
                        "signers" => &mut class.signers,
                        "domain" => &mut class.protection_domain,
                        _ => return None,
                    } = object;
                }
            }
            class.constants = &constants;
            class.statics = &statics;
            Some(each(&Record::Class(class)))
        }
        "OBJ" => {
            let (size, trace) = size_and_trace(&mut words)?;
            words.text("class=")?;
            let (class_name, class) = class(words.0)?;
            let mut fields = Vec::with_capacity(below.len());
            for line in below {
                let (name, object) = field(line)?;
                fields.push(Field { name, value: Value::Reference(object) });
            }
            let fields = &fields[..];
            Some(each(&Record::Instance(Instance { id, trace, class, class_name, size, fields })))
        }
        "ARR" => {
            let (size, trace) = size_and_trace(&mut words)?;
            words.text("nelems=")?;
            let length = words.digits()?;
            words.text(", elem type=")?;
            // JVMPI's HPROF names the elements, JVMTI's the array.
            let of = words.0.strip_suffix("[]").unwrap_or(words.0);
            let primitive = |of_type: &Type| *of_type != Type::Reference && of_type.name() == of;
            if let Some(of_type) = Type::ALL.into_iter().find(primitive) {
                let values = &[];
                let array = Primitives { id, trace, of_type, size, length, values };
                return below.is_empty().then(|| each(&Record::Primitives(array)));
            }
            let (class_name, class) = class(words.0)?;
            let mut elements = Vec::with_capacity(below.len());
            for line in below {
                let (index, object) = field(line)?;
                let index = index.strip_prefix('[')?.strip_suffix(']')?.parse().ok()?;
                // They come in their order.
                let after = elements.last().is_none_or(|(last, _)| *last < index);
                (after && index < length).then_some(())?;
                elements.push((index, object));
            }
            let elements = Elements::NotNull { length, elements: &elements };
            // JVMTI's HPROF has the class of the array, with brackets.
            let (class_name, class, array_class) = match class_name.strip_suffix("[]") {
                Some(elements) => (elements, ObjectId(0), class),
                None => (class_name, class, ObjectId(0)),
            };
            Some(each(&Record::Objects(Objects {
                id,
                trace,
                class,
                class_name,
                array_class,
                size,
                elements,
            })))
        }
        _ => None,
    }
}

/// `sz=N, trace=N, `
fn size_and_trace(words: &mut Words<'_>) -> Option<(u64, TraceSerial)> {
    words.text("sz=")?;
    let size = words.digits()?;
    words.text(", trace=")?;
    let trace = TraceSerial(words.digits()?);
    words.text(", ")?;
    Some((size, trace))
}

/// `name@hex`
fn class(text: &str) -> Option<(&str, ObjectId)> {
    let (name, object) = text.rsplit_once('@')?;
    Some((name, ObjectId(u64::from_str_radix(object, 16).ok()?)))
}

/// A tab, what refers, one or two tabs, the object.
fn field(line: &str) -> Option<(&str, ObjectId)> {
    let (name, object) = line.strip_prefix('\t')?.rsplit_once('\t')?;
    let object = ObjectId(u64::from_str_radix(object, 16).ok()?);
    Some((name.strip_suffix('\t').unwrap_or(name), object))
}

/// Returns the contents of a root's parentheses.
fn root(mut words: Words<'_>) -> Option<RootKind<'_>> {
    words.text("kind=<")?;
    let kind = words.until(">")?;
    let thread = |words: &mut Words<'_>| {
        words.text(", thread=")?;
        words.digits().map(ThreadSerial)
    };
    let trace = |words: &mut Words<'_>| {
        words.text(", trace=")?;
        words.digits().map(TraceSerial)
    };
    let place = |words: &mut Words<'_>| {
        let thread = thread(words)?;
        words.text(", frame=")?;
        // The original writes -1 for none.
        let frame = match words.text("-1") {
            Some(()) => None,
            None => words.digits().map(Some)?,
        };
        Some(Place { thread, frame })
    };
    let kind = match kind {
        "unknown" => RootKind::Unknown,
        "thread" => {
            words.text(", id=")?;
            let thread = ThreadSerial(words.digits()?);
            RootKind::ThreadObject { thread, trace: trace(&mut words)? }
        }
        "JNI global ref" => {
            words.text(", id=")?;
            let reference = words.hex()?;
            RootKind::JniGlobal { reference, trace: trace(&mut words)? }
        }
        "JNI local ref" => RootKind::JniLocal(place(&mut words)?),
        "Java stack" => RootKind::JavaFrame(place(&mut words)?),
        "native stack" => RootKind::NativeStack(thread(&mut words)?),
        "system class" => {
            words.text(", name=")?;
            return Some(RootKind::StickyClass { name: words.0 });
        }
        "thread block" => RootKind::ThreadBlock(thread(&mut words)?),
        "busy monitor" => RootKind::MonitorUsed,
        _ => return None,
    };
    words.end()?;
    Some(kind)
}
