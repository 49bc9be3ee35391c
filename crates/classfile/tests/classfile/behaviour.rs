//! A Java program runs rewritten: its output is unchanged, and the probes count exactly.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use crate::support::{Jdk, class_files, hide_frames, scratch, succeed};
use jvmpi_classfile::{ClassFile, Editor, Handler, Kind, Place, Uninitialized, opcode};

/// The results of a run of the program.
struct Run {
    output: String,
    /// The numbers of entries and exits by class and method.
    counts: BTreeMap<String, (u32, u32)>,
    /// The tracker's other lines.
    report: Vec<String>,
}

type Edit = fn(&ClassFile<'_>, &mut Editor<'_>, i32);

/// Compiles the program, rewrites all its classes and runs both. Also rewrites the classes without
/// their frames, which makes no difference to a JVM that trusts them.
fn run(jdk: &Jdk, name: &str, edit: Edit) -> (String, Run) {
    let directory = scratch().join(format!("behaviour-{name}-{}", jdk.feature));
    let original = directory.join("original");
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/java");
    let mut javac = jdk.tool("javac");
    javac.args(["-g", "-d"]).arg(&original);
    succeed(
        javac.args(["Workload", "Tracker"].map(|name| sources.join(name).with_extension("java"))),
    );
    let (expected, _) = execute(jdk, "-Xverify:all", &original);
    let rewritten = |name: &str, prepare: fn(&mut [u8]), verify: &str| {
        let classes = directory.join(name);
        let names = rewrite(&original, &classes, edit, prepare);
        let (output, errors) = execute(jdk, verify, &classes);
        let (counts, report) = read(&errors, &names);
        Run { output, counts, report }
    };
    let run = rewritten("rewritten", |_| (), "-Xverify:all");
    let trusted = rewritten("trusted", hide_frames, "-Xverify:none");
    assert_eq!((&trusted.output, &trusted.counts), (&run.output, &run.counts));
    (expected, run)
}

/// Rewrites all classes of the program. Returns the names of their methods.
fn rewrite(from: &Path, to: &Path, edit: Edit, prepare: fn(&mut [u8])) -> Vec<String> {
    let mut names = Vec::new();
    fs::create_dir_all(to).unwrap();
    for path in class_files(from) {
        let mut bytes = fs::read(&path).unwrap();
        prepare(&mut bytes);
        let class = ClassFile::parse(&bytes).unwrap();
        let mut editor = Editor::new(&class);
        if class.name() != b"Tracker" {
            edit(&class, &mut editor, names.len() as i32);
            names.extend(class.methods().map(|method| {
                let name = [class.name(), b".", method.name(), method.descriptor()].concat();
                String::from_utf8(name).unwrap()
            }));
        }
        let result = editor.finish();
        assert_eq!(result.skipped, []);
        fs::write(to.join(path.file_name().unwrap()), result.bytes).unwrap();
    }
    names
}

/// Runs the program. Returns its output and the tracker's output.
fn execute(jdk: &Jdk, verify: &str, classes: &Path) -> (String, String) {
    let mut java = jdk.tool("java");
    let output = java.args([verify, "-cp"]).arg(classes).arg("Workload").output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    let (out, error) = (text(output.stdout), text(output.stderr));
    assert!(output.status.success(), "{error}");
    (out, error)
}

/// Reads the tracker's counts and its other lines.
fn read(errors: &str, names: &[String]) -> (BTreeMap<String, (u32, u32)>, Vec<String>) {
    let mut counts = BTreeMap::new();
    let mut report = Vec::new();
    for line in errors.lines().filter(|line| !line.contains("warning:")) {
        let numbers: Vec<_> = line.split(' ').map(|word| word.parse::<u32>()).collect();
        match numbers[..] {
            [Ok(method), Ok(entries), Ok(exits)] => {
                counts.insert(names[method as usize].clone(), (entries, exits));
            }
            _ => report.push(line.to_owned()),
        }
    }
    (counts, report)
}

fn for_each_jdk(test: impl Fn(&Jdk)) {
    let jdks = Jdk::all();
    if jdks.is_empty() {
        println!("skipped: no JDK with javac and jimage at JAVA_HOME or in /usr/lib/jvm");
    }
    jdks.iter().for_each(test);
}

