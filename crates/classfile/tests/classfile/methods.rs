//! One hand-built method for each structure that moves when code is inserted.
//!
//! The inserted pieces are two bytes long. They push a number that identifies their place and pop
//! it.

use jvmpi_classfile::builder::{Body, ClassBuilder};
use jvmpi_classfile::opcode::*;
use jvmpi_classfile::{
    ClassFile, Code, Editor, Error, Initialization, MethodEditor, Place, Rewritten, Skip, Snippet,
    Uninitialized,
};

const ENTRY: [u8; 2] = [ICONST_1, POP];
const RETURN_PROBE: [u8; 2] = [ICONST_2, POP];
const THROW: [u8; 2] = [ICONST_3, POP];
const BEFORE: [u8; 2] = [ICONST_4, POP];
const AFTER: [u8; 2] = [ICONST_5, POP];

trait Edit: for<'a, 'b> FnOnce(&'a mut MethodEditor<'b>) -> &'a mut MethodEditor<'b> {}

impl<E: for<'a, 'b> FnOnce(&'a mut MethodEditor<'b>) -> &'a mut MethodEditor<'b>> Edit for E {}

fn mark(number: i32) -> impl Fn(&mut Snippet) -> &mut Snippet + Copy {
    move |code| code.push_int(number).pop()
}

/// Returns a class of version 65 with one static method `m()V`.
fn class_with(body: &Body) -> Vec<u8> {
    class_of_version(65, body)
}

fn class_of_version(major: u16, body: &Body) -> Vec<u8> {
    let mut class = ClassBuilder::new(major, "T");
    class.method(0x0009, "m", "()V", body);
    class.finish()
}

fn edit(bytes: &[u8], edit: impl Edit) -> Rewritten {
    let class = ClassFile::parse(bytes).unwrap();
    let mut editor = Editor::new(&class);
    edit(&mut editor.method(0).unwrap());
    editor.finish()
}

/// Edits method 0, which must succeed, and passes the new code to `check`.
fn edited(bytes: &[u8], make: impl Edit, check: impl FnOnce(Code<'_>)) {
    let rewritten = edit(bytes, make);
    assert_eq!(rewritten.skipped, []);
    let class = ClassFile::parse(&rewritten.bytes).unwrap();
    check(class.method(0).unwrap().code().unwrap().unwrap());
}

/// Returns the contents of an attribute of the code after an edit.
fn edited_attribute(body: &Body, name: &str, make: impl Edit) -> Option<Vec<u8>> {
    let mut found = None;
    edited(&class_with(body), make, |code| {
        found = code.attributes().find(name.as_bytes()).map(<[u8]>::to_vec);
    });
    found
}

fn u2(values: &[u16]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_be_bytes()).collect()
}

#[test]
fn entry_code_runs_once_although_the_method_loops_to_its_start() {
    let body = Body::new(0, 0, [NOP, GOTO, 0xff, 0xff]);
    let expected = [&ENTRY[..], &[NOP, GOTO, 0xff, 0xff]].concat();
    edited(
        &class_with(&body),
        |m| m.at_entry(mark(1)),
        |code| {
            assert_eq!(code.bytes(), expected);
            assert_eq!(code.max_stack(), 1);
        },
    );
}

#[test]
fn branches_to_a_return_run_its_probe() {
    // ifeq -> the return at 5, past a nop.
    let body = Body::new(1, 0, [ICONST_0, IFEQ, 0, 4, NOP, RETURN]);
    let expected = [&[ICONST_0, IFEQ, 0, 4, NOP], &RETURN_PROBE[..], &[RETURN]].concat();
    edited(
        &class_of_version(49, &body),
        |m| m.before_returns(mark(2)),
        |code| {
            assert_eq!(code.bytes(), expected);
            assert_eq!(code.max_stack(), 2);
        },
    );
}

#[test]
fn each_kind_of_return_gets_a_probe() {
    for (descriptor, push, give_back) in [
        ("()I", ICONST_0, IRETURN),
        ("()J", LCONST_0, LRETURN),
        ("()F", FCONST_0, FRETURN),
        ("()D", DCONST_0, DRETURN),
        ("()Ljava/lang/Object;", ACONST_NULL, ARETURN),
    ] {
        let mut class = ClassBuilder::new(65, "T");
        class.method(9, "m", descriptor, &Body::new(2, 0, [push, give_back]));
        edited(
            &class.finish(),
            |m| m.before_returns(mark(2)),
            |code| {
                assert_eq!(code.bytes(), [push, ICONST_2, POP, give_back]);
                assert_eq!(code.max_stack(), 3);
            },
        );
    }
}

#[test]
fn pieces_around_an_instruction_run_in_order() {
    // A branch to 1 runs the code before the nop, not the code after the iconst.
    let body = Body::new(1, 0, [ICONST_0, POP, NOP, GOTO, 0xff, 0xff]);
    edited(
        &class_of_version(49, &body),
        |m| m.after(1, mark(5)).before(2, mark(4)).before(2, mark(3)).after(2, mark(2)),
        |code| {
            let expected =
                [&[ICONST_0, POP], &AFTER[..], &BEFORE, &THROW, &[NOP], &RETURN_PROBE].concat();
            assert_eq!(code.bytes()[..11], expected);
            // goto at 11 -> label of 2 at 4
            assert_eq!(code.bytes()[11..], [GOTO, 0xff, 0xf9]);
        },
    );
}

#[test]
fn code_inserted_after_a_jump_is_left_out() {
    let body = Body::new(1, 0, [GOTO, 0, 3, RETURN]).attribute("StackMapTable", [0, 1, 3]);
    edited(
        &class_with(&body),
        |m| m.after(0, mark(5)).after(3, mark(5)).before(3, mark(4)),
        |code| {
            assert_eq!(code.bytes(), [GOTO, 0, 3, ICONST_4, POP, RETURN]);
            assert_eq!(code.attributes().find(b"StackMapTable"), Some(&[0, 1, 3][..]));
        },
    );
}

/// Returns a switch after `nops` instructions, whose cases and default are the return after it.
fn switch(nops: usize, opcode: u8) -> Vec<u8> {
    let mut code = vec![NOP; nops];
    code.push(ICONST_0);
    let at = code.len();
    code.push(opcode);
    code.resize((at + 4) & !3, 0);
    let operands: [i32; 3] = if opcode == TABLESWITCH { [7, 8, 0] } else { [2, -9, 0] };
    let length = code.len() + 4 * if opcode == TABLESWITCH { 5 } else { 6 } - at;
    let offset = length as i32;
    let words = if opcode == TABLESWITCH {
        vec![offset, operands[0], operands[1], offset, -(at as i32)]
    } else {
        vec![offset, operands[0], operands[1], offset, 1_000_000, -(at as i32)]
    };
    code.extend(words.iter().flat_map(|word| word.to_be_bytes()));
    code.push(RETURN);
    code
}

