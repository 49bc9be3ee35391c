//! Measures the time and the memory of a heap dump, compared with `jvmpi heap`, the VM's own dump of the same heap and a
//! minimal heap walk.

use std::process::Command;

use compat_tests::jdk::Jdk;
use compat_tests::{build, text};

use super::comparison::{Figure, Side, compare};
use super::{floor, program};

/// The numbers of objects, each with its number of runs.
const HEAPS: [(&str, usize); 3] = [("500_000", 7), ("2_000_000", 5), ("8_000_000", 3)];

/// Compares the floor agent, `heap_walk.c` and `jvmpi heap` on heaps of several sizes.
pub fn run(jdk: &Jdk) -> Result<(), String> {
    let classes = floor::classes()?;
    let floor = format!("-agentpath:{}", text(&floor::agent("heapwalk")?)?);
    let shim = program::shim(jdk, "heap_walk", "")?;
    let command = format!("jvmpi={}", text(&build::command()?)?);
    let command = program::shim(jdk, "heap_walk", &command)?;
    let figures = [
        Figure { name: "first dump, s", digits: 3, cost: true },
        Figure { name: "second dump, s", digits: 3, cost: true },
        Figure { name: "memory for both, MB", digits: 0, cost: true },
        Figure { name: "the VM's own dump, s", digits: 3, cost: false },
    ];
    for (objects, rounds) in HEAPS {
        println!(" {objects} objects");
        let work = |option: &str| walk(jdk, option, &classes, objects);
        let sides = [
            Side { name: "floor", run: Box::new(|| work(&floor)) },
            Side { name: "shim, heap_walk.c", run: Box::new(|| work(&shim)) },
            Side { name: "jvmpi heap", run: Box::new(|| work(&command)) },
        ];
        compare(&figures, &sides, rounds)?;
    }
    Ok(())
}

fn walk(jdk: &Jdk, option: &str, classes: &str, objects: &str) -> Result<Vec<f64>, String> {
    let options = ["-Xms2g", "-Xmx2g", option, "-cp", classes];
    program::run(Command::new(jdk.java()).args(options).args(["HeapWork", objects, "1", "2"]))?
        .numbers(&["walk1_seconds=", "walk2_seconds=", "walk_mb=", " dump_seconds="])
}
