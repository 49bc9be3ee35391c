//! The places where objects become initialized.

use crate::descriptor;
use crate::flow::{Moment, callee, follow};
use crate::frame::{Frame, Type};
use crate::opcode;
use crate::{Code, Error};

/// A call of a constructor, which makes an object usable.
///
/// Before it, the verifier permits passing the object only to a constructor (JVMS §4.10.2.4).
/// Insert code that needs the new object [`after`](crate::MethodEditor::after) the call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Initialization {
    /// The index of the `invokespecial`.
    pub call: u16,
    /// The object that is initialized.
    pub object: Uninitialized,
    /// The place of the object after the call, if it has one.
    pub found: Option<Place>,
}

/// An object on which a constructor is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Uninitialized {
    /// `this`, by the call of `super()` or `this()` in a constructor.
    This,
    /// The object created by a `new`.
    New {
        /// The index of the `new`.
        bci: u16,
    },
}

/// The place of a reference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// On top of the operand stack.
    Stack,
    /// In a local variable.
    Local(u16),
}

impl Code<'_> {
    /// Returns the constructor calls that control can reach, in file order.
    ///
    /// A `new` whose object is dropped has none; one whose arguments branch may have several.
    ///
    /// # Errors
    /// Fails if the code or its `StackMapTable` is malformed.
    pub fn initializations(&self) -> Result<Vec<Initialization>, Error> {
        let mut found = Vec::new();
        follow(self, |moment, frame| {
            if let Moment::Before(call) = moment
                && call.opcode() == opcode::INVOKESPECIAL
                && let (b"<init>", descriptor) = callee(call, self)?
            {
                let arguments = descriptor::Method::parse(descriptor)?.argument_slots;
                found.extend(initialization(call.bci, arguments.into(), frame));
            }
            Ok(())
        })?;
        found.sort_unstable_by_key(|initialization| initialization.call);
        Ok(found)
    }
}

fn initialization(call: u16, arguments: usize, frame: &Frame<'_>) -> Option<Initialization> {
    let (&receiver, below) =
        frame.stack.get(..frame.stack.len().checked_sub(arguments)?)?.split_last()?;
    let object = match receiver {
        Type::UninitializedThis => Uninitialized::This,
        Type::Uninitialized(bci) => Uninitialized::New { bci },
        _ => return None,
    };
    let found = if below.last() == Some(&receiver) {
        Some(Place::Stack)
    } else {
        let local = frame.locals.iter().position(|&local| local == receiver);
        local.map(|slot| Place::Local(slot as u16))
    };
    Some(Initialization { call, object, found })
}
