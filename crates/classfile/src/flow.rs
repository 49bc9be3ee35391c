//! Data flow through a method's code: the frame at every instruction.
//!
//! With stack map frames this is the single pass of JVMS §4.10.1, which trusts the table. Code
//! without frames, such as all older code, is followed along its branches (§4.10.2) without merging:
//! the first path to an instruction counts. That suffices to find the `new` of an initializer call,
//! because the verifier accepts no call on which two paths disagree.

use crate::bytes::Reader;
use crate::constant_pool::tag;
use crate::descriptor::{self, Kind};
use crate::frame::{Class, Element, Frame, Type, push};
use crate::opcode::*;
use crate::stack_map::Decoder;
use crate::{Code, Error, Instruction};

/// The instruction before or after which a frame holds.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Moment<'c> {
    Before(Instruction<'c>),
    /// Only if control continues to the next instruction.
    After(Instruction<'c>),
}

/// Returns true if a method is verified by its stack map frames, as from version 50 on. A method
/// without frames that it needs is verified like older code (§4.10), or, from 51 on, not at all: the
/// JVM hands out trusted classes without frames.
pub(crate) fn has_frames(code: &Code<'_>) -> bool {
    code.method.class().major_version() >= 50
        && (code.attributes().find(b"StackMapTable").is_some() || is_straight(code))
}

/// Returns true if a method needs no frames, because each instruction is reached only from the
/// previous one.
fn is_straight(code: &Code<'_>) -> bool {
    let goes_on = |instruction: Instruction<'_>| {
        matches!(
            TABLE[usize::from(instruction.opcode())].1,
            Shape::Plain | Shape::Wide | Shape::Return
        )
    };
    code.handlers.is_empty()
        && code.instructions().all(|instruction| instruction.is_ok_and(goes_on))
}

/// Passes the frames of all reachable instructions to `visit`, in order if the method has stack map
/// frames.
pub(crate) fn follow<'c>(
    code: &Code<'c>,
    mut visit: impl FnMut(Moment<'c>, &Frame<'c>) -> Result<(), Error>,
) -> Result<(), Error> {
    if has_frames(code) {
        follow_table(code, &mut visit)
    } else {
        follow_branches(code, &mut visit)
    }
}

fn follow_table<'c>(
    code: &Code<'c>,
    visit: &mut impl FnMut(Moment<'c>, &Frame<'c>) -> Result<(), Error>,
) -> Result<(), Error> {
    let initial = initial_frame(code)?;
    let mut frame = initial.clone();
    // After the end of a block, code is reachable only if a frame exists for it.
    let mut reached = true;
    let empty: &[u8] = &[0, 0];
    let table = code.attributes().find(b"StackMapTable").unwrap_or(empty);
    let mut table = Decoder::new(table, code.pool(), initial, code.max_locals)?;
    let mut recorded = table.next()?;
    for instruction in code.instructions() {
        let instruction = instruction?;
        if let Some((bci, record)) = recorded {
            if bci < instruction.bci {
                return Err(Error::BadFrame);
            }
            if bci == instruction.bci {
                frame.copy_from(record);
                reached = true;
                recorded = table.next()?;
            }
        }
        if reached {
            visit(Moment::Before(instruction), &frame)?;
            frame.execute(instruction, code)?;
            reached = !ends_block(instruction.opcode());
            if reached {
                visit(Moment::After(instruction), &frame)?;
            }
        }
    }
    Ok(())
}

fn follow_branches<'c>(
    code: &Code<'c>,
    visit: &mut impl FnMut(Moment<'c>, &Frame<'c>) -> Result<(), Error>,
) -> Result<(), Error> {
    let mut seen = vec![false; code.bytes.len()];
    let mut queued = seen.clone();
    let mut queue = vec![(0, initial_frame(code)?)];
    // A handler can be reached from anywhere, so only the exception is certain.
    let caught = Frame::caught(Vec::new());
    let mut handlers = code.handlers();
    loop {
        let (start, mut frame) = match queue.pop() {
            Some(way) => way,
            None => match handlers.next() {
                Some(entry) => (entry.handler, caught.clone()),
                None => return Ok(()),
            },
        };
        for instruction in code.instructions_from(start) {
            let instruction = instruction?;
            if std::mem::replace(&mut seen[usize::from(instruction.bci)], true) {
                break;
            }
            visit(Moment::Before(instruction), &frame)?;
            frame.execute(instruction, code)?;
            let mut branch = |target: i64, frame: &Frame<'c>| -> Result<(), Error> {
                let queued = usize::try_from(target)
                    .ok()
                    .and_then(|target| queued.get_mut(target))
                    .ok_or(Error::BadBci(target as u32))?;
                if !std::mem::replace(queued, true) {
                    queue.push((target as u16, frame.clone()));
                }
                Ok(())
            };
            if let Some(target) = instruction.branch_target() {
                branch(target, &frame)?;
            } else if let Some(switch) = instruction.switch() {
                branch(switch.default_target(), &frame)?;
                switch.cases().try_for_each(|(_, target)| branch(target, &frame))?;
            }
            match instruction.opcode() {
                // The subroutine removes the return address from the stack.
                JSR | JSR_W => drop(frame.stack.pop()),
                opcode if ends_block(opcode) => break,
                _ => {}
            }
            visit(Moment::After(instruction), &frame)?;
        }
    }
}

