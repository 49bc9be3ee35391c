//! Class loaders that know nothing of the Tracker find it.
//!
//! The VM asks the loader of a class for the classes that its code names, with `loadClass`. The boot loader
//! has the Tracker, but a loader may look elsewhere before, refuse what is not in its list, or keep what it
//! was asked for. So `loadClass` answers for the Tracker before any of the program's code runs.

use crate::jvm::{GlobalRef, Jni};
use crate::lock::Memo;
use crate::records::tracker::NAME;
use classfile::{ClassFile, Editor, Kind, Method};
use jni_sys::jclass;

/// Whether the class is a class loader.
pub fn is_loader(jni: Jni, class: jclass) -> bool {
    static LOADER: Memo<Option<GlobalRef>> = Memo::new();
    let loader = LOADER.get_or_find(|| {
        jni.frame(1, |jni| GlobalRef::new(jni, jni.find_class(c"java/lang/ClassLoader")?))
    });
    loader.as_ref().is_some_and(|loader| jni.is_assignable(class, loader.get()))
}

/// Whether it has the method that the VM calls.
pub fn is_asked(class: &ClassFile<'_>) -> bool {
    class.methods().any(|method| loads(&method))
}

fn loads(method: &Method<'_>) -> bool {
    method.has_code()
        && !method.is_static()
        && method.name() == b"loadClass"
        && method.descriptor() == b"(Ljava/lang/String;)Ljava/lang/Class;"
}

/// Has it answer for the Tracker.
pub fn edit(class: &ClassFile<'_>, editor: &mut Editor<'_>) -> Result<(), classfile::Error> {
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