#[test]
fn switches_keep_their_alignment_and_targets() {
    for opcode in [TABLESWITCH, LOOKUPSWITCH] {
        for nops in 0..4 {
            let code = switch(nops, opcode);
            let end = code.len() as u16;
            let body = Body::new(1, 0, code);
            edited(
                &class_of_version(49, &body),
                |m| {
                    // Three bytes of entry code change the padding in each case.
                    m.at_entry(|code| code.push_int(100).pop()).before_returns(mark(2))
                },
                |code| {
                    let instructions: Vec<_> = code.instructions().map(Result::unwrap).collect();
                    let switch = instructions.iter().find_map(|i| i.switch()).unwrap();
                    let probe = i64::from(instructions[instructions.len() - 3].bci);
                    assert_eq!(code.bytes()[probe as usize..], [ICONST_2, POP, RETURN]);
                    assert_eq!(switch.default_target(), probe);
                    let keys = if opcode == TABLESWITCH { [7, 8] } else { [-9, 1_000_000] };
                    let cases: Vec<_> = switch.cases().collect();
                    // The second case goes to the original index 0.
                    assert_eq!(cases, [(keys[0], probe), (keys[1], 3)]);
                    let bounds = (opcode == TABLESWITCH).then_some((7, 8));
                    assert_eq!(switch.table_bounds(), bounds);
                    assert!(end as usize + 5 - 3 <= code.bytes().len());
                },
            );
        }
    }
}

/// Returns a branch over `nops` bytes to the return at the end.
fn branch_over(nops: usize, opcode: u8) -> Vec<u8> {
    let mut code = if opcode == IFEQ { vec![ICONST_0] } else { vec![] };
    code.push(opcode);
    code.extend((3 + nops as u16).to_be_bytes());
    code.resize(code.len() + nops, NOP);
    code.push(RETURN);
    code
}

#[test]
fn a_goto_that_grows_becomes_a_goto_w() {
    let body = Body::new(0, 0, branch_over(32_764, GOTO));
    edited(
        &class_of_version(49, &body),
        |m| m.before(5, mark(4)),
        |code| {
            let target = 5 + 32_764 + 2;
            assert_eq!(code.bytes()[..5], [GOTO_W, 0, 0, 0x80, 0x03]);
            assert_eq!(code.bytes().len(), target + 1);
            assert_eq!(code.instructions().next().unwrap().unwrap().branch_target(), Some(0x8003));
        },
    );
}

#[test]
fn a_jsr_that_grows_becomes_a_jsr_w() {
    let body = Body::new(1, 1, branch_over(32_764, JSR));
    edited(
        &class_of_version(48, &body),
        |m| m.before(5, mark(4)),
        |code| {
            assert_eq!(code.bytes()[..5], [JSR_W, 0, 0, 0x80, 0x03]);
        },
    );
}

#[test]
fn a_condition_that_grows_is_inverted() {
    let body = Body::new(1, 0, branch_over(32_764, IFEQ));
    edited(
        &class_of_version(49, &body),
        |m| m.before(5, mark(4)),
        |code| {
            assert_eq!(code.bytes()[..9], [ICONST_0, IFNE, 0, 8, GOTO_W, 0, 0, 0x80, 0x03]);
            assert_eq!(code.attributes().find(b"StackMapTable"), None);
        },
    );
}

#[test]
fn the_inverted_branch_gets_the_frame_behind_the_condition() {
    // A long in locals 0 and 1 exists after the condition, but not in the frame of its target.
    let mut code = vec![LCONST_0, LSTORE_0];
    code.extend(branch_over(32_764, IFEQ));
    let target = code.len() as u16 - 1;
    let table = [&[0, 1, 251][..], &target.to_be_bytes()].concat();
    let body = Body::new(2, 2, code).attribute("StackMapTable", table);
    edited(
        &class_with(&body),
        |m| m.before(7, mark(4)),
        |code| {
            assert_eq!(code.bytes()[..8], [LCONST_0, LSTORE_0, ICONST_0, IFNE, 0, 8, GOTO_W, 0]);
            // append [long] at 11, chop 1 at the target
            let target = code.bytes().len() as u16 - 1;
            let expected = [&[0, 2, 252, 0, 11, 4, 250][..], &u2(&[target - 12])].concat();
            assert_eq!(code.attributes().find(b"StackMapTable"), Some(&expected[..]));
        },
    );
}

#[test]
fn a_branch_that_grows_makes_another_one_grow() {
    // The first goto just fits as long as the second one, which is in its range, does not grow.
    let mut code = vec![GOTO];
    code.extend(32_767_u16.to_be_bytes());
    code.resize(2_000, NOP);
    code.push(GOTO);
    code.extend(32_767_u16.to_be_bytes());
    code.resize(2_000 + 32_767, NOP);
    code.push(RETURN);
    let body = Body::new(0, 0, code);
    edited(
        &class_of_version(49, &body),
        |m| m.before(34_000, mark(4)),
        |code| {
            assert_eq!(code.bytes()[0], GOTO_W);
            assert_eq!(code.bytes()[2_002], GOTO_W);
        },
    );
}

#[test]
fn handlers_cover_what_they_covered() {
    // [1, 3) is covered, and [4, 6) up to the end of the code.
    let body =
        Body::new(1, 1, [NOP, NOP, NOP, RETURN, NOP, ATHROW]).handler(1, 3, 4).handler(4, 6, 4);
    edited(
        &class_of_version(49, &body),
        |m| {
            m.at_entry(mark(1)).before_returns(mark(2)).on_throw(mark(3));
            m.before(1, mark(4)).after(2, mark(5))
        },
        |code| {
            let expected = [
                &ENTRY[..],
                &[NOP],
                &BEFORE,
                &[NOP, NOP],
                &AFTER,
                &RETURN_PROBE,
                &[RETURN, NOP, ATHROW],
                &THROW,
                &[ATHROW],
            ]
            .concat();
            assert_eq!(code.bytes(), expected);
            let handlers: Vec<_> =
                code.handlers().map(|h| (h.start, h.end, h.handler, h.catch_type)).collect();
            let expected =
                // The original ones, then everything except entry code and return with probe.
                [(3, 7, 12, 0), (12, 14, 12, 0), (2, 9, 14, 0), (12, 14, 14, 0)];
            assert_eq!(handlers, expected);
        },
    );
}

#[test]
fn a_handler_is_left_out_where_nothing_is_left_to_cover() {
    let body = Body::new(0, 0, [RETURN]);
    edited(
        &class_with(&body),
        |m| m.at_entry(mark(1)).before_returns(mark(2)).on_throw(mark(3)),
        |code| {
            assert_eq!(code.bytes(), [ICONST_1, POP, ICONST_2, POP, RETURN]);
            assert_eq!(code.handlers().len(), 0);
            assert_eq!(code.attributes().find(b"StackMapTable"), None);
        },
    );
}