#[test]
fn entries_and_exits_are_counted_exactly() {
    for_each_jdk(|jdk| {
        let (expected, run) = run(jdk, "entries", |class, editor, base| {
            let constants = editor.constants();
            let enter = constants.method_ref("Tracker", "enter", "(I)V").unwrap();
            let exit = constants.method_ref("Tracker", "exit", "(I)V").unwrap();
            let enabled = constants.field_ref("Tracker", "enabled", "Z").unwrap();
            for method in class.methods() {
                let id = base + method.index() as i32;
                if let Some(mut method) = editor.method(method.index()) {
                    method
                        .at_entry(|code| {
                            code.guard(enabled, |code| code.push_int(id).invoke_static(enter))
                        })
                        .before_returns(|code| code.push_int(id).invoke_static(exit))
                        .on_throw(|code| code.push_int(id).invoke_static(exit));
                }
            }
        });
        assert_eq!(run.output, expected);
        // The constructor Child(String) fails in an argument of this(), which is covered. One call of
        // Child(int) fails in super(), which is not.
        assert_eq!(run.report, ["depth 0, left late 1"]);
        let count = |method: &str| run.counts[method];
        for (method, calls) in [
            ("Workload.main([Ljava/lang/String;)V", 1),
            ("Workload.<clinit>()V", 1),
            // fibonacci(n) makes 2 fibonacci(n + 1) - 1 calls.
            ("Workload.fibonacci(I)I", 2 * 987 - 1),
            ("Workload.countdown(I)I", 1),
            ("Workload.wide(JDIJ)J", 1),
            ("Workload.fall(I)V", 2 + 3),
            ("Workload.withFinally(I)I", 3),
            // For the class, in finally, for the lambda, for a large child.
            ("Workload.twice(I)I", 1 + 3 + 1 + 1),
            ("Workload.choose(Ljava/lang/String;)Ljava/lang/String;", 4),
            ("Workload.locked([I)I", 2),
            ("Workload.apply(Ljava/util/function/IntUnaryOperator;I)I", 1),
            ("Workload$Shape.name()Ljava/lang/String;", 3),
            ("Workload$Square.<init>(D)V", 5),
            ("Workload$Square.area()D", 3),
            ("Workload$Child.<init>(I)V", 3),
            ("Workload$Child.<init>(Ljava/lang/String;)V", 2),
            ("Workload.checked(D)D", 5),
        ] {
            assert_eq!(count(method), (calls, calls), "{method} on JDK {}", jdk.feature);
        }
        assert!(run.counts.keys().any(|method| method.starts_with("Workload.lambda$main$0")));
    });
}

#[test]
fn receivers_and_new_objects_are_seen() {
    for_each_jdk(|jdk| {
        let (expected, run) = run(jdk, "objects", |class, editor, base| {
            let constants = editor.constants();
            let enter = constants.method_ref("Tracker", "enter", "(Ljava/lang/Object;I)V").unwrap();
            let exit = constants.method_ref("Tracker", "exit", "(I)V").unwrap();
            let allocated =
                constants.method_ref("Tracker", "allocated", "(Ljava/lang/Object;)V").unwrap();
            for method in class.methods() {
                let id = base + method.index() as i32;
                let Some(mut edits) = editor.method(method.index()) else { continue };
                if !method.is_static() {
                    edits
                        .when_this_initialized(|code| {
                            code.load_this().push_int(id).invoke_static(enter)
                        })
                        .before_returns(|code| code.push_int(id).invoke_static(exit))
                        .on_throw(|code| code.push_int(id).invoke_static(exit));
                }
                let code = method.code().unwrap().unwrap();
                for made in code.initializations().unwrap() {
                    if let Uninitialized::New { .. } = made.object {
                        edits.after(made.call, |code| match made.found {
                            Some(Place::Stack) => code.dup().invoke_static(allocated),
                            Some(Place::Local(slot)) => {
                                code.load(Kind::Reference, slot).invoke_static(allocated)
                            }
                            None => code,
                        });
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
        assert_eq!(run.output, expected);
        // Of the exceptions, only those created by the program itself count: by new Square(-1), new
        // Child(-1) and fall(). Objects whose constructor fails never become usable.
        let report: Vec<_> = run
            .report
            .iter()
            .map(String::as_str)
            .filter(|line| !line.contains("java.lang.StringBuilder"))
            .collect();
        assert_eq!(
            report,
            [
                "allocated Workload 1",
                "allocated Workload$Child 2",
                "allocated Workload$Shape[] 1",
                "allocated Workload$Square 1",
                "allocated int[] 2",
                "allocated java.lang.IllegalArgumentException 2",
                "allocated java.lang.IllegalStateException 2",
                "allocated java.lang.String[] 1",
                "allocated long[][] 2",
                "receiver Workload 1",
                // Two constructors and two methods of each of the two, the other constructor once; of
                // the third, Square's constructor, which fails after its super().
                "receiver Workload$Child 10",
                // Two constructors (one fails after super()) and two methods.
                "receiver Workload$Square 4",
                "depth 0, left late 0",
            ],
            "JDK {}",
            jdk.feature
        );
    });
}

#[test]
fn synchronized_handler_catches_what_inserted_code_throws() {
    for_each_jdk(|jdk| {
        let (expected, run) = run(jdk, "handlers", |class, editor, _| {
            let constants = editor.constants();
            let refuse = constants.method_ref("Tracker", "refuse", "()V").unwrap();
            let enabled = constants.field_ref("Tracker", "enabled", "Z").unwrap();
            for method in class.methods() {
                let Some(code) = method.code().unwrap() else { continue };
                let covers_itself = |h: &Handler| (h.start..h.end).contains(&h.handler);
                for entry in code.handlers().filter(covers_itself) {
                    editor.method(method.index()).unwrap().on_catch(entry.handler, |code| {
                        code.guard(enabled, |code| code.invoke_static(refuse))
                    });
                }
            }
        });
        assert_eq!(run.output, expected);
        // An exception leaves the block once, and is replaced once.
        assert_eq!(run.report, ["refused 1", "depth 0, left late 0"], "JDK {}", jdk.feature);
    });
}
