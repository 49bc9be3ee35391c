//! Methods.

use super::{Allocated, Jvmti, Result, jvmti, written};
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
        written(ptr::null_mut(), |class| jvmti!(self, GetMethodDeclaringClass, method, class))
    }

    /// Returns the access flags (JVMS 4.6).
    pub fn method_modifiers(self, method: jmethodID) -> Result<jint> {
        written(0, |modifiers| jvmti!(self, GetMethodModifiers, method, modifiers))
    }

    /// Returns the current bytecode of the method. Fails if the method has none.
    pub fn bytecodes(self, method: jmethodID) -> Result<Allocated<u8>> {
        self.allocated(|count, bytecodes| jvmti!(self, GetBytecodes, method, count, bytecodes))
    }

    /// Returns true if the method is an old version, which a frame still runs although its class was redefined.
    pub fn is_obsolete(self, method: jmethodID) -> bool {
        written(false, |obsolete| jvmti!(self, IsMethodObsolete, method, obsolete)) == Ok(true)
    }

    /// Returns the number of local variables. Fails for a native or abstract method.
    pub fn max_locals(self, method: jmethodID) -> Result<u16> {
        written(0, |count| jvmti!(self, GetMaxLocals, method, count)).map(|count| count as u16)
    }

    /// Returns the line number table. Fails if the class file has none.
    pub fn line_numbers(self, method: jmethodID) -> Result<Allocated<jvmtiLineNumberEntry>> {
        self.allocated(|count, entries| jvmti!(self, GetLineNumberTable, method, count, entries))
    }
}