#[test]
fn the_handler_has_a_frame() {
    let body = Body::new(0, 3, [NOP, RETURN]);
    edited(
        &class_with(&body),
        |m| m.on_throw(mark(3)),
        |code| {
            assert_eq!(code.bytes(), [NOP, RETURN, ICONST_3, POP, ATHROW]);
            assert_eq!(code.max_stack(), 2);
            let table = code.attributes().find(b"StackMapTable").unwrap();
            assert_eq!(table[..9], [0, 1, 255, 0, 2, 0, 0, 0, 1]);
            assert_eq!(table[9], 7);
            let thrown = u16::from_be_bytes([table[10], table[11]]);
            let bytes = edit(&class_with(&body), |m| m.on_throw(mark(3))).bytes;
            let class = ClassFile::parse(&bytes).unwrap();
            assert_eq!(class.constant_pool().class(thrown), Ok(&b"java/lang/Throwable"[..]));
        },
    );
}

#[test]
fn the_handler_has_this_if_its_code_loads_it() {
    let table = |flags: u16, code: &[u8]| {
        let mut class = ClassBuilder::new(65, "T");
        class.method(flags, "m", "()V", &Body::new(1, 1, code.to_vec()));
        let rewritten = edit(&class.finish(), |m| m.on_throw(|code| code.load_this().pop()));
        let class = ClassFile::parse(&rewritten.bytes).unwrap();
        let code = class.method(0).unwrap().code().unwrap().unwrap();
        let table = code.attributes().find(b"StackMapTable").map(<[u8]>::to_vec);
        let this = table.as_ref().map(|table| u16::from_be_bytes([table[8], table[9]]));
        let this = this.and_then(|this| class.constant_pool().class(this).ok().map(<[u8]>::to_vec));
        (table, this, rewritten.skipped)
    };
    let (frames, this, _) = table(0x0001, &[NOP, RETURN]);
    // full [T] [Throwable] at 2
    assert_eq!(frames.unwrap()[..8], [0, 1, 255, 0, 2, 0, 1, 7]);
    assert_eq!(this.as_deref(), Some(&b"T"[..]));
    // Local variable 0 later has a value other than `this`.
    let (_, _, skipped) = table(0x0001, &[ACONST_NULL, ASTORE_0, RETURN]);
    assert_eq!(skipped, [(0, Skip::UnknownFrame { bci: 0 })]);
}

#[test]
fn code_before_a_handler_has_its_own_handler() {
    // Like javac code for `synchronized`, without the monitor: the handler covers itself.
    let code = [NOP, RETURN, ASTORE_0, NOP, ALOAD_0, ATHROW];
    let body = Body::new(1, 1, code).handler(0, 1, 2).handler(2, 4, 2);
    edited(
        &class_of_version(49, &body),
        |m| m.on_catch(2, mark(4)).on_throw(mark(3)),
        |code| {
            let expected = [
                &[NOP, RETURN][..],
                &BEFORE,
                &[ASTORE_0, NOP, ALOAD_0, ATHROW],
                // Back to astore_0.
                &[GOTO_W, 255, 255, 255, 252],
                &THROW,
                &[ATHROW],
            ]
            .concat();
            assert_eq!(code.bytes(), expected);
            // The handler for the piece, the original ones, and the exceptional exit.
            assert_eq!(handlers(&code), [(2, 4, 8), (0, 1, 2), (2, 6, 2), (0, 8, 13)]);
        },
    );
}

#[test]
fn the_handler_of_a_piece_before_a_handler_has_the_frame_of_that() {
    let code = [NOP, RETURN, ASTORE_0, NOP, ALOAD_0, ATHROW];
    let mut class = ClassBuilder::new(65, "T");
    let throwable = class.class("java/lang/Throwable");
    let frames = [&[0, 1, 66, 7][..], &throwable.to_be_bytes()].concat();
    let body = Body::new(1, 1, code).handler(0, 1, 2).handler(2, 4, 2);
    class.method(9, "m", "()V", &body.attribute("StackMapTable", frames));
    edited(
        &class.finish(),
        |m| m.on_catch(2, mark(4)),
        |code| {
            let table = code.attributes().find(b"StackMapTable").unwrap();
            // The same stack and no locals at 2, at 4 after the piece, and at 8.
            assert_eq!(table[..4], [0, 3, 64 + 2, 7]);
            assert_eq!([table[6], table[10]], [64 + 1, 64 + 3]);
        },
    );
}

#[test]
fn handlers_of_some_exceptions_are_left_by_what_a_piece_before_them_throws() {
    let code = [NOP, RETURN, POP, RETURN, POP, RETURN];
    let mut class = ClassBuilder::new(49, "T");
    let some = class.class("java/lang/Error");
    // The second one covers itself, and cannot handle exceptions of other classes.
    let body = Body::new(1, 0, code).handler_of(0, 1, 2, some).handler_of(0, 5, 4, some);
    class.method(9, "m", "()V", &body);
    let original = class.finish();
    let parsed = ClassFile::parse(&original).unwrap();
    assert_eq!(parsed.method(0).unwrap().code().unwrap().unwrap().catches(), [2]);
    edited(
        &original,
        |m| m.on_catch(2, mark(4)),
        |code| {
            let expected = [&[NOP, RETURN][..], &BEFORE, &[POP, RETURN, POP, RETURN]].concat();
            assert_eq!(code.bytes(), expected);
            assert_eq!(handlers(&code), [(0, 1, 2), (0, 7, 6)]);
        },
    );
    assert_eq!(
        edit(&original, |m| m.on_catch(4, mark(4))).skipped,
        [(0, Skip::NotAHandler { bci: 4 })]
    );
}

#[test]
fn every_method_with_code_gets_more_locals() {
    for (version, most) in [(45, 255), (65, 65_535)] {
        let mut class = ClassBuilder::new(version, "T");
        for (name, locals) in [("a", 1), ("b", 2), ("c", most - 1), ("d", 4)] {
            class.method(9, name, "()V", &Body::new(1, locals, [RETURN]));
        }
        class.bodiless(0x0109, "e", "()V");
        let original = class.finish();
        let parsed = ClassFile::parse(&original).unwrap();
        let mut editor = Editor::new(&parsed);
        editor.method(1).unwrap().at_entry(mark(1));
        // This one cannot be edited.
        editor.method(3).unwrap().before(1, mark(1));
        editor.add_locals(2);
        let rewritten = editor.finish();
        assert_eq!(rewritten.skipped.len(), 1);
        let found = ClassFile::parse(&rewritten.bytes).unwrap();
        let code = |at: usize| found.method(at).unwrap().code().unwrap();
        let locals: Vec<_> = (0..4).map(|at| code(at).unwrap().max_locals()).collect();
        assert_eq!(locals, [3, 4, most, 6], "{version}");
        assert!(code(4).is_none());
        assert_eq!(code(1).unwrap().bytes(), [&ENTRY[..], &[RETURN]].concat());
    }
}

