//! The instructions with which compiled methods create and remove their frames on x86-64.
//!
//! HotSpot finds the caller of a compiled method by its frame size. It assumes a complete frame at every instruction
//! after the first few ones. After the instruction that removes the frame, this is wrong.

/// The maximum number of bytes before an instruction that are examined.
pub const BEFORE: usize = 7 + POP.len() + 7 + 6;
/// The maximum number of bytes of an instruction that are examined.
pub const AT: usize = 9;

/// pop rbp
const POP: [u8; 1] = [0x5d];
/// push rbp
const PUSH: u8 = 0x55;
const RETURN: u8 = 0xc3;

/// The state of a compiled method's frame at an instruction.
#[derive(Debug, PartialEq, Eq, Clone, Copy)]
pub enum Frame {
    /// The method has removed the last `bytes` bytes of its frame. If these were put back, the return address would be
    /// `size` bytes above the stack pointer.
    Removed { bytes: usize, size: usize },
    /// The frame is not complete yet. The return address is this many bytes above the stack pointer.
    Begun(usize),
}

/// Finds the state of the frame from the bytes `before` an instruction and from its own. None if the frame is complete,
/// or if the instruction is not part of a known prologue or epilogue.
pub fn frame(before: &[u8], at: &[u8]) -> Option<Frame> {
    removed(before, at).or_else(|| begun(before, at).map(Frame::Begun))
}

/// Recognizes an epilogue: add rsp, size; pop rbp; a safepoint check; then ret, or jmp in the exception handler. The
/// check is cmp rsp, [r15 + poll]; ja slow_path, or, on JDK 11, mov r10, [r15 + poll]; test [r10], eax.
fn removed(before: &[u8], at: &[u8]) -> Option<Frame> {
    let size = |before: &[u8]| changed(before, 0xc4).unwrap_or(0);
    if at.starts_with(&POP) {
        let bytes = size(before);
        return (bytes > 0).then_some(Frame::Removed { bytes, size: bytes + 8 });
    }
    let behind_compare = |before| without(before, [7, 4], is_compare);
    let behind_load = |before| without(before, [7, 4], is_load);
    let behind_jump = |before| without(before, [6, 6], is_jump).and_then(behind_compare);
    let behind_test = |before| without(before, [3, 3], is_test).and_then(behind_load);
    let ends =
        [behind_compare(before), behind_jump(before), behind_load(before), behind_test(before)];
    let mut ends = [Some(before)].into_iter().chain(ends).flatten();
    let behind_pop = ends.find_map(|before| before.strip_suffix(&POP))?;
    let size = size(behind_pop) + 8;
    (size > 8 || is_end(at)).then_some(Frame::Removed { bytes: size, size })
}

/// Returns true if the code belongs to a method that has removed its frame and is about to return.
fn is_end(at: &[u8]) -> bool {
    let starts = |length, is_one: fn(&[u8]) -> bool| at.get(..length).is_some_and(is_one);
    at.first() == Some(&RETURN)
        || [7, 4].iter().any(|length| starts(*length, is_compare) || starts(*length, is_load))
        || starts(6, is_jump)
        || starts(3, is_test)
}

/// cmp rsp, [r15 + poll]
fn is_compare(code: &[u8]) -> bool {
    matches!(code, [0x49, 0x3b, 0x67, _] | [0x49, 0x3b, 0xa7, _, _, _, _])
}

/// ja slow_path
fn is_jump(code: &[u8]) -> bool {
    matches!(code, [0x0f, 0x87, _, _, _, _])
}

/// mov r10, [r15 + poll]
fn is_load(code: &[u8]) -> bool {
    matches!(code, [0x4d, 0x8b, 0x57, _] | [0x4d, 0x8b, 0x97, _, _, _, _])
}

/// test [r10], eax
fn is_test(code: &[u8]) -> bool {
    code == [0x41, 0x85, 0x02]
}

/// Returns the bytes before an instruction that has one of these lengths.
fn without(before: &[u8], lengths: [usize; 2], is_one: fn(&[u8]) -> bool) -> Option<&[u8]> {
    lengths.into_iter().find_map(|length| {
        let (rest, last) = before.split_at(before.len().checked_sub(length)?);
        is_one(last).then_some(rest)
    })
}

/// Recognizes a prologue: push rbp; sub rsp, size; or sub rsp, size; mov [rsp + size - 8], rbp; then cmp; jne
/// slow_path.
fn begun(before: &[u8], at: &[u8]) -> Option<usize> {
    let stored = |before| changed(without(before, [5, 8], is_store)?, 0xec);
    let pushed = |before| {
        let (rest, size) = split_changed(before, 0xec)?;
        (rest.last() == Some(&PUSH)).then_some(size + 8)
    };
    let is_barrier = |code: &[u8]| {
        matches!(code, [0x41, 0x81, 0x7f, ..] | [0x41, 0x81, 0xbf, ..] | [0x41, 0x83, 0x7f, ..])
    };
    if at.starts_with(&[0x48, 0x83, 0xec]) || at.starts_with(&[0x48, 0x81, 0xec]) {
        return (before.last() == Some(&PUSH)).then_some(8);
    }
    if [5, 8].iter().any(|length| at.get(..*length).is_some_and(is_store)) {
        return changed(before, 0xec);
    }
    is_barrier(at).then(|| stored(before).or_else(|| pushed(before))).flatten()
}

