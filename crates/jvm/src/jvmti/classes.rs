//! Classes and their fields.

use super::{Allocated, Jvmti, Result, jvmti};
use jni_sys::{jclass, jfieldID, jint, jmethodID, jobject};
use jvmpi_jvmti_sys::jvmtiClassDefinition;
use std::ffi::CString;
use std::ptr;

/// The name and the descriptor of a field.
pub struct Field {
    pub name: CString,
    pub signature: CString,
}

impl Jvmti {
    /// Returns all loaded classes as local references.
    pub fn loaded_classes(self) -> Result<Allocated<jclass>> {
        let (mut count, mut classes) = (0, ptr::null_mut());
        jvmti!(self, GetLoadedClasses, &mut count, &mut classes)?;
        Ok(self.array(classes, count))
    }

    pub fn class_status(self, class: jclass) -> Result<jint> {
        let mut status = 0;
        jvmti!(self, GetClassStatus, class, &mut status)?;
        Ok(status)
    }

    /// Returns the descriptor of the class, for example `Ljava/lang/Object;` or `[I`.
    pub fn class_signature(self, class: jclass) -> Result<CString> {
        let mut signature = ptr::null_mut();
        jvmti!(self, GetClassSignature, class, &mut signature, ptr::null_mut())?;
        Ok(self.string(signature))
    }

    /// Returns the class loader as a local reference; NULL for the bootstrap loader.
    pub fn class_loader(self, class: jclass) -> Result<jobject> {
        let mut loader = ptr::null_mut();
        jvmti!(self, GetClassLoader, class, &mut loader)?;
        Ok(loader)
    }

    /// Returns the `SourceFile` attribute, if the class has one.
    pub fn source_file(self, class: jclass) -> Option<CString> {
        let mut name = ptr::null_mut();
        jvmti!(self, GetSourceFileName, class, &mut name).ok()?;
        Some(self.string(name))
    }

    /// Returns the direct interfaces of the class as local references.
    pub fn interfaces(self, class: jclass) -> Result<Allocated<jclass>> {
        let (mut count, mut interfaces) = (0, ptr::null_mut());
        jvmti!(self, GetImplementedInterfaces, class, &mut count, &mut interfaces)?;
        Ok(self.array(interfaces, count))
    }

    pub fn class_methods(self, class: jclass) -> Result<Allocated<jmethodID>> {
        let (mut count, mut methods) = (0, ptr::null_mut());
        jvmti!(self, GetClassMethods, class, &mut count, &mut methods)?;
        Ok(self.array(methods, count))
    }

    /// Returns the fields that the class declares, in the order of the class file.
    pub fn class_fields(self, class: jclass) -> Result<Allocated<jfieldID>> {
        let (mut count, mut fields) = (0, ptr::null_mut());
        jvmti!(self, GetClassFields, class, &mut count, &mut fields)?;
        Ok(self.array(fields, count))
    }

    pub fn field(self, class: jclass, field: jfieldID) -> Result<Field> {
        let (mut name, mut signature) = (ptr::null_mut(), ptr::null_mut());
        jvmti!(self, GetFieldName, class, field, &mut name, &mut signature, ptr::null_mut())?;
        Ok(Field { name: self.string(name), signature: self.string(signature) })
    }

    /// Returns true if the field is static (JVMS 4.5).
    pub fn is_static(self, class: jclass, field: jfieldID) -> Result<bool> {
        const ACC_STATIC: jint = 0x0008;
        let mut modifiers = 0;
        jvmti!(self, GetFieldModifiers, class, field, &mut modifiers)?;
        Ok(modifiers & ACC_STATIC != 0)
    }

    /// Returns true if the class can be retransformed.
    pub fn is_modifiable(self, class: jclass) -> bool {
        let mut modifiable = false;
        jvmti!(self, IsModifiableClass, class, &mut modifiable).is_ok() && modifiable
    }

    /// Calls the class file hook for loaded classes and installs the result.
    pub fn retransform(self, classes: &[jclass]) -> Result<()> {
        jvmti!(self, RetransformClasses, classes.len() as jint, classes.as_ptr())
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
