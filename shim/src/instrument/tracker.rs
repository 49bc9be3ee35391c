//! The Tracker class: the static natives that rewritten code calls, and a `Function` that is native.
//!
//! It lies in the boot loader, so that every class can name it, and agents never hear of it.

use crate::jvm::{FieldId, GlobalRef, Jni};
use jni_sys::{JNINativeMethod, jclass, jobject};
use std::ffi::{CStr, c_void};
use std::sync::OnceLock;

/// The internal name of the class.
pub const NAME: &CStr = c"jvmpi/Tracker";

/// Its static `boolean` that is true while a thread waits for a monitor.
pub const CONTENDED: &CStr = c"contended";

/// What it implements.
const INTERFACE: &CStr = c"java/util/function/Function";

/// One of the natives.
pub struct Native {
    pub name: &'static CStr,
    pub descriptor: &'static CStr,
    pub is_static: bool,
    /// The function, of the C type that JNI derives from the descriptor.
    pub function: *mut c_void,
}

/// The class, once it is defined.
struct Tracker {
    class: GlobalRef,
    contended: FieldId,
}

static TRACKER: OnceLock<Tracker> = OnceLock::new();

/// The text, which ends with its only NUL.
pub const fn name(text: &'static str) -> &'static CStr {
    match CStr::from_bytes_with_nul(text.as_bytes()) {
        Ok(name) => name,
        Err(_) => panic!("a name ends with its only NUL"),
    }
}

/// A new Tracker, for what it does as a `Function`; None if that failed.
pub fn instance(jni: Jni) -> Option<jobject> {
    jni.allocate(TRACKER.get()?.class.get())
}

/// Says to rewritten code whether a thread waits for a monitor.
pub fn set_contended(jni: Jni, contended: bool) {
    if let Some(tracker) = TRACKER.get() {
        jni.set_static_boolean(tracker.class.get(), tracker.contended, contended);
    }
}

/// Defines the class with these natives, unless that was done. Of threads that do it at the same time
/// one defines the class, and the others find it.
pub fn define(jni: Jni, natives: &[Native]) -> Result<(), String> {
    if TRACKER.get().is_some() {
        return Ok(());
    }
    jni.frame(8, |jni| {
        let file = class_file(natives);
        let defined = jni.define_class(NAME, &file).or_else(|| jni.find_class(NAME));
        let class = defined.ok_or("the class cannot be defined")?;
        register(jni, class, natives)?;
        let field = jni.static_field(class, CONTENDED, c"Z").ok_or("it lacks its field")?;
        let class = GlobalRef::new(jni, class).ok_or("memory is short")?;
        let tracker = Tracker { class, contended: field };
        TRACKER.get_or_init(|| tracker);
        Ok(())
    })
    .map_err(|what: &str| format!("methods cannot be tracked: {what}"))
}

fn register(jni: Jni, class: jclass, natives: &[Native]) -> Result<(), &'static str> {
    let methods: Vec<_> = natives
        .iter()
        .map(|native| JNINativeMethod {
            name: native.name.as_ptr().cast_mut(),
            signature: native.descriptor.as_ptr().cast_mut(),
            fnPtr: native.function,
        })
        .collect();
    // SAFETY: each function has the C type of its descriptor.
    let registered = unsafe { jni.register_natives(class, &methods) };
    if registered { Ok(()) } else { Err("its natives cannot be registered") }
}

const ACC_PUBLIC: u16 = 0x0001;
const ACC_STATIC: u16 = 0x0008;
const ACC_FINAL: u16 = 0x0010;
const ACC_SUPER: u16 = 0x0020;
const ACC_NATIVE: u16 = 0x0100;

/// A class file (JVMS 4.1) with nothing but the interface, the field and these methods.
fn class_file(natives: &[Native]) -> Vec<u8> {
    const JAVA_8: u16 = 52;
    let mut pool = Pool::default();
    let this = pool.class(NAME);
    let object = pool.class(c"java/lang/Object");
    let interface = pool.class(INTERFACE);
    let (contended, boolean) = (pool.utf8(CONTENDED), pool.utf8(c"Z"));
    let methods: Vec<_> = natives
        .iter()
        .map(|native| {
            let access = if native.is_static { ACC_STATIC } else { 0 };
            (access, pool.utf8(native.name), pool.utf8(native.descriptor))
        })
        .collect();

    let mut file = Vec::new();
    file.extend(0xcafe_babe_u32.to_be_bytes());
    let u2 = |value: u16, file: &mut Vec<u8>| file.extend(value.to_be_bytes());
    u2(0, &mut file);
    u2(JAVA_8, &mut file);
    u2(pool.count + 1, &mut file);
    file.extend(&pool.entries);
    for value in [ACC_PUBLIC | ACC_FINAL | ACC_SUPER, this, object, 1, interface] {
        u2(value, &mut file);
    }
    for value in [1, ACC_PUBLIC | ACC_STATIC, contended, boolean, 0] {
        u2(value, &mut file);
    }
    u2(methods.len() as u16, &mut file);
    for (access, name, descriptor) in methods {
        for value in [ACC_PUBLIC | ACC_NATIVE | access, name, descriptor, 0] {
            u2(value, &mut file);
        }
    }
    u2(0, &mut file);
    file
}

/// A constant pool (JVMS 4.4) being written.
#[derive(Default)]
struct Pool {
    entries: Vec<u8>,
    count: u16,
}

impl Pool {
    fn add(&mut self, tag: u8, content: &[u8]) -> u16 {
        self.entries.push(tag);
        self.entries.extend(content);
        self.count += 1;
        self.count
    }

    fn utf8(&mut self, text: &CStr) -> u16 {
        let bytes = text.to_bytes();
        let content = [&(bytes.len() as u16).to_be_bytes(), bytes].concat();
        self.add(1, &content)
    }

    fn class(&mut self, name: &CStr) -> u16 {
        let name = self.utf8(name);
        self.add(7, &name.to_be_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ptr;

    #[test]
    fn the_class_file_has_the_natives() {
        let native = |name, is_static| {
            let function = ptr::null_mut();
            Native { name, descriptor: c"(I)V", is_static, function }
        };
        let file = class_file(&[native(c"f", true), native(c"g", false)]);
        let class = classfile::ClassFile::parse(&file).unwrap();
        assert_eq!(
            (class.name(), class.super_name()),
            (&b"jvmpi/Tracker"[..], Some(&b"java/lang/Object"[..]))
        );
        let fields: Vec<_> = class.fields().collect();
        assert_eq!((fields.len(), fields[0].name()), (1, CONTENDED.to_bytes()));
        assert!(fields[0].is_static());
        let methods: Vec<_> = class.methods().collect();
        assert_eq!(methods.len(), 2);
        assert!(methods[0].is_native() && methods[0].is_static());
        assert!(methods[1].is_native() && !methods[1].is_static());
        assert_eq!((methods[0].name(), methods[0].descriptor()), (&b"f"[..], &b"(I)V"[..]));
    }
}
