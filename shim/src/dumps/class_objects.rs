//! What Class objects refer to. JVMTI's walk takes a Class object for the class, and shows what that
//! refers to, but not the fields of `java.lang.Class`: names, members known to reflection,
//! annotations. So that the walk visits them too, all are put into one array before it begins.

use crate::jvm::{self, FieldId, Jni, Result};
use crate::world::class::Class;
use crate::world::{ids, threads};
use dump::Id;
use jni_sys::{jclass, jint};
use std::sync::Arc;

/// Fields that hold what the walk shows as a part of the class.
const SHOWN: [&[u8]; 4] = [b"classLoader", b"componentType", b"protectionDomain", b"signers"];

/// The ID of an array of all that these classes' objects refer to. The array lives in the current
/// frame, which must have room for it.
pub fn collect(jni: Jni, classes: &[&Arc<Class>]) -> Result<Option<Id>> {
    let Some(meta) = jni.find_class(c"java/lang/Class") else { return Ok(None) };
    let fields = reference_fields(meta)?;
    let length = classes.len() * fields.len();
    let made = threads::quietly(jni, || {
        let object = jni.find_class(c"java/lang/Object")?;
        jni.new_array(length as jint, object)
    });
    let Some(array) = made else { return Ok(None) };
    for (i, class) in classes.iter().enumerate() {
        jni.frame(4, |jni| {
            let Some(object) = class.object(jni) else { return };
            for (j, field) in fields.iter().enumerate() {
                let value = jni.object_field(object, *field);
                if !value.is_null() {
                    jni.set_array_element(array, (i * fields.len() + j) as jint, value);
                    jni.delete_local(value);
                }
            }
        });
    }
    let tag = ids::fresh()?;
    jvm::get().jvmti.set_tag(array, tag.raw())?;
    Ok(Some(tag.id().addr()))
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