/// Returns the frame at a method's start: its parameters (§4.10.1.6).
pub(crate) fn initial_frame<'c>(code: &Code<'c>) -> Result<Frame<'c>, Error> {
    let mut frame = Frame::default();
    let method = code.method;
    let class = method.class().name();
    if !method.is_static() {
        frame.locals.push(if code.starts_uninitialized() {
            Type::UninitializedThis
        } else {
            Type::Object(Class::from_name(class)?)
        });
    }
    for parameter in descriptor::Method::parse(method.descriptor())?.parameters {
        push(&mut frame.locals, declared(parameter?)?);
    }
    Ok(frame)
}

/// Returns the type of a value declared with a field descriptor.
fn declared(descriptor: &[u8]) -> Result<Type<'_>, Error> {
    Ok(match Kind::of(descriptor) {
        Kind::Reference => Type::Object(Class::from_descriptor(descriptor)?),
        kind => primitive(kind),
    })
}

fn primitive(kind: Kind) -> Type<'static> {
    match kind {
        Kind::Int => Type::Int,
        Kind::Long => Type::Long,
        Kind::Float => Type::Float,
        Kind::Double => Type::Double,
        // No caller passes this kind, because it does not determine a reference's type.
        Kind::Reference => Type::Top,
    }
}

/// Returns the kind of the `ordinal`th instruction of a group (`iload`, `lload`, ...).
fn kind(ordinal: u8) -> Kind {
    match ordinal {
        0 => Kind::Int,
        1 => Kind::Long,
        2 => Kind::Float,
        3 => Kind::Double,
        _ => Kind::Reference,
    }
}

impl<'c> Frame<'c> {
    /// Executes an instruction on types (§4.10.1.9).
    fn execute(&mut self, instruction: Instruction<'c>, code: &Code<'c>) -> Result<(), Error> {
        let bad = Error::BadInstruction { bci: instruction.bci };
        self.apply(instruction, code)?.ok_or(bad)
    }

