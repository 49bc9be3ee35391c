//! Classes of the installed JDKs are rewritten and checked by two verifiers.
//!
//! By default every 150th class of the newest JDK is used, with `CLASSFILE_CORPUS=20` every twentieth of all JDKs. On a
//! machine without a JDK, the tests report that and pass.

use std::path::{Path, PathBuf};
use std::{env, fs};

use crate::support::{Jdk, class_files, hide_frames, scratch, write_classes};
use jvmpi_classfile::{
    ClassFile, Editor, FieldRef, Kind, Method, MethodRef, Place, Skip, Snippet, Uninitialized,
    opcode,
};

fn for_each_jdk(test: impl Fn(&Jdk, &[PathBuf])) {
    let every = env::var("CLASSFILE_CORPUS").map(|every| every.parse().unwrap());
    let mut jdks = Jdk::all();
    if every.is_err() {
        jdks.drain(..jdks.len().saturating_sub(1));
    }
    if jdks.is_empty() {
        println!("skipped: no JDK with javac and jimage at JAVA_HOME or in /usr/lib/jvm");
    }
    for jdk in jdks {
        let classes = class_files(&jdk.corpus()).into_iter();
        let classes: Vec<_> = classes.step_by(*every.as_ref().unwrap_or(&150)).collect();
        println!("JDK {}: {} classes", jdk.feature, classes.len());
        test(&jdk, &classes);
    }
}

#[test]
fn without_edits_nothing_changes() {
    for_each_jdk(|_, classes| {
        for path in classes {
            let bytes = fs::read(path).unwrap();
            let class = ClassFile::parse(&bytes).unwrap();
            let rewritten = Editor::new(&class).finish();
            assert!(rewritten.bytes == bytes, "{} differs", path.display());
        }
    });
}

#[test]
fn code_that_is_taken_apart_and_put_together_is_the_same() {
    for_each_jdk(|_, classes| {
        for path in classes {
            let bytes = fs::read(path).unwrap();
            let class = ClassFile::parse(&bytes).unwrap();
            let mut editor = Editor::new(&class);
            for index in 0..class.methods().len() {
                if let Some(mut method) = editor.method(index) {
                    method.at_entry(|code| code).before_returns(|code| code);
                }
            }
            let rewritten = editor.finish();
            assert_eq!(rewritten.skipped, []);
            assert!(rewritten.bytes == bytes, "{} differs", path.display());
        }
    });
}

#[test]
fn entry_and_exit_probes() {
    judge("entry-exit", entry_and_exit);
}

fn entry_and_exit(class: &ClassFile<'_>, editor: &mut Editor<'_>) {
    let constants = editor.constants();
    let enter = constants.method_ref("jvmpi/Tracker", "enter", "(I)V").unwrap();
    let exit = constants.method_ref("jvmpi/Tracker", "exit", "(I)V").unwrap();
    for index in 0..class.methods().len() {
        // Larger than an instruction's operand, so that constants are added.
        let id = 40_000 + index as i32;
        if let Some(mut method) = editor.method(index) {
            method
                .at_entry(|code| code.push_int(id).invoke_static(enter))
                .before_returns(|code| code.push_int(id).invoke_static(exit))
                .on_throw(|code| code.push_int(id).invoke_static(exit));
        }
    }
}

#[test]
fn receivers_and_allocations() {
    judge("receivers", |class, editor| {
        let constants = editor.constants();
        let enter =
            constants.method_ref("jvmpi/Tracker", "enter", "(Ljava/lang/Object;I)V").unwrap();
        let exit = constants.method_ref("jvmpi/Tracker", "exit", "(I)V").unwrap();
        let allocated =
            constants.method_ref("jvmpi/Tracker", "allocated", "(Ljava/lang/Object;)V").unwrap();
        for method in class.methods() {
            let index = method.index();
            let Some(mut edits) = editor.method(index) else { continue };
            if method.is_static() {
                edits.at_entry(|code| code.push_null().push_int(0).invoke_static(enter));
            } else {
                edits.when_this_initialized(|code| {
                    code.load_this().push_int(index as i32).invoke_static(enter)
                });
            }
            edits
                .before_returns(|code| code.push_int(0).invoke_static(exit))
                .on_throw(|code| code.push_int(0).invoke_static(exit));

            let code = method.code().unwrap().unwrap();
            for initialization in code.initializations().unwrap() {
                if let Uninitialized::New { .. } = initialization.object {
                    match initialization.found {
                        Some(Place::Stack) => {
                            edits.after(initialization.call, |code| {
                                code.dup().invoke_static(allocated)
                            });
                        }
                        Some(Place::Local(slot)) => {
                            edits.after(initialization.call, |code| {
                                code.load(Kind::Reference, slot).invoke_static(allocated)
                            });
                        }
                        None => {}
                    }
                }
            }
            for instruction in code.instructions().map(Result::unwrap) {
                if let opcode::NEWARRAY | opcode::ANEWARRAY | opcode::MULTIANEWARRAY =
                    instruction.opcode()
                {
                    edits.after(instruction.bci, |code| code.dup().invoke_static(allocated));
                }
            }
        }
    });
}

