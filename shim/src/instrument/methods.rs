//! Rewriting that reports calls. Code is inserted at a method's entry, before every return, where an
//! exception leaves the method, and where the method catches one.

use super::reports::Reports;
use super::transitions;
use crate::classes::method_numbers;
use crate::records::class::TRACKER;
use crate::records::construction::{Beginning, Signature};
use jvmpi_classfile::opcode::{self, ACONST_NULL, ALOAD_3, IRETURN, PUTFIELD};
use jvmpi_classfile::{ClassFile, Code, Editor, Method, MethodRef, Snippet};
use jvmpi_settings::Getters;

/// Adds reports of the calls of all methods that have code. The methods have the numbers from `first` on.
pub fn edit(
    class: &ClassFile<'_>,
    editor: &mut Editor<'_>,
    reports: Reports,
    first: usize,
) -> Result<(), jvmpi_classfile::Error> {
    if reports.among(Reports::CALLS) == Reports::NONE
        || !class.methods().any(|method| method.has_code())
    {
        return Ok(());
    }
    // Each constant that is added makes redefinition search the whole pool.
    let (has_receivers, has_exits) =
        (reports.include(Reports::RECEIVERS), reports.include(Reports::EXITS));
    let has_handlers = |code: Option<Code<'_>>| code.is_some_and(|code| code.handlers().len() > 0);
    let any_catches = || class.methods().any(|method| method.code().is_ok_and(has_handlers));
    let enter = if has_receivers {
        native(editor, "enter_with", "(ILjava/lang/Object;)V", true)?
    } else {
        native(editor, "enter", "(I)V", reports.include(Reports::ENTRIES))?
    };
    let defers = reports.objects_before_constructors();
    let enter_constructor = native(editor, "enter_constructor", "(I)V", defers)?;
    let exit = native(editor, "exit", "(I)V", has_exits)?;
    let catches = has_exits && reports.have_entries() && any_catches();
    let caught = native(editor, "caught", "(Ljava/lang/Object;IZ)V", catches)?;
    let skips_getters = jvmpi_settings::get().getters == Getters::Skip;
    for method in class.methods() {
        let Some(original) = method.code()? else { continue };
        if skips_getters && only_accesses_fields(&original)
            || transitions::calls_unnoticed(class.name(), method.name())
        {
            continue;
        }
        let Some(mut code) = editor.method(method.index()) else { continue };
        let number = first + method.index();
        // `this` cannot be passed on before the superclass constructor has run.
        let is_constructor = method.is_constructor() && class.super_name().is_some();
        let enter_constructor = enter_constructor.filter(|_| is_constructor);
        if enter_constructor.is_some() {
            let own = Signature::of(class.name(), method.descriptor());
            let next = next_constructor(class, &method).unwrap_or(Signature::NONE);
            method_numbers::set_beginning(number, Beginning { own, next });
        }
        if let Some(enter) = enter {
            code.at_entry(|c| {
                let c = push_number(c, first, method.index());
                match enter_constructor {
                    Some(enter_constructor) => c.invoke_static(enter_constructor),
                    None if !has_receivers => c.invoke_static(enter),
                    None if method.is_static() => c.push_null().invoke_static(enter),
                    None => c.load_this().invoke_static(enter),
                }
            });
        }
        if let Some(exit) = exit {
            code.before_returns(|c| push_number(c, first, method.index()).invoke_static(exit));
            code.on_throw(|c| push_number(c, first, method.index()).invoke_static(exit));
        }
        if let Some(caught) = caught {
            for handler in original.catches() {
                code.on_catch(handler, |c| {
                    let c = push_number(c.dup(), first, method.index());
                    c.push_int(method.is_constructor().into()).invoke_static(caught)
                });
            }
        }
    }
    Ok(())
}

/// Pushes the number of a method, given that of the first method of its class. Only small numbers are pushed without a
/// constant; the methods of a class that has larger ones share the constant of the first.
fn push_number(code: &mut Snippet, first: usize, index: usize) -> &mut Snippet {
    if index == 0 || first + index <= i16::MAX as usize {
        code.push_int((first + index) as i32)
    } else {
        code.push_int(first as i32).push_int(index as i32).add()
    }
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
    is_used.then(|| constants.method_ref(TRACKER.to_bytes(), name, descriptor)).transpose()
}

/// Returns the constructor that this one calls for its object, if it calls, creates and
/// leaves nothing before.
fn next_constructor(class: &ClassFile<'_>, constructor: &Method<'_>) -> Option<Signature> {
    let mut furthest = 0;
    for instruction in constructor.code().ok()??.instructions() {
        let instruction = instruction.ok()?;
        let bci = i64::from(instruction.bci);
        match instruction.opcode() {
            opcode::INVOKESPECIAL => {
                let called = class.constant_pool().member(instruction.constant()?).ok()?;
                let is_own =
                    called.class == class.name() || Some(called.class) == class.super_name();
                let is_next = called.name == b"<init>" && is_own && furthest <= bci;
                return is_next.then(|| Signature::of(called.class, called.descriptor));
            }
            opcode::INVOKEVIRTUAL
            | opcode::INVOKESTATIC
            | opcode::INVOKEINTERFACE
            | opcode::INVOKEDYNAMIC
            | opcode::NEW
            | opcode::NEWARRAY
            | opcode::ANEWARRAY
            | opcode::MULTIANEWARRAY
            | opcode::MONITORENTER
            | opcode::MONITOREXIT
            | opcode::TABLESWITCH
            | opcode::LOOKUPSWITCH
            | opcode::ATHROW
            | opcode::RETURN => return None,
            _ => {}
        }
        if let Some(target) = instruction.branch_target() {
            if target < bci {
                return None;
            }
            furthest = furthest.max(target);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use jvmpi_classfile::access;
    use jvmpi_classfile::builder::{Body, ClassBuilder};
    use jvmpi_classfile::opcode::RETURN;

    #[test]
    fn methods_with_large_numbers_share_one_constant() {
        const METHODS: usize = 200;
        let mut class = ClassBuilder::new(49, "T");
        for index in 0..METHODS {
            let body = Body::new(0, 0, [RETURN]);
            class.method(access::STATIC, &format!("f{index}"), "()V", &body);
        }
        let file = class.finish();
        let class = ClassFile::parse(&file).unwrap();
        let added = |first| {
            let mut editor = Editor::new(&class);
            for index in 0..METHODS {
                let mut code = editor.method(index).unwrap();
                code.at_entry(|c| push_number(c, first, index).pop());
            }
            let rewritten = editor.finish();
            assert!(rewritten.skipped.is_empty());
            let changed = ClassFile::parse(&rewritten.bytes).unwrap();
            changed.constant_pool().len() - class.constant_pool().len()
        };
        assert_eq!([0, 32_700, 32_768, 40_000].map(added), [0, 0, 1, 1]);
    }
}
