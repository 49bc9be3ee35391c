//! Determines the positions of a class's fields in dumps.

use crate::classes;
use crate::records::class::{self, Class, Instances};
use crate::records::layout::{Declared, Layout, Objects, Own};
use jni_sys::jclass;
use jvm::types::{JVMTI_ERROR_CLASS_NOT_PREPARED, JVMTI_ERROR_INTERNAL};
use jvm::{Error, FieldId, Jni, Result};
use jvmpi_formats::dump::Type;
use std::sync::Arc;

/// The JDK classes whose first field JVMTI hides.
const FIRST_FIELD_HIDDEN: [&[u8]; 2] = [
    b"Ljdk/internal/reflect/ConstantPool;",
    b"Ljdk/internal/reflect/UnsafeStaticFieldAccessorImpl;",
];

/// Returns the layout of a class, which is created at the first request.
///
/// # Errors
/// `JVMTI_ERROR_CLASS_NOT_PREPARED` if the class is not linked.
pub fn of(jni: Jni, class: &Class, object: jclass) -> Result<Arc<Layout>> {
    if let Some(known) = class.layout.get() {
        return Ok(Arc::clone(known));
    }
    if !class::is_ready(object) {
        return Err(Error(JVMTI_ERROR_CLASS_NOT_PREPARED));
    }
    let new = jni.frame(64, |jni| make(jni, class, object))?;
    Ok(Arc::clone(class.layout.get_or_init(|| Arc::new(new))))
}

/// Returns the class with its layout, after linking it if necessary.
pub fn readable(
    jni: Jni,
    class: Arc<Class>,
    object: jclass,
) -> std::result::Result<(Arc<Class>, Arc<Layout>), String> {
    if class.layout.get().is_none() && !class::is_ready(object) {
        classes::link(jni, object);
    }
    let layout = of(jni, &class, object).map_err(|error| {
        let name = class.name(jvmpi_settings::Names::Dot);
        format!("class {name:?} cannot be read: {error}")
    })?;
    Ok((class, layout))
}

fn make(jni: Jni, class: &Class, object: jclass) -> Result<Layout> {
    let of_another = |object| {
        let record = classes::of(jni, object)?;
        Ok((record.id().addr(), of(jni, &record, object)?))
    };
    let superclass = jni.superclass(object);
    let parent = match superclass.is_null() {
        true => (0, None),
        false => of_another(superclass).map(|(id, layout)| (id, Some(layout)))?,
    };
    let interfaces = jvm::get().jvmti.interfaces(object)?;
    let interfaces = interfaces.iter().map(|i| of_another(*i)).collect::<Result<Vec<_>>>()?;
    Layout::new(parent, &interfaces, own(object)?, |layout| {
        Ok(match class.instances() {
            Instances::Classes | Instances::Objects(_) => {
                Objects::Instances(layout.make_instances())
            }
            Instances::References(element) => {
                Objects::References(element.as_ref().map_or(0, |element| element.id().addr()))
            }
            Instances::Primitives(code) => {
                let of_type = u8::try_from(*code).ok().and_then(Type::from_code);
                Objects::Primitives(of_type.ok_or(Error(JVMTI_ERROR_INTERNAL))?)
            }
        })
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
