//! Measures the speed of rewriting class files: `throughput DIRECTORY [ROUNDS]`.
//!
//! Reads all class files below a directory (`jimage extract --dir DIRECTORY` unpacks a JDK's).
//! Prints the best of the rounds for each kind of rewriting, in MB of input per second.

use std::hint::black_box;
use std::path::Path;
use std::time::{Duration, Instant};
use std::{env, fs, io};

use jvmpi_classfile::{ClassFile, Editor, Skip};

/// The operation on every class. It returns the number of skipped methods.
type Job = fn(&[u8]) -> Result<usize, jvmpi_classfile::Error>;

const JOBS: [(&str, Job); 6] = [
    ("parse", |bytes| {
        black_box(ClassFile::parse(bytes)?);
        Ok(0)
    }),
    ("identity, code copied instruction by instruction", |bytes| {
        instrument(bytes, |method, _| {
            method.at_entry(|code| code);
        })
    }),
    ("entry", |bytes| {
        instrument(bytes, |method, probes| {
            method.at_entry(|code| code.push_int(probes.id).invoke_static(probes.enter));
        })
    }),
    ("entry, return", |bytes| {
        instrument(bytes, |method, probes| {
            method
                .at_entry(|code| code.push_int(probes.id).invoke_static(probes.enter))
                .before_returns(|code| code.push_int(probes.id).invoke_static(probes.exit));
        })
    }),
    ("entry, return, throw", |bytes| {
        instrument(bytes, |method, probes| {
            method
                .at_entry(|code| code.push_int(probes.id).invoke_static(probes.enter))
                .before_returns(|code| code.push_int(probes.id).invoke_static(probes.exit))
                .on_throw(|code| code.push_int(probes.id).invoke_static(probes.exit));
        })
    }),
    ("entry, return, throw, each behind a flag", |bytes| {
        instrument(bytes, |method, probes| {
            let flag = probes.flag;
            method
                .at_entry(|code| {
                    code.guard(flag, |code| code.push_int(probes.id).invoke_static(probes.enter))
                })
                .before_returns(|code| {
                    code.guard(flag, |code| code.push_int(probes.id).invoke_static(probes.exit))
                })
                .on_throw(|code| {
                    code.guard(flag, |code| code.push_int(probes.id).invoke_static(probes.exit))
                });
        })
    }),
];

struct Probes {
    id: i32,
    enter: jvmpi_classfile::MethodRef,
    exit: jvmpi_classfile::MethodRef,
    flag: jvmpi_classfile::FieldRef,
}

fn instrument(
    bytes: &[u8],
    edit: impl Fn(&mut jvmpi_classfile::MethodEditor<'_>, &Probes),
) -> Result<usize, jvmpi_classfile::Error> {
    let class = ClassFile::parse(bytes)?;
    let mut editor = Editor::new(&class);
    let constants = editor.constants();
    let mut probes = Probes {
        id: 0,
        enter: constants.method_ref("jvmpi/Tracker", "enter", "(I)V")?,
        exit: constants.method_ref("jvmpi/Tracker", "exit", "(I)V")?,
        flag: constants.field_ref("jvmpi/Tracker", "enabled", "Z")?,
    };
    for index in 0..class.methods().len() {
        probes.id += 1;
        if let Some(mut method) = editor.method(index) {
            edit(&mut method, &probes);
        }
    }
    let rewritten = black_box(editor.finish());
    let unexpected = rewritten.skipped.iter().filter(|(_, skip)| *skip != Skip::TooLarge).count();
    assert_eq!(unexpected, 0, "{:?}", rewritten.skipped);
    Ok(rewritten.skipped.len())
}

fn read_classes(directory: &Path, classes: &mut Vec<Vec<u8>>) -> io::Result<()> {
    for entry in fs::read_dir(directory)? {
        let path = entry?.path();
        if path.is_dir() {
            read_classes(&path, classes)?;
        } else if path.extension().is_some_and(|extension| extension == "class") {
            classes.push(fs::read(path)?);
        }
    }
    Ok(())
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = env::args().skip(1);
    let directory = arguments.next().ok_or("usage: throughput DIRECTORY [ROUNDS]")?;
    let rounds: u32 = arguments.next().map_or(Ok(5), |rounds| rounds.parse())?;
    let mut classes = Vec::new();
    read_classes(Path::new(&directory), &mut classes)?;
    let megabytes = classes.iter().map(Vec::len).sum::<usize>() as f64 / 1e6;
    println!("{} classes, {megabytes:.1} MB", classes.len());

    for (name, job) in JOBS {
        let mut best = Duration::MAX;
        let mut skipped = 0;
        for _ in 0..rounds {
            let start = Instant::now();
            skipped = classes.iter().map(|bytes| job(bytes)).sum::<Result<usize, _>>()?;
            best = best.min(start.elapsed());
        }
        let seconds = best.as_secs_f64();
        println!(
            "{:7.0} MB/s {:6.1} us a class, {skipped} methods skipped: {name}",
            megabytes / seconds,
            seconds * 1e6 / classes.len() as f64,
        );
    }
    Ok(())
}
