//! Rewriting that reports which monitors are left: code before every `monitorexit`, and at the
//! ways out of synchronized methods, which the VM unlocks behind their last instruction. It stands
//! behind a flag that is set only while a thread waits for a monitor.

use crate::records::tracker::{CONTENDED, NAME};
use classfile::{
    ClassFile, Code, Constants, Editor, FieldRef, Instruction, Kind, Method, MethodRef, Snippet,
    access, opcode,
};

/// Adds reports of the monitors that the class leaves. The methods have the numbers from `first` on.
pub fn edit(
    class: &ClassFile<'_>,
    editor: &mut Editor<'_>,
    first: usize,
) -> Result<(), classfile::Error> {
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

/// How a `monitorexit` is reported.
enum Exit {
    /// By code right before it.
    Before(u16),
    /// By code where exceptions come in, with the object in a local variable. A handler of
    /// `synchronized` covers itself, so that the monitor is left at all events: what is thrown by
    /// code inside, such as a stack overflow, would make it begin anew for ever.
    Catch { handler: u16, slot: u16 },
}

impl Exit {
    fn all(code: &Code<'_>) -> Result<Vec<Self>, classfile::Error> {
        let instructions = code.instructions().collect::<Result<Vec<_>, _>>()?;
        let exits = instructions.iter().enumerate();
        let exits = exits.filter(|(_, instruction)| instruction.opcode() == opcode::MONITOREXIT);
        Ok(exits.filter_map(|(at, exit)| Self::of(code, &instructions[..at], exit.bci)).collect())
    }

    /// None for one in a handler that covers itself and is not what compilers make of
    /// `synchronized`.
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
    /// It lies on the stack and stays there.
    OnStack,
    Local(u16),
    /// The class that declares the method with this number: code of class files before Java 5 cannot push it.
    Class(i32),
}

/// What the inserted code refers to.
#[derive(Clone, Copy)]
struct Probe {
    flag: FieldRef,
    leaving: MethodRef,
    leaving_class: MethodRef,
}

impl Probe {
    fn new(constants: &mut Constants) -> Result<Self, classfile::Error> {
        let name = NAME.to_bytes();
        let flag = constants.field_ref(name, CONTENDED.to_bytes(), "Z")?;
        let leaving = constants.method_ref(name, "leaving", "(Ljava/lang/Object;)V")?;
        let leaving_class = constants.method_ref(name, "leaving_class", "(I)V")?;
        Ok(Self { flag, leaving, leaving_class })
    }

    /// The code that reports that the object's monitor is left.
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

/// The object that the synchronized method with this number locks, None if it cannot be had.
fn locked(method: Method<'_>, number: i32, code: &Code<'_>) -> Option<Locked> {
    if method.is_static() {
        return Some(Locked::Class(number));
    }
    // Compilers leave `this` where it is; another one might not.
    let stays = code.instructions().flatten().all(|instruction| instruction.stores_to() != Some(0));
    stays.then_some(Locked::Local(0))
}
