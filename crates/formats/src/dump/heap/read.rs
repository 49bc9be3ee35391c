//! Reads heap and object dumps.

use super::{Class, Constant, Frame, Ids, Listed, Record, Root};
use crate::dump::cursor::{self, Cursor, Malformed, Reason};
use crate::dump::{Id, Level, Type, Value};
use crate::heap_tag::{self as tag, NO_FRAME};

/// The part of a class's CLASS_LOAD event that a reader needs because dumps omit it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Shape<'a> {
    /// The number of direct interfaces.
    pub interfaces: usize,
    /// The types of the static fields.
    pub statics: &'a [Type],
}

/// The classes known to the reader of a dump.
pub trait Classes {
    /// Returns the shape of the class with this ID, if it is known.
    fn shape(&self, class: Id) -> Option<Shape<'_>>;
}

/// Returns the objects in a dump of level 0.
pub fn read_list(dump: &[u8]) -> impl Iterator<Item = Result<Listed, Malformed>> {
    cursor::records(dump, |cursor| {
        let elements = match cursor.u1()? {
            0 => None,
            code => Some(of_type(code)?),
        };
        Ok(Listed { elements, id: cursor.id()? })
    })
}

/// Returns the records in a dump of level 1 or 2, or the single record in an object dump.
pub fn read_records<'a>(
    dump: &'a [u8],
    level: Level,
    classes: &'a impl Classes,
) -> impl Iterator<Item = Result<Record<'a>, Malformed>> {
    cursor::records(dump, move |cursor| record(cursor, level, classes))
}

fn of_type(code: u8) -> Result<Type, Reason> {
    Type::from_code(code).ok_or_else(|| format!("unknown type code {code}"))
}

fn frame(cursor: &mut Cursor<'_>) -> Result<Frame, Reason> {
    let thread = cursor.id()?;
    let number = Some(cursor.u4()?).filter(|number| *number != NO_FRAME);
    Ok(Frame { thread, number })
}

fn record<'a>(
    cursor: &mut Cursor<'a>,
    level: Level,
    classes: &impl Classes,
) -> Result<Record<'a>, Reason> {
    let kind = cursor.u1()?;
    let id = cursor.id()?;
    Ok(match kind {
        tag::ROOT_UNKNOWN => Record::Root(Root::Unknown(id)),
        tag::ROOT_JNI_GLOBAL => {
            Record::Root(Root::JniGlobal { object: id, reference: cursor.id()? })
        }
        tag::ROOT_JNI_LOCAL => Record::Root(Root::JniLocal(id, frame(cursor)?)),
        tag::ROOT_JAVA_FRAME => Record::Root(Root::JavaFrame(id, frame(cursor)?)),
        tag::ROOT_NATIVE_STACK => {
            Record::Root(Root::NativeStack { object: id, thread: cursor.id()? })
        }
        tag::ROOT_STICKY_CLASS => Record::Root(Root::StickyClass(id)),
        tag::ROOT_THREAD_BLOCK => {
            Record::Root(Root::ThreadBlock { object: id, thread: cursor.id()? })
        }
        tag::ROOT_MONITOR_USED => Record::Root(Root::MonitorUsed(id)),
        tag::CLASS_DUMP => Record::Class(class(cursor, id, level, classes)?),
        tag::INSTANCE_DUMP => {
            let class = cursor.id()?;
            let length = cursor.u4()? as usize;
            Record::Instance { id, class, values: cursor.bytes(length)? }
        }
        tag::OBJ_ARRAY_DUMP => {
            let count = cursor.u4()? as usize;
            let class = cursor.id()?;
            Record::Objects { id, class, elements: Ids::new(cursor.ids(count)?) }
        }
        tag::PRIM_ARRAY_DUMP => {
            let count = cursor.u4()?;
            let of_type = of_type(cursor.u1()?)?;
            if of_type == Type::Reference {
                return Err("array of a primitive type has references as elements".to_owned());
            }
            let length = if level.has_primitives() {
                (count as usize).checked_mul(of_type.width()).ok_or("too many elements")?
            } else {
                0
            };
            Record::Primitives { id, of_type, count, values: cursor.bytes(length)? }
        }
        other => return Err(format!("unknown record tag {other:#x}")),
    })
}

fn class<'a>(
    cursor: &mut Cursor<'a>,
    id: Id,
    level: Level,
    classes: &impl Classes,
) -> Result<Class<'a>, Reason> {
    let shape = classes.shape(id).ok_or_else(|| format!("unknown class {id:#x}"))?;
    let (superclass, loader, signers) = (cursor.id()?, cursor.id()?, cursor.id()?);
    let (protection_domain, name, _reserved) = (cursor.id()?, cursor.id()?, cursor.id()?);
    let instance_size = cursor.u4()?;
    let interfaces = Ids::new(cursor.ids(shape.interfaces)?).iter().collect();
    let mut constants = Vec::new();
    for _ in 0..cursor.u2()? {
        let index = cursor.u2()?;
        let of_type = of_type(cursor.u1()?)?;
        let (value, _) = Value::read(of_type, cursor.bytes(of_type.width())?)
            .expect("the cursor returned as many bytes as the type has");
        constants.push(Constant { index, value });
    }
    let written = shape.statics.iter().filter(|of_type| level.has(**of_type));
    let length = written.map(|of_type| of_type.width()).sum();
    Ok(Class {
        id,
        superclass,
        loader,
        signers,
        protection_domain,
        name,
        instance_size,
        interfaces,
        constants,
        statics: cursor.bytes(length)?,
    })
}
