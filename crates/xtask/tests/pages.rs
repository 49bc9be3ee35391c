//! Runs the commands in the documentation pages as they are written there.

mod harness;

use std::env;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};
use std::sync::OnceLock;

use compat_tests::build;
use compat_tests::jdk::{self, Jdk};
use compat_tests::{changes, text, workspace_root};
use harness::{Case, Result, run};

const CASES: [Case; 20] = [
    ("readme", &[], || page("README.md", &[blocks])),
    ("profile_your_program", &[], || page("docs/tutorial/profile-your-program.md", &[blocks])),
    ("run_your_old_agent", &[], || page("docs/tutorial/run-your-old-agent.md", &[blocks])),
    ("attach", &[], || page("docs/howto/attach.md", &[blocks])),
    ("containers", &[], || page("docs/howto/containers.md", &[blocks])),
    ("containers_run_commands_that_exist", &[], containers_run_commands_that_exist),
    ("ci", &[], || page("docs/howto/ci.md", &[blocks])),
    ("several_agents", &[], || page("docs/howto/several-agents.md", &[blocks])),
    ("debug_an_agent", &[], || page("docs/howto/debug-an-agent.md", &[blocks])),
    ("messages", &["nm"], || page("docs/reference/messages.md", &[spans])),
    ("options", &[], || page("docs/reference/options.md", &[blocks, spans])),
    ("cli", &[], || page("docs/reference/cli.md", &[blocks])),
    ("hprof", &[], || page("docs/reference/hprof.md", &[blocks])),
    ("report", &[], || page("docs/reference/report.md", &[blocks])),
    ("trace", &["valgrind"], || page("docs/reference/trace.md", &[blocks])),
    ("run_old_agents", &["pkg-config"], || page("docs/howto/run-old-agents.md", &[blocks])),
    ("platforms", &[], || page("docs/howto/platforms.md", &[blocks])),
    ("port_to_jvmti", &["pkg-config"], || page("docs/howto/port-to-jvmti.md", &[blocks])),
    ("ship_your_agent", &["pkg-config", "nm"], || page("docs/howto/ship-your-agent.md", &[blocks])),
    ("write_an_agent", &[], || page("docs/tutorial/write-an-agent.md", &[blocks])),
];

/// The commands that are not run, because they would install packages, run these tests or need containers.
const NOT_RUN: [&str; 11] = [
    "apt ", "apt-get ", "cargo ", "dnf ", "docker ", "dpkg ", "install ", "kubectl ", "pip ",
    "rustup ", "tar ",
];

/// The beginnings of commands in running text. A command must also mention one of [`THINGS`], so "`kill -QUIT`" alone
/// is not run.
const COMMANDS: [&str; 7] = ["java ", "jcmd ", "jstack ", "kill ", "gdb ", "ldd ", "nm "];
const THINGS: [&str; 4] = ["PID", "libfoo.so", "/opt/", "Main"];

/// The placeholders for the process ID of a running program.
const RUNNING: [&str; 2] = ["PID", "4711"];

/// The pages, and the programs whose options and messages they name.
const PATHS: [&str; 8] = [
    "README.md",
    "docs",
    "examples",
    "crates/cli",
    "crates/hprof",
    "crates/settings",
    "shim/src/load",
    "crates/xtask/tests",
];

fn main() -> ExitCode {
    harness::run_all(&CASES, changes::unchanged(&PATHS).as_deref())
}

/// The environment that all pages assume.
struct Machine {
    jdk: &'static Jdk,
    /// The directory that stands for `/opt/jvmpi`.
    jvmpi: PathBuf,
    /// The directory that stands for `/opt/agents`.
    agents: PathBuf,
    /// The library of an agent in Rust.
    slow_methods: PathBuf,
    /// The template of the working directory; each page gets a copy.
    folder: PathBuf,
}

