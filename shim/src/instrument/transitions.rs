//! While a virtual thread is put on a carrier or taken off, JVMTI makes everybody wait who asks for
//! a stack, so code that runs then must report nothing. The scheduler tells the VM where such a
//! transition begins and ends; it is made to tell the shim too.

use super::tracker::NAME;
use classfile::{ClassFile, Editor, Snippet, opcode};

/// The classes that run in the middle of a transition, with those that are nested in them.
const SCHEDULER: &[u8] = b"java/lang/VirtualThread";
const CONTINUATION: &[u8] = b"jdk/internal/vm/Continuation";

/// Whether code of the class runs on either side of transitions, where its calls cannot be told
/// apart.
pub fn runs_in(class: &[u8]) -> bool {
    class.starts_with(SCHEDULER) || class.starts_with(CONTINUATION)
}

/// Whether the class tells the VM where transitions begin and end.
pub fn makes(class: &[u8]) -> bool {
    class == SCHEDULER
}

/// Adds reports of the transitions that the class makes.
pub fn edit(class: &ClassFile<'_>, editor: &mut Editor<'_>) -> Result<(), classfile::Error> {
    let native = editor.constants().method_ref(NAME.to_bytes(), "transition", "(Z)V")?;
    for method in class.methods() {
        let Some(code) = method.code()? else { continue };
        for instruction in code.instructions() {
            let instruction = instruction?;
            let is_call =
                matches!(instruction.opcode(), opcode::INVOKEVIRTUAL | opcode::INVOKESPECIAL);
            let Some(constant) = instruction.constant().filter(|_| is_call) else { continue };
            let called = class.constant_pool().member(constant)?;
            let pass_begins: fn(&mut Snippet) -> &mut Snippet =
                match (called.name, called.descriptor) {
                    // The argument says whether the virtual thread is hidden from here on.
                    (b"notifyJvmtiMount" | b"notifyJvmtiUnmount", b"(Z)V") => |code| code.dup(),
                    (b"notifyJvmtiStart", b"()V") => |code| code.push_int(0),
                    (b"notifyJvmtiEnd", b"()V") => |code| code.push_int(1),
                    _ => continue,
                };
            if let Some(mut edits) = editor.method(method.index()) {
                edits.before(instruction.bci, |code| pass_begins(code).invoke_static(native));
            }
        }
    }
    Ok(())
}