#[test]
fn guards_wherever_a_probe_can_stand() {
    judge("guards", guards_everywhere);
}

fn guards_everywhere(class: &ClassFile<'_>, editor: &mut Editor<'_>) {
    let constants = editor.constants();
    let enabled = constants.field_ref("jvmpi/Tracker", "enabled", "Z").unwrap();
    let probe = constants.method_ref("jvmpi/Tracker", "probe", "(I)V").unwrap();
    let guarded = guarded_call(enabled, probe);
    for method in class.methods() {
        let Some(mut edits) = editor.method(method.index()) else { continue };
        edits.at_entry(guarded).when_this_initialized(guarded);
        edits.before_returns(guarded).on_throw(guarded);
        let code = method.code().unwrap().unwrap();
        for handler in code.catches() {
            edits.on_catch(handler, guarded);
        }
        for instruction in code.instructions().map(Result::unwrap).step_by(5) {
            edits.before(instruction.bci, guarded).after(instruction.bci, guarded);
        }
    }
}

fn guarded_call(flag: FieldRef, callee: MethodRef) -> impl Fn(&mut Snippet) -> &mut Snippet + Copy {
    move |code| code.guard(flag, |code| code.push_int(1).invoke_static(callee))
}

#[test]
fn every_instruction_with_its_operands() {
    judge("instructions", |class, editor| {
        for method in class.methods() {
            trace_instructions(method, editor);
        }
    });
}

/// Calls the tracker before each instruction, with the values that decide a branch.
fn trace_instructions(method: Method<'_>, editor: &mut Editor<'_>) {
    let constants = editor.constants();
    let mut tracker = |name: &str, descriptor: &str| {
        constants.method_ref("jvmpi/Tracker", name, descriptor).unwrap()
    };
    let at = tracker("at", "(I)V");
    let int = tracker("branch", "(II)V");
    let ints = tracker("branch", "(III)V");
    let object = tracker("branch", "(Ljava/lang/Object;I)V");
    let objects = tracker("branch", "(Ljava/lang/Object;Ljava/lang/Object;I)V");
    let Some(mut edits) = editor.method(method.index()) else { return };
    for instruction in method.code().unwrap().unwrap().instructions().map(Result::unwrap) {
        let bci = instruction.bci;
        edits.before(bci, |code| match instruction.opcode() {
            opcode::IFEQ..=opcode::IFLE | opcode::TABLESWITCH | opcode::LOOKUPSWITCH => {
                code.dup().push_int(bci.into()).invoke_static(int)
            }
            opcode::IF_ICMPEQ..=opcode::IF_ICMPLE => {
                code.dup2().push_int(bci.into()).invoke_static(ints)
            }
            opcode::IF_ACMPEQ | opcode::IF_ACMPNE => {
                code.dup2().push_int(bci.into()).invoke_static(objects)
            }
            opcode::IFNULL | opcode::IFNONNULL => {
                code.dup().push_int(bci.into()).invoke_static(object)
            }
            _ => code.push_int(bci.into()).invoke_static(at),
        });
    }
}

#[test]
fn entry_and_exit_probes_in_classes_without_frames() {
    for_each_jdk(|jdk, classes| {
        let classes: Vec<_> = load(classes, &jdk.corpus())
            .into_iter()
            .filter_map(|(name, bytes)| Some((name, downgraded(bytes)?)))
            .collect();
        println!("JDK {}: {} classes made old", jdk.feature, classes.len());
        let rewritten = rewrite_all(&classes, entry_and_exit);
        link(jdk, "old", &classes, &rewritten);
    });
}

