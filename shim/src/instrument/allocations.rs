//! Rewriting that reports allocations. `Object.<init>` reports every object that is constructed, in
//! whatever way, and each array instruction reports its array. Methods that allocate in a different
//! way are reported where they return: `clone`, and the methods that the JIT replaces by its own
//! code.

use crate::records::class::TRACKER;
use jvmpi_classfile::{ClassFile, Editor, MemberRef, MethodRef, opcode};

/// The name of a native of the Tracker that reports allocations.
type Reporter = &'static str;

const ARRAYS: Reporter = "arrays";
const RETURNED: Reporter = "returned";

/// Adds reports of everything that the class allocates.
pub fn edit(class: &ClassFile<'_>, editor: &mut Editor<'_>) -> Result<(), jvmpi_classfile::Error> {
    for method in class.methods() {
        let Some(code) = method.code()? else { continue };
        for instruction in code.instructions() {
            let instruction = instruction?;
            let Some(native) = reporter(class, instruction) else { continue };
            let native = tracker(editor, native)?;
            if let Some(mut method) = editor.method(method.index()) {
                method.after(instruction.bci, |code| code.dup().invoke_static(native));
            }
        }
    }
    Ok(())
}

fn tracker(
    editor: &mut Editor<'_>,
    reporter: Reporter,
) -> Result<MethodRef, jvmpi_classfile::Error> {
    editor.constants().method_ref(TRACKER.to_bytes(), reporter, "(Ljava/lang/Object;)V")
}

/// Adds the report of each constructed object to the constructor of `Object`. It comes before reports
/// that are added later.
pub fn report_constructed(
    class: &ClassFile<'_>,
    editor: &mut Editor<'_>,
) -> Result<(), jvmpi_classfile::Error> {
    let native = tracker(editor, "initialized")?;
    for constructor in class.methods().filter(|method| method.is_constructor()) {
        if let Some(mut method) = editor.method(constructor.index()) {
            method.at_entry(|code| code.load_this().invoke_static(native));
        }
    }
    Ok(())
}

/// Returns the native that reports the instruction's result on the stack, if the instruction
/// allocates.
fn reporter(
    class: &ClassFile<'_>,
    instruction: jvmpi_classfile::Instruction<'_>,
) -> Option<Reporter> {
    match instruction.opcode() {
        opcode::NEWARRAY | opcode::ANEWARRAY => Some("array"),
        opcode::MULTIANEWARRAY => Some(ARRAYS),
        opcode::INVOKEVIRTUAL | opcode::INVOKESPECIAL | opcode::INVOKESTATIC => {
            let called = class.constant_pool().member(instruction.constant()?).ok()?;
            reporter_of_call(called)
        }
        _ => None,
    }
}

const UNSAFE: &[u8] = b"jdk/internal/misc/Unsafe";
const OLD_UNSAFE: &[u8] = b"sun/misc/Unsafe";

fn reporter_of_call(called: MemberRef<'_>) -> Option<Reporter> {
    match (called.class, called.name, called.descriptor) {
        (_, b"clone", b"()Ljava/lang/Object;") => Some(RETURNED),
        (b"java/lang/StringBuilder" | b"java/lang/StringBuffer", b"toString", _) => Some("string"),
        (b"java/util/Arrays", b"copyOf" | b"copyOfRange", _) => Some(RETURNED),
        (b"java/lang/reflect/Array", b"newArray", _) => Some(RETURNED),
        (b"java/lang/reflect/Array", b"multiNewArray", _) => Some(ARRAYS),
        (UNSAFE | OLD_UNSAFE, b"allocateInstance", _) => Some("unconstructed"),
        (UNSAFE | OLD_UNSAFE, b"allocateUninitializedArray", _) => Some(RETURNED),
        _ => None,
    }
}
