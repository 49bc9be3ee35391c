//! Comparisons of uninitialized objects.

use crate::flow::{Moment, follow};
use crate::frame::{Frame, Type};
use crate::opcode::{IF_ACMPEQ, IF_ACMPNE, IFNONNULL, IFNULL, NEW};
use crate::{Code, Error, Instruction};

/// A comparison with an operand whose constructor has not run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct UninitializedComparison {
    /// The index of the `if_acmpeq`, `if_acmpne`, `ifnull` or `ifnonnull`.
    pub bci: u16,
    /// True if it branches, which is known in advance.
    pub branches: bool,
}

impl Code<'_> {
    /// Returns the comparisons with uninitialized operands, in file order. The verifier permits
    /// comparing such objects, but not passing them to a method (JVMS §4.10.1.9).
    ///
    /// Such an object is not NULL. It equals another one if and only if both come from the same
    /// `new`, because the verifier permits only one object of each `new` at a time (§4.10.2.4).
    ///
    /// # Errors
    /// Fails if the code or its `StackMapTable` is malformed.
    pub fn uninitialized_comparisons(&self) -> Result<Vec<UninitializedComparison>, Error> {
        let mut found = Vec::new();
        if !self.may_compare_uninitialized()? {
            return Ok(found);
        }
        follow(self, |moment, frame| {
            if let Moment::Before(instruction) = moment
                && let Some(branches) = outcome(instruction, frame)
            {
                found.push(UninitializedComparison { bci: instruction.bci, branches });
            }
            Ok(())
        })?;
        found.sort_unstable_by_key(|comparison| comparison.bci);
        Ok(found)
    }

    /// Returns false if a quick check excludes such comparisons, as in most methods.
    fn may_compare_uninitialized(&self) -> Result<bool, Error> {
        let mut has_uninitialized = self.starts_uninitialized();
        let mut compares = false;
        for instruction in self.instructions() {
            let opcode = instruction?.opcode();
            has_uninitialized |= opcode == NEW;
            compares |= is_comparison(opcode);
        }
        Ok(has_uninitialized && compares)
    }
}

fn is_comparison(opcode: u8) -> bool {
    matches!(opcode, IF_ACMPEQ | IF_ACMPNE | IFNULL | IFNONNULL)
}

/// Returns true if a comparison with an uninitialized operand branches.
fn outcome(instruction: Instruction<'_>, frame: &Frame<'_>) -> Option<bool> {
    let is_uninitialized =
        |value: Type<'_>| matches!(value, Type::UninitializedThis | Type::Uninitialized(_));
    match (instruction.opcode(), &*frame.stack) {
        (opcode @ (IFNULL | IFNONNULL), &[.., value]) if is_uninitialized(value) => {
            Some(opcode == IFNONNULL)
        }
        (opcode @ (IF_ACMPEQ | IF_ACMPNE), &[.., one, other])
            if is_uninitialized(one) || is_uninitialized(other) =>
        {
            Some((one == other) == (opcode == IF_ACMPEQ))
        }
        _ => None,
    }
}
