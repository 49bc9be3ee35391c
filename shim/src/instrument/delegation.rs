//! Makes class loaders find the Tracker.
//!
//! The VM asks a class's loader, with `loadClass`, for the classes that its code names. The boot loader has
//! the Tracker. But a loader may look elsewhere first, refuse names that are not in its list, or record the
//! requests. So `loadClass` answers for the Tracker before any of the program's code runs.
//!
//! If the class has a protection domain, the VM then calls `ClassLoader.checkPackageAccess`, which asks the
//! program's security manager. A manager may refuse the package; and if its own code names the Tracker, asking it
//! never ends. So that method also answers for the Tracker.

use crate::jvm::{GlobalRef, Jni};
use crate::lock::Memo;
use crate::records::tracker::NAME;
use jni_sys::jclass;
use jvmpi_classfile::{ClassFile, Editor, Kind, Method};

/// Returns true if the class is a class loader.
pub fn is_loader(jni: Jni, class: jclass) -> bool {
    static LOADER: Memo<Option<GlobalRef>> = Memo::new();
    let loader = LOADER.get_or_find(|| {
        jni.frame(1, |jni| GlobalRef::new(jni, jni.find_class(c"java/lang/ClassLoader")?))
    });
    loader.as_ref().is_some_and(|loader| jni.is_assignable(class, loader.get()))
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
    let mut native = |name, descriptor| constants.method_ref(NAME.to_bytes(), name, descriptor);
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
