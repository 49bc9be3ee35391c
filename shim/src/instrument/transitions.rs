//! Reports the transitions of virtual threads, that is their mounting and unmounting. During a
//! transition JVMTI blocks every thread that asks for its stack, so rewritten code must report nothing.
//! The scheduler notifies the VM where a transition begins and ends; rewriting makes it notify the shim
//! too.

use crate::records::class::TRACKER;
use crate::threads;
use jvm::internals;
use jvmpi_classfile::{ClassFile, Editor, Instruction, Method, opcode};
use std::mem::MaybeUninit;
use std::ptr;

/// The class that notifies the VM.
const VIRTUAL_THREAD: &[u8] = b"java/lang/VirtualThread";

/// The classes in which transitions begin and end, and their nested classes.
const SCHEDULER: [&[u8]; 2] = [VIRTUAL_THREAD, b"jdk/internal/vm/Continuation"];

/// Returns true if code of the class runs on both sides of transitions, so that its calls cannot be
/// attributed.
pub fn makes(class: &[u8]) -> bool {
    SCHEDULER.iter().any(|name| class.starts_with(name))
}

/// Returns true if a virtual thread that waits for a monitor leaves its carrier.
fn leaves_at_monitors() -> bool {
    const SINCE: u32 = 24;
    jvm::get().feature_version() >= SINCE
}

/// Returns true if the scheduler calls the class just before it resumes a virtual thread that waited for
/// a monitor. These calls cannot be reported, because the transition lasts until then.
pub fn serves(class: &ClassFile<'_>) -> bool {
    leaves_at_monitors()
        && class.interface_names().any(|name| name == b"jdk/internal/access/JavaLangAccess")
}

/// Returns true if `Continuation.run`, which cannot be rewritten, calls the method after a virtual thread has left its
/// carrier at a monitor. No notice precedes these calls, so they cannot be reported.
pub fn calls_unnoticed(class: &[u8], method: &[u8]) -> bool {
    let methods: &[&[u8]] = match class {
        b"java/lang/Thread" => &[
            b"currentCarrierThread",
            b"setContinuation",
            b"scopedValueCache",
            b"setScopedValueCache",
        ],
        b"jdk/internal/misc/Unsafe" => &[b"storeFence", b"fullFence"],
        _ => &[],
    };
    methods.contains(&method) && leaves_at_monitors()
}

/// Waits until all transitions under way have ended, as the VM does for every request of a stack.
pub fn wait_for_all() {
    let _ = jvm::get().jvmti.stack_trace(ptr::null_mut(), 0, &mut [MaybeUninit::uninit()]);
}

/// Adds reports of the transitions that the class makes.
pub fn edit(class: &ClassFile<'_>, editor: &mut Editor<'_>) -> Result<(), jvmpi_classfile::Error> {
    let notices = notices(class)?;
    let has = |wanted| notices.iter().any(|(_, _, notice)| *notice == wanted);
    let is_complete = || {
        has(Notice::AsArgument) || has(Notice::Transition(true)) && has(Notice::Transition(false))
    };
    if class.name() == VIRTUAL_THREAD && !internals::TRANSITIONS.is_there(is_complete) {
        threads::expect_notices(false);
        return Ok(());
    }
    let constants = editor.constants();
    let transition = constants.method_ref(TRACKER.to_bytes(), "transition", "(Z)V")?;
    let resumption = constants.method_ref(TRACKER.to_bytes(), "resumption", "(Z)V")?;
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

/// Returns the reports to be added to the class, each with the method's index and the bytecode index.
fn notices(class: &ClassFile<'_>) -> Result<Vec<(usize, u16, Notice)>, jvmpi_classfile::Error> {
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

/// The report before an instruction.
#[derive(PartialEq, Eq)]
enum Notice {
    /// A transition begins or has ended, as the argument of the call says.
    AsArgument,
    Transition(bool),
    /// A virtual thread that waited for a monitor is about to be resumed (true, from JDK 24 on), or a
    /// thread runs again (false). It is resumed in the middle of its code, and the VM itself ends the
    /// transition.
    Resumption(bool),
}

impl Notice {
    fn of(
        class: &ClassFile<'_>,
        method: &Method<'_>,
        instruction: Instruction<'_>,
    ) -> Result<Option<Self>, jvmpi_classfile::Error> {
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
            // These exist from JDK 26 on; their argument says whether the virtual thread is mounted.
            (b"startTransition", b"(Z)V") | (b"startFinalTransition", b"()V") => {
                Some(Self::Transition(true))
            }
            (b"endTransition", b"(Z)V") | (b"endFirstTransition", b"()V") => {
                Some(Self::Transition(false))
            }
            // At a monitor the VM itself lets the virtual thread leave its carrier. This is what the scheduler does next.
            (b"setCurrentThread", _) if method.name() == b"unmount" => Some(Self::Transition(true)),
            // The scheduler consumes the permit that lets the thread continue.
            (b"blockPermit", b"Z") if method.name() == b"runContinuation" => {
                Some(Self::Resumption(true))
            }
            // This is the last field that `Continuation` reads. That method itself cannot be rewritten.
            (b"VTHREAD_SCOPE", _) if method.name() == b"continuationScope" => {
                Some(Self::Resumption(false))
            }
            _ => None,
        })
    }
}
