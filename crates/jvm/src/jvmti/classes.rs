//! Classes and their fields.

use super::{Jvmti, Result, functions, jvmti, written};
use jni_sys::{jclass, jfieldID, jint, jmethodID, jobject};
use jvmpi_jvmti_sys::jvmtiClassDefinition;
use std::ffi::CString;
use std::ptr;

/// The name and the descriptor of a field.
pub struct Field {
    pub name: CString,
    pub signature: CString,
}

functions! {
    /// Returns all loaded classes as local references.
    pub fn loaded_classes() -> Array<jclass> = GetLoadedClasses();
    pub fn class_status(class: jclass) -> Value<jint> = GetClassStatus(class);
    /// Returns the class loader as a local reference; NULL for the bootstrap loader.
    pub fn class_loader(class: jclass) -> Value<jobject> = GetClassLoader(class);
    /// Returns the direct interfaces of the class as local references.
    pub fn interfaces(class: jclass) -> Array<jclass> = GetImplementedInterfaces(class);
    pub fn class_methods(class: jclass) -> Array<jmethodID> = GetClassMethods(class);
    /// Returns the fields that the class declares, in the order of the class file.
    pub fn class_fields(class: jclass) -> Array<jfieldID> = GetClassFields(class);
    /// Calls the class file hook for loaded classes and installs the result.
    pub fn retransform(classes: &[jclass]) -> Action
        = RetransformClasses(classes.len() as jint, classes.as_ptr());
}

impl Jvmti {
    /// Returns the descriptor of the class, for example `Ljava/lang/Object;` or `[I`.
    pub fn class_signature(self, class: jclass) -> Result<CString> {
        let mut signature = ptr::null_mut();
        jvmti!(self, GetClassSignature, class, &mut signature, ptr::null_mut())?;
        Ok(self.string(signature))
    }

    /// Returns the `SourceFile` attribute, if the class has one.
    pub fn source_file(self, class: jclass) -> Option<CString> {
        let name = written(|name| jvmti!(self, GetSourceFileName, class, name));
        name.ok().map(|name| self.string(name))
    }

    pub fn field(self, class: jclass, field: jfieldID) -> Result<Field> {
        let (mut name, mut signature) = (ptr::null_mut(), ptr::null_mut());
        jvmti!(self, GetFieldName, class, field, &mut name, &mut signature, ptr::null_mut())?;
        Ok(Field { name: self.string(name), signature: self.string(signature) })
    }

    /// Returns true if the field is static (JVMS 4.5).
    pub fn is_static(self, class: jclass, field: jfieldID) -> Result<bool> {
        const ACC_STATIC: jint = 0x0008;
        let modifiers: jint =
            written(|flags| jvmti!(self, GetFieldModifiers, class, field, flags))?;
        Ok(modifiers & ACC_STATIC != 0)
    }

    /// Returns true if the class can be retransformed.
    pub fn is_modifiable(self, class: jclass) -> bool {
        written(|modifiable| jvmti!(self, IsModifiableClass, class, modifiable)) == Ok(true)
    }

    /// Installs class files for loaded classes.
    pub fn redefine(self, files: &[(jclass, &[u8])]) -> Result<()> {
        let definition = |(class, file): &(jclass, &[u8])| jvmtiClassDefinition {
            klass: *class,
            class_byte_count: file.len() as jint,
            class_bytes: file.as_ptr(),
        };
        let definitions: Vec<_> = files.iter().map(definition).collect();
        jvmti!(self, RedefineClasses, definitions.len() as jint, definitions.as_ptr())
    }
}
