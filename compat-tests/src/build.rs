//! Compiles the C agents, the Java workloads and the library under test, and recompiles them only when their sources
//! have changed.

use std::collections::hash_map::DefaultHasher;
use std::fs;
use std::hash::{Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use crate::machine::Machine;
use crate::tool::run;
use crate::{cargo, jdk, machine_dir, target_dir, text, workspace_root};

/// The Java release of the workloads in `workloads/`; those in `workloads/21/` use release 21.
const BASE_RELEASE: u32 = 8;

/// Returns the folder for all compiled files.
pub fn output_dir() -> PathBuf {
    machine_dir().join("compat-tests")
}

/// The environment variable that names the library to test, in place of the one that is built.
pub const LIBRARY: &str = "JVMPI_LIBRARY";

/// Builds `libjvmpi.so`, optimized and with assertions. [`LIBRARY`] overrides it.
pub fn shim() -> Result<PathBuf, String> {
    given_or(|| checked(&Machine::this().library("jvmpi")))
}

/// Builds `libjvmpi.so` as users get it, for benchmarks. [`LIBRARY`] overrides it.
pub fn released_shim() -> Result<PathBuf, String> {
    static BUILT: OnceLock<Result<(), String>> = OnceLock::new();
    given_or(|| {
        BUILT.get_or_init(|| cargo_build("release", &["--package", "jvmpi-shim"])).clone()?;
        Ok(machine_dir().join("release/libjvmpi.so"))
    })
}

fn given_or(build: impl Fn() -> Result<PathBuf, String>) -> Result<PathBuf, String> {
    std::env::var_os(LIBRARY).map_or_else(build, |library| Ok(library.into()))
}

/// Builds the command `jvmpi`, with `libjvmpi.so` and `libhprof.so` in the same folder.
pub fn command() -> Result<PathBuf, String> {
    checked("jvmpi")
}

/// Builds the command `jvmpi` as users get it, with `libjvmpi.so` and `libhprof.so` in the same folder.
pub fn released_command() -> Result<PathBuf, String> {
    cargo_build("release", &["--package", "jvmpi-shim"])?;
    cargo_build("release", TOOLS.map(|tool| ["--package", tool]).as_flattened())?;
    Ok(machine_dir().join("release/jvmpi"))
}

/// HPROF and the command share most crates. If the two were compiled separately, Cargo would resolve different features
/// for their dependencies and compile everything twice.
pub const TOOLS: [&str; 2] = ["jvmpi-hprof", "jvmpi-cli"];

/// Builds `libhprof.so`, optimized and with assertions.
pub fn hprof() -> Result<PathBuf, String> {
    checked(&Machine::this().library("hprof"))
}

/// Builds the mutant: a library that hides a function or an event from an agent of the conformance suite.
pub fn mutant() -> Result<PathBuf, String> {
    checked("examples/libmutant.so")
}

/// Builds what tests load, optimized and with assertions, and returns the path of this file of it.
///
/// All of it is built at once, with the examples: then Cargo resolves the same features as for `cargo test --workspace`,
/// and compiles no crate a second time.
fn checked(file: &str) -> Result<PathBuf, String> {
    static BUILT: OnceLock<Result<(), String>> = OnceLock::new();
    let build = || {
        let mut what = vec!["--workspace", "--lib", "--bin", "jvmpi", "--examples"];
        if Machine::this().is_windows() {
            // The rest of the workspace runs on Linux only.
            what = vec!["--package", "jvmpi-shim", "--package", "jvmpi-hprof", "--lib"];
        } else if std::env::var_os("CARGO_BUILD_TARGET").is_some() {
            // For another machine xtask is not compiled.
            what.extend(["--exclude", "xtask"]);
        }
        cargo_build("checked", &what)
    };
    BUILT.get_or_init(build).clone()?;
    Ok(machine_dir().join("checked").join(file))
}

/// Builds an agent that uses the crate `jvmpi`, optimized and with assertions: an example of a package, for instance
/// `crates/jvmpi/examples/allocations.rs` or `compat-tests/agents/probe.rs`.
pub fn rust_agent(name: &str) -> Result<PathBuf, String> {
    checked(&format!("examples/lib{name}.so"))
}

fn cargo_build(profile: &str, what: &[&str]) -> Result<(), String> {
    let mut build = cargo();
    build.args(["build", "--quiet", "--profile", profile]).args(what);
    build.arg("--target-dir").arg(target_dir());
    // Build scripts of C code run again if it changes, and it is set only while archives are made.
    build.env_remove("SOURCE_DATE_EPOCH");
    run(&mut build).map(drop)
}

/// Compiles the agent `agents/NAME.c` to a library of this name.
pub fn agent(name: &str) -> Result<PathBuf, String> {
    agent_with(name, &Machine::this().library(name), &[])
}

/// Copies the agent to another file name, so that one JVM can load it twice with separate variables.
pub fn agent_copy(name: &str, number: usize) -> Result<PathBuf, String> {
    let agent = agent(name)?;
    let to = Machine::this().library(&format!("{name}-{number}"));
    let mut copy = Command::new("cp");
    copy.arg(&agent);
    make(&agent.with_file_name(to), &[agent], copy, |copy, output| {
        copy.arg(output);
    })
}

/// Compiles the agent to this file, with additional flags.
pub fn agent_with(name: &str, file: &str, flags: &[&str]) -> Result<PathBuf, String> {
    let flags = [&["-shared", "-fPIC", "-pthread"], flags].concat();
    compile(&agent_source(name), &output_dir().join("agents").join(file), &flags)
}

/// Compiles the C program `agents/NAME.c` and links it with `libjvmpi.so`.
pub fn program(name: &str) -> Result<PathBuf, String> {
    let directory = linkable(&shim()?)?;
    let search = format!("-L{}", text(&directory)?);
    let run_path = format!("-Wl,-rpath,{}", text(&directory)?);
    let flags = ["-pthread", search.as_str(), run_path.as_str(), "-ljvmpi", "-ldl"];
    compile(&agent_source(name), &output_dir().join("programs").join(name), &flags)
}

/// Returns a folder with the library under the names that the linker and the dynamic loader look for.
fn linkable(shim: &Path) -> Result<PathBuf, String> {
    let directory = output_dir().join("lib");
    let error = |e: std::io::Error| format!("{}: {e}", directory.display());
    fs::create_dir_all(&directory).map_err(error)?;
    let shim = shim.canonicalize().map_err(|e| format!("{}: {e}", shim.display()))?;
    let _lock = jdk::lock(&directory.join("lock"))?;
    for name in ["libjvmpi.so", "libjvmpi.so.1"] {
        let link = directory.join(name);
        if !fs::read_link(&link).is_ok_and(|to| to == shim) {
            let _ = fs::remove_file(&link);
            std::os::unix::fs::symlink(&shim, &link).map_err(error)?;
        }
    }
    Ok(directory)
}

/// Compiles the workloads in `workloads/`, and in `workloads/21/` if `release` is 21. Returns the class path.
pub fn classes(release: u32) -> Result<String, String> {
    let base = workspace_root().join("compat-tests/workloads");
    let directory = output_dir().join("classes");
    let mut path = java(&base, &directory.join("base"), BASE_RELEASE, &[])?;
    if release > BASE_RELEASE {
        let newer = base.join(release.to_string());
        let classes = java(&newer, &directory.join(release.to_string()), release, &[&path])?;
        path = [classes, path].join(Machine::this().path_separator());
    }
    Ok(path)
}

fn agent_source(name: &str) -> PathBuf {
    workspace_root().join("compat-tests/agents").join(name).with_extension("c")
}

/// Compiles a C file that includes `jvmpi.h`, `jni.h` and headers in its own folder.
fn compile(source: &Path, output: &Path, link: &[&str]) -> Result<PathBuf, String> {
    let flags =
        ["-O2", "-g", "-Wall", "-Wextra", "-Wno-unused-parameter", "-Werror", "-D_GNU_SOURCE"];
    c(source, output, &[workspace_root().to_owned()], &flags, link)
}

/// Compiles a C file with these include folders, in addition to those of `jni.h` and its own, and links it with the
/// flags in `link`.
pub fn c(
    source: &Path,
    output: &Path,
    include: &[PathBuf],
    flags: &[&str],
    link: &[&str],
) -> Result<PathBuf, String> {
    let mut compiler = Command::new(std::env::var_os("CC").unwrap_or_else(|| "cc".into()));
    compiler.args(flags);
    let mut inputs = vec![source.to_owned()];
    for directory in jdk::jni_include()?.iter().chain(include) {
        compiler.arg("-I").arg(directory);
    }
    let own = source.parent().map(Path::to_owned);
    for directory in include.iter().chain(&own) {
        inputs.extend(files(directory, "h")?);
    }
    compiler.arg(source).args(link);
    make(output, &inputs, compiler, |compiler, output| {
        compiler.arg("-o").arg(output);
    })
}

/// Compiles every Java file of one folder. Returns the folder of the classes.
pub fn java(
    sources: &Path,
    output: &Path,
    release: u32,
    class_path: &[&str],
) -> Result<String, String> {
    let jdk = jdk::with_javac()?;
    if jdk.feature < release {
        return Err(format!(
            "no Java compiler for --release {release}; the newest is {}",
            jdk.feature
        ));
    }
    let inputs = files(sources, "java")?;
    let mut javac = Command::new(jdk.home.join("bin/javac"));
    javac.args(["-g", "-nowarn", "-Xlint:-options", "-encoding", "UTF-8", "--release"]);
    javac.arg(release.to_string()).arg("-cp").arg(class_path.join(":")).args(&inputs);
    let output = make(output, &inputs, javac, |javac, output| {
        javac.arg("-d").arg(output);
    })?;
    Ok(text(&output)?.to_owned())
}

/// Returns the files of a folder with this extension, sorted.
fn files(directory: &Path, extension: &str) -> Result<Vec<PathBuf>, String> {
    let entries =
        fs::read_dir(directory).map_err(|e| format!("{}: {e}", directory.display()))?.flatten();
    let mut files: Vec<_> = entries
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|found| found == extension))
        .collect();
    files.sort();
    Ok(files)
}