#[test]
fn classes_that_have_lost_their_frames() {
    for_each_jdk(|jdk, classes| {
        let mut classes = load(classes, &jdk.corpus());
        classes.iter_mut().for_each(|(_, bytes)| hide_frames(bytes));
        rewrite_all(&classes, entry_and_exit);
        rewrite_all(&classes, guards_everywhere);
    });
}

/// Returns the class as one of version 49, which is verified by type inference. Returns `None` if
/// it has constants, or interface methods, that are invalid in that version.
fn downgraded(mut bytes: Vec<u8>) -> Option<Vec<u8>> {
    let class = ClassFile::parse(&bytes).unwrap();
    let pool = class.constant_pool();
    let too_new = (0..pool.len() as u16).any(|index| pool.tag(index) > Some(12));
    let has_body = |method: Method<'_>| method.has_code() && method.name() != b"<clinit>";
    let too_new = too_new || (class.is_interface() && class.methods().any(has_body));
    if too_new || class.major_version() < 50 {
        return None;
    }
    bytes[7] = 49;
    Some(bytes)
}

/// Rewrites all classes and compares the verifiers' results before and after.
fn judge(name: &str, edit: impl Fn(&ClassFile<'_>, &mut Editor<'_>)) {
    for_each_jdk(|jdk, classes| {
        let classes = load(classes, &jdk.corpus());
        let rewritten = rewrite_all(&classes, &edit);
        if let Some(verifier) = Jdk::at_least(24) {
            let file = scratch().join(format!("{name}-{}.bin", jdk.feature));
            write_classes(&file, &rewritten);
            let corpus = jdk.corpus();
            print!("{}", verifier.judge("Verify", &[], &[corpus.as_ref(), file.as_ref()]));
            fs::remove_file(file).unwrap();
        } else {
            println!("skipped: no JDK 24 or later to verify with");
        }
        link(jdk, name, &classes, &rewritten);
    });
}

/// Links classes before and after rewriting, with full verification.
fn link(jdk: &Jdk, name: &str, before: &[(String, Vec<u8>)], after: &[(String, Vec<u8>)]) {
    let corpus = jdk.corpus();
    let [before, after] = [("before", before), ("after", after)].map(|(state, classes)| {
        let file = scratch().join(format!("{name}-{}-{state}.bin", jdk.feature));
        write_classes(&file, classes);
        let outcomes = jdk.judge("Link", &["-Xverify:all"], &[corpus.as_ref(), file.as_ref()]);
        fs::remove_file(file).unwrap();
        outcomes
    });
    let linked = before.lines().filter(|outcome| outcome.ends_with(" linked")).count();
    println!("{} classes, {linked} linked", before.lines().count());
    assert!(linked > 0);
    let different: Vec<_> =
        before.lines().zip(after.lines()).filter(|(before, after)| before != after).collect();
    assert!(different.is_empty(), "{different:#?}");
}

/// Reads the names and bytes of classes.
fn load(paths: &[PathBuf], corpus: &Path) -> Vec<(String, Vec<u8>)> {
    paths
        .iter()
        .map(|path| {
            // The part after the module's directory.
            let relative = path.strip_prefix(corpus).unwrap().components().skip(1);
            let name = relative.collect::<PathBuf>().with_extension("");
            (name.to_str().unwrap().to_owned(), fs::read(path).unwrap())
        })
        .collect()
}

/// Rewrites classes. Only a method's size may prevent its edit.
fn rewrite_all(
    classes: &[(String, Vec<u8>)],
    edit: impl Fn(&ClassFile<'_>, &mut Editor<'_>),
) -> Vec<(String, Vec<u8>)> {
    let mut too_large = 0;
    let rewritten = classes
        .iter()
        .map(|(name, bytes)| {
            let class = ClassFile::parse(bytes).unwrap();
            let mut editor = Editor::new(&class);
            edit(&class, &mut editor);
            let rewritten = editor.finish();
            for (method, skip) in rewritten.skipped {
                assert_eq!(skip, Skip::TooLarge, "method {method} of {name}");
                too_large += 1;
            }
            (name.clone(), rewritten.bytes)
        })
        .collect();
    println!("{too_large} methods would become too large");
    rewritten
}
