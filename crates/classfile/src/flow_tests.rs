//! The effect of each instruction on the types in a frame, tested against JVMS §6.5.

use super::*;
use crate::ClassFile;
use crate::builder::{Body, ClassBuilder};

const OBJECT: Type<'static> = Type::class("java/lang/Object");
const STRING: Type<'static> = Type::class("java/lang/String");

/// Converts letters to types: those of descriptors; `N` for null; `O` and `S` for `Object` and
/// `String`; `-` for nothing. `1` and `2` are arrays of `int`, `s` and `t` arrays of strings, of
/// one and two dimensions. `u` is an object created by a `new` at 0, `T` an uninitialized `this`.
fn types(letters: &str) -> Vec<Type<'static>> {
    let array = |dimensions, element| Type::Object(Class { dimensions, element });
    let string = Element::Class(b"java/lang/String");
    let mut slots = Vec::new();
    for letter in letters.chars() {
        let value = match letter {
            'I' => Type::Int,
            'J' => Type::Long,
            'F' => Type::Float,
            'D' => Type::Double,
            'N' => Type::Null,
            'O' => OBJECT,
            'S' => STRING,
            '1' => array(1, Element::Primitive(b'I')),
            '2' => array(2, Element::Primitive(b'I')),
            's' => array(1, string),
            't' => array(2, string),
            'u' => Type::Uninitialized(0),
            'T' => Type::UninitializedThis,
            '-' => Type::Top,
            letter => panic!("{letter}"),
        };
        push(&mut slots, value);
    }
    slots
}

/// Returns a class with the constants 100 and up that the cases below use.
fn class(code: &[u8]) -> Vec<u8> {
    let mut class = ClassBuilder::new(65, "T");
    while class.constants() < 89 {
        class.utf8("");
    }
    let mut at = |wanted: u16, add: &mut dyn FnMut(&mut ClassBuilder) -> u16| {
        // Each case takes some entries of its own before the one that it uses.
        while class.constants() < wanted - 10 {
            class.utf8("");
        }
        let mut probe = class.clone();
        let taken = add(&mut probe) - class.constants();
        while class.constants() < wanted - taken {
            class.utf8("");
        }
        assert_eq!(add(&mut class), wanted);
    };
    at(100, &mut |class| class.class("java/lang/String"));
    at(110, &mut |class| class.class("[[I"));
    at(120, &mut |class| class.field_ref("T", "f", "J"));
    at(130, &mut |class| class.field_ref("T", "g", "[Ljava/lang/String;"));
    at(140, &mut |class| class.method_ref("T", "m", "(IJ[I)D"));
    at(150, &mut |class| class.method_ref("T", "v", "()V"));
    at(160, &mut |class| class.method_ref("java/lang/String", "<init>", "(I)V"));
    at(170, &mut |class| class.int(5));
    at(180, &mut |class| class.long(5));
    at(190, &mut |class| class.string("x"));
    at(200, &mut |class| class.dynamic(17, "c", "Ljava/lang/String;"));
    at(210, &mut |class| class.dynamic(18, "i", "(JI)[[I"));
    class.method(0, "<init>", "()V", &Body::new(0, 6, code));
    class.finish()
}

/// Returns the locals and stack after an instruction, `None` if it does not fit.
fn after(instruction: &[u8], locals: &str, stack: &str) -> Option<(String, String)> {
    execute(instruction, types(locals), types(stack))
}

fn execute(
    instruction: &[u8],
    locals: Vec<Type<'static>>,
    stack: Vec<Type<'static>>,
) -> Option<(String, String)> {
    // The `new` that created an uninitialized object comes first.
    let bytes = class(&[&[NEW, 0, 100][..], instruction].concat());
    let class = ClassFile::parse(&bytes).unwrap();
    let code = class.method(0).unwrap().code().unwrap().unwrap();
    let mut instructions = code.instructions_from(3);
    let instruction = instructions.next().unwrap().unwrap();
    assert!(instructions.next().is_none());
    let mut frame = Frame { locals, stack };
    frame.execute(instruction, &code).ok()?;
    Some((letters(&frame.locals), letters(&frame.stack)))
}