/// Runs `command`, after `to` has added the output path to it. Does nothing if the same command has already been run
/// with the same inputs. The output is moved to its place once it is complete.
fn make(
    output: &Path,
    inputs: &[PathBuf],
    mut command: Command,
    to: impl FnOnce(&mut Command, &Path),
) -> Result<PathBuf, String> {
    let error = |e: std::io::Error| format!("{}: {e}", output.display());
    let mut hasher = DefaultHasher::new();
    format!("{command:?}").hash(&mut hasher);
    for input in inputs {
        fs::read(input).map_err(|e| format!("{}: {e}", input.display()))?.hash(&mut hasher);
    }
    let stamp = format!("{:016x}", hasher.finish());

    let beside = |suffix: &str| {
        let mut name = output.as_os_str().to_owned();
        name.push(suffix);
        PathBuf::from(name)
    };
    fs::create_dir_all(output.parent().ok_or("no output folder")?).map_err(error)?;
    let _lock = jdk::lock(&beside(".lock"))?;
    let stamp_file = beside(".stamp");
    if output.exists() && fs::read_to_string(&stamp_file).is_ok_and(|old| old == stamp) {
        return Ok(output.to_owned());
    }
    let temporary = beside(".new");
    let _ = fs::remove_dir_all(&temporary);
    to(&mut command, &temporary);
    run(&mut command)?;
    let _ = fs::remove_dir_all(output);
    fs::rename(&temporary, output).map_err(error)?;
    fs::write(&stamp_file, stamp).map_err(error)?;
    Ok(output.to_owned())
}