impl Machine {
    fn get() -> Result<&'static Self> {
        static MACHINE: OnceLock<Result<Machine>> = OnceLock::new();
        MACHINE.get_or_init(Self::new).as_ref().map_err(String::clone)
    }

    fn new() -> Result<Self> {
        let (jdk, jvmpi) = (jdk::with_javac()?, harness::install("pages")?);
        let (agents, folder) =
            (harness::scratch("pages", "agents")?, harness::scratch("pages", "folder")?);
        let agent = workspace_root().join("examples/agent/count.c");
        harness::compile_agent(&jvmpi, jdk, &agent, &agents.join("libfoo.so"))?;
        let slow_methods = build::rust_agent("slow_methods")?;
        let machine = Self { jdk, jvmpi, agents, slow_methods, folder };
        machine.fill()?;
        Ok(machine)
    }

    /// Fills the working directory with the files that commands use.
    fn fill(&self) -> Result {
        const MAIN: &str = "public class Main {
            static Object last;
            public static void main(String[] arguments) throws Exception {
                for (int i = 0; i < 100000; i++) last = new int[1];
                if (arguments.length > 0) { System.out.println(\"runs\"); System.in.read(); }
            }
        }";
        let error = |e: std::io::Error| format!("{}: {e}", self.folder.display());
        fs::write(self.folder.join("Main.java"), MAIN).map_err(error)?;
        fs::write(self.folder.join("manifest"), "Main-Class: Main\n").map_err(error)?;
        fs::write(self.folder.join("start.sh"), "#!/bin/sh\nexec java -jar app.jar\n")
            .map_err(error)?;
        for (source, copy) in [
            ("examples/agent/count.c", "foo.c"),
            ("examples/agent/count.c", "count.c"),
            ("examples/jvmti/both.c", "both.c"),
            ("examples/jvmti/moved.c", "moved.c"),
            ("examples/jvmti/methods.c", "methods.c"),
            ("examples/jvmti/Tracker.java", "Tracker.java"),
            ("compat-tests/workloads/Account.java", "Account.java"),
        ] {
            fs::copy(workspace_root().join(source), self.folder.join(copy)).map_err(error)?;
        }
        let script = "javac -source 8 -target 8 -nowarn Main.java Account.java 2>&1
            jar cfm app.jar manifest Main.class
            chmod +x start.sh
            cp /opt/jvmpi/include/jvmpi.h .
            ln -s /opt/agents/libfoo.so .
            hprof() { java -agentpath:/opt/jvmpi/lib/libjvmpi.so=hprof:$1,file=$2 Main; }
            hprof heap=all,cpu=samples java.hprof.txt
            hprof heap=all,cpu=samples,format=b java.hprof
            cp java.hprof.txt before.txt; hprof heap=sites,cpu=samples after.txt
            cp java.hprof before.hprof; cp java.hprof after.hprof
            mkdir -p etc/bash_completion.d man1";
        self.run(&self.folder, script, None).map(drop)
    }

    /// Runs a script in this folder, after replacing the paths of the pages by those of this machine.
    fn run(&self, folder: &Path, script: &str, running: Option<u32>) -> Result<[String; 2]> {
        let here = text(folder)?;
        let mut script = script
            .replace("/opt/jvmpi", text(&self.jvmpi)?)
            .replace("/opt/agents", text(&self.agents)?)
            .replace("target/release/libjvmpi.so", text(&self.jvmpi.join("lib/libjvmpi.so"))?)
            .replace("target/release/examples/libslow_methods.so", text(&self.slow_methods)?)
            .replace("/etc/", &format!("{here}/etc/"))
            .replace("/usr/local/share/man/", &format!("{here}/"))
            // Shortens recordings of half a minute.
            .replace("-d 30", "-d 1")
            .replace("duration=30", "duration=1");
        for name in RUNNING.iter().filter(|_| running.is_some()) {
            script = script.replace(name, &running.unwrap_or(0).to_string());
        }
        let path = env::var("PATH").unwrap_or_default();
        let (java, bin) = (self.jdk.home.join("bin"), self.jvmpi.join("bin"));
        let mut bash = Command::new("bash");
        bash.args(["-e", "-u", "-o", "pipefail", "-c", &script]).current_dir(folder);
        bash.env("PATH", format!("{}:{}:{path}", text(&java)?, text(&bin)?));
        bash.env("LD_LIBRARY_PATH", &self.agents);
        bash.env("JAVA_HOME", &self.jdk.home).env("CLASSPATH", ".");
        bash.env("PKG_CONFIG_PATH", self.jvmpi.join("lib/pkgconfig"));
        run(bash.stdin(Stdio::null()))
    }
}

/// A program that runs until it is dropped.
struct Running(Child);

