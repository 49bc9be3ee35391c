//! Runs the conformance suite on the library under test.

use crate::jdk::{self, Gc};
use crate::machine::Machine;
use crate::tool::run;
use crate::{build, text, workspace_root};
use jvmpi_conformance::compile::Compiled;
use jvmpi_conformance::manifest::Manifest;
use jvmpi_conformance::mutation::{self, Noticed};
use jvmpi_conformance::run::{Implementation, Place};
use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::OnceLock;
use std::thread;
use std::time::Duration;

/// The CPU-time timeout of a run in a mutation test, where a removed function or event often makes the run hang.
const PATIENCE_WITHOUT_SOMETHING: Duration = Duration::from_secs(3);

/// The version of the Java compiler that compiles the programs of the suite.
pub const COMPILER: u32 = 17;

/// Returns a JVM with a collector, in the form that the suite uses.
pub fn place(jdk: &jdk::Jdk, gc: Gc) -> Place {
    let flags = jdk.flags().iter().chain(gc.flags()).map(|&flag| flag.to_owned()).collect();
    let machine = Machine::this();
    Place {
        name: format!("{}/{}", jdk.name(), gc.name()),
        java: jdk.java(),
        flags,
        machine: machine.name,
        root: machine.root_of_paths(),
    }
}

/// Returns every JDK, those of vendors too.
pub fn jdks() -> Vec<jdk::Jdk> {
    jdk::found().into_values().chain(jdk::of_vendors(Machine::this())).collect()
}

/// Returns every JDK with every collector that it supports, and the zero VM.
pub fn places() -> Vec<Place> {
    let with = |jdk: &jdk::Jdk| {
        let gcs = Gc::ALL.into_iter().filter(|&gc| jdk.supports(gc));
        gcs.map(|gc| place(jdk, gc)).collect::<Vec<_>>()
    };
    jdks().iter().flat_map(with).chain(zero()).collect()
}

/// Returns the zero VM, which has no compiler.
pub fn zero() -> Option<Place> {
    let zero = jdk::zero()?;
    zero.supports(Gc::Serial).then(|| place(&zero, Gc::Serial))
}

/// Compiles the agents of the suite, once.
pub fn compiled() -> Result<&'static Compiled, String> {
    static COMPILED: OnceLock<Result<Compiled, String>> = OnceLock::new();
    let compiled = COMPILED.get_or_init(|| {
        let directory = build::output_dir().join("conformance");
        fs::create_dir_all(&directory).map_err(|e| format!("{}: {e}", directory.display()))?;
        let directory = directory.canonicalize().map_err(|e| e.to_string())?;
        let manifest = Manifest::of_the_suite();
        Compiled::new(&directory, manifest.agents(), &jdk::jni_include()?, None)
    });
    compiled.as_ref().map_err(Clone::clone)
}

/// Returns the number of JVMs to run at a time.
pub fn workers() -> usize {
    thread::available_parallelism().map_or(1, usize::from)
}

/// Removes these functions and events in turn, on the JDK with the version of the compiler.
pub fn mutated(manifest: &Manifest, items: &[String]) -> Result<Vec<Noticed>, String> {
    let jdks = jdk::found();
    let jdk = jdks.get(&COMPILER).ok_or_else(|| format!("no JDK {COMPILER}"))?;
    let place = place(jdk, Gc::G1);
    let mutant = build::mutant()?;
    let implementation = Implementation {
        library: build::shim()?,
        between: None,
        patience: PATIENCE_WITHOUT_SOMETHING,
    };
    let compiled = compiled()?;
    Ok(mutation::run(manifest, compiled, &place, &implementation, &mutant, items, workers()))
}

/// Compiles the programs of the suite into this file, reproducibly.
pub fn compile_workloads(jar: &Path) -> Result<(), String> {
    let jdk = jdk::with_javac_of(COMPILER)
        .ok_or_else(|| format!("no Java compiler of version {COMPILER}"))?;
    let sources = workspace_root().join("crates/conformance/suite/workloads");
    let classes = build::output_dir().join("conformance-classes");
    let classes = build::java(&sources, &classes, 8, &[])?;
    let mut command = Command::new(jdk.home.join("bin/jar"));
    command.args(["--create", "--no-manifest", "--no-compress", "--date", "2000-01-01T00:00:00Z"]);
    run(command.args(["--file", text(jar)?, "-C", &classes, "."])).map(drop)
}