fn letters(slots: &[Type<'_>]) -> String {
    let mut letters = String::new();
    let mut rest = slots;
    while let Some(first) = rest.first() {
        let letter = "IJFDNOS12stuT-"
            .chars()
            .find(|letter| types(&letter.to_string())[0] == *first)
            .map_or_else(|| format!("{first:?}"), |letter| letter.to_string());
        letters.push_str(&letter);
        rest = &rest[first.slots()..];
    }
    letters
}

/// Checks an instruction that takes all of `before` and leaves `expected`.
#[track_caller]
fn check_stack(instruction: &[u8], before: &str, expected: &str) {
    let left = after(instruction, "", before).map(|(_, stack)| stack);
    assert_eq!(left.as_deref(), Some(expected), "{instruction:?}");
    if !before.is_empty() {
        let too_few = &types(before)[1..];
        assert!(execute(instruction, Vec::new(), too_few.to_vec()).is_none(), "{instruction:?}");
    }
}

#[test]
fn constants_are_pushed() {
    for (opcode, pushed) in [
        (ACONST_NULL, "N"),
        (ICONST_M1, "I"),
        (ICONST_5, "I"),
        (LCONST_0, "J"),
        (LCONST_1, "J"),
        (FCONST_0, "F"),
        (FCONST_2, "F"),
        (DCONST_0, "D"),
        (DCONST_1, "D"),
    ] {
        check_stack(&[opcode], "", pushed);
    }
    check_stack(&[BIPUSH, 1], "", "I");
    check_stack(&[SIPUSH, 0, 1], "", "I");
    check_stack(&[LDC, 170], "", "I");
    check_stack(&[LDC_W, 0, 190], "", "S");
    check_stack(&[LDC_W, 0, 200], "", "S");
    check_stack(&[LDC2_W, 0, 180], "", "J");
    assert_eq!(after(&[LDC, 100], "", "").unwrap().1, letters(&[Type::class("java/lang/Class")]));
    assert!(after(&[LDC, 150], "", "").is_none());
}

#[test]
fn locals_are_loaded_and_stored() {
    let load = |instruction: &[u8], locals: &str| after(instruction, locals, "").unwrap().1;
    assert_eq!(load(&[ILOAD_0], "I"), "I");
    assert_eq!(load(&[LLOAD_1], "IJ"), "J");
    assert_eq!(load(&[FLOAD, 0], "F"), "F");
    assert_eq!(load(&[WIDE, DLOAD, 0, 0], "D"), "D");
    assert_eq!(load(&[ALOAD_3], "JIS"), "S");
    assert_eq!(load(&[WIDE, ALOAD, 0, 1], "IT"), "T");

    let store = |instruction: &[u8], locals: &str, stack: &str| {
        after(instruction, locals, stack).map(|(locals, stack)| format!("{locals}/{stack}"))
    };
    assert_eq!(store(&[ISTORE_0], "S", "I").unwrap(), "I/");
    assert_eq!(store(&[ASTORE, 2], "I", "FO").unwrap(), "I-O/F");
    assert_eq!(store(&[WIDE, LSTORE, 0, 1], "IS", "J").unwrap(), "IJ/");
    // Overwriting one half of a long or double makes the other one unusable.
    assert_eq!(store(&[ISTORE_1], "JS", "I").unwrap(), "-IS/");
    assert_eq!(store(&[FSTORE_0], "DS", "F").unwrap(), "F-S/");
    assert_eq!(store(&[DSTORE_1], "JJ", "D").unwrap(), "-D-/");
    // There are six locals.
    assert_eq!(store(&[LSTORE, 4], "", "J").unwrap(), "----J/");
    assert_eq!(store(&[LSTORE, 5], "", "J"), None);
    assert_eq!(store(&[ASTORE, 6], "", "S"), None);
    assert_eq!(store(&[ISTORE, 0], "", ""), None);
    assert_eq!(store(&[IINC, 0, 1], "I", "S").unwrap(), "I/S");
}

#[test]
fn arrays_are_read_and_written() {
    for (opcode, element) in [
        (IALOAD, "I"),
        (LALOAD, "J"),
        (FALOAD, "F"),
        (DALOAD, "D"),
        (BALOAD, "I"),
        (CALOAD, "I"),
        (SALOAD, "I"),
    ] {
        check_stack(&[opcode], "OI", element);
    }
    check_stack(&[AALOAD], "2I", "1");
    check_stack(&[AALOAD], "tI", "s");
    check_stack(&[AALOAD], "sI", "S");
    check_stack(&[AALOAD], "NI", "N");
    for (opcode, element) in [
        (IASTORE, "I"),
        (LASTORE, "J"),
        (FASTORE, "F"),
        (DASTORE, "D"),
        (AASTORE, "S"),
        (BASTORE, "I"),
        (CASTORE, "I"),
        (SASTORE, "I"),
    ] {
        check_stack(&[opcode], &format!("OI{element}"), "");
    }
    check_stack(&[NEWARRAY, 10], "I", "1");
    check_stack(&[ANEWARRAY, 0, 100], "I", "s");
    check_stack(&[MULTIANEWARRAY, 0, 110, 2], "II", "2");
    check_stack(&[MULTIANEWARRAY, 0, 110, 1], "I", "2");
    check_stack(&[ARRAYLENGTH], "O", "I");
    let made = after(&[ANEWARRAY, 0, 110], "", "I").unwrap().1;
    let expected = Class { dimensions: 3, element: Element::Primitive(b'I') };
    assert_eq!(made, letters(&[Type::Object(expected)]));
    for (code, letter) in (4..).zip("ZCFDBSIJ".bytes()) {
        let made = after(&[NEWARRAY, code], "", "I").unwrap().1;
        let expected = Class { dimensions: 1, element: Element::Primitive(letter) };
        assert_eq!(made, letters(&[Type::Object(expected)]));
    }
    assert!(after(&[NEWARRAY, 3], "", "I").is_none());
    assert!(after(&[NEWARRAY, 12], "", "I").is_none());
}

#[test]
fn the_stack_is_rearranged() {
    for (opcode, before, expected) in [
        (POP, "IS", "I"),
        (POP2, "ISF", "I"),
        (POP2, "IJ", "I"),
        (DUP, "IS", "ISS"),
        (DUP_X1, "IS", "SIS"),
        (DUP_X2, "FIS", "SFIS"),
        (DUP_X2, "JS", "SJS"),
        (DUP2, "IS", "ISIS"),
        (DUP2, "IJ", "IJJ"),
        (DUP2_X1, "FIS", "ISFIS"),
        (DUP2_X1, "IJ", "JIJ"),
        (DUP2_X2, "NFIS", "ISNFIS"),
        (DUP2_X2, "ISJ", "JISJ"),
        (DUP2_X2, "DJ", "JDJ"),
        (SWAP, "IS", "SI"),
    ] {
        assert_eq!(after(&[opcode], "", before).unwrap().1, expected, "{opcode} on {before}");
    }
    for (opcode, too_few) in
        [(POP, ""), (POP2, "I"), (DUP, ""), (DUP_X1, "I"), (DUP2_X2, "ISF"), (SWAP, "I")]
    {
        assert!(after(&[opcode], "", too_few).is_none());
    }
}

#[test]
fn numbers_are_computed() {
    let kinds = ["I", "J", "F", "D"];
    for (at, kind) in (0..).zip(kinds) {
        for group in [IADD, ISUB, IMUL, IDIV, IREM] {
            check_stack(&[group + at], &format!("{kind}{kind}"), kind);
        }
        check_stack(&[INEG + at], kind, kind);
    }
    for (at, kind) in (0..).zip(["I", "J"]) {
        for group in [ISHL, ISHR, IUSHR] {
            check_stack(&[group + at], &format!("{kind}I"), kind);
        }
        for group in [IAND, IOR, IXOR] {
            check_stack(&[group + at], &format!("{kind}{kind}"), kind);
        }
    }
    for (opcode, from, to) in [
        (I2L, "I", "J"),
        (I2F, "I", "F"),
        (I2D, "I", "D"),
        (L2I, "J", "I"),
        (L2F, "J", "F"),
        (L2D, "J", "D"),
        (F2I, "F", "I"),
        (F2L, "F", "J"),
        (F2D, "F", "D"),
        (D2I, "D", "I"),
        (D2L, "D", "J"),
        (D2F, "D", "F"),
        (I2B, "I", "I"),
        (I2C, "I", "I"),
        (I2S, "I", "I"),
        (LCMP, "JJ", "I"),
        (FCMPL, "FF", "I"),
        (FCMPG, "FF", "I"),
        (DCMPL, "DD", "I"),
        (DCMPG, "DD", "I"),
    ] {
        check_stack(&[opcode], from, to);
    }
}

#[test]
fn control_takes_its_operands() {
    for opcode in IFEQ..=IFLE {
        check_stack(&[opcode, 0, 0], "I", "");
    }
    for opcode in IF_ICMPEQ..=IF_ICMPLE {
        check_stack(&[opcode, 0, 0], "II", "");
    }
    for opcode in [IF_ACMPEQ, IF_ACMPNE] {
        check_stack(&[opcode, 0, 0], "OS", "");
    }
    for opcode in [IFNULL, IFNONNULL] {
        check_stack(&[opcode, 0, 0], "O", "");
    }
    for opcode in [ATHROW, MONITORENTER, MONITOREXIT] {
        check_stack(&[opcode], "O", "");
    }
    // The opcode at 3 needs no padding.
    check_stack(&[LOOKUPSWITCH, 0, 0, 0, 0, 0, 0, 0, 0], "I", "");
    check_stack(&[TABLESWITCH, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0], "I", "");
    check_stack(&[NOP], "", "");
    check_stack(&[GOTO, 0, 0], "", "");
}

#[test]
fn members_are_used() {
    check_stack(&[GETSTATIC, 0, 120], "", "J");
    check_stack(&[GETSTATIC, 0, 130], "", "s");
    check_stack(&[GETFIELD, 0, 120], "O", "J");
    check_stack(&[PUTSTATIC, 0, 120], "J", "");
    check_stack(&[PUTFIELD, 0, 130], "Os", "");
    check_stack(&[INVOKESTATIC, 0, 140], "IJ1", "D");
    check_stack(&[INVOKEVIRTUAL, 0, 140], "OIJ1", "D");
    check_stack(&[INVOKESPECIAL, 0, 140], "OIJ1", "D");
    check_stack(&[INVOKEINTERFACE, 0, 150, 1, 0], "O", "");
    check_stack(&[INVOKEDYNAMIC, 0, 210, 0, 0], "JI", "2");
    check_stack(&[CHECKCAST, 0, 100], "O", "S");
    check_stack(&[INSTANCEOF, 0, 100], "O", "I");
    assert!(after(&[GETFIELD, 0, 100], "", "O").is_none());
}

#[test]
fn constructors_make_objects_usable() {
    // All copies of the object become usable; others do not change.
    let (locals, stack) = after(&[INVOKESPECIAL, 0, 160], "uTI", "TuuI").unwrap();
    assert_eq!((locals.as_str(), stack.as_str()), ("STI", "TS"));
    let (locals, stack) = after(&[INVOKESPECIAL, 0, 160], "Tu", "TI").unwrap();
    let this = letters(&[Type::class("T")]);
    assert_eq!((locals, stack), (format!("{this}u"), String::new()));
    // A new object differs from an older one of the same `new`.
    let bytes = class(&[NEW, 0, 100]);
    let class = ClassFile::parse(&bytes).unwrap();
    let code = class.method(0).unwrap().code().unwrap().unwrap();
    let mut frame = Frame { locals: types("Iu"), stack: Vec::new() };
    frame.execute(code.instructions().next().unwrap().unwrap(), &code).unwrap();
    assert_eq!((letters(&frame.locals), letters(&frame.stack)), ("I-".into(), "u".into()));
}
