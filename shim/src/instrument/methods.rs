//! Rewriting that reports calls: code at a method's entry, before every return, and where an
//! exception leaves it.

use super::tracker::NAME;
use classfile::{ClassFile, Editor, Method, MethodRef};

/// What calls are reported for.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub struct Calls {
    /// METHOD_ENTRY or METHOD_EXIT, or both.
    pub plain: bool,
    /// METHOD_ENTRY2: entries come with the receiver.
    pub receivers: bool,
}

impl Calls {
    pub const NONE: Self = Self { plain: false, receivers: false };
}

/// Adds reports of the calls of all methods that have code, and of the native methods that were
/// `wrapped`. The methods have the numbers from `first` on.
pub fn edit(
    class: &ClassFile<'_>,
    editor: &mut Editor<'_>,
    calls: Calls,
    wrapped: &[usize],
    first: usize,
) -> Result<(), classfile::Error> {
    let is_reported = |method: &Method<'_>| method.has_code() || wrapped.contains(&method.index());
    if calls == Calls::NONE || !class.methods().any(|method| is_reported(&method)) {
        return Ok(());
    }
    let enter = native(editor, "enter", "(I)V")?;
    let enter_instance = native(editor, "enter", "(ILjava/lang/Object;)V")?;
    let exit = native(editor, "exit", "(I)V")?;
    for method in class.methods().filter(is_reported) {
        let Some(mut code) = editor.method(method.index()) else { continue };
        let index = (first + method.index()) as i32;
        // In a constructor `this` cannot be passed on yet.
        if calls.receivers && !method.is_static() && !method.is_constructor() {
            code.at_entry(|c| c.push_int(index).load_this().invoke_static(enter_instance));
        } else {
            code.at_entry(|c| c.push_int(index).invoke_static(enter));
        }
        code.before_returns(|c| c.push_int(index).invoke_static(exit));
        code.on_throw(|c| c.push_int(index).invoke_static(exit));
    }
    Ok(())
}

fn native(
    editor: &mut Editor<'_>,
    name: &str,
    descriptor: &str,
) -> Result<MethodRef, classfile::Error> {
    editor.constants().method_ref(NAME.to_bytes(), name, descriptor)
}