impl Running {
    fn start(machine: &Machine, folder: &Path) -> Result<Self> {
        let mut java = Command::new(machine.jdk.home.join("bin/java"));
        java.args(["-XX:+EnableDynamicAgentLoading", "Main", "wait"]).current_dir(folder);
        java.env("CLASSPATH", ".").env("LD_LIBRARY_PATH", &machine.agents);
        java.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = java.spawn().map_err(|e| format!("{java:?}: {e}"))?;
        let mut line = String::new();
        let stdout = child.stdout.as_mut().ok_or("no output")?;
        BufReader::new(stdout).read_line(&mut line).map_err(|e| e.to_string())?;
        if line == "runs\n" { Ok(Self(child)) } else { Err(format!("it says {line:?}")) }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Runs the commands of a page that the functions in `find` return, each in its own shell.
fn page(name: &str, find: &[fn(&str) -> Vec<String>]) -> Result {
    let machine = Machine::get()?;
    let text = fs::read_to_string(workspace_root().join(name)).map_err(|e| e.to_string())?;
    let scripts: Vec<_> = find.iter().flat_map(|find| find(&text)).collect();
    if scripts.is_empty() {
        return Err(format!("{name} has no commands"));
    }
    let folder = harness::scratch("pages", &format!("of/{name}"))?;
    run(Command::new("cp").arg("-a").arg(machine.folder.join(".")).arg(&folder))?;
    for script in scripts {
        let needs_running = RUNNING.iter().any(|name| script.contains(name));
        let running = if needs_running { Some(Running::start(machine, &folder)?) } else { None };
        let [_, said] = machine
            .run(&folder, &script, running.as_ref().map(|running| running.0.id()))
            .map_err(|why| format!("{name}: {script}\n{why}"))?;
        let is_complaint = |line: &&str| {
            ["[jvmpi] error", "[jvmpi] warning"].iter().any(|start| line.starts_with(start))
        };
        if let Some(line) = said.lines().find(is_complaint) {
            return Err(format!("{name}: {script}\n{line}"));
        }
    }
    Ok(())
}

/// `jvmpi` knows the options of all commands that the page runs in containers.
fn containers_run_commands_that_exist() -> Result {
    const PAGE: &str = "docs/howto/containers.md";
    // No process has this number.
    const NONE: &str = "2147483647";
    let page = fs::read_to_string(workspace_root().join(PAGE)).map_err(|e| e.to_string())?;
    let jvmpi = Machine::get()?.jvmpi.join("bin/jvmpi");
    let folder = harness::scratch("pages", "commands")?;
    let lines =
        page.lines().filter(|line| ["docker ", "kubectl "].iter().any(|it| line.starts_with(it)));
    let commands: Vec<_> = lines.filter_map(|line| line.split_once("jvmpi record ")).collect();
    for (_, options) in &commands {
        let mut words: Vec<_> = options.split(' ').collect();
        for (option, value) in [("--pid", NONE), ("-o", "profile.html")] {
            if let Some(at) = words.iter().position(|word| *word == option) {
                words[at + 1] = value;
            }
        }
        let output = Command::new(&jvmpi).arg("record").args(&words).current_dir(&folder).output();
        let said = output.map_err(|e| e.to_string())?.stderr;
        let said = String::from_utf8_lossy(&said);
        if !said.contains(&format!("there is no process {NONE}")) {
            return Err(format!("{PAGE}: {options}: {said}"));
        }
    }
    if commands.len() < 4 { Err(format!("{PAGE}: only {commands:?}")) } else { Ok(()) }
}

/// Returns the `sh` code blocks, without the lines that are not run.
fn blocks(page: &str) -> Vec<String> {
    let blocks = page.split("```sh\n").skip(1).filter_map(|rest| rest.split("```").next());
    let is_run = |line: &&str| {
        let line = line.trim_start();
        !line.is_empty() && !line.contains('…') && !NOT_RUN.iter().any(|not| line.starts_with(not))
    };
    let blocks = blocks.map(|block| block.lines().filter(is_run).collect::<Vec<_>>().join("\n"));
    blocks.filter(|block| !block.is_empty()).collect()
}

/// Returns the commands in running text.
fn spans(page: &str) -> Vec<String> {
    let outside = page.split("```").step_by(2);
    let spans = outside.flat_map(|text| text.split('`').skip(1).step_by(2));
    let is_command = |span: &&str| {
        COMMANDS.iter().any(|command| span.starts_with(command))
            && THINGS.iter().any(|thing| span.contains(thing))
            && !span.contains('…')
    };
    let mut spans: Vec<_> = spans.filter(is_command).map(String::from).collect();
    spans.sort();
    spans.dedup();
    spans
}
