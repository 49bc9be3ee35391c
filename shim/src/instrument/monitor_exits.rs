//! Rewriting that reports exits from monitors. Code is inserted before every `monitorexit`, and at the exits
//! of synchronized methods, which the VM unlocks after their last instruction. The code is guarded by a flag
//! that is set only while a thread waits for a monitor.

use crate::records::class::TRACKER;
use crate::records::tracker::CONTENDED;
use jvmpi_classfile::{
    ClassFile, Code, Constants, Editor, FieldRef, Instruction, Kind, Method, MethodRef, Snippet,
    access, opcode,
};

/// Adds reports of the monitors that the class leaves. The methods have the numbers from `first` on.
pub fn edit(
    class: &ClassFile<'_>,
    editor: &mut Editor<'_>,
    first: usize,
) -> Result<(), jvmpi_classfile::Error> {
    for method in class.methods() {
        let Some(code) = method.code()? else { continue };
        let exits = Exit::all(&code)?;
        let is_synchronized = method.access_flags() & access::SYNCHRONIZED != 0;
        if exits.is_empty() && !is_synchronized {
            continue;
        }
        let probe = Probe::new(editor.constants())?;
        let number = (first + method.index()) as i32;
        let locked = if is_synchronized { locked(method, number, &code) } else { None };
        let Some(mut edits) = editor.method(method.index()) else { continue };
        for exit in exits {
            match exit {
                Exit::Before(bci) => edits.before(bci, probe.of(Locked::OnStack)),
                Exit::Catch { handler, slot } => {
                    edits.on_catch(handler, probe.of(Locked::Local(slot)))
                }
            };
        }
        if let Some(object) = locked {
            edits.before_returns(probe.of(object)).on_throw(probe.of(object));
        }
    }
    Ok(())
}

/// The way in which a `monitorexit` is reported.
enum Exit {
    /// By code right before it.
    Before(u16),
    /// By code at the start of the exception handler, with the object in a local variable. The handler of a
    /// `synchronized` block covers itself, to make sure that the monitor is left. An exception in inserted
    /// code inside it, such as a stack overflow, would restart the handler for ever.
    Catch { handler: u16, slot: u16 },
}

impl Exit {
    fn all(code: &Code<'_>) -> Result<Vec<Self>, jvmpi_classfile::Error> {
        let instructions = code.instructions().collect::<Result<Vec<_>, _>>()?;
        let exits = instructions.iter().enumerate();
        let exits = exits.filter(|(_, instruction)| instruction.opcode() == opcode::MONITOREXIT);
        Ok(exits.filter_map(|(at, exit)| Self::of(code, &instructions[..at], exit.bci)).collect())
    }

    /// Returns None for a `monitorexit` in a handler that covers itself and that differs from the code which
    /// compilers generate for `synchronized`.
    fn of(code: &Code<'_>, before: &[Instruction<'_>], bci: u16) -> Option<Self> {
        let loops = code.handlers().find(|entry| {
            entry.catch_type == 0
                && (entry.start..entry.end).contains(&entry.handler)
                && (entry.handler..entry.end).contains(&bci)
        });
        let Some(entry) = loops else { return Some(Self::Before(bci)) };
        let first = before.iter().position(|instruction| instruction.bci == entry.handler)?;
        let (object, exception) = before[first..].split_last()?;
        let slot = object.loads_from()?;
        let is_simple = match exception {
            [] => true,
            [exception] => exception.stores_to().is_some_and(|stored| stored != slot),
            _ => false,
        };
        is_simple.then_some(Self::Catch { handler: entry.handler, slot })
    }
}

/// The object whose monitor is left.
#[derive(Clone, Copy)]
enum Locked {
    /// The object is on the stack and stays there.
    OnStack,
    Local(u16),
    /// The class that declares the method with this number. Code of class files before Java 5 cannot push the
    /// class.
    Class(i32),
}

/// The members of the Tracker that inserted code uses.
#[derive(Clone, Copy)]
struct Probe {
    flag: FieldRef,
    leaving: MethodRef,
    leaving_class: MethodRef,
}

impl Probe {
    fn new(constants: &mut Constants) -> Result<Self, jvmpi_classfile::Error> {
        let name = TRACKER.to_bytes();
        let flag = constants.field_ref(name, CONTENDED.to_bytes(), "Z")?;
        let leaving = constants.method_ref(name, "leaving", "(Ljava/lang/Object;)V")?;
        let leaving_class = constants.method_ref(name, "leaving_class", "(I)V")?;
        Ok(Self { flag, leaving, leaving_class })
    }

    /// Returns the code that reports the exit from the object's monitor.
    fn of(self, object: Locked) -> impl Fn(&mut Snippet) -> &mut Snippet + Copy {
        let Self { flag, leaving, leaving_class } = self;
        move |code| {
            code.guard(flag, |code| match object {
                Locked::OnStack => code.dup().invoke_static(leaving),
                Locked::Local(slot) => code.load(Kind::Reference, slot).invoke_static(leaving),
                Locked::Class(number) => code.push_int(number).invoke_static(leaving_class),
            })
        }
    }
}

/// Returns the object that the synchronized method with this number locks; None if it is not available.
fn locked(method: Method<'_>, number: i32, code: &Code<'_>) -> Option<Locked> {
    if method.is_static() {
        return Some(Locked::Class(number));
    }
    // Compilers do not overwrite `this`, but a class file may.
    let stays = code.instructions().flatten().all(|instruction| instruction.stores_to() != Some(0));
    stays.then_some(Locked::Local(0))
}
