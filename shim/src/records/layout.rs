//! The positions of a class's fields in dumps. Dumps use the order of CLASS_LOAD; JVMTI's walk
//! through the heap identifies fields by indices of its own.

use jni_sys::jint;
use jvm::{FieldId, Result};
use jvmpi_formats::dump::{Class as ClassRecord, Id, Level, Type};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The data about a class and its objects that dumps need.
pub struct Layout {
    pub superclass: Id,
    /// The direct interfaces, in the order of CLASS_LOAD.
    pub interfaces: Vec<Id>,
    pub objects: Objects,
    /// The static fields.
    pub statics: Fields,
    /// The fields that it declares.
    own: Vec<Own>,
    parent: Option<Arc<Self>>,
    /// All interfaces, direct and inherited, with the number of their fields.
    all_interfaces: BTreeMap<Id, usize>,
}

/// The kind of the objects of a class.
pub enum Objects {
    Instances(Fields),
    /// Arrays of references, with the class of their elements.
    References(Id),
    Primitives(Type),
}

/// A field; None if JVMTI counts it but does not describe it.
pub type Own = Option<Declared>;

pub struct Declared {
    pub field: FieldId,
    pub of_type: Type,
    pub is_static: bool,
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
    /// Creates the layout of a class with these fields. `objects` returns the kind of its objects.
    pub fn new(
        (superclass, parent): (Id, Option<Arc<Self>>),
        interfaces: &[(Id, Arc<Self>)],
        own: Vec<Own>,
        objects: impl FnOnce(&Self) -> Result<Objects>,
    ) -> Result<Self> {
        let mut all_interfaces =
            parent.as_ref().map(|parent| parent.all_interfaces.clone()).unwrap_or_default();
        for (id, layout) in interfaces {
            all_interfaces.insert(*id, layout.own.len());
            all_interfaces.extend(&layout.all_interfaces);
        }
        let mut layout = Self {
            superclass,
            interfaces: interfaces.iter().map(|(id, _)| *id).collect(),
            objects: Objects::References(0),
            statics: Fields::default(),
            own,
            parent,
            all_interfaces,
        };
        layout.statics = layout.make_statics();
        layout.objects = objects(&layout)?;
        Ok(layout)
    }

    /// Returns the parts of a class record that the layout defines, with these values.
    pub fn class_record<'a>(&self, id: Id, statics: &'a [u8]) -> ClassRecord<'a> {
        let instance_size = match &self.objects {
            Objects::Instances(fields) => fields.length(Level::Values) as u32,
            _ => 0,
        };
        ClassRecord {
            id,
            superclass: self.superclass,
            instance_size,
            interfaces: self.interfaces.clone(),
            statics,
            ..ClassRecord::default()
        }
    }
}

// JVMTI counts the fields of all interfaces of the class first, then those of its topmost
// superclass, and so on down to its own.
impl Layout {
    /// Returns the number of fields that are counted before the class's own.
    fn own_from(&self) -> usize {
        self.all_interfaces.values().sum::<usize>() + self.inherited()
    }

    fn inherited(&self) -> usize {
        self.ancestors().map(|ancestor| ancestor.own.len()).sum()
    }

    /// Returns its superclasses, the nearest first.
    fn ancestors(&self) -> impl Iterator<Item = &Self> {
        std::iter::successors(self.parent.as_deref(), |layout| layout.parent.as_deref())
    }

    fn make_statics(&self) -> Fields {
        let slots = vec![NOWHERE; self.own.len()];
        let mut fields = Fields { first: self.own_from(), slots, ..Fields::default() };
        fields.place(declared(&self.own, true, 0));
        fields
    }

    /// Returns the fields of its objects, including inherited ones.
    pub fn make_instances(&self) -> Fields {
        let inherited = self.inherited();
        let slots = vec![NOWHERE; inherited + self.own.len()];
        let first = self.all_interfaces.values().sum();
        let mut fields = Fields { first, slots, ..Fields::default() };
        fields.place(declared(&self.own, false, inherited));
        let mut end = inherited;
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

#[cfg(test)]
mod tests {
    use super::*;

    fn own(fields: &[(Type, bool)]) -> Vec<Own> {
        let field = FieldId(std::ptr::null_mut());
        let declared = |&(of_type, is_static)| Some(Declared { field, of_type, is_static });
        fields.iter().map(declared).collect()
    }

    fn layout(
        fields: &[(Type, bool)],
        parent: Option<Layout>,
        interfaces: &[(Id, usize)],
    ) -> Layout {
        Layout {
            superclass: 0,
            interfaces: Vec::new(),
            objects: Objects::References(0),
            statics: Fields::default(),
            own: own(fields),
            parent: parent.map(Arc::new),
            all_interfaces: interfaces.iter().copied().collect(),
        }
    }

    #[test]
    fn a_class_s_own_fields_come_first_and_are_counted_last() {
        use Type::{Byte, Int, Long, Reference};
        let object = layout(&[], None, &[]);
        let parent = layout(&[(Int, false), (Long, true), (Reference, false)], Some(object), &[]);
        let class = layout(
            &[(Byte, true), (Reference, false), (Long, false), (Reference, true)],
            Some(parent),
            &[(16, 2)],
        );
        let fields = class.make_instances();
        let id = size_of::<Id>();
        let at = |index, of_type| {
            [Level::References, Level::Values].map(|level| fields.offset(index, of_type, level))
        };
        // Two indices belong to the interface, the next three to the superclass.
        assert_eq!(at(1, Reference), [None; 2]);
        assert_eq!(at(6, Reference), [Some(0), Some(0)]);
        assert_eq!(at(7, Long)[1], Some(id));
        assert_eq!(at(2, Int)[1], Some(id + 8));
        assert_eq!(at(4, Reference), [Some(id), Some(id + 12)]);
        assert_eq!(at(4, Int), [None; 2]);
        assert_eq!(at(3, Long), [None; 2]);
        assert_eq!(at(9, Reference), [None; 2]);
        assert_eq!(fields.length(Level::References), 2 * id);
        assert_eq!(fields.length(Level::Values), 2 * id + 12);

        let statics = class.make_statics();
        assert_eq!(statics.offset(5, Byte, Level::Values), Some(0));
        assert_eq!(statics.offset(8, Reference, Level::Values), Some(1));
        assert_eq!(statics.offset(8, Reference, Level::References), Some(0));
        assert_eq!(statics.offset(6, Reference, Level::Values), None);
    }
}