#[test]
fn line_numbers_move() {
    let body = Body::new(0, 0, [NOP, NOP, RETURN])
        .attribute("LineNumberTable", u2(&[3, 0, 10, 1, 11, 2, 12]));
    let found = edited_attribute(&body, "LineNumberTable", |m| {
        m.at_entry(mark(1)).before_returns(mark(2)).before(1, mark(4))
    });
    // Entry code belongs to the first line, other code to that of its instruction.
    assert_eq!(found, Some(u2(&[3, 0, 10, 3, 11, 6, 12])));
}

#[test]
fn local_variables_move() {
    for name in ["LocalVariableTable", "LocalVariableTypeTable"] {
        // A parameter, and a variable of the instructions 1 and 2.
        let body = Body::new(0, 2, [NOP, NOP, NOP, RETURN])
            .attribute(name, u2(&[2, 0, 4, 1, 1, 0, 1, 2, 1, 1, 1]));
        let found = edited_attribute(&body, name, |m| {
            m.at_entry(mark(1)).before(1, mark(4)).after(2, mark(5)).before(3, mark(4))
        });
        // The parameter exists in the entry code. The variable is in scope before its first
        // instruction's code, but not after its last one.
        assert_eq!(found, Some(u2(&[2, 0, 12, 1, 1, 0, 3, 4, 1, 1, 1])), "{name}");
    }
}

#[test]
fn all_kinds_of_stack_map_frames_move() {
    let mut class = ClassBuilder::new(65, "T");
    let object = class.class("java/lang/Object");
    let new = |index: u16| [&[NEW][..], &index.to_be_bytes()].concat();
    // 0: new; 3..: nops. The code need not be valid, because only the table is read.
    let code = [new(object), vec![NOP; 300], vec![RETURN]].concat();
    let o = object.to_be_bytes();
    let table = [
        &[0, 10][..],
        &[3],                                    // same, at 3
        &[64, 8, 0, 0],                          // same_locals_1, Uninitialized(0), at 4
        &[247, 0, 10, 4],                        // same_locals_1_extended, long, at 15
        &[252, 0, 0, 1],                         // append int, at 16
        &[254, 0, 4, 3, 7, o[0], o[1], 0],       // append double, Object, top, at 21
        &[248, 0, 78],                           // chop 3, at 100
        &[251, 0, 0],                            // same_extended with a delta that same could hold
        &[62],                                   // same, at 164; will need the extended form
        &[124, 5],                               // same_locals_1, null, at 225; needs it too
        &[255, 0, 3, 0, 2, 8, 0, 0, 2, 0, 1, 6], // full, at 229
    ]
    .concat();
    class.method(9, "m", "()V", &Body::new(2, 9, code).attribute("StackMapTable", table));
    let expected = [
        &[0, 10][..],
        &[3 + 2],
        &[64, 8, 0, 2], // the new itself moved
        &[247, 0, 10, 4],
        &[252, 0, 0, 1],
        &[254, 0, 4, 3, 7, o[0], o[1], 0],
        &[248, 0, 78],
        &[251, 0, 0],
        &[251, 0, 64],    // two bytes before 110 ...
        &[247, 0, 64, 5], // ... and four before 200
        &[255, 0, 3, 0, 2, 8, 0, 2, 2, 0, 1, 6],
    ]
    .concat();
    edited(
        &class.finish(),
        |m| m.at_entry(mark(1)).before(110, mark(4)).before(200, mark(4)).before(200, mark(4)),
        |code| assert_eq!(code.attributes().find(b"StackMapTable"), Some(&expected[..])),
    );
}

#[test]
fn a_frame_at_the_start_moves_behind_the_entry_code() {
    let body =
        Body::new(0, 0, [NOP, NOP, GOTO, 0xff, 0xfe]).attribute("StackMapTable", [0, 2, 0, 0]);
    let found = edited_attribute(&body, "StackMapTable", |m| m.at_entry(mark(1)));
    assert_eq!(found, Some(vec![0, 2, 2, 0]));
}

#[test]
fn an_uninitialized_object_is_named_by_its_new_itself() {
    let mut class = ClassBuilder::new(65, "T");
    let object = class.class("java/lang/Object");
    let code = [&[NOP, NEW][..], &object.to_be_bytes(), &[NOP, POP, RETURN]].concat();
    let table = [0, 1, 64 + 4, 8, 0, 1];
    class.method(9, "m", "()V", &Body::new(1, 0, code).attribute("StackMapTable", table));
    edited(
        &class.finish(),
        |m| m.before(1, mark(4)),
        |code| {
            assert_eq!(code.attributes().find(b"StackMapTable"), Some(&[0, 1, 70, 8, 0, 3][..]));
        },
    );
}

#[test]
fn type_annotations_move() {
    // Annotation of type 9 with an array of an enum, an annotation and a string.
    let values = [0, 9, 0, 1, 0, 8, b'[', 0, 3, b'e', 0, 1, 0, 2, b'@', 0, 9, 0, 0, b's', 0, 3];
    let annotation = |target: &[u8]| [target, &[1, 3, 0], &values].concat();
    let table = |before: [u8; 4]| {
        let [first, second, third, scope] = before;
        [
            vec![0, 7],
            annotation(&[0x40, 0, 1, 0, first, 0, scope, 0, 5]),
            annotation(&[0x41, 0, 0]),
            annotation(&[0x42, 0, 0]),
            annotation(&[0x43, 0, second]),
            annotation(&[0x46, 0, third]),
            annotation(&[0x47, 0, second, 1]),
            annotation(&[0x4b, 0, third, 0]),
        ]
        .concat()
    };
    for name in ["RuntimeVisibleTypeAnnotations", "RuntimeInvisibleTypeAnnotations"] {
        let body = Body::new(0, 0, [NOP, NOP, NOP, RETURN]).attribute(name, table([1, 1, 2, 2]));
        let found = edited_attribute(&body, name, |m| {
            m.at_entry(mark(1)).before(1, mark(4)).before(2, mark(4))
        });
        // Scopes start with the code before their first instruction. References to instructions
        // use their own positions.
        assert_eq!(found, Some(table([3, 5, 8, 6])), "{name}");
    }
}

#[test]
fn attributes_that_are_not_known_stay_and_those_of_no_use_go() {
    let body =
        Body::new(0, 0, [RETURN]).attribute("Unheard", [1, 2, 3]).attribute("StackMap", [0, 0]);
    edited(
        &class_of_version(48, &body),
        |m| m.at_entry(mark(1)),
        |code| {
            let names: Vec<_> = code.attributes().map(|attribute| attribute.name).collect();
            assert_eq!(names, [b"Unheard"]);
            assert_eq!(code.attributes().find(b"Unheard"), Some(&[1, 2, 3][..]));
        },
    );
}

