//! Rewriting that reports calls. Code is inserted at a method's entry, before every return, where an
//! exception leaves the method, and where the method catches one.

use super::beginnings;
use super::reports::{Calls, Reports};
use super::transitions;
use crate::classes::method_numbers;
use crate::records::tracker::NAME;
use jvmpi_classfile::opcode::{ACONST_NULL, ALOAD_3, IRETURN, PUTFIELD};
use jvmpi_classfile::{ClassFile, Code, Editor, MethodRef};
use jvmpi_settings::Getters;

/// Adds reports of the calls of all methods that have code. The methods have the numbers from `first` on.
pub fn edit(
    class: &ClassFile<'_>,
    editor: &mut Editor<'_>,
    reports: Reports,
    first: usize,
) -> Result<(), jvmpi_classfile::Error> {
    let calls = reports.calls;
    if calls == Calls::NONE || !class.methods().any(|method| method.has_code()) {
        return Ok(());
    }
    // Each constant that is added makes redefinition search the whole pool.
    let pairs_calls = calls.exits && (calls.entries || calls.receivers);
    let has_handlers = |code: Option<Code<'_>>| code.is_some_and(|code| code.handlers().len() > 0);
    let any_catches = || class.methods().any(|method| method.code().is_ok_and(has_handlers));
    let enter = match calls {
        Calls { receivers: true, .. } => {
            native(editor, "enter_with", "(ILjava/lang/Object;)V", true)?
        }
        _ => native(editor, "enter", "(I)V", calls.entries)?,
    };
    let defers = reports.objects_before_constructors();
    let enter_constructor = native(editor, "enter_constructor", "(I)V", defers)?;
    let exit = native(editor, "exit", "(I)V", calls.exits)?;
    let caught = native(editor, "caught", "(Ljava/lang/Object;IZ)V", pairs_calls && any_catches())?;
    let skips_getters = jvmpi_settings::get().getters == Getters::Skip;
    for method in class.methods() {
        let Some(original) = method.code()? else { continue };
        if skips_getters && only_accesses_fields(&original)
            || transitions::calls_unnoticed(class.name(), method.name())
        {
            continue;
        }
        let Some(mut code) = editor.method(method.index()) else { continue };
        let index = (first + method.index()) as i32;
        // `this` cannot be passed on before the superclass constructor has run.
        let is_constructor = method.is_constructor() && class.super_name().is_some();
        let enter_constructor = enter_constructor.filter(|_| is_constructor);
        if enter_constructor.is_some() {
            method_numbers::set_beginning(index as usize, beginnings::of(class, &method));
        }
        if let Some(enter) = enter {
            code.at_entry(|c| {
                let c = c.push_int(index);
                match enter_constructor {
                    Some(enter_constructor) => c.invoke_static(enter_constructor),
                    None if !calls.receivers => c.invoke_static(enter),
                    None if method.is_static() => c.push_null().invoke_static(enter),
                    None => c.load_this().invoke_static(enter),
                }
            });
        }
        if let Some(exit) = exit {
            code.before_returns(|c| c.push_int(index).invoke_static(exit));
            code.on_throw(|c| c.push_int(index).invoke_static(exit));
        }
        if let Some(caught) = caught {
            for handler in original.catches() {
                code.on_catch(handler, |c| {
                    let c = c.dup().push_int(index).push_int(method.is_constructor().into());
                    c.invoke_static(caught)
                });
            }
        }
    }
    Ok(())
}

/// Returns true if the code consists of loads of constants and local variables, reads and writes of fields, and a
/// return: a getter, a setter or an empty method. It has no branch and calls nothing.
fn only_accesses_fields(code: &Code<'_>) -> bool {
    let is_access = |opcode: u8| matches!(opcode, ACONST_NULL..=ALOAD_3 | IRETURN..=PUTFIELD);
    code.instructions().all(|instruction| instruction.is_ok_and(|i| is_access(i.opcode())))
}

/// Returns the reference to this native of the Tracker if it is used.
fn native(
    editor: &mut Editor<'_>,
    name: &str,
    descriptor: &str,
    is_used: bool,
) -> Result<Option<MethodRef>, jvmpi_classfile::Error> {
    let constants = editor.constants();
    is_used.then(|| constants.method_ref(NAME.to_bytes(), name, descriptor)).transpose()
}
