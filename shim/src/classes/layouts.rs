//! The positions of a class's fields in dumps. Dumps use the order of CLASS_LOAD; JVMTI's walk through the heap
//! identifies fields by indices of its own.

use crate::classes;
use crate::records::class::{self, Class, Instances};
use jni_sys::{jclass, jint};
use jvm::lock::Map;
use jvm::types::{JVMTI_ERROR_CLASS_NOT_PREPARED, JVMTI_ERROR_INTERNAL};
use jvm::{Error, FieldId, Jni, Result};
use jvmpi_formats::dump::{Class as ClassRecord, Id, Level, Type};
use jvmpi_sys::jobjectID;
use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

/// The data about a class and its objects that dumps need.
pub struct Layout {
    superclass: Id,
    /// The direct interfaces, in the order of CLASS_LOAD.
    interfaces: Vec<Id>,
    /// The fields of its objects, with inherited ones. An array class has none.
    pub instances: Fields,
    pub statics: Fields,
    /// The fields that it declares.
    own: Vec<Own>,
    parent: Option<Arc<Self>>,
    /// All interfaces, direct and inherited, with the number of their fields.
    all_interfaces: BTreeMap<Id, usize>,
}

/// A field; None if JVMTI counts it but does not describe it.
type Own = Option<Declared>;

struct Declared {
    field: FieldId,
    of_type: Type,
    is_static: bool,
}

/// The layouts, by the IDs of their classes.
static LAYOUTS: LazyLock<Map<usize, Arc<Layout>>> = LazyLock::new(Map::new);

/// The JDK classes whose first field JVMTI hides.
const FIRST_FIELD_HIDDEN: [&[u8]; 2] = [
    b"Ljdk/internal/reflect/ConstantPool;",
    b"Ljdk/internal/reflect/UnsafeStaticFieldAccessorImpl;",
];

/// Returns the layout of a class, if [`of`] has created it.
pub fn known(class: &Class) -> Option<Arc<Layout>> {
    LAYOUTS.get(class.id().addr())
}

/// Returns the layout of a class, which is created at the first request.
///
/// # Errors
/// `JVMTI_ERROR_CLASS_NOT_PREPARED` if the class is not linked.
pub fn of(jni: Jni, class: &Class, object: jclass) -> Result<Arc<Layout>> {
    if let Some(known) = known(class) {
        return Ok(known);
    }
    if !class::is_ready(object) {
        return Err(Error(JVMTI_ERROR_CLASS_NOT_PREPARED));
    }
    let new = jni.frame(64, |jni| Layout::new(jni, object))?;
    Ok(LAYOUTS.get_or_insert(class.id().addr(), Arc::new(new)))
}

/// Returns the class with its layout, after linking it if necessary.
pub fn readable(
    jni: Jni,
    class: Arc<Class>,
    object: jclass,
) -> std::result::Result<(Arc<Class>, Arc<Layout>), String> {
    if known(&class).is_none() && !class::is_ready(object) {
        classes::link(jni, object);
    }
    let layout = of(jni, &class, object).map_err(|error| {
        let name = class.name(jvmpi_settings::Names::Dot);
        format!("class {name:?} cannot be read: {error}")
    })?;
    Ok((class, layout))
}

/// Drops the layout of an unloaded class.
pub fn forget(class: jobjectID) {
    LAYOUTS.remove(class.addr());
}

/// Returns the type of the elements of an array class; None for other classes.
pub fn elements(class: &Class) -> Option<Type> {
    match class.instances() {
        Instances::Classes | Instances::Objects(_) => None,
        Instances::References(_) => Some(Type::Reference),
        Instances::Primitives(code) => Type::from_code(*code as u8),
    }
}

/// Values in the order of a dump.
#[derive(Default)]
pub struct Fields {
    /// JVMTI's index of the first slot.
    first: usize,
    slots: Vec<Slot>,
    /// The size in bytes of all references, and of all values.
    references: usize,
    values: usize,
}

/// The offsets of a field's value at both dump levels. Level 1 has references only.
#[derive(Clone, Copy)]
struct Slot {
    at_level_1: u32,
    at_level_2: u32,
    field: Option<(FieldId, Type)>,
}

const NOWHERE: Slot = Slot { at_level_1: 0, at_level_2: 0, field: None };

impl Fields {
    /// Returns the size of the values in bytes.
    pub fn length(&self, level: Level) -> usize {
        if level.has_primitives() { self.values } else { self.references }
    }

    /// Returns the offset of the value of the field with JVMTI's index. None if there is no such
    /// field, or if its type is different.
    #[inline]
    pub fn offset(&self, index: jint, of_type: Type, level: Level) -> Option<usize> {
        let slot = self.slots.get((index as usize).checked_sub(self.first)?)?;
        let offset = if level.has_primitives() { slot.at_level_2 } else { slot.at_level_1 };
        slot.field.is_some_and(|(_, t)| t == of_type).then_some(offset as usize)
    }

    /// Returns true if there is a field with this index.
    pub fn has(&self, index: jint) -> bool {
        let slot = (index as usize).checked_sub(self.first).and_then(|i| self.slots.get(i));
        slot.is_some_and(|slot| slot.field.is_some())
    }