#[test]
fn wide_instructions_and_subroutines_are_copied() {
    // jsr to a subroutine that returns with a wide ret, after a wide iinc.
    let code = [JSR, 0, 4, RETURN, ASTORE_0, WIDE, IINC, 1, 0, 0, 9, WIDE, RET, 0, 0];
    let body = Body::new(1, 257, code);
    edited(
        &class_of_version(46, &body),
        |m| m.before_returns(mark(2)),
        |code| {
            let expected = [
                &[JSR, 0, 6][..],
                &RETURN_PROBE,
                &[RETURN, ASTORE_0, WIDE, IINC, 1, 0, 0, 9, WIDE, RET, 0, 0],
            ]
            .concat();
            assert_eq!(code.bytes(), expected);
        },
    );
}

#[test]
fn wide_jumps_move() {
    let body = Body::new(0, 0, [GOTO_W, 0, 0, 0, 6, NOP, NOP, RETURN]);
    edited(
        &class_of_version(49, &body),
        |m| m.before(5, mark(4)),
        |code| {
            assert_eq!(code.bytes()[..5], [GOTO_W, 0, 0, 0, 8]);
        },
    );
}

#[test]
fn the_first_class_files_had_a_narrower_code_attribute() {
    let mut class = ClassBuilder::new(45, "T");
    class.minor(2);
    class.method(9, "m", "()V", &Body::new(1, 1, [RETURN]));
    edited(
        &class.finish(),
        |m| m.at_entry(mark(1)),
        |code| {
            assert_eq!(code.bytes(), [ICONST_1, POP, RETURN]);
            assert_eq!((code.max_stack(), code.max_locals()), (1, 1));
        },
    );
    let mut class = ClassBuilder::new(45, "T");
    class.minor(2);
    class.method(9, "m", "()V", &Body::new(255, 1, [RETURN]));
    let rewritten = edit(&class.finish(), |m| m.before(0, mark(1)));
    assert_eq!(rewritten.skipped, [(0, Skip::TooLarge)]);
}

#[test]
fn a_method_that_gets_too_large_is_left_alone() {
    let mut class = ClassBuilder::new(65, "T");
    let long = [vec![NOP; 65_532], vec![RETURN]].concat();
    class.method(9, "a", "()V", &Body::new(0, 0, long.clone()));
    class.method(9, "b", "()V", &Body::new(0, 0, [RETURN]));
    let bytes = class.finish();
    let class = ClassFile::parse(&bytes).unwrap();
    let insert = |length: usize| {
        let mut editor = Editor::new(&class);
        for method in 0..2 {
            editor
                .method(method)
                .unwrap()
                .at_entry(|code| (0..length).fold(code, |code, _| code.push_null().pop()));
        }
        editor.finish()
    };
    assert_eq!(insert(1).skipped, []);
    let rewritten = insert(2);
    assert_eq!(rewritten.skipped, [(0, Skip::TooLarge)]);
    let class = ClassFile::parse(&rewritten.bytes).unwrap();
    let code = |method| class.method(method).unwrap().code().unwrap().unwrap();
    assert_eq!(code(0).bytes(), long);
    assert_eq!(code(1).bytes(), [ACONST_NULL, POP, ACONST_NULL, POP, RETURN]);
}

#[test]
fn a_full_constant_pool_leaves_methods_alone() {
    let mut builder = ClassBuilder::new(65, "T");
    builder.method(9, "m", "()V", &Body::new(0, 0, [NOP, RETURN]));
    while builder.constants() < 65_533 {
        builder.int(0);
    }
    let bytes = builder.finish();
    let class = ClassFile::parse(&bytes).unwrap();

    // There is room for one constant.
    let mut editor = Editor::new(&class);
    assert_eq!(editor.constants().method_ref("A", "b", "()V").err(), Some(Error::ConstantPoolFull));
    let mut editor = Editor::new(&class);
    editor.method(0).unwrap().at_entry(|code| code.push_int(1 << 20).pop());
    let rewritten = editor.finish();
    assert_eq!(rewritten.skipped, []);
    assert_eq!(ClassFile::parse(&rewritten.bytes).unwrap().constant_pool().len(), 65_535);

    let mut editor = Editor::new(&class);
    editor.method(0).unwrap().at_entry(|code| code.push_int(1 << 20).push_int(1 << 21).pop2());
    assert_eq!(editor.finish().skipped, [(0, Skip::ConstantPoolFull)]);

    // The handler needs a name for its table, and Throwable.
    let mut editor = Editor::new(&class);
    editor.method(0).unwrap().on_throw(mark(3));
    let rewritten = editor.finish();
    assert_eq!(rewritten.skipped, [(0, Skip::ConstantPoolFull)]);
    let class = ClassFile::parse(&rewritten.bytes).unwrap();
    assert_eq!(class.method(0).unwrap().code().unwrap().unwrap().bytes(), [NOP, RETURN]);
}

#[test]
fn edits_that_make_no_sense_are_reported() {
    let bytes = class_with(&Body::new(2, 0, [SIPUSH, 0, 0, POP, RETURN]));
    let skip = |make: for<'a, 'b> fn(&'a mut MethodEditor<'b>) -> &'a mut MethodEditor<'b>| {
        let rewritten = edit(&bytes, make);
        let unchanged = ClassFile::parse(&rewritten.bytes).unwrap();
        let code = unchanged.method(0).unwrap().code().unwrap().unwrap();
        assert_eq!(code.bytes(), [SIPUSH, 0, 0, POP, RETURN]);
        rewritten.skipped
    };
    assert_eq!(skip(|m| m.before(1, mark(4))), [(0, Skip::NotAnInstruction { bci: 1 })]);
    assert_eq!(
        skip(|m| m.at_entry(mark(1)).after(9, mark(5))),
        [(0, Skip::NotAnInstruction { bci: 9 })]
    );
    assert_eq!(skip(|m| m.at_entry(|code| code.push_int(1))), [(0, Skip::Unbalanced)]);
    assert_eq!(skip(|m| m.before(4, |code| code.pop())), [(0, Skip::Unbalanced)]);
    assert_eq!(skip(|m| m.on_catch(0, mark(4))), [(0, Skip::NotAHandler { bci: 0 })]);
}

