//! All operations of the crate on a file with arbitrary contents.

use jvmpi_classfile::{ClassFile, Editor, Place, Rewritten, Uninitialized};

/// Reads and rewrites a file in every way. Returns true if it could be parsed.
///
/// # Panics
/// Panics if rewriting makes an unparsable file, or changes a file without edits.
pub fn exercise(bytes: &[u8]) -> bool {
    let Ok(class) = ClassFile::parse(bytes) else { return false };
    assert!(Editor::new(&class).finish().bytes == bytes);
    read(&class);
    let probes = rewrite(&class, probe);
    let instructions = rewrite(&class, trace);
    for rewritten in [probes, instructions] {
        let class = ClassFile::parse(&rewritten.bytes).expect("what was written can be read");
        read(&class);
    }
    true
}

/// Reads everything that can be read.
fn read(class: &ClassFile<'_>) {
    let pool = class.constant_pool();
    for index in 0..=pool.len() as u16 {
        let _ = (pool.tag(index), pool.utf8(index), pool.class(index));
        let _ = (pool.member(index), pool.dynamic(index));
    }
    let _ = (class.source_file(), class.interface_names().count(), class.attributes().count());
    for field in class.fields() {
        let _ = (field.name(), field.descriptor(), field.attributes().count());
    }
    for method in class.methods() {
        let Ok(Some(code)) = method.code() else { continue };
        for instruction in code.instructions().map_while(Result::ok) {
            let _ = (instruction.constant(), instruction.branch_target());
            if let Some(switch) = instruction.switch() {
                let _ = (switch.cases().count(), switch.default_target(), switch.table_bounds());
            }
        }
        let _ = (code.line_numbers().count(), code.handlers().count(), code.initializations());
        let _ = code.uninitialized_comparisons();
    }
}

fn rewrite(class: &ClassFile<'_>, edit: impl Fn(&ClassFile<'_>, &mut Editor<'_>)) -> Rewritten {
    let mut editor = Editor::new(class);
    edit(class, &mut editor);
    editor.finish()
}

/// Inserts probes for entry, exits, receivers and allocations.
fn probe(class: &ClassFile<'_>, editor: &mut Editor<'_>) {
    let Ok(enter) = editor.constants().method_ref("T", "enter", "(I)V") else { return };
    let Ok(seen) = editor.constants().method_ref("T", "seen", "(Ljava/lang/Object;)V") else {
        return;
    };
    for method in class.methods() {
        let Some(mut edits) = editor.method(method.index()) else { continue };
        edits
            .at_entry(|code| code.push_int(1 << 20).invoke_static(enter))
            .before_returns(|code| code.push_int(1 << 21).invoke_static(enter))
            .on_throw(|code| code.push_int(1 << 22).invoke_static(enter));
        if !method.is_static() && !method.is_constructor() {
            edits.on_throw(|code| code.load_this().invoke_static(seen));
        }
        if !method.is_static() {
            edits.when_this_initialized(|code| code.load_this().invoke_static(seen));
        }
        let Ok(Some(code)) = method.code() else { continue };
        for made in code.initializations().unwrap_or_default() {
            if let (Uninitialized::New { .. }, Some(Place::Stack)) = (made.object, made.found) {
                edits.after(made.call, |code| code.dup().invoke_static(seen));
            }
        }
    }
}

/// Inserts code subject to a flag around every instruction.
fn trace(class: &ClassFile<'_>, editor: &mut Editor<'_>) {
    let Ok(on) = editor.constants().field_ref("T", "on", "Z") else { return };
    for method in class.methods() {
        let Ok(Some(code)) = method.code() else { continue };
        let Some(mut edits) = editor.method(method.index()) else { continue };
        edits.on_throw(|code| code.guard(on, |code| code.push_null().pop()));
        for handler in code.catches() {
            edits.on_catch(handler, |code| code.guard(on, |code| code.push_int(3).pop()));
        }
        for instruction in code.instructions().map_while(Result::ok) {
            edits
                .before(instruction.bci, |code| code.guard(on, |code| code.push_int(1).pop()))
                .after(instruction.bci, |code| code.guard(on, |code| code.push_int(2).pop()));
        }
    }
}
