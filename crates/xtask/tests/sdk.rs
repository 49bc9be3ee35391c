//! Uses an installation like its users do: builds the agents and programs of `examples/` with it and runs them.

mod harness;

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::sync::OnceLock;

use compat_tests::jdk::{self, Jdk};
use compat_tests::machine::Machine;
use compat_tests::{text, workspace_root};
use harness::{Case, Result, run, xtask};

const CASES: [Case; 9] = [
    ("exported_symbols", &["nm", "readelf"], exported_symbols),
    ("listings_of_the_tutorials_are_in_the_examples", &[], listings_of_the_tutorials),
    ("rust_agent_of_the_tutorial_counts_objects", &[], rust_agent_of_the_tutorial),
    ("agents_by_make", &["make", "pkg-config", "c++"], agents_by_make),
    ("agents_by_cmake", &["cmake", "c++"], agents_by_cmake),
    ("agents_by_meson", &["meson", "ninja", "pkg-config", "c++"], agents_by_meson),
    ("programs_by_make", &["make", "pkg-config"], programs_by_make),
    ("programs_by_cmake", &["cmake"], programs_by_cmake),
    ("uninstall_removes_installed_files_only", &[], uninstall_removes_installed_files_only),
];

fn main() -> ExitCode {
    harness::run_all(&CASES, None)
}

fn scratch(name: &str) -> Result<PathBuf> {
    harness::scratch("sdk", name)
}

/// Installs the product once, with the libraries that the other tests use too.
fn prefix() -> Result<&'static Path> {
    static PREFIX: OnceLock<Result<PathBuf>> = OnceLock::new();
    PREFIX.get_or_init(|| harness::install("sdk")).as_deref().map_err(String::clone)
}

/// Compares the exported symbols with a list. `abidiff` would not compare more, as it does not find the types of
/// exported functions in Rust's debug information. The tests of `jvmpi-sys` compare the layout of their arguments
/// with C.
fn exported_symbols() -> Result {
    let library = prefix()?.join("lib/libjvmpi.so.1");
    harness::exports(&library, &["-D"], "shim/exports.txt")?;
    harness::exports(&prefix()?.join("lib/libjvmpi.a"), &[], "shim/exports.txt")?;
    let libhprof = prefix()?.join("lib/libhprof.so");
    harness::exports(&libhprof, &["-D"], "crates/hprof/exports.txt")?;

    let [dynamic, _] = run(Command::new("readelf").arg("-dW").arg(&library))?;
    let named = |tag: &str| -> Vec<_> {
        let lines = dynamic.lines().filter(|line| line.contains(tag));
        lines.filter_map(|line| Some(line.split_once('[')?.1.trim_end_matches(']'))).collect()
    };
    if named("(SONAME)") != ["libjvmpi.so.1"] {
        return Err(format!("unexpected SONAME: {:?}", named("(SONAME)")));
    }
    let allowed = ["libgcc_s.so.", "libc.so.", "ld-linux-"];
    let needed = named("(NEEDED)");
    match needed.iter().find(|name| !allowed.iter().any(|allowed| name.starts_with(allowed))) {
        Some(other) => Err(format!("libjvmpi.so needs {other}")),
        None => Ok(()),
    }
}

/// Checks that the tutorials show all of `Invoices.java` and of `count.c`, and that other listings are parts of the examples.
fn listings_of_the_tutorials() -> Result {
    let read =
        |path: &str| fs::read_to_string(workspace_root().join(path)).map_err(|e| e.to_string());
    let program = format!("```java\n{}```", read("examples/Invoices.java")?);
    if !read("docs/tutorial/profile-your-program.md")?.contains(&program) {
        return Err("Invoices.java differs from the tutorial".into());
    }
    let page = read("docs/tutorial/write-an-agent.md")?;
    let mut listings = 0;
    for block in page.split("```").skip(1).step_by(2) {
        let Some((info, code)) = block.split_once('\n') else { continue };
        let example = match info {
            "c" => "count.c",
            "c sampler" => "sampler.c",
            "cpp" => "cputime.cpp",
            _ => continue,
        };
        let source = read(&format!("examples/agent/{example}"))?;
        if !source.contains(code) || (info == "c" && source != code) {
            return Err(format!("{example} differs from the tutorial:\n{code}"));
        }
        listings += 1;
    }
    if listings == 4 { Ok(()) } else { Err(format!("{listings} listings")) }
}