    /// Returns all fields, each with the offset of its value at level 2.
    pub fn iter(&self) -> impl Iterator<Item = (FieldId, Type, usize)> {
        let field = |slot: &Slot| {
            slot.field.map(|(field, of_type)| (field, of_type, slot.at_level_2 as usize))
        };
        self.slots.iter().filter_map(field)
    }

    /// Assigns offsets to the fields in these slots.
    fn place(&mut self, fields: impl Iterator<Item = (usize, FieldId, Type)>) {
        for (slot, field, of_type) in fields {
            self.slots[slot] = Slot {
                at_level_1: self.references as u32,
                at_level_2: self.values as u32,
                field: Some((field, of_type)),
            };
            self.values += of_type.width();
            if of_type == Type::Reference {
                self.references += of_type.width();
            }
        }
    }
}

impl Layout {
    /// Creates the layout of a linked class.
    fn new(jni: Jni, class: jclass) -> Result<Self> {
        let of_another = |class| {
            let record = classes::of(jni, class)?;
            Ok((record.id().addr(), of(jni, &record, class)?))
        };
        let superclass = jni.superclass(class);
        let (superclass, parent) = match superclass.is_null() {
            true => (0, None),
            false => of_another(superclass).map(|(id, layout)| (id, Some(layout)))?,
        };
        let interfaces = jvm::get().jvmti.interfaces(class)?;
        let interfaces = interfaces.iter().map(|i| of_another(*i)).collect::<Result<Vec<_>>>()?;
        let mut all_interfaces =
            parent.as_ref().map(|parent| parent.all_interfaces.clone()).unwrap_or_default();
        for (id, layout) in &interfaces {
            all_interfaces.insert(*id, layout.own.len());
            all_interfaces.extend(&layout.all_interfaces);
        }
        let mut layout = Self {
            superclass,
            interfaces: interfaces.iter().map(|(id, _)| *id).collect(),
            instances: Fields::default(),
            statics: Fields::default(),
            own: own(class)?,
            parent,
            all_interfaces,
        };
        (layout.statics, layout.instances) = (layout.make_statics(), layout.make_instances());
        Ok(layout)
    }

    /// Returns the parts of a class record that the layout defines, with these values.
    pub fn class_record<'a>(&self, id: Id, statics: &'a [u8]) -> ClassRecord<'a> {
        ClassRecord {
            id,
            superclass: self.superclass,
            instance_size: self.instances.length(Level::Values) as u32,
            interfaces: self.interfaces.clone(),
            statics,
            ..ClassRecord::default()
        }
    }
}

// JVMTI counts the fields of all interfaces of the class first, then those of its topmost superclass, and so on down to
// its own.
impl Layout {
    /// Returns the number of fields of interfaces.
    fn of_interfaces(&self) -> usize {
        self.all_interfaces.values().sum()
    }

    /// Returns the number of fields of superclasses.
    fn inherited(&self) -> usize {
        self.ancestors().map(|ancestor| ancestor.own.len()).sum()
    }

    /// Returns its superclasses, the nearest first.
    fn ancestors(&self) -> impl Iterator<Item = &Self> {
        std::iter::successors(self.parent.as_deref(), |layout| layout.parent.as_deref())
    }

    fn make_statics(&self) -> Fields {
        let slots = vec![NOWHERE; self.own.len()];
        let first = self.of_interfaces() + self.inherited();
        let mut fields = Fields { first, slots, ..Fields::default() };
        fields.place(declared(&self.own, true, 0));
        fields
    }

    fn make_instances(&self) -> Fields {
        let mut end = self.inherited();
        let slots = vec![NOWHERE; end + self.own.len()];
        let mut fields = Fields { first: self.of_interfaces(), slots, ..Fields::default() };
        fields.place(declared(&self.own, false, end));
        for ancestor in self.ancestors() {
            end -= ancestor.own.len();
            fields.place(declared(&ancestor.own, false, end));
        }
        fields
    }
}

/// Returns the static fields or the instance fields that a class declares, each with its slot.
fn declared(
    own: &[Own],
    statics: bool,
    from: usize,
) -> impl Iterator<Item = (usize, FieldId, Type)> {
    own.iter().enumerate().filter_map(move |(i, field)| {
        let field = field.as_ref().filter(|field| field.is_static == statics)?;
        Some((from + i, field.field, field.of_type))
    })
}

fn own(class: jclass) -> Result<Vec<Own>> {
    let jvmti = jvm::get().jvmti;
    let fields = jvmti.class_fields(class)?;
    let declared = fields.iter().map(|field| {
        let signature = jvmti.field(class, *field)?.signature;
        let first = signature.to_bytes().first().copied().unwrap_or(0);
        Ok(Some(Declared {
            field: FieldId(*field),
            of_type: Type::of_descriptor(first).ok_or(Error(JVMTI_ERROR_INTERNAL))?,
            is_static: jvmti.is_static(class, *field)?,
        }))
    });
    let name = jvmti.class_signature(class)?;
    let is_first_hidden = FIRST_FIELD_HIDDEN.contains(&name.to_bytes());
    is_first_hidden.then_some(Ok(None)).into_iter().chain(declared).collect()
}
