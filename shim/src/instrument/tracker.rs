//! The Tracker class (the probe class). It has the static natives that rewritten code calls, a native
//! `Function.apply`, and methods that bind natives of the JDK.
//!
//! The boot loader defines it, so that every class can name it. It is never shown to agents.

use crate::records::class::TRACKER;
use crate::records::tracker::{self, BINDERS, CONTENDED, UNBOUND};
use jni_sys::JNINativeMethod;
use jvm::{GlobalRef, Jni};
use jvmpi_classfile::builder::{Body, ClassBuilder};
use jvmpi_classfile::{access, opcode};
use std::ffi::{CStr, c_void};

/// The interface that it implements.
const INTERFACE: &CStr = c"java/util/function/Function";

/// One of its natives.
pub struct Native {
    pub name: &'static CStr,
    pub descriptor: &'static CStr,
    pub is_static: bool,
    /// The function, of the C type that JNI derives from the descriptor.
    pub function: *mut c_void,
}

/// Converts a text that ends with its only NUL.
pub const fn name(text: &'static str) -> &'static CStr {
    match CStr::from_bytes_with_nul(text.as_bytes()) {
        Ok(name) => name,
        Err(_) => panic!("a name ends with its only NUL"),
    }
}

/// Defines the class with these natives, unless that was done. If several threads call this at the same
/// time, one defines the class and the others find it.
pub fn define(jni: Jni, natives: &[Native]) -> Result<(), String> {
    if tracker::is_defined() {
        return Ok(());
    }
    jni.frame(8, |jni| {
        let file = class_file(natives);
        let defined = jni.define_class(TRACKER, &file).or_else(|| jni.find_class(TRACKER));
        let class = defined.ok_or("the class cannot be defined")?;
        let methods: Vec<_> = natives
            .iter()
            .map(|native| JNINativeMethod {
                name: native.name.as_ptr().cast_mut(),
                signature: native.descriptor.as_ptr().cast_mut(),
                fnPtr: native.function,
            })
            .collect();
        // SAFETY: each function has the C type of its descriptor.
        if !unsafe { jni.register_natives(class, &methods) } {
            return Err("its natives cannot be registered");
        }
        let field = jni.static_field(class, CONTENDED, c"Z").ok_or("it lacks its field")?;
        tracker::defined(GlobalRef::new(jni, class).ok_or("memory is short")?, field);
        Ok(())
    })
    .map_err(|what: &str| format!("methods cannot be tracked: {what}"))
}

/// Returns a class file that has only the interface, the field and these methods.
fn class_file(natives: &[Native]) -> Vec<u8> {
    const JAVA_8: u16 = 52;
    let mut class = ClassBuilder::new(JAVA_8, TRACKER.to_bytes());
    class.access(access::PUBLIC | access::FINAL | access::SUPER).implements(INTERFACE.to_bytes());
    class.field(access::PUBLIC | access::STATIC, CONTENDED.to_bytes(), "Z");
    for native in natives {
        let of_class = if native.is_static { access::STATIC } else { 0 };
        let flags = access::PUBLIC | access::NATIVE | of_class;
        class.bodiless(flags, native.name.to_bytes(), native.descriptor.to_bytes());
    }
    class.bodiless(access::PUBLIC | access::STATIC | access::NATIVE, UNBOUND.to_bytes(), "()V");
    for binder in BINDERS {
        let native = format!("{binder}0");
        let bind = class.method_ref("jvmpi/Tracker", &native, "()V").to_be_bytes();
        let code = [opcode::INVOKESTATIC, bind[0], bind[1], opcode::RETURN];
        let flags = access::PUBLIC | access::STATIC;
        class.method(flags, binder, "()V", &Body::new(0, 0, code));
    }
    class.finish()
}
