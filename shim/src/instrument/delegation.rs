//! Makes class loaders find the Tracker.
//!
//! The VM asks a class's loader, with `loadClass`, for the classes that its code names. The boot loader has
//! the Tracker. But a loader may look elsewhere first, refuse names that are not in its list, or record the
//! requests. So `loadClass` answers for the Tracker before any of the program's code runs.
//!
//! If the class has a protection domain, the VM then calls `ClassLoader.checkPackageAccess`, which asks the
//! program's security manager. A manager may refuse the package; and if its own code names the Tracker, asking it
//! never ends. So that method also answers for the Tracker.
//!
//! The VM takes the monitor of a loader that is not parallel capable before it calls `loadClass`, unless it has a
//! record that the loader found the class for this protection domain. A thread that runs rewritten code must not wait
//! for that monitor, because the owner may wait for a lock that this thread holds. So the record is made while the
//! monitor is held anyway: when the loader defines a class.

use crate::records::class::TRACKER;
use crate::records::tracker::BINARY_NAME;
use crate::sync::tagging;
use crate::threads;
use jni_sys::{jclass, jobject, jvalue};
use jvm::lock::Memo;
use jvm::{GlobalRef, Jni};
use jvmpi_classfile::{ClassFile, Editor, Kind, Method};
use std::collections::HashMap;
use std::ffi::CStr;

pub fn is_loader(jni: Jni, class: jclass) -> bool {
    static LOADER: Memo<Option<GlobalRef>> = Memo::new();
    let loader = LOADER.get_or_find(|| {
        jni.frame(1, |jni| GlobalRef::new(jni, jni.find_class(c"java/lang/ClassLoader")?))
    });
    loader.as_ref().is_some_and(|loader| jni.is_assignable(class, loader.get()))
}

/// The possible signatures of `Class.forName0`. The first is that of JDK 26 and later, which does not take a class.
const FOR_NAME0: [&CStr; 2] = [
    c"(Ljava/lang/String;ZLjava/lang/ClassLoader;)Ljava/lang/Class;",
    c"(Ljava/lang/String;ZLjava/lang/ClassLoader;Ljava/lang/Class;)Ljava/lang/Class;",
];

/// Makes the VM record that the class's loader finds the Tracker. The current thread owns the loader's monitor if the
/// loader is not parallel capable.
pub fn resolve(jni: Jni, class: jclass) {
    let Some(loader) = locked_loader(jni, class) else { return };
    let resolve = || {
        let classes = jni.find_class(c"java/lang/Class")?;
        let find = |signature| jni.static_method(classes, c"forName0", signature);
        let for_name = FOR_NAME0.into_iter().find_map(find)?;
        let name = jvalue { l: jni.new_string(BINARY_NAME)? };
        let is_initialized = jvalue { z: false };
        let arguments = [name, is_initialized, jvalue { l: loader }, jvalue { l: class }];
        jni.call_static_object(classes, for_name, &arguments)
    };
    if threads::internally(jni, resolve).is_none() {
        log::debug!("a class loader does not find the Tracker");
    }
}

/// Does the same for loaded classes, whose loaders' monitors the current thread need not own. Leaves out a loader whose
/// monitor another thread owns: that thread may wait for the current one.
pub fn resolve_for_loaded<'a>(jni: Jni, classes: impl Iterator<Item = &'a GlobalRef>) {
    let mut free = HashMap::new();
    for class in classes {
        jni.frame(16, |jni| {
            let Some(loader) = locked_loader(jni, class.get()) else { return };
            let Ok(id) = tagging::id_of(loader) else { return };
            if *free.entry(id.addr()).or_insert_with(|| is_free(jni, loader)) {
                resolve(jni, class.get());
            }
        });
    }
}

/// Returns true if no other thread owns the monitor.
fn is_free(jni: Jni, monitor: jobject) -> bool {
    let jvmti = jvm::get().jvmti;
    let is_ours = |owner| jvmti.current_thread().is_ok_and(|thread| jni.same_object(thread, owner));
    jvmti.monitor_usage(monitor).is_ok_and(|usage| usage.owner.is_null() || is_ours(usage.owner))
}

/// Returns the class's loader if the VM takes its monitor to find a class.
fn locked_loader(jni: Jni, class: jclass) -> Option<jobject> {
    let loader = jvm::get().jvmti.class_loader(class).ok()?;
    if loader.is_null() {
        return None;
    }
    let map = c"Ljava/util/concurrent/ConcurrentHashMap;";
    let locks = jni.field(jni.class_of(loader), c"parallelLockMap", map)?;
    jni.object_field(loader, locks).is_null().then_some(loader)
}

/// The Java code that the VM runs to find a class.
#[derive(Clone, Copy)]
enum Question {
    LoadClass,
    CheckPackageAccess,
}

impl Question {
    fn of(class: &ClassFile<'_>, method: &Method<'_>) -> Option<Self> {
        if !method.has_code() || method.is_static() {
            return None;
        }
        match (method.name(), method.descriptor()) {
            (b"loadClass", b"(Ljava/lang/String;)Ljava/lang/Class;") => Some(Self::LoadClass),
            (b"checkPackageAccess", b"(Ljava/lang/Class;Ljava/security/ProtectionDomain;)V")
                if class.name() == b"java/lang/ClassLoader" =>
            {
                Some(Self::CheckPackageAccess)
            }
            _ => None,
        }
    }
}

/// Returns true if the class has a method that the VM calls to find a class.
pub fn is_asked(class: &ClassFile<'_>) -> bool {
    class.methods().any(|method| Question::of(class, &method).is_some())
}

/// Makes these methods answer for the Tracker.
pub fn edit(class: &ClassFile<'_>, editor: &mut Editor<'_>) -> Result<(), jvmpi_classfile::Error> {
    /// The name of the class, or the class.
    const ARGUMENT: u16 = 1;
    let constants = editor.constants();
    let mut native = |name, descriptor| constants.method_ref(TRACKER.to_bytes(), name, descriptor);
    let is_tracker = native("is_tracker", "(Ljava/lang/String;)Z")?;
    let itself = native("itself", "()Ljava/lang/Class;")?;
    let is_itself = native("is_itself", "(Ljava/lang/Class;)Z")?;
    for method in class.methods() {
        let Some(question) = Question::of(class, &method) else { continue };
        let Some(mut code) = editor.method(method.index()) else { continue };
        code.at_entry(|code| match question {
            Question::LoadClass => code.only_if(
                |code| code.load(Kind::Reference, ARGUMENT).invoke_static(is_tracker),
                |code| code.invoke_static(itself).return_reference(),
            ),
            Question::CheckPackageAccess => code.only_if(
                |code| code.load(Kind::Reference, ARGUMENT).invoke_static(is_itself),
                |code| code.return_void(),
            ),
        });
    }
    Ok(())
}
