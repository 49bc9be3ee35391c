//! The archive for Windows, unpacked into a folder with a blank in its name and run in Wine.

mod harness;

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, ExitStatus, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use compat_tests::jdk::{self, Jdk};
use compat_tests::machine::Machine;
use compat_tests::workspace_root;
use harness::{GIVEN, Result, shows_all_tasks};

type Case = (&'static str, fn(&Windows) -> Result);

const CASES: [Case; 8] = [
    ("record_counts_calls_exactly", record_counts_calls_exactly),
    ("recorded_allocations_are_shown", recorded_allocations_are_shown),
    ("agent_with_a_def_file_runs_and_is_replayed", agent_with_a_def_file_runs_and_is_replayed),
    ("check_names_what_is_missing", check_names_what_is_missing),
    ("doctor_finds_that_the_jvm_works", doctor_finds_that_the_jvm_works),
    ("running_jvm_is_attached_to", running_jvm_is_attached_to),
    ("program_in_c_embeds_the_library", program_in_c_embeds_the_library),
    ("wheel_has_the_command_and_what_it_loads", wheel_has_the_command_and_what_it_loads),
];

fn main() -> ExitCode {
    let Some(machine) = Machine::named("windows") else { return ExitCode::FAILURE };
    // Compiling the archive would take longer than the tests.
    let hindrance = harness::missing(&["python3"]).or_else(|| {
        let none = format!("{GIVEN} does not name what dist --machine windows makes");
        given(ZIP).map_or(Some(none), |_| machine.can_be_tested().err())
    });
    let jdks = harness::jdks_for(machine);
    let hindrance = hindrance.or_else(|| harness::newest_jdk_for(machine).err());
    let trial = |(number, (name, case)): (usize, Case)| {
        // Each case runs on one of the JDKs.
        let jdk = jdks.get(number % jdks.len().max(1)).cloned();
        let run = move || case(&Windows::unpacked(name, jdk.ok_or("no JDK")?)?);
        harness::trial(name, hindrance.clone(), run)
    };
    harness::conclude(CASES.into_iter().enumerate().map(trial).collect())
}

/// The ends of the names of the archive and of the wheel.
const ZIP: &str = "windows-gnu.zip";
const WHEEL: &str = "win_amd64.whl";

/// Returns the given file whose name ends so.
fn given(end: &str) -> Option<PathBuf> {
    let folder = workspace_root().join(env::var_os(GIVEN)?);
    let mut files = fs::read_dir(folder).ok()?.flatten().map(|file| file.path());
    files.find(|file| file.to_string_lossy().ends_with(end))
}

/// The unpacked archive in the folder of a case, and a JVM in Wine.
struct Windows {
    jdk: Jdk,
    folder: PathBuf,
    root: PathBuf,
}

impl Windows {
    fn unpacked(case: &str, jdk: Jdk) -> Result<Self> {
        let folder = harness::scratch("windows", &format!("case {case}"))?;
        let mut unzip = Command::new("python3");
        unzip.args(["-m", "zipfile", "-e"]).arg(given(ZIP).ok_or("no archive")?).arg(&folder);
        harness::run(&mut unzip)?;
        let mut folders = fs::read_dir(&folder).map_err(|e| e.to_string())?.flatten();
        let root = folders.next().ok_or("the archive is empty")?.path();
        let classes = folder.join("classes");
        harness::run(Command::new("cp").arg("-r").arg(harness::example_classes()?).arg(classes))?;
        Ok(Self { jdk, folder, root })
    }

    /// Returns a command for a program in Wine, in the folder of the case.
    fn program(&self, program: &Path) -> Command {
        let mut wine = Command::new(self.jdk.home.join("bin/wine"));
        wine.arg(program).current_dir(&self.folder).env_remove("JAVA_HOME");
        // Wine 8 lacks the function for the faster barriers, which only a library for tests does without.
        wine.env("JVMPI_TEST_WITHOUT", "membarrier");
        wine
    }

    fn jvmpi(&self, arguments: &[&str]) -> Command {
        let mut jvmpi = self.program(&self.root.join("bin/jvmpi.exe"));
        jvmpi.args(arguments);
        jvmpi
    }

    /// Runs the command, which must succeed. Returns its standard output and standard error.
    fn run(&self, arguments: &[&str]) -> Result<[String; 2]> {
        self.finish(&mut self.jvmpi(arguments))
    }

    /// Runs a program, which must succeed. Returns its standard output and standard error.
    fn finish(&self, program: &mut Command) -> Result<[String; 2]> {
        match self.end_of(program)? {
            (status, said) if status.success() => Ok(said),
            (status, [out, err]) => Err(format!("{program:?}: {status}\n{out}{err}")),
        }
    }

    /// Runs a program to its end. Its output goes to files: the server of Wine, which it may start, keeps pipes open.
    fn end_of(&self, program: &mut Command) -> Result<(ExitStatus, [String; 2])> {
        let paths = ["stdout", "stderr"].map(|name| self.folder.join(name));
        let mut run = || {
            let [out, err] = paths.each_ref().map(fs::File::create);
            program.stdin(Stdio::null()).stdout(out?).stderr(err?).status()
        };
        let status = run().map_err(|e| format!("wine: {e}"))?;
        let read = |path| String::from_utf8_lossy(&fs::read(path).unwrap_or_default()).into_owned();
        Ok((status, paths.map(read)))
    }

    fn read(&self, file: &str) -> Result<String> {
        fs::read_to_string(self.folder.join(file)).map_err(|e| format!("{file}: {e}"))
    }

    /// Compiles C source text to this file, with the archive's header.
    fn compile(&self, source: &str, file: &str, arguments: &[&Path]) -> Result {
        let path = self.folder.join(file).with_extension("c");
        fs::write(&path, source).map_err(|e| format!("{}: {e}", path.display()))?;
        // The headers of this machine's JDK do: the calling conventions of 64-bit Windows are the compiler's.
        let include = jdk::with_javac()?.home.join("include");
        let machine = Machine::named("windows").ok_or("no windows")?;
        let mut compiler = Command::new(machine.compiler());
        compiler.arg("-I").arg(self.root.join("include")).arg("-I").arg(include.join("linux"));
        compiler.arg("-I").arg(include).arg("-o").arg(self.folder.join(file)).arg(path);
        harness::run(compiler.args(arguments)).map(drop)
    }

    /// Compiles the agent of the tutorial as in its time: a file names what the library exports.
    fn compile_agent(&self) -> Result {
        let agent = workspace_root().join("crates/cli/example/count.c");
        let agent = fs::read_to_string(agent).map_err(|e| e.to_string())?;
        let definitions = self.folder.join("count.def");
        fs::write(&definitions, "LIBRARY count\nEXPORTS\n    JVM_OnLoad\n")
            .map_err(|e| e.to_string())?;
        self.compile(
            &agent.replace("JNIEXPORT ", ""),
            "count.dll",
            &[Path::new("-shared"), &definitions],
        )
    }
}

/// Fails with the text unless it contains this part.
fn has(text: &str, part: &str) -> Result {
    if text.contains(part) { Ok(()) } else { Err(format!("no {part:?} in:\n{text}")) }
}

/// The line of the agent of the tutorial about the objects of `Tasks`.
const COUNTED: &str = "    4000 Tasks$Task";

fn record_counts_calls_exactly(windows: &Windows) -> Result {
    let java = ["--", "java", "-cp", "classes", "Tasks"];
    let record = ["record", "--calls", "--depth", "1", "-o", "calls.txt"];
    let [out, err] = windows.run(&[&record[..], &java].concat())?;
    has(&out, harness::TASKS_SAY.trim_end())?;
    has(&err, "jvmpi: calls.txt has ")?;
    let profile = windows.read("calls.txt")?;
    for (method, calls) in [("Tasks$Task.<init>", "4000"), ("Tasks.work", "4")] {
        let row = profile.lines().find(|line| line.ends_with(&format!(" {method}")));
        let count = row.and_then(|row| row.split_whitespace().nth(3));
        if count != Some(calls) {
            return Err(format!("{method} has {count:?} calls in:\n{profile}"));
        }
    }
    Ok(())
}

fn recorded_allocations_are_shown(windows: &Windows) -> Result {
    let java = ["--", "java", "-cp", "classes", "Tasks"];
    windows.run(&[&["record", "--alloc", "--exact", "-o", "a.txt"][..], &java].concat())?;
    shows_all_tasks(&windows.folder.join("a.txt"))?;
    windows.run(&["convert", "a.txt", "a.svg"])?;
    windows.run(&["convert", "a.txt", "--to", "parquet", "tables"])?;
    windows.run(&["report", "a.txt", "-o", "a.html"])?;
    has(&windows.read("a.svg")?, "Tasks.work")?;
    has(&windows.read("a.html")?, "<!doctype html>")?;
    if windows.folder.join("tables/sample.parquet").is_file() {
        Ok(())
    } else {
        Err("no tables".into())
    }
}

fn agent_with_a_def_file_runs_and_is_replayed(windows: &Windows) -> Result {
    windows.compile_agent()?;
    let [out, _] = windows.run(&["check", "count.dll"])?;
    has(&out, "entry points  JVM_OnLoad\n")?;
    has(&out, "yes: jvmpi run ")?;
    let java = ["--", "java", "-cp", "classes", "Tasks"];
    let run = ["run", "--setting", "trace=a.trace", r".\count.dll"];
    let [out, err] = windows.run(&[&run[..], &java].concat())?;
    has(&out, harness::TASKS_SAY.trim_end())?;
    has(&err, COUNTED)?;
    let [out, _] = windows.run(&["trace", "stats", "a.trace"])?;
    has(&out, "           1 JVM_SHUT_DOWN")?;
    let [_, err] = windows.run(&["replay", "a.trace", "count.dll"])?;
    has(&err, COUNTED)
}

fn check_names_what_is_missing(windows: &Windows) -> Result {
    let shared = Path::new("-shared");
    let other = windows.folder.join("other.dll");
    windows.compile(
        "int other(void) { return 0; } int more(void) { return 0; }",
        "other.dll",
        &[shared],
    )?;
    let agent = "int other(void), more(void); int JVM_OnLoad(void) { return other() + more(); }";
    windows.compile(agent, "needs.dll", &[shared, &other])?;
    let said = || {
        let (status, [out, _]) = windows.end_of(&mut windows.jvmpi(&["check", "needs.dll"]))?;
        Ok::<_, String>((status.code(), out))
    };
    has(&said()?.1, "missing       none")?;
    windows.compile("int other(void) { return 0; }", "other.dll", &[shared])?;
    has(&said()?.1, "missing       more of other.dll")?;
    fs::remove_file(&other).map_err(|e| e.to_string())?;
    let (status, said) = said()?;
    has(&said, "missing       other.dll")?;
    if status == Some(1) { Ok(()) } else { Err(format!("status {status:?}")) }
}

fn doctor_finds_that_the_jvm_works(windows: &Windows) -> Result {
    let home = windows.jdk.home.display().to_string();
    let [out, _] = windows.run(&["doctor", &home])?;
    has(&out, &format!("Java {}", windows.jdk.feature))?;
    has(&out, "works with  g1, serial, parallel")
}

/// A JVM with this program runs until it is killed, or two minutes.
struct Running(std::process::Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn running_jvm_is_attached_to(windows: &Windows) -> Result {
    windows.compile_agent()?;
    let mut java = Command::new(windows.jdk.home.join("bin/java"));
    java.args(["-cp", "classes", "Invoices", "1000000000"]).current_dir(&windows.folder);
    let java = java.stdout(Stdio::null()).stderr(Stdio::null()).spawn();
    let _java = Running(java.map_err(|e| e.to_string())?);
    let end = Instant::now() + Duration::from_secs(120);
    // The JVM takes commands a moment after it is listed.
    while !windows.run(&["list"])?[0].contains("Invoices") {
        if Instant::now() > end {
            return Err("the JVM is not listed".into());
        }
        sleep(Duration::from_secs(1));
    }
    let [out, _] = windows.run(&["stacks", "Invoices"])?;
    has(&out, "at Invoices.main(Invoices.java")?;
    windows.run(&["heap", "--pid", "Invoices", "-o", "heap.hprof"])?;
    let [out, _] = windows.run(&["histogram", "heap.hprof"])?;
    has(&out, "java.lang.String\n")?;
    let record = ["record", "--calls", "--include", "Invoices", "--pid", "Invoices", "-d", "2s"];
    let [_, err] = windows.run(&[&record[..], &["-o", "calls.txt"]].concat())?;
    has(&err, "; jvmpi.dll stays loaded but inactive")?;
    has(&windows.read("calls.txt")?, " Invoices.line")?;
    windows.run(&["run", "--pid", "Invoices", "count.dll"]).map(drop)
}

fn program_in_c_embeds_the_library(windows: &Windows) -> Result {
    let source = fs::read_to_string(workspace_root().join("examples/embed/embed.c"));
    let jvm = windows.jdk.home.join("bin/server/jvm.dll");
    let import = windows.root.join("lib/libjvmpi.dll.a");
    windows.compile(&source.map_err(|e| e.to_string())?, "embed.exe", &[&jvm, &import])?;
    fs::copy(windows.root.join("bin/jvmpi.dll"), windows.folder.join("jvmpi.dll"))
        .map_err(|e| e.to_string())?;
    let directory = jvm.parent().unwrap_or(&jvm).display().to_string().replace('/', "\\");
    let mut embed = windows.program(Path::new("cmd"));
    embed.args(["/c", &format!("set PATH=Z:{directory};%PATH%&& embed.exe classes Tasks")]);
    let [out, err] = windows.finish(&mut embed)?;
    has(&out, harness::TASKS_SAY.trim_end())?;
    has(&err, "thread worker-3")?;
    has(&err, " classes were loaded")
}

/// Installed by this system's pip: there is none in Wine.
fn wheel_has_the_command_and_what_it_loads(windows: &Windows) -> Result {
    let environment = windows.folder.join("environment");
    let mut pip = Command::new("python3");
    pip.args(["-m", "pip", "install", "--quiet", "--no-deps", "--no-index"]);
    pip.args(["--platform", "win_amd64", "--only-binary", ":all:", "--target"]).arg(&environment);
    harness::run(pip.arg(given(WHEEL).ok_or("no wheel")?))?;
    let mut record = windows.program(&environment.join("bin/jvmpi.exe"));
    record.args(["record", "--alloc", "--exact", "-o", "a.txt", "--"]);
    windows.finish(record.args(["java", "-cp", "classes", "Tasks"]))?;
    shows_all_tasks(&windows.folder.join("a.txt"))
}
