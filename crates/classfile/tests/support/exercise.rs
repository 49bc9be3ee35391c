//! Everything that the crate does with a file that may be anything.

use classfile::{ClassFile, Editor, Place, Rewritten, Uninitialized};

/// Reads and rewrites a file in every way; says whether it could be parsed.
///
/// # Panics
/// If rewriting makes a file that can no longer be parsed, or changes one without being asked to.
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

/// Looks at everything there is to see.
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

/// Entry, exits, receivers, allocations.
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

/// Code behind a flag around every instruction.
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
