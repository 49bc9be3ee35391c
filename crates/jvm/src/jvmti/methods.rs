//! Methods.

use super::{Allocated, Jvmti, Result, jvmti};
use jni_sys::{jclass, jint, jmethodID};
use jvmpi_jvmti_sys::jvmtiLineNumberEntry;
use std::ffi::CString;
use std::ptr;

impl Jvmti {
    pub fn method_name(self, method: jmethodID) -> Result<(CString, CString)> {
        let (mut name, mut signature) = (ptr::null_mut(), ptr::null_mut());
        jvmti!(self, GetMethodName, method, &mut name, &mut signature, ptr::null_mut())?;
        Ok((self.string(name), self.string(signature)))
    }

    /// Returns the class that declares the method, as a local reference.
    pub fn declaring_class(self, method: jmethodID) -> Result<jclass> {
        let mut class = ptr::null_mut();
        jvmti!(self, GetMethodDeclaringClass, method, &mut class)?;
        Ok(class)
    }

    /// Returns the access flags (JVMS 4.6).
    pub fn method_modifiers(self, method: jmethodID) -> Result<jint> {
        let mut modifiers = 0;
        jvmti!(self, GetMethodModifiers, method, &mut modifiers)?;
        Ok(modifiers)
    }

    /// Returns the current bytecode of the method. Fails if the method has none.
    pub fn bytecodes(self, method: jmethodID) -> Result<Allocated<u8>> {
        let (mut count, mut bytecodes) = (0, ptr::null_mut());
        jvmti!(self, GetBytecodes, method, &mut count, &mut bytecodes)?;
        Ok(self.array(bytecodes, count))
    }

    /// Returns true if the method is an old version, which a frame still runs although its class was redefined.
    pub fn is_obsolete(self, method: jmethodID) -> bool {
        let mut obsolete = false;
        jvmti!(self, IsMethodObsolete, method, &mut obsolete).is_ok() && obsolete
    }

    /// Returns the number of local variables. Fails for a native or abstract method.
    pub fn max_locals(self, method: jmethodID) -> Result<u16> {
        let mut count = 0;
        jvmti!(self, GetMaxLocals, method, &mut count)?;
        Ok(count as u16)
    }

    /// Returns the line number table. Fails if the class file has none.
    pub fn line_numbers(self, method: jmethodID) -> Result<Allocated<jvmtiLineNumberEntry>> {
        let (mut count, mut entries) = (0, ptr::null_mut());
        jvmti!(self, GetLineNumberTable, method, &mut count, &mut entries)?;
        Ok(self.array(entries, count))
    }
}
