//! Native methods have no code that could report their calls, so they get a method in between: it
//! has the native method's name, and calls it under a new one.

use super::{Calls, Target};
use crate::jvm::{self, NATIVE_PREFIX};
use classfile::{ClassFile, Editor, Method};

/// The packages of the boot loader whose native methods can be wrapped: they do I/O. The VM finds
/// many others by their place on the stack.
const OF_BOOT_LOADER: [&[u8]; 6] =
    [b"java/io/", b"java/net/", b"java/nio/", b"java/util/", b"sun/net/", b"sun/nio/"];

/// Wraps the native methods whose calls can be reported; which these are.
///
/// A class that is loaded already keeps the methods that it has: the VM accepts no others.
pub fn wrap(
    class: &ClassFile<'_>,
    editor: &mut Editor<'_>,
    place: Target,
    calls: Calls,
) -> Vec<usize> {
    let mut natives = class.methods().filter(Method::is_native).peekable();
    if natives.peek().is_none() {
        return Vec::new();
    }
    let is_wanted = if place.class.is_null() {
        calls != Calls::NONE && can_wrap()
    } else {
        has_wrappers(place)
    };
    if !is_wanted {
        return Vec::new();
    }
    let can_be = |method: &Method<'_>| !place.is_boot || is_safe_to_wrap(class, method);
    let wrapped = natives.filter(can_be).map(|method| method.index());
    wrapped.filter(|index| editor.wrap_native(*index, NATIVE_PREFIX.to_bytes()).is_ok()).collect()
}

/// Whether the VM will find native methods under their new names.
fn can_wrap() -> bool {
    options::get().natives == options::Natives::Wrap && jvm::get().finds_prefixed_natives
}

/// Whether the class got wrappers when it was loaded.
fn has_wrappers(place: Target) -> bool {
    let jvmti = jvm::get().jvmti;
    jvmti.class_methods(place.class).is_ok_and(|methods| {
        methods.iter().any(|method| {
            let name = jvmti.method_name(*method);
            name.is_ok_and(|(name, _)| name.to_bytes().starts_with(NATIVE_PREFIX.to_bytes()))
        })
    })
}

/// Whether a native method of the boot loader can be wrapped. Those with annotations are
/// caller-sensitive or intrinsics of the JIT.
fn is_safe_to_wrap(class: &ClassFile<'_>, method: &Method<'_>) -> bool {
    OF_BOOT_LOADER.iter().any(|package| class.name().starts_with(package))
        && method.attributes().find(b"RuntimeVisibleAnnotations").is_none()
}
