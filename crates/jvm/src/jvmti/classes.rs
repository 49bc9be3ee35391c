//! Classes and their fields.

use super::{Allocated, Jvmti, Result, jvmti, written};
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
        self.allocated(|count, classes| jvmti!(self, GetLoadedClasses, count, classes))
    }

    pub fn class_status(self, class: jclass) -> Result<jint> {
        written(0, |status| jvmti!(self, GetClassStatus, class, status))
    }

    /// Returns the descriptor of the class, for example `Ljava/lang/Object;` or `[I`.
    pub fn class_signature(self, class: jclass) -> Result<CString> {
        let mut signature = ptr::null_mut();
        jvmti!(self, GetClassSignature, class, &mut signature, ptr::null_mut())?;
        Ok(self.string(signature))
    }

    /// Returns the class loader as a local reference; NULL for the bootstrap loader.
    pub fn class_loader(self, class: jclass) -> Result<jobject> {
        written(ptr::null_mut(), |loader| jvmti!(self, GetClassLoader, class, loader))
    }

    /// Returns the `SourceFile` attribute, if the class has one.
    pub fn source_file(self, class: jclass) -> Option<CString> {
        let name = written(ptr::null_mut(), |name| jvmti!(self, GetSourceFileName, class, name));
        name.ok().map(|name| self.string(name))
    }

    /// Returns the direct interfaces of the class as local references.
    pub fn interfaces(self, class: jclass) -> Result<Allocated<jclass>> {
        self.allocated(|count, all| jvmti!(self, GetImplementedInterfaces, class, count, all))
    }

    pub fn class_methods(self, class: jclass) -> Result<Allocated<jmethodID>> {
        self.allocated(|count, methods| jvmti!(self, GetClassMethods, class, count, methods))
    }

    /// Returns the fields that the class declares, in the order of the class file.
    pub fn class_fields(self, class: jclass) -> Result<Allocated<jfieldID>> {
        self.allocated(|count, fields| jvmti!(self, GetClassFields, class, count, fields))
    }

    pub fn field(self, class: jclass, field: jfieldID) -> Result<Field> {
        let (mut name, mut signature) = (ptr::null_mut(), ptr::null_mut());
        jvmti!(self, GetFieldName, class, field, &mut name, &mut signature, ptr::null_mut())?;
        Ok(Field { name: self.string(name), signature: self.string(signature) })
    }

    /// Returns true if the field is static (JVMS 4.5).
    pub fn is_static(self, class: jclass, field: jfieldID) -> Result<bool> {
        const ACC_STATIC: jint = 0x0008;
        let modifiers = written(0, |flags| jvmti!(self, GetFieldModifiers, class, field, flags))?;
        Ok(modifiers & ACC_STATIC != 0)
    }

    /// Returns true if the class can be retransformed.
    pub fn is_modifiable(self, class: jclass) -> bool {
        written(false, |modifiable| jvmti!(self, IsModifiableClass, class, modifiable)) == Ok(true)
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
