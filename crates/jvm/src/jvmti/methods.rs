//! Methods.

use super::{Jvmti, Result, functions, jvmti, written};
use jni_sys::{jclass, jint, jmethodID};
use jvmpi_jvmti_sys::jvmtiLineNumberEntry;
use std::ffi::CString;
use std::ptr;

functions! {
    /// Returns the class that declares the method, as a local reference.
    pub fn declaring_class(method: jmethodID) -> Value<jclass> = GetMethodDeclaringClass(method);
    /// Returns the access flags (JVMS 4.6).
    pub fn method_modifiers(method: jmethodID) -> Value<jint> = GetMethodModifiers(method);
    /// Returns the current bytecode of the method. Fails if the method has none.
    pub fn bytecodes(method: jmethodID) -> Array<u8> = GetBytecodes(method);
    /// Returns the line number table. Fails if the class file has none.
    pub fn line_numbers(method: jmethodID) -> Array<jvmtiLineNumberEntry>
        = GetLineNumberTable(method);
}

impl Jvmti {
    pub fn method_name(self, method: jmethodID) -> Result<(CString, CString)> {
        let (mut name, mut signature) = (ptr::null_mut(), ptr::null_mut());
        jvmti!(self, GetMethodName, method, &mut name, &mut signature, ptr::null_mut())?;
        Ok((self.string(name), self.string(signature)))
    }

    /// Returns true if the method is an old version, which a frame still runs although its class was redefined.
    pub fn is_obsolete(self, method: jmethodID) -> bool {
        written(|obsolete| jvmti!(self, IsMethodObsolete, method, obsolete)) == Ok(true)
    }

    /// Returns the number of local variables. Fails for a native or abstract method.
    pub fn max_locals(self, method: jmethodID) -> Result<u16> {
        written(|count| jvmti!(self, GetMaxLocals, method, count)).map(|count: jint| count as u16)
    }
}