/// Builds the package that the tutorial shows, outside the workspace, and runs it.
fn rust_agent_of_the_tutorial() -> Result {
    let page = workspace_root().join("docs/tutorial/write-an-agent.md");
    let page = fs::read_to_string(&page).map_err(|e| format!("{}: {e}", page.display()))?;
    let listing = |language: &str| -> Result<&str> {
        let start = page.split_once(&format!("```{language}\n")).ok_or("no listing")?.1;
        Ok(start.split("```").next().unwrap_or_default())
    };
    let manifest = listing("toml")?.replace("/home/you/jvmpi", text(workspace_root())?);
    let rust = listing("rust")?;
    let package = tempfile::tempdir().map_err(|e| e.to_string())?;
    fs::create_dir(package.path().join("src"))
        .and_then(|()| fs::write(package.path().join("src/lib.rs"), rust))
        .and_then(|()| fs::write(package.path().join("Cargo.toml"), manifest))
        // The versions that are downloaded already.
        .and_then(|()| {
            fs::copy(workspace_root().join("Cargo.lock"), package.path().join("Cargo.lock"))
        })
        .map_err(|e| e.to_string())?;
    let target = scratch("rust_agent")?;
    let mut cargo = compat_tests::cargo();
    cargo.args(["build", "--quiet", "--offline"]).current_dir(package.path());
    run(cargo.arg("--target-dir").arg(&target))?;
    let said = under_agent(&target.join("debug/libcount.so"))?;
    one_line_each(&said, &["4000 Tasks$Task".to_owned()])
}

/// Copies an installed example into a directory, to be built there.
fn example(name: &str, case: &str) -> Result<PathBuf> {
    let directory = scratch(case)?;
    let examples = prefix()?.join("share/doc/jvmpi/examples").join(name);
    let entries = fs::read_dir(&examples).map_err(|e| format!("{}: {e}", examples.display()))?;
    for entry in entries.flatten() {
        fs::copy(entry.path(), directory.join(entry.file_name())).map_err(|e| e.to_string())?;
    }
    Ok(directory)
}

/// Returns a command for a build tool that runs in this directory and finds the installation and the JDK.
fn tool(program: &str, directory: &Path) -> Result<Command> {
    let mut tool = Command::new(program);
    tool.current_dir(directory);
    tool.env("PKG_CONFIG_PATH", prefix()?.join("lib/pkgconfig"));
    tool.env("CMAKE_PREFIX_PATH", prefix()?);
    tool.env_remove("JAVA_HOME").env("MAKEFLAGS", "");
    // The JDK is found by its compiler.
    let compilers = jdk::with_javac()?.home.join("bin");
    let path = env::var_os("PATH").unwrap_or_default();
    let path = std::iter::once(compilers).chain(env::split_paths(&path));
    tool.env("PATH", env::join_paths(path).map_err(|e| e.to_string())?);
    Ok(tool)
}

fn make(directory: &Path) -> Result {
    run(&mut tool("make", directory)?).map(drop)
}

fn cmake(directory: &Path) -> Result {
    run(tool("cmake", directory)?.args(["-B", "build"]))?;
    run(tool("cmake", directory)?.args(["--build", "build"])).map(drop)
}

fn agents_by_make() -> Result {
    let directory = example("agent", "agents_by_make")?;
    make(&directory)?;
    agents_work(&directory)
}

fn agents_by_cmake() -> Result {
    let directory = example("agent", "agents_by_cmake")?;
    cmake(&directory)?;
    agents_work(&directory.join("build"))
}

fn agents_by_meson() -> Result {
    let directory = example("agent", "agents_by_meson")?;
    run(tool("meson", &directory)?.args(["setup", "build"]))?;
    run(tool("meson", &directory)?.args(["compile", "-C", "build"]))?;
    agents_work(&directory.join("build"))
}

