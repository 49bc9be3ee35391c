//! While a virtual thread is being mounted or unmounted, JVMTI blocks each thread that asks for its
//! stack, so code that runs then must report nothing. The scheduler notifies the VM where such a
//! transition begins and ends; it is made to notify the shim too.

use crate::jvm;
use crate::world::tracker::NAME;
use classfile::{ClassFile, Editor, Instruction, Method, opcode};

/// The classes in which transitions begin and end, with those that are nested in them.
const SCHEDULER: [&[u8]; 2] = [b"java/lang/VirtualThread", b"jdk/internal/vm/Continuation"];

/// Whether code of the class runs on either side of transitions, so that its calls cannot be
/// attributed.
pub fn makes(class: &[u8]) -> bool {
    SCHEDULER.iter().any(|name| class.starts_with(name))
}

/// Since when a virtual thread that waits for a monitor leaves its carrier.
const RESUMES_SINCE: u32 = 24;

/// Whether the scheduler calls the class just before a virtual thread that waited for a monitor is
/// resumed. Its calls cannot be reported, as the transition lasts until then.
pub fn serves(class: &ClassFile<'_>) -> bool {
    jvm::get().feature_version() >= RESUMES_SINCE
        && class.interface_names().any(|name| name == b"jdk/internal/access/JavaLangAccess")
}

/// Adds reports of the transitions that the class makes.
pub fn edit(class: &ClassFile<'_>, editor: &mut Editor<'_>) -> Result<(), classfile::Error> {
    let constants = editor.constants();
    let transition = constants.method_ref(NAME.to_bytes(), "transition", "(Z)V")?;
    let resumption = constants.method_ref(NAME.to_bytes(), "resumption", "(Z)V")?;
    for method in class.methods() {
        let Some(code) = method.code()? else { continue };
        for instruction in code.instructions() {
            let instruction = instruction?;
            let Some(report) = Notice::of(class, &method, instruction)? else { continue };
            let Some(mut edits) = editor.method(method.index()) else { continue };
            edits.before(instruction.bci, |code| match report {
                Notice::AsArgument => code.dup().invoke_static(transition),
                Notice::Transition(begins) => {
                    code.push_int(begins.into()).invoke_static(transition)
                }
                Notice::Resumption(begins) => {
                    code.push_int(begins.into()).invoke_static(resumption)
                }
            });
        }
    }
    Ok(())
}

/// What is reported before an instruction.
enum Notice {
    /// That a transition begins or has ended, as the argument of the call says.
    AsArgument,
    Transition(bool),
    /// That a virtual thread that waited for a monitor is about to be resumed, from JDK 24 on; or
    /// that a thread now runs again. It is resumed in the middle of its code, and the VM itself
    /// ends the transition.
    Resumption(bool),
}

impl Notice {
    fn of(
        class: &ClassFile<'_>,
        method: &Method<'_>,
        instruction: Instruction<'_>,
    ) -> Result<Option<Self>, classfile::Error> {
        let is_member = matches!(
            instruction.opcode(),
            opcode::INVOKEVIRTUAL | opcode::INVOKESPECIAL | opcode::GETSTATIC | opcode::PUTFIELD
        );
        let Some(constant) = instruction.constant().filter(|_| is_member) else { return Ok(None) };
        let member = class.constant_pool().member(constant)?;
        Ok(match (member.name, member.descriptor) {
            // The argument says whether the virtual thread is hidden from here on.
            (b"notifyJvmtiMount" | b"notifyJvmtiUnmount", b"(Z)V") => Some(Self::AsArgument),
            (b"notifyJvmtiStart", b"()V") => Some(Self::Transition(false)),
            (b"notifyJvmtiEnd", b"()V") => Some(Self::Transition(true)),
            // The scheduler consumes the permit of the thread to go on.
            (b"blockPermit", b"Z") if method.name() == b"runContinuation" => {
                Some(Self::Resumption(true))
            }
            // The last field that `Continuation` reads, which cannot be rewritten itself.
            (b"VTHREAD_SCOPE", _) if method.name() == b"continuationScope" => {
                Some(Self::Resumption(false))
            }
            _ => None,
        })
    }
}
