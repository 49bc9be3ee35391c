//! While a virtual thread is being mounted or unmounted, JVMTI blocks each thread that asks for its
//! stack, so code that runs then must report nothing. The scheduler notifies the VM where such a
//! transition begins and ends; it is made to notify the shim too.

use crate::jvm::{self, internals};
use crate::records::tracker::NAME;
use crate::threads;
use classfile::{ClassFile, Editor, Instruction, Method, opcode};
use std::mem::MaybeUninit;
use std::ptr;

/// The class that notifies the VM.
const VIRTUAL_THREAD: &[u8] = b"java/lang/VirtualThread";

/// The classes in which transitions begin and end, with those that are nested in them.
const SCHEDULER: [&[u8]; 2] = [VIRTUAL_THREAD, b"jdk/internal/vm/Continuation"];

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

/// Waits until the transitions are over that are under way. The VM does so for whoever asks for a stack.
pub fn wait_for_all() {
    let _ = jvm::get().jvmti.stack_trace(ptr::null_mut(), 0, &mut [MaybeUninit::uninit()]);
}

/// Adds reports of the transitions that the class makes.
pub fn edit(class: &ClassFile<'_>, editor: &mut Editor<'_>) -> Result<(), classfile::Error> {
    let notices = notices(class)?;
    let has = |kind: fn(&Notice) -> bool| notices.iter().any(|(_, _, notice)| kind(notice));
    let is_complete = || has(Notice::begins) && has(Notice::ends);
    if class.name() == VIRTUAL_THREAD && !internals::TRANSITIONS.is_there(is_complete) {
        threads::expect_notices(false);
        return Ok(());
    }
    let constants = editor.constants();
    let transition = constants.method_ref(NAME.to_bytes(), "transition", "(Z)V")?;
    let resumption = constants.method_ref(NAME.to_bytes(), "resumption", "(Z)V")?;
    for (method, bci, notice) in notices {
        let Some(mut edits) = editor.method(method) else { continue };
        edits.before(bci, |code| match notice {
            Notice::AsArgument => code.dup().invoke_static(transition),
            Notice::Transition(begins) => code.push_int(begins.into()).invoke_static(transition),
            Notice::Resumption(begins) => code.push_int(begins.into()).invoke_static(resumption),
        });
    }
    Ok(())
}

/// What its methods are to report, each with its number and where.
fn notices(class: &ClassFile<'_>) -> Result<Vec<(usize, u16, Notice)>, classfile::Error> {
    let mut notices = Vec::new();
    for method in class.methods() {
        let Some(code) = method.code()? else { continue };
        for instruction in code.instructions() {
            let instruction = instruction?;
            if let Some(notice) = Notice::of(class, &method, instruction)? {
                notices.push((method.index(), instruction.bci, notice));
            }
        }
    }
    Ok(notices)
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
    fn begins(&self) -> bool {
        matches!(self, Self::AsArgument | Self::Transition(true))
    }

    fn ends(&self) -> bool {
        matches!(self, Self::AsArgument | Self::Transition(false))
    }

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
            // From JDK 26 on; here the argument says whether the virtual thread is mounted.
            (b"startTransition", b"(Z)V") | (b"startFinalTransition", b"()V") => {
                Some(Self::Transition(true))
            }
            (b"endTransition", b"(Z)V") | (b"endFirstTransition", b"()V") => {
                Some(Self::Transition(false))
            }
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
