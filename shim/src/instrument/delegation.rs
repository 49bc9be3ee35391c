//! Makes class loaders find the Tracker.
//!
//! The VM asks a class's loader, with `loadClass`, for the classes that its code names. The boot loader has
//! the Tracker. But a loader may look elsewhere first, refuse names that are not in its list, or record the
//! requests. So `loadClass` answers for the Tracker before any of the program's code runs.

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

/// Returns true if the class has the method that the VM calls.
pub fn is_asked(class: &ClassFile<'_>) -> bool {
    class.methods().any(|method| loads(&method))
}

fn loads(method: &Method<'_>) -> bool {
    method.has_code()
        && !method.is_static()
        && method.name() == b"loadClass"
        && method.descriptor() == b"(Ljava/lang/String;)Ljava/lang/Class;"
}

/// Makes that method answer for the Tracker.
pub fn edit(class: &ClassFile<'_>, editor: &mut Editor<'_>) -> Result<(), jvmpi_classfile::Error> {
    const NAME_OF_CLASS: u16 = 1;
    let constants = editor.constants();
    let is_tracker =
        constants.method_ref(NAME.to_bytes(), "is_tracker", "(Ljava/lang/String;)Z")?;
    let itself = constants.method_ref(NAME.to_bytes(), "itself", "()Ljava/lang/Class;")?;
    for method in class.methods().filter(loads) {
        if let Some(mut code) = editor.method(method.index()) {
            code.at_entry(|code| {
                code.only_if(
                    |code| code.load(Kind::Reference, NAME_OF_CLASS).invoke_static(is_tracker),
                    |code| code.invoke_static(itself).return_reference(),
                )
            });
        }
    }
    Ok(())
}