#[test]
fn malformed_code_is_reported() {
    let skip = |body: Body| {
        let rewritten =
            edit(&class_of_version(49, &body), |m| m.at_entry(mark(1)).before_returns(mark(2)));
        match rewritten.skipped[..] {
            [(0, Skip::Malformed(error))] => error,
            _ => panic!("{:?}", rewritten.skipped),
        }
    };
    let code = |code: &[u8]| Body::new(0, 0, code);
    let table = |name, info: &[u8]| Body::new(0, 0, [NOP, RETURN]).attribute(name, info);
    assert_eq!(skip(code(&[0xfe])), Error::BadOpcode { bci: 0, opcode: 0xfe });
    assert_eq!(skip(code(&[NOP, WIDE, NOP])), Error::BadOpcode { bci: 1, opcode: NOP });
    assert_eq!(skip(code(&[SIPUSH, 0])), Error::Truncated { part: "code" });
    assert_eq!(skip(code(&[GOTO, 0, 3])), Error::BadBci(3));
    assert_eq!(skip(code(&[GOTO, 0xff, 0xff])), Error::BadBci(u32::MAX));
    assert_eq!(skip(code(&[TABLESWITCH, 0, 0, 0])), Error::Truncated { part: "code" });
    assert_eq!(
        skip(table("LineNumberTable", &[0, 1, 0])),
        Error::Truncated { part: "LineNumberTable" }
    );
    assert_eq!(
        skip(table("LineNumberTable", &[0, 0, 0])),
        Error::TrailingBytes { part: "LineNumberTable" }
    );
    assert_eq!(skip(table("LineNumberTable", &[0, 1, 0, 9, 0, 1])), Error::BadBci(9));
    assert_eq!(
        skip(table("RuntimeVisibleTypeAnnotations", &[0, 1, 0x10, 0, 0])),
        Error::BadAnnotation
    );
    assert_eq!(skip(code(&[RETURN]).handler(0, 2, 0)), Error::BadBci(2));

    let nested: Vec<u8> = [0, 1, 0x43, 0, 0, 0, 0, 0, 0, 1, 0, 0]
        .into_iter()
        .chain([b'[', 0, 1].into_iter().cycle().take(3 * 100_000))
        .collect();
    assert_eq!(skip(table("RuntimeVisibleTypeAnnotations", &nested)), Error::BadAnnotation);
}

#[test]
fn malformed_frames_are_reported() {
    let skip = |table: &[u8]| {
        let body = Body::new(0, 1, [NOP, NOP, RETURN]).attribute("StackMapTable", table);
        edit(&class_with(&body), |m| m.at_entry(mark(1))).skipped
    };
    let bad = |error| [(0, Skip::Malformed(error))];
    assert_eq!(skip(&[0, 1, 128]), bad(Error::BadFrame));
    assert_eq!(skip(&[0, 1, 64, 9]), bad(Error::BadFrame));
    assert_eq!(skip(&[0, 1, 50]), bad(Error::BadBci(50)));
    assert_eq!(skip(&[0, 2, 0]), bad(Error::Truncated { part: "StackMapTable" }));
    assert_eq!(skip(&[0, 0, 0]), bad(Error::TrailingBytes { part: "StackMapTable" }));
}

#[test]
fn numbers_are_pushed_by_the_shortest_instruction() {
    let bytes = class_with(&Body::new(0, 0, [RETURN]));
    for (number, pushed) in [
        (-1, &[ICONST_M1][..]),
        (5, &[ICONST_5]),
        (6, &[BIPUSH, 6]),
        (-2, &[BIPUSH, 0xfe]),
        (127, &[BIPUSH, 127]),
        (-128, &[BIPUSH, 0x80]),
        (128, &[SIPUSH, 0, 128]),
        (-129, &[SIPUSH, 0xff, 0x7f]),
        (-32_768, &[SIPUSH, 0x80, 0]),
        (32_767, &[SIPUSH, 0x7f, 0xff]),
    ] {
        edited(
            &bytes,
            |m| m.at_entry(mark(number)),
            |code| {
                assert_eq!(code.bytes(), [pushed, &[POP, RETURN]].concat());
            },
        );
    }
    let rewritten = edit(&bytes, |m| m.at_entry(mark(32_768)));
    let class = ClassFile::parse(&rewritten.bytes).unwrap();
    let code = class.method(0).unwrap().code().unwrap().unwrap();
    let constant = class.constant_pool().len() as u16 - 1;
    assert_eq!(class.constant_pool().tag(constant), Some(3));
    let [high, low] = constant.to_be_bytes();
    assert_eq!(code.bytes(), [LDC_W, high, low, POP, RETURN]);
}

#[test]
fn a_guard_at_the_entry_has_the_first_frame() {
    let mut class = ClassBuilder::new(65, "T");
    let field = class.field_ref("T", "on", "Z");
    class.method(
        9,
        "m",
        "(I)V",
        &Body::new(1, 1, [NOP, NOP, RETURN]).attribute("StackMapTable", [0, 1, 1]),
    );
    let bytes = class.finish();
    let class = ClassFile::parse(&bytes).unwrap();
    let mut editor = Editor::new(&class);
    let on = editor.constants().field_ref("T", "on", "Z").unwrap();
    editor.method(0).unwrap().at_entry(|code| {
        code.guard(on, |code| code.push_int(1).pop()).guard(on, |code| code.guard(on, mark(2)))
    });
    let rewritten = editor.finish();
    assert_eq!(rewritten.skipped, []);
    let class = ClassFile::parse(&rewritten.bytes).unwrap();
    let code = class.method(0).unwrap().code().unwrap().unwrap();
    let bytes = code.bytes();
    assert_eq!((bytes[0], &bytes[3..8]), (GETSTATIC, &[IFEQ, 0, 5, ICONST_1, POP][..]));
    assert_eq!((bytes[8], &bytes[11..14]), (GETSTATIC, &[IFEQ, 0, 11][..]));
    assert_eq!(
        (bytes[14], &bytes[17..]),
        (GETSTATIC, &[IFEQ, 0, 5, ICONST_2, POP, NOP, NOP, RETURN][..])
    );
    // After the first guard, after the two others, and the old one.
    assert_eq!(code.attributes().find(b"StackMapTable"), Some(&[0, 3, 8, 13, 0][..]));
    assert_eq!(code.max_stack(), 1);
    assert!(field > 0);
}

#[test]
fn a_guard_ends_where_a_frame_is_already() {
    let mut class = ClassBuilder::new(65, "T");
    let body = Body::new(1, 1, [NOP, GOTO, 0xff, 0xff]).attribute("StackMapTable", [0, 1, 0]);
    class.method(9, "m", "()V", &body);
    let bytes = class.finish();
    let class = ClassFile::parse(&bytes).unwrap();
    let mut editor = Editor::new(&class);
    let on = editor.constants().field_ref("T", "on", "Z").unwrap();
    editor.method(0).unwrap().at_entry(|code| code.guard(on, mark(1)));
    let rewritten = editor.finish();
    let class = ClassFile::parse(&rewritten.bytes).unwrap();
    let code = class.method(0).unwrap().code().unwrap().unwrap();
    assert_eq!(code.attributes().find(b"StackMapTable"), Some(&[0, 1, 8][..]));
}