/// Checks that the agents in this directory observe the program `Tasks`. It is too short for the sampler, which only
/// has to run.
fn agents_work(directory: &Path) -> Result {
    let said = under_agent(&directory.join("libcount.so"))?;
    one_line_each(&said, &["4000 Tasks$Task".to_owned()])?;
    under_agent(&directory.join("libsampler.so"))?;
    let said = under_agent(&directory.join("libcputime.so"))?;
    one_line_each(&said, &WORKERS.map(|worker| format!(" ms {worker}")))
}

const WORKERS: [&str; 4] = ["worker-0", "worker-1", "worker-2", "worker-3"];

/// Runs the program `Tasks` with an agent and returns the agent's output.
fn under_agent(agent: &Path) -> Result<String> {
    let shim = prefix()?.join("lib/libjvmpi.so");
    let mut java = Command::new(harness::newest_jdk()?.java());
    java.arg(format!("-agentpath:{}={}", text(&shim)?, text(agent)?));
    let [out, said] =
        run(java.args(["-Xcheck:jni", "-cp", &harness::example_classes()?, "Tasks"]))?;
    if out == harness::TASKS_SAY { Ok(said) } else { Err(format!("it wrote {out:?}")) }
}

/// Checks that exactly one line ends with each of these strings.
fn one_line_each(said: &str, ends: &[String]) -> Result {
    let with = |end: &String| said.lines().filter(|line| line.ends_with(end.as_str())).count();
    match ends.iter().find(|end| with(end) != 1) {
        Some(end) => Err(format!("not one line ends with {end:?}:\n{said}")),
        None => Ok(()),
    }
}

fn programs_by_make() -> Result {
    let directory = example("embed", "programs_by_make")?;
    make(&directory)?;
    let mut jdks = harness::jdks_for(Machine::this()).into_iter();
    jdks.try_for_each(|jdk| programs_work(&directory, &jdk))
}

fn programs_by_cmake() -> Result {
    let directory = example("embed", "programs_by_cmake")?;
    cmake(&directory)?;
    programs_work(&directory.join("build"), &harness::newest_jdk()?)
}

/// Checks that `embed` and `embed-static` in this directory observe the program `Tasks` in their JVM, the latter
/// without the shared library.
fn programs_work(directory: &Path, jdk: &Jdk) -> Result {
    let libjvm = jdk.libjvm();
    let jvm = libjvm.parent().ok_or("a JVM in no directory")?;
    let libraries = prefix()?.join("lib");
    for (program, directories) in [("embed", &[jvm, &libraries][..]), ("embed-static", &[jvm])] {
        let mut command = Command::new(directory.join(program));
        command.env("LD_LIBRARY_PATH", env::join_paths(directories).map_err(|e| e.to_string())?);
        let [out, said] = run(command.args([&harness::example_classes()?, "Tasks"]))
            .map_err(|why| format!("JDK {}: {why}", jdk.feature))?;
        if out != harness::TASKS_SAY {
            return Err(format!("{program} wrote {out:?}"));
        }
        one_line_each(&said, &WORKERS.map(|worker| format!("thread {worker}")))?;
        one_line_each(&said, &["classes were loaded".to_owned()])?;
    }
    Ok(())
}

fn uninstall_removes_installed_files_only() -> Result {
    let root = scratch("removed")?;
    let there = root.join("usr/lib/there");
    fs::create_dir_all(&there).map_err(|e| e.to_string())?;
    for command in [
        &["install", "--prefix=/usr", "--profile=checked"][..],
        &["install", "--prefix=/usr", "--profile=checked"],
        &["uninstall", "--prefix=/usr"],
    ] {
        run(xtask(command).env("DESTDIR", &root))?;
    }
    let [left, _] = run(Command::new("find").arg(&root))?;
    let expected = ["", "/usr", "/usr/lib", "/usr/lib/there"];
    let expected = expected.map(|path| format!("{}{path}", root.display()));
    let mut left: Vec<_> = left.lines().collect();
    left.sort_unstable();
    if left == expected { Ok(()) } else { Err(format!("left are {left:?}")) }
}
