//! The objects that Class objects refer to. JVMTI's walk treats a Class object as the class and shows the references
//! of the class. It omits the fields of `java.lang.Class`: names, members known to reflection, annotations. The shim
//! puts these objects into one array before the walk, so that the walk visits them too.

use crate::records::class::Class;
use crate::records::ids;
use crate::threads;
use jni_sys::{jclass, jint, jobject};
use jvm::{FieldId, Jni, Result};
use jvmpi_formats::dump::Id;
use std::ptr;
use std::sync::Arc;

/// The fields whose objects the walk shows as a part of the class.
const SHOWN: [&[u8]; 4] = [b"classLoader", b"componentType", b"protectionDomain", b"signers"];

/// An array for all objects that the Class objects of a number of classes refer to. It is allocated before threads
/// are suspended and filled while they are.
pub struct ClassObjects {
    /// A local reference in the current frame; NULL if memory is short.
    array: jobject,
    fields: Vec<FieldId>,
    num_classes: usize,
}

impl ClassObjects {
    /// Allocates an array for this many classes.
    pub fn with_room(jni: Jni, num_classes: usize) -> Result<Self> {
        let find =
            || Some((jni.find_class(c"java/lang/Class")?, jni.find_class(c"java/lang/Object")?));
        let Some((meta, object)) = threads::internally(jni, find) else {
            return Ok(Self { array: ptr::null_mut(), fields: Vec::new(), num_classes });
        };
        let fields = reference_fields(meta)?;
        let length = num_classes * fields.len();
        let array = threads::internally(jni, || jni.new_array(length as jint, object));
        Ok(Self { array: array.unwrap_or(ptr::null_mut()), fields, num_classes })
    }

    /// Returns true if the array is large enough for this many classes.
    pub fn fits(&self, num_classes: usize) -> bool {
        num_classes <= self.num_classes
    }

    /// Fills the array for classes that it [`fits`](Self::fits). Returns its ID; None if there was no memory for it.
    pub fn fill(&self, jni: Jni, classes: &[&Arc<Class>]) -> Result<Option<Id>> {
        if self.array.is_null() {
            return Ok(None);
        }
        for (i, class) in classes.iter().enumerate() {
            jni.frame(4, |jni| {
                let Some(object) = class.object(jni) else { return };
                for (j, field) in self.fields.iter().enumerate() {
                    let value = jni.object_field(object, *field);
                    if !value.is_null() {
                        let index = (i * self.fields.len() + j) as jint;
                        jni.set_array_element(self.array, index, value);
                        jni.delete_local(value);
                    }
                }
            });
        }
        let tag = ids::fresh()?;
        jvm::get().jvmti.set_tag(self.array, tag.raw())?;
        Ok(Some(tag.id().addr()))
    }
}

fn reference_fields(meta: jclass) -> Result<Vec<FieldId>> {
    let jvmti = jvm::get().jvmti;
    let mut fields = Vec::new();
    for id in jvmti.class_fields(meta)?.iter() {
        let field = jvmti.field(meta, *id)?;
        let is_static = jvmti.is_static(meta, *id)?;
        let is_reference = matches!(field.signature.to_bytes(), [b'L' | b'[', ..]);
        if is_reference && !is_static && !SHOWN.contains(&field.name.to_bytes()) {
            fields.push(FieldId(*id));
        }
    }
    Ok(fields)
}