/// mov [rsp + size], rbp
fn is_store(code: &[u8]) -> bool {
    matches!(code, [0x48, 0x89, 0x6c, 0x24, _] | [0x48, 0x89, 0xac, 0x24, _, _, _, _])
}

/// Returns the size in the instruction that ends here, if it is add rsp, size (0xc4) or sub rsp, size (0xec).
fn changed(before: &[u8], which: u8) -> Option<usize> {
    split_changed(before, which).map(|(_, size)| size)
}

/// Returns the bytes before the instruction, and the size like [`changed`].
fn split_changed(before: &[u8], which: u8) -> Option<(&[u8], usize)> {
    let (rest, size) = match before {
        [rest @ .., 0x48, 0x83, found, size] if *found == which => (rest, i32::from(*size as i8)),
        [rest @ .., 0x48, 0x81, found, a, b, c, d] if *found == which => {
            (rest, i32::from_le_bytes([*a, *b, *c, *d]))
        }
        _ => return None,
    };
    Some((rest, usize::try_from(size).ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the states at each of a sequence of instructions.
    fn states(code: &[&[u8]]) -> Vec<Option<Frame>> {
        let all = code.concat();
        let starts = code.iter().scan(0, |at, one| {
            *at += one.len();
            Some(*at - one.len())
        });
        let state = |at: usize| {
            frame(&all[at.saturating_sub(BEFORE)..at], &all[at..all.len().min(at + AT)])
        };
        starts.map(state).collect()
    }

    const NOP: &[u8] = &[0x0f, 0x1f, 0x44, 0, 0];
    const POLL: &[u8] = &[0x49, 0x3b, 0xa7, 0x50, 4, 0, 0];
    const ABOVE: &[u8] = &[0x0f, 0x87, 1, 2, 3, 0];
    const RET: &[u8] = &[0xc3];

    #[test]
    fn frame_that_an_epilogue_removes_is_known_at_each_instruction() {
        let add: &[u8] = &[0x48, 0x83, 0xc4, 0x30];
        let removed = |bytes| Some(Frame::Removed { bytes, size: 0x38 });
        let expected = vec![None, None, removed(0x30), removed(0x38), removed(0x38), removed(0x38)];
        assert_eq!(states(&[NOP, add, &POP, POLL, ABOVE, RET]), expected);
        let short: &[u8] = &[0x49, 0x3b, 0x67, 0x28];
        assert_eq!(states(&[NOP, add, &POP, short, ABOVE, RET]), expected);
        let (load, test): (&[u8], &[u8]) = (&[0x4d, 0x8b, 0x97, 8, 1, 0, 0], &[0x41, 0x85, 2]);
        assert_eq!(states(&[NOP, add, &POP, load, test, RET]), expected);
        // This is the end of an exception handler.
        assert_eq!(states(&[NOP, add, &POP, &[0xe9, 1, 2, 3, 4]])[3], removed(0x38));
        let add: &[u8] = &[0x48, 0x81, 0xc4, 0x30, 1, 0, 0];
        let removed = |bytes, size| Some(Frame::Removed { bytes, size });
        let expected = [None, None, removed(0x130, 0x138), removed(0x138, 0x138)];
        assert_eq!(states(&[NOP, add, &POP, RET]), expected);
        // This frame contains only rbp.
        let expected = [None, None, removed(8, 8), removed(8, 8), removed(8, 8)];
        assert_eq!(states(&[NOP, &POP, POLL, ABOVE, RET]), expected);
    }

    #[test]
    fn return_address_is_known_at_each_instruction_of_a_prologue() {
        let begun = |bytes| Some(Frame::Begun(bytes));
        let (bang, sub): (&[u8], &[u8]) =
            (&[0x89, 0x84, 0x24, 0, 0xc0, 0xfe, 0xff], &[0x48, 0x83, 0xec, 0x20]);
        let barrier: &[u8] = &[0x41, 0x81, 0x7f, 0x20, 1, 0, 0, 0];
        let expected = [None, None, begun(8), begun(0x28), None];
        assert_eq!(states(&[bang, &[PUSH], sub, barrier, NOP]), expected);
        let (sub, store): (&[u8], &[u8]) =
            (&[0x48, 0x81, 0xec, 0x18, 0, 0, 0], &[0x48, 0x89, 0x6c, 0x24, 0x10]);
        assert_eq!(states(&[sub, store, barrier, NOP]), [None, begun(0x18), begun(0x18), None]);
    }

    #[test]
    fn other_code_is_left_alone() {
        // mov rbx, [rbp + 0x5d] ends with the byte of pop rbp.
        let code: &[&[u8]] = &[&[0x48, 0x8b, 0x5d, 0x5d], &[0x48, 0x89, 0xd8], RET, &[0x55], NOP];
        assert!(states(code).iter().all(Option::is_none), "{:?}", states(code));
    }
}