    /// Applies the instruction. Returns `None` if it does not fit the frame.
    fn apply(
        &mut self,
        instruction: Instruction<'c>,
        code: &Code<'c>,
    ) -> Result<Option<()>, Error> {
        let mut reader = Reader::new(instruction.bytes, "instruction");
        let opcode = match reader.u1()? {
            WIDE => reader.u1()?,
            opcode => opcode,
        };
        let wide = instruction.opcode() == WIDE;
        let mut local = || if wide { reader.u2() } else { reader.u1().map(u16::from) };
        let pool = code.pool();
        let constant = || instruction.constant().unwrap_or(0);

        let done = match opcode {
            ACONST_NULL => self.effect(0, Type::Null),
            ICONST_M1..=ICONST_5 | BIPUSH | SIPUSH => self.effect(0, Type::Int),
            LCONST_0 | LCONST_1 => self.effect(0, Type::Long),
            FCONST_0..=FCONST_2 => self.effect(0, Type::Float),
            DCONST_0 | DCONST_1 => self.effect(0, Type::Double),
            LDC | LDC_W | LDC2_W => self.effect(0, loadable(constant(), code)?),

            ILOAD..=ALOAD => self.load(kind(opcode - ILOAD), local()?),
            ILOAD_0..=ALOAD_3 => {
                self.load(kind((opcode - ILOAD_0) / 4), u16::from((opcode - ILOAD_0) % 4))
            }
            ISTORE..=ASTORE => self.store(kind(opcode - ISTORE), local()?, code),
            ISTORE_0..=ASTORE_3 => {
                self.store(kind((opcode - ISTORE_0) / 4), u16::from((opcode - ISTORE_0) % 4), code)
            }
            AALOAD => self.pop(1).and_then(|()| {
                let element = match self.stack.pop()? {
                    Type::Object(array) => element(array),
                    other => other,
                };
                self.effect(0, element)
            }),
            IALOAD..=DALOAD => self.effect(2, primitive(kind(opcode - IALOAD))),
            BALOAD..=SALOAD => self.effect(2, Type::Int),
            IASTORE..=AASTORE => self.pop(2 + usize::from(kind(opcode - IASTORE).slots())),
            BASTORE..=SASTORE => self.pop(3),

            POP => self.pop(1),
            POP2 => self.pop(2),
            DUP => self.duplicate(1, 0),
            DUP_X1 => self.duplicate(1, 1),
            DUP_X2 => self.duplicate(1, 2),
            DUP2 => self.duplicate(2, 0),
            DUP2_X1 => self.duplicate(2, 1),
            DUP2_X2 => self.duplicate(2, 2),
            SWAP => {
                let top = self.stack.len();
                (top >= 2).then(|| self.stack.swap(top - 2, top - 1))
            }

            IADD..=DREM => self.arithmetic(kind((opcode - IADD) % 4), 2),
            INEG..=DNEG => self.arithmetic(kind(opcode - INEG), 1),
            ISHL..=LUSHR => {
                let kind = kind((opcode - ISHL) % 2);
                self.pop(1).and_then(|()| self.arithmetic(kind, 1))
            }
            IAND..=LXOR => self.arithmetic(kind((opcode - IAND) % 2), 2),
            I2L | F2L => self.effect(1, Type::Long),
            I2F => self.effect(1, Type::Float),
            I2D | F2D => self.effect(1, Type::Double),
            L2I | D2I => self.effect(2, Type::Int),
            L2F | D2F => self.effect(2, Type::Float),
            L2D => self.effect(2, Type::Double),
            D2L => self.effect(2, Type::Long),
            F2I | I2B | I2C | I2S => self.effect(1, Type::Int),
            LCMP | DCMPL | DCMPG => self.effect(4, Type::Int),
            FCMPL | FCMPG => self.effect(2, Type::Int),

            IFEQ..=IFLE | IFNULL | IFNONNULL | TABLESWITCH | LOOKUPSWITCH => self.pop(1),
            IF_ICMPEQ..=IF_ACMPNE => self.pop(2),
            // A return address has no type in a stack map.
            JSR | JSR_W => self.effect(0, Type::Top),

            GETSTATIC => self.effect(0, declared(pool.member(constant())?.descriptor)?),
            GETFIELD => self.effect(1, declared(pool.member(constant())?.descriptor)?),
            PUTSTATIC | PUTFIELD => {
                let value = Kind::of_field(pool.member(constant())?.descriptor)?.slots();
                self.pop(usize::from(value) + usize::from(opcode == PUTFIELD))
            }
            INVOKEVIRTUAL..=INVOKEDYNAMIC => self.invoke(instruction, code)?,

            NEW => {
                let object = Type::Uninitialized(instruction.bci);
                self.replace(object, Type::Top);
                self.effect(0, object)
            }
            NEWARRAY => {
                let class = Class { dimensions: 1, element: primitive_array(reader.u1()?)? };
                self.effect(1, Type::Object(class))
            }
            ANEWARRAY => {
                let class = Class::from_name(pool.class(constant())?)?;
                let class = Class { dimensions: class.dimensions + 1, ..class };
                self.effect(1, Type::Object(class))
            }
            MULTIANEWARRAY => {
                reader.u2()?;
                let class = Class::from_name(pool.class(constant())?)?;
                self.effect(reader.u1()?.into(), Type::Object(class))
            }
            CHECKCAST => {
                let class = Class::from_name(pool.class(constant())?)?;
                self.effect(1, Type::Object(class))
            }
            ARRAYLENGTH | INSTANCEOF => self.effect(1, Type::Int),
            ATHROW | MONITORENTER | MONITOREXIT => self.pop(1),
            // nop, iinc, goto, ret; and returns, after which the stack is irrelevant.
            _ => Some(()),
        };
        Ok(done)
    }

    fn pop(&mut self, slots: usize) -> Option<()> {
        let left = self.stack.len().checked_sub(slots)?;
        self.stack.truncate(left);
        Some(())
    }

    /// Pops slots, then pushes a value.
    fn effect(&mut self, slots: usize, value: Type<'c>) -> Option<()> {
        self.pop(slots)?;
        push(&mut self.stack, value);
        Some(())
    }

    fn arithmetic(&mut self, kind: Kind, operands: usize) -> Option<()> {
        self.effect(operands * usize::from(kind.slots()), primitive(kind))
    }

    fn load(&mut self, kind: Kind, slot: u16) -> Option<()> {
        let value = match kind {
            Kind::Reference => self.locals.get(usize::from(slot)).copied().unwrap_or(Type::Top),
            kind => primitive(kind),
        };
        self.effect(0, value)
    }

    fn store(&mut self, kind: Kind, slot: u16, code: &Code<'c>) -> Option<()> {
        let slot = usize::from(slot);
        let value = match kind {
            Kind::Reference => self.stack.pop()?,
            kind => {
                self.pop(kind.slots().into())?;
                primitive(kind)
            }
        };
        let end = slot + value.slots();
        if end > usize::from(code.max_locals) {
            return None;
        }
        if self.locals.len() < end {
            self.locals.resize(end, Type::Top);
        }
        // §4.10.1.7: overwriting half of a long or double makes the other half unusable.
        if slot > 0 && self.locals[slot - 1].slots() == 2 {
            self.locals[slot - 1] = Type::Top;
        }
        self.locals[slot..end].fill(Type::Top);
        self.locals[slot] = value;
        Some(())
    }

