//! Comparisons of objects that nobody may have yet.

use crate::flow::{Moment, follow};
use crate::frame::{Frame, Type};
use crate::opcode::{IF_ACMPEQ, IF_ACMPNE, IFNONNULL, IFNULL, NEW};
use crate::{Code, Error, Instruction};

/// A comparison in which an object takes part whose constructor has not run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct UninitializedComparison {
    /// The index of the `if_acmpeq`, `if_acmpne`, `ifnull` or `ifnonnull`.
    pub bci: u16,
    /// Whether it branches, which is known beforehand.
    pub branches: bool,
}

impl Code<'_> {
    /// The comparisons of references whose operands cannot be passed on, in file order: the
    /// verifier lets uninitialized objects be compared, but not be passed to a method (JVMS
    /// §4.10.1.9).
    ///
    /// Such an object is not NULL, and it is the same as another one if and only if both come
    /// from the same `new`: the verifier sees to it that only one object of each exists at a time
    /// (§4.10.2.4).
    ///
    /// # Errors
    /// The code or its `StackMapTable` is malformed.
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

    /// A quick look that spares most methods the long one.
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

/// Whether a comparison of which one operand is uninitialized branches.
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
