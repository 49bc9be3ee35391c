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
    let enter = native(editor, "enter", "(I)V")?;
    let enter_constructor = native(editor, "enter_constructor", "(I)V")?;
    let enter_with = native(editor, "enter_with", "(ILjava/lang/Object;)V")?;
    let exit = native(editor, "exit", "(I)V")?;
    let caught = native(editor, "caught", "(Ljava/lang/Object;IZ)V")?;
    let skips_getters = jvmpi_settings::get().getters == Getters::Skip;
    for method in class.methods() {
        let Some(original) = method.code()? else { continue };
        if skips_getters && only_accesses_fields(&original)
            || transitions::calls_unnoticed(class.name(), method.name())
        {
            continue;
        }
        let catches = original.catches();
        let Some(mut code) = editor.method(method.index()) else { continue };
        let index = (first + method.index()) as i32;
        // `this` cannot be passed on before the superclass constructor has run.
        let is_constructor = method.is_constructor() && class.super_name().is_some();
        let waits = is_constructor && reports.objects_before_constructors();
        if waits {
            method_numbers::set_beginning(index as usize, beginnings::of(class, &method));
        }
        if calls.entries || calls.receivers {
            code.at_entry(|c| {
                let c = c.push_int(index);
                if waits {
                    c.invoke_static(enter_constructor)
                } else if calls.receivers {
                    let c = if method.is_static() { c.push_null() } else { c.load_this() };
                    c.invoke_static(enter_with)
                } else {
                    c.invoke_static(enter)
                }
            });
        }
        if calls.exits {
            code.before_returns(|c| c.push_int(index).invoke_static(exit));
            code.on_throw(|c| c.push_int(index).invoke_static(exit));
        }
        if calls.exits && (calls.entries || calls.receivers) {
            for handler in catches {
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

fn native(
    editor: &mut Editor<'_>,
    name: &str,
    descriptor: &str,
) -> Result<MethodRef, jvmpi_classfile::Error> {
    editor.constants().method_ref(NAME.to_bytes(), name, descriptor)
}