    /// Inserts a copy of the topmost `slots` slots below `below` more.
    fn duplicate(&mut self, slots: usize, below: usize) -> Option<()> {
        let top = self.stack.len().checked_sub(slots)?;
        let at = top.checked_sub(below)?;
        for copied in 0..slots {
            // Each insertion shifts the values that are still to be copied.
            let value = self.stack[top + 2 * copied];
            self.stack.insert(at + copied, value);
        }
        Some(())
    }

    fn replace(&mut self, old: Type<'c>, new: Type<'c>) {
        for slot in self.locals.iter_mut().chain(&mut self.stack) {
            if *slot == old {
                *slot = new;
            }
        }
    }

    fn invoke(
        &mut self,
        instruction: Instruction<'c>,
        code: &Code<'c>,
    ) -> Result<Option<()>, Error> {
        let (name, descriptor) = callee(instruction, code)?;
        let shape = descriptor::Method::parse(descriptor)?;
        if self.pop(shape.argument_slots.into()).is_none() {
            return Ok(None);
        }
        if !matches!(instruction.opcode(), INVOKESTATIC | INVOKEDYNAMIC) {
            let Some(receiver) = self.stack.pop() else { return Ok(None) };
            if name == b"<init>"
                && let Some(class) = constructed(receiver, code)?
            {
                self.replace(receiver, Type::Object(class));
            }
        }
        if shape.result.is_some() {
            push(&mut self.stack, declared(shape.result_type)?);
        }
        Ok(Some(()))
    }
}

/// Returns the name and descriptor of the method that an `invoke` instruction calls.
pub(crate) fn callee<'c>(
    instruction: Instruction<'c>,
    code: &Code<'c>,
) -> Result<(&'c [u8], &'c [u8]), Error> {
    let index = instruction.constant().unwrap_or(0);
    if instruction.opcode() == INVOKEDYNAMIC {
        return code.pool().dynamic(index);
    }
    let member = code.pool().member(index)?;
    Ok((member.name, member.descriptor))
}

/// Returns the class whose constructor may be called on a type.
fn constructed<'c>(receiver: Type<'c>, code: &Code<'c>) -> Result<Option<Class<'c>>, Error> {
    let class = match receiver {
        Type::UninitializedThis => code.method.class().name(),
        Type::Uninitialized(new) => match code.bytes.get(usize::from(new)..) {
            Some(&[NEW, high, low, ..]) => code.pool().class(u16::from_be_bytes([high, low]))?,
            _ => return Err(Error::BadFrame),
        },
        _ => return Ok(None),
    };
    Class::from_name(class).map(Some)
}

/// Returns the type that `aaload` takes from an array.
fn element(array: Class<'_>) -> Type<'_> {
    match (array.dimensions, array.element) {
        (1, Element::Primitive(_)) | (0, _) => Type::Top,
        (dimensions, element) => Type::Object(Class { dimensions: dimensions - 1, element }),
    }
}

/// Returns the element of an array created by `newarray` (JVMS table 6.5.newarray-A).
fn primitive_array(code: u8) -> Result<Element<'static>, Error> {
    let letters = b"ZCFDBSIJ";
    let letter = code.checked_sub(4).and_then(|at| letters.get(usize::from(at)));
    letter.map(|&letter| Element::Primitive(letter)).ok_or(Error::BadDescriptor)
}

/// Returns the type of a constant that `ldc` or `ldc2_w` pushes (JVMS §5.1).
fn loadable<'c>(index: u16, code: &Code<'c>) -> Result<Type<'c>, Error> {
    let pool = code.pool();
    Ok(match pool.tag(index) {
        Some(tag::INTEGER) => Type::Int,
        Some(tag::FLOAT) => Type::Float,
        Some(tag::LONG) => Type::Long,
        Some(tag::DOUBLE) => Type::Double,
        Some(tag::STRING) => Type::class("java/lang/String"),
        Some(tag::CLASS) => Type::class("java/lang/Class"),
        Some(tag::METHOD_HANDLE) => Type::class("java/lang/invoke/MethodHandle"),
        Some(tag::METHOD_TYPE) => Type::class("java/lang/invoke/MethodType"),
        Some(tag::DYNAMIC) => declared(pool.dynamic(index)?.1)?,
        _ => return Err(Error::BadConstant { index, expected: "loadable constant" }),
    })
}

#[cfg(test)]
#[path = "flow_tests.rs"]
mod tests;