#[test]
fn a_guard_in_the_middle_has_the_frame_of_its_place() {
    // After lstore_1 there is a long in 1 and 2; two ints are on the stack before iadd.
    let code = [LCONST_0, LSTORE_1, ICONST_0, ICONST_0, IADD, POP, NOP, RETURN];
    let mut class = ClassBuilder::new(65, "T");
    class.method(9, "m", "(I)V", &Body::new(2, 3, code).attribute("StackMapTable", [0, 1, 6]));
    let bytes = class.finish();
    let class = ClassFile::parse(&bytes).unwrap();
    let mut editor = Editor::new(&class);
    let on = editor.constants().field_ref("T", "on", "Z").unwrap();
    let mut method = editor.method(0).unwrap();
    method.before(4, |code| code.guard(on, mark(1))).before_returns(|code| code.guard(on, mark(1)));
    let rewritten = editor.finish();
    assert_eq!(rewritten.skipped, []);
    let class = ClassFile::parse(&rewritten.bytes).unwrap();
    let code = class.method(0).unwrap().code().unwrap().unwrap();
    // full [int, long] [int, int] at 12; the old frame, at 14, does not have the long; the frame
    // at 23, before the return, equals it.
    let expected = [&[0, 3, 255, 0, 12, 0, 2, 1, 4, 0, 2, 1, 1][..], &[250, 0, 1], &[8]].concat();
    assert_eq!(code.attributes().find(b"StackMapTable"), Some(&expected[..]));
}

#[test]
fn a_guard_where_control_cannot_come_is_reported() {
    let code = [GOTO, 0, 4, NOP, RETURN];
    let body = Body::new(1, 0, code).attribute("StackMapTable", [0, 1, 4]);
    let bytes = class_with(&body);
    let class = ClassFile::parse(&bytes).unwrap();
    let mut editor = Editor::new(&class);
    let on = editor.constants().field_ref("T", "on", "Z").unwrap();
    editor.method(0).unwrap().before(3, |code| code.guard(on, mark(1)));
    assert_eq!(editor.finish().skipped, [(0, Skip::UnknownFrame { bci: 3 })]);
}

#[test]
fn a_guard_must_not_stand_on_what_was_pushed() {
    let bytes = class_with(&Body::new(1, 0, [RETURN]));
    let class = ClassFile::parse(&bytes).unwrap();
    for (kind, skip) in [("Z", true), ("J", true), ("I", false)] {
        let mut editor = Editor::new(&class);
        let on = editor.constants().field_ref("T", "on", kind).unwrap();
        editor.method(0).unwrap().at_entry(|code| match kind {
            "Z" => code.push_int(1).guard(on, |code| code).pop(),
            _ => code.guard(on, |code| code),
        });
        assert_eq!(!editor.finish().skipped.is_empty(), skip, "{kind}");
    }
}

/// Returns class `T` with the constructor `aload_0; <NOP>; invokespecial Object.<init>; nop;
/// return`.
fn constructor(major: u16) -> Vec<u8> {
    let mut class = ClassBuilder::new(major, "T");
    let init = class.method_ref("java/lang/Object", "<init>", "()V").to_be_bytes();
    let code = [ALOAD_0, NOP, INVOKESPECIAL, init[0], init[1], NOP, RETURN];
    class.method(1, "<init>", "()V", &Body::new(1, 1, code));
    class.finish()
}

fn handlers(code: &Code<'_>) -> Vec<(u16, u16, u16)> {
    code.handlers().map(|handler| (handler.start, handler.end, handler.handler)).collect()
}

#[test]
fn a_constructor_has_two_handlers_and_none_around_the_call_of_super() {
    edited(
        &constructor(65),
        |m| m.at_entry(mark(1)).before_returns(mark(2)).on_throw(mark(3)),
        |code| {
            // entry 0..2, aload_0 2, nop 3, invokespecial 4..7, nop 7, probe 8, return 10
            assert_eq!(handlers(&code), [(2, 4, 11), (7, 8, 14)]);
            let table = code.attributes().find(b"StackMapTable").unwrap();
            // [uninitializedThis] [Throwable] at 11, [] [Throwable] at 14
            assert_eq!(table[..10], [0, 2, 255, 0, 11, 0, 1, 6, 0, 1]);
            assert_eq!(table[13..20], [255, 0, 2, 0, 0, 0, 1]);
        },
    );
}

#[test]
fn an_old_constructor_has_one_handler_for_everything() {
    edited(
        &constructor(48),
        |m| m.at_entry(mark(1)).before_returns(mark(2)).on_throw(mark(3)),
        |code| assert_eq!(handlers(&code), [(2, 8, 11)]),
    );
}

#[test]
fn code_that_needs_this_follows_the_call_of_super() {
    for major in [48, 50, 65] {
        edited(
            &constructor(major),
            |m| {
                m.when_this_initialized(|code| code.load_this().pop())
                    .before_returns(mark(2))
                    .on_throw(mark(3))
            },
            |code| {
                let expected = [&[NOP], &RETURN_PROBE[..], &[RETURN], &THROW, &[ATHROW]].concat();
                assert_eq!(code.bytes()[5..7], [ALOAD_0, POP]);
                assert_eq!(code.bytes()[7..], expected);
                // A failed call of super() was not reported.
                assert_eq!(handlers(&code), [(7, 8, 11)], "{major}");
            },
        );
    }
}

#[test]
fn elsewhere_this_is_there_from_the_start() {
    for class_name in ["T", "java/lang/Object"] {
        let mut class = ClassBuilder::new(65, class_name);
        let name = if class_name == "T" { "m" } else { "<init>" };
        class.method(1, name, "()V", &Body::new(0, 1, [RETURN]));
        edited(
            &class.finish(),
            |m| m.when_this_initialized(mark(1)),
            |code| {
                assert_eq!(code.bytes(), [ICONST_1, POP, RETURN]);
            },
        );
    }
}

#[test]
fn a_constructor_that_hides_this_is_not_covered_before_super() {
    // this is moved to local 1, local 0 overwritten.
    let mut class = ClassBuilder::new(65, "T");
    let init = class.method_ref("java/lang/Object", "<init>", "()V").to_be_bytes();
    let code = [
        ALOAD_0,
        ASTORE_1,
        ACONST_NULL,
        ASTORE_0,
        ALOAD_1,
        INVOKESPECIAL,
        init[0],
        init[1],
        NOP,
        RETURN,
    ];
    class.method(1, "<init>", "()V", &Body::new(1, 2, code));
    edited(
        &class.finish(),
        |m| m.on_throw(mark(3)),
        |code| {
            assert_eq!(handlers(&code), [(0, 4, 10), (8, 10, 13)]);
        },
    );
}

#[test]
fn initializations_are_found() {
    for major in [48, 65] {
        let mut class = ClassBuilder::new(major, "T");
        let [a, b] = ["A", "B"].map(|name| class.class(name).to_be_bytes());
        let init_a = class.method_ref("A", "<init>", "(LB;)V").to_be_bytes();
        let init_b = class.method_ref("B", "<init>", "()V").to_be_bytes();
        let code = [
            &[NEW, a[0], a[1], DUP][..],                                  // 0
            &[NEW, b[0], b[1], DUP, INVOKESPECIAL, init_b[0], init_b[1]], // 4: new, 8: init
            &[INVOKESPECIAL, init_a[0], init_a[1], POP],                  // 11
            &[NEW, b[0], b[1], INVOKESPECIAL, init_b[0], init_b[1]],      // 15, 18: dropped
            &[NEW, b[0], b[1], ASTORE_0, ALOAD_0, INVOKESPECIAL, init_b[0], init_b[1]], // 21, 26
            &[RETURN],
        ]
        .concat();
        class.method(9, "m", "()V", &Body::new(4, 1, code));
        let bytes = class.finish();
        let class = ClassFile::parse(&bytes).unwrap();
        let found = class.method(0).unwrap().code().unwrap().unwrap().initializations().unwrap();
        let summary: Vec<_> = found
            .iter()
            .map(|&Initialization { call, object, found, .. }| match object {
                Uninitialized::New { bci } => (bci, call, found),
                Uninitialized::This => panic!("there is no this"),
            })
            .collect();
        let expected = [
            (4, 8, Some(Place::Stack)),
            (0, 11, Some(Place::Stack)),
            (15, 18, None),
            (21, 26, Some(Place::Local(0))),
        ];
        assert_eq!(summary, expected, "version {major}");
    }
}

#[test]
fn comparisons_of_uninitialized_objects_are_known() {
    for major in [48, 65] {
        let mut class = ClassBuilder::new(major, "T");
        let [a, b] = ["A", "B"].map(|name| class.class(name).to_be_bytes());
        // Each branches to the next instruction, so that no frame differs from the previous one.
        let code = [
            &[NEW, a[0], a[1], DUP, IFNULL, 0, 3][..], // 4
            &[DUP, IFNONNULL, 0, 3],                   // 8
            &[DUP, DUP, IF_ACMPEQ, 0, 3],              // 13
            &[DUP, DUP, IF_ACMPNE, 0, 3],              // 18
            &[DUP, NEW, b[0], b[1], IF_ACMPEQ, 0, 3],  // 25
            &[DUP, ACONST_NULL, IF_ACMPNE, 0, 3],      // 30
            &[ACONST_NULL, IFNULL, 0, 3, POP, RETURN], // 34
        ]
        .concat();
        let mut body = Body::new(4, 0, code);
        // In class version 65 the verifier requires a frame at each target: the object on the
        // stack.
        let frames = [7, 11, 16, 21, 28, 33, 37].iter().scan(-1, |last, &bci| {
            let delta = (bci - *last - 1) as u8;
            *last = bci;
            Some([64 + delta, 8, 0, 0])
        });
        let frames: Vec<u8> = [0, 7].into_iter().chain(frames.flatten()).collect();
        if major == 65 {
            body = body.attribute("StackMapTable", frames);
        }
        class.method(9, "m", "()V", &body);
        let bytes = class.finish();
        let class = ClassFile::parse(&bytes).unwrap();
        let code = class.method(0).unwrap().code().unwrap().unwrap();
        let found: Vec<_> = code
            .uninitialized_comparisons()
            .unwrap()
            .iter()
            .map(|comparison| (comparison.bci, comparison.branches))
            .collect();
        let expected = [(4, false), (8, true), (13, true), (18, false), (25, false), (30, true)];
        assert_eq!(found, expected, "version {major}");
    }
}

#[test]
fn every_truncated_file_is_an_error() {
    let bytes = constructor(65);
    for length in 0..bytes.len() {
        assert!(ClassFile::parse(&bytes[..length]).is_err(), "{length} bytes");
    }
    let longer = [&bytes[..], &[0]].concat();
    assert_eq!(ClassFile::parse(&longer).err(), Some(Error::TrailingBytes { part: "class file" }));
}

#[test]
fn a_file_that_is_no_class_is_an_error() {
    let mut bytes = constructor(65);
    bytes[7] = 44;
    assert_eq!(ClassFile::parse(&bytes).err(), Some(Error::BadVersion(44)));
    bytes[0] = 0;
    assert_eq!(ClassFile::parse(&bytes).err(), Some(Error::BadMagic(0x00fe_babe)));
    let mut bytes = constructor(65);
    bytes[10] = 2;
    assert_eq!(ClassFile::parse(&bytes).err(), Some(Error::BadConstantTag { index: 1, tag: 2 }));
}

#[test]
fn the_parts_of_a_class_can_be_read() {
    let mut builder = ClassBuilder::new(69, "p/T");
    builder.minor(65_535);
    builder.field(0x000a, "count", "J");
    builder.bodiless(0x0401, "run", "()V");
    let name = builder.utf8("T.java");
    builder.attribute("SourceFile", &name.to_be_bytes());
    let long = builder.long(5);
    let method = builder.method_ref("q/U", "f", "(I)I");
    let lines = u2(&[1, 0, 7]);
    builder.method(9, "m", "()V", &Body::new(0, 0, [RETURN]).attribute("LineNumberTable", lines));
    let bytes = builder.finish();

    let class = ClassFile::parse(&bytes).unwrap();
    assert_eq!((class.major_version(), class.minor_version()), (69, 65_535));
    assert_eq!((class.name(), class.super_name()), (&b"p/T"[..], Some(&b"java/lang/Object"[..])));
    assert_eq!(class.interface_names().count(), 0);
    assert_eq!(class.source_file(), Some(&b"T.java"[..]));
    assert!(!class.is_interface());
    let field = class.fields().next().unwrap();
    assert_eq!(
        (field.name(), field.descriptor(), field.is_static()),
        (&b"count"[..], &b"J"[..], true)
    );
    let run = class.method(0).unwrap();
    assert!(run.is_abstract() && !run.has_code() && run.code().unwrap().is_none());
    assert!(class.method(2).is_none());
    let code = class.method(1).unwrap().code().unwrap().unwrap();
    assert_eq!(code.line_numbers().collect::<Vec<_>>(), [(0, 7)]);
    let pool = class.constant_pool();
    assert_eq!((pool.tag(long), pool.tag(long + 1), pool.tag(0)), (Some(5), None, None));
    assert_eq!(pool.member(method).unwrap().class, b"q/U");
    assert!(pool.utf8(long).is_err() && pool.class(name).is_err() && pool.member(name).is_err());
}

#[test]
fn constants_are_shared() {
    let bytes = class_with(&Body::new(0, 0, [RETURN]));
    let class = ClassFile::parse(&bytes).unwrap();
    let before = class.constant_pool().len();
    let mut editor = Editor::new(&class);
    let constants = editor.constants();
    for _ in 0..2 {
        constants.method_ref("jvmpi/Tracker", "enter", "(I)V").unwrap();
        constants.method_ref("jvmpi/Tracker", "exit", "(I)V").unwrap();
    }
    assert_eq!(constants.method_ref("T", "m", "(Q)V").err(), Some(Error::BadDescriptor));
    // Class with name, descriptor, and for each method name, name and type, reference.
    let after = ClassFile::parse(&editor.finish().bytes).unwrap().constant_pool().len();
    assert_eq!(after - before, 2 + 1 + 2 * 3);
}
