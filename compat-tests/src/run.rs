//! One run of a JVM: how it is started, watched and judged.

use std::fs::{self, File};
use std::io;
use std::mem;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, ExitStatus, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::sleep;
use std::time::Duration;

use jvmpi_cpu_timeout::CpuTimeout;

use crate::cpu_timeout::{self, PATIENCE};
use crate::echo::Echo;
use crate::jdk::{Gc, HEAP, Jdk};
use crate::machine::Machine;
use crate::report::Report;
use crate::{build, stacks, target_dir, text};

/// The number of lines of a run's output that an error text shows: usually, and with a thread dump.
const TAIL: usize = 20;
const DUMP: usize = 500;

/// The interval between two checks of a run.
const TICK: Duration = Duration::from_millis(2);

/// The variable in which an agent without an `out=` option finds its report's path.
const REPORT_VARIABLE: &str = "JVMPI_TEST_REPORT";

/// The messages of `-Xcheck:jni` about native code that breaks the rules of JNI, and of the shim about an
/// internal error.
const COMPLAINTS: [&str; 4] = [
    "WARNING in native method",
    "FATAL ERROR in native method",
    "WARNING: JNI local refs",
    "[jvmpi] error: internal error",
];

/// The library that writes in front of each message of `-Xcheck:jni` which library caused it.
const PRELOADED: &str = "complaints";

/// Returns true if the line is a complaint, which may be about a library of the JDK.
pub fn is_complaint(line: &str) -> bool {
    COMPLAINTS.iter().any(|text| line.contains(text))
}

/// Returns true if the line is a complaint about any library but one of the JDK in this folder: the shim, an agent,
/// or an unknown library.
fn is_our_fault(line: &str, jdk: &Path) -> bool {
    let library = line.strip_prefix('[').and_then(|rest| Some(rest.split_once("] ")?.0));
    is_complaint(line) && !library.is_some_and(|library| Path::new(library).starts_with(jdk))
}

/// A JVM to run cases on.
#[derive(Debug)]
pub struct Vm<'a> {
    /// The JDK of the JVM.
    pub jdk: &'a Jdk,
    /// The collector of the JVM.
    pub gc: Gc,
    case: String,
    directory: PathBuf,
    runs: AtomicUsize,
}

impl<'a> Vm<'a> {
    /// Returns a JVM for the case of this name; its runs leave their files in a folder of that name.
    pub fn new(jdk: &'a Jdk, gc: Gc, case: &str) -> Self {
        let directory = build::output_dir().join("runs").join(case);
        Self { jdk, gc, case: case.to_owned(), directory, runs: AtomicUsize::new(0) }
    }

    /// Returns the name of the case, which is also the path of its runs in the folder of all runs.
    pub fn case(&self) -> &str {
        &self.case
    }

    /// Returns a JVM of another JDK for the same case.
    pub fn on<'b>(&self, jdk: &'b Jdk) -> Vm<'b> {
        Vm::new(jdk, self.gc, &format!("{}/on", self.case))
    }

    /// Returns a launch of this class, with the workloads and these jars on the class path.
    pub fn java_with(&self, jars: &[&str], class: &str) -> Result<Launch, String> {
        let mut launch = self.java(class)?;
        let path = launch.before.last_mut().expect("the class path comes last");
        let separator = Machine::this().path_separator();
        *path = [&[path.as_str()], jars].concat().join(separator);
        Ok(launch)
    }

    /// Returns a launch of this class of `workloads/`, without any agent yet.
    pub fn java(&self, class: &str) -> Result<Launch, String> {
        self.java_for(8, class)
    }

    /// Returns a launch of this class of `workloads/RELEASE/`.
    pub fn java_for(&self, release: u32, class: &str) -> Result<Launch, String> {
        let mut launch = Launch::new(self.jdk, &self.jdk.java(), self.next_directory()?)?;
        launch.before = self.jdk.flags().iter().map(|&flag| flag.to_owned()).collect();
        launch.before.extend(["-Xcheck:jni".to_owned(), HEAP.to_owned()]);
        launch.before.push("-XX:-CreateCoredumpOnCrash".to_owned());
        launch.before.extend(self.gc.flags().iter().map(|&flag| flag.to_owned()));
        launch.before.extend(["-cp".to_owned(), build::classes(release)?]);
        launch.program = vec![class.to_owned()];
        Ok(launch)
    }

    /// Returns a launch of a C program of `agents/` that creates the JVM itself. It gets the path of `libjvm.so`.
    pub fn embedded_in(&self, program: &str) -> Result<Launch, String> {
        let program = build::program(program)?;
        let loader = self.jdk.loader();
        let executable = loader.as_ref().unwrap_or(&program);
        let mut launch = Launch::new(self.jdk, executable, self.next_directory()?)?;
        if let Some(libraries) = loader.as_ref().and_then(|loader| loader.parent()) {
            let path = "--library-path".to_owned();
            launch.before = vec![path, text(libraries)?.to_owned(), text(&program)?.to_owned()];
        }
        launch.program = vec![text(&self.jdk.libjvm())?.to_owned(), build::classes(8)?];
        Ok(launch)
    }

    /// Returns the path of a file of this name in the case's folder.
    pub fn file(&self, name: &str) -> PathBuf {
        self.directory.join(name)
    }

    /// Creates an empty folder for the next run.
    fn next_directory(&self) -> Result<PathBuf, String> {
        let number = self.runs.fetch_add(1, Ordering::Relaxed);
        let directory = self.directory.join(number.to_string());
        let error = |e: io::Error| format!("{}: {e}", directory.display());
        if directory.exists() {
            fs::remove_dir_all(&directory).map_err(error)?;
        }
        fs::create_dir_all(&directory).map_err(error)?;
        Ok(directory)
    }
}

/// A run that is being prepared: every method adds to its command line or environment.
#[derive(Debug)]
#[must_use]
pub struct Launch {
    executable: PathBuf,
    directory: PathBuf,
    before: Vec<String>,
    program: Vec<String>,
    environment: Vec<(String, String)>,
    reports: Vec<PathBuf>,
    patience: Duration,
    partner: Option<u32>,
    jdk: PathBuf,
}

impl Launch {
    fn new(jdk: &Jdk, executable: &Path, directory: PathBuf) -> Result<Self, String> {
        let report = directory.join("report");
        let mut environment = vec![(REPORT_VARIABLE.to_owned(), text(&report)?.to_owned())];
        if !Machine::this().is_windows() {
            let preloaded = build::agent(PRELOADED)?;
            environment.push(("LD_PRELOAD".to_owned(), text(&preloaded)?.to_owned()));
        }
        Ok(Self {
            executable: executable.to_owned(),
            directory,
            before: Vec::new(),
            program: Vec::new(),
            environment,
            reports: vec![report],
            patience: PATIENCE,
            partner: None,
            jdk: jdk.home.clone(),
        })
    }

    /// Returns the folder in which it will run.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Adds the shim with the agent `agents/NAME.c` and these options.
    pub fn agent(self, name: &str, options: &str) -> Result<Self, String> {
        let agent = build::agent(name)?;
        let specification = format!("{}:{options}", text(&agent)?);
        Ok(self.shim(&specification)?.property("agent.path", text(&agent)?))
    }

    /// Adds the shim with another agent, even one that runs in this JVM already. It writes a report
    /// of its own.
    pub fn another_agent(mut self, name: &str, options: &str) -> Result<Self, String> {
        let number = self.reports.len();
        let report = self.directory.join(format!("report-{number}"));
        let agent = build::agent_copy(name, number)?;
        let options = format!("out={},{options}", text(&report)?);
        self.reports.push(report);
        self.shim(&format!("{}:{options}", text(&agent)?))
    }

    /// Adds the shim with exactly this text as its option string.
    pub fn shim(self, options: &str) -> Result<Self, String> {
        let option = format!("-agentpath:{}={options}", text(&build::shim()?)?);
        Ok(self.flag(&option))
    }

    /// Adds the shim without an option string.
    pub fn shim_alone(self) -> Result<Self, String> {
        let option = format!("-agentpath:{}", text(&build::shim()?)?);
        Ok(self.flag(&option))
    }

    /// Starts the JVM through the command `jvmpi` with these arguments, which finds the tested shim.
    pub fn behind_jvmpi(self, arguments: &[&str]) -> Result<Self, String> {
        let behind = self.behind(&build::command()?, arguments)?;
        Ok(behind.variable("JVMPI_LIBRARY", text(&build::shim()?)?))
    }

    /// Starts the JVM through another program with these arguments.
    pub fn behind(mut self, program: &Path, arguments: &[&str]) -> Result<Self, String> {
        let java = mem::replace(&mut self.executable, program.to_owned());
        let arguments = arguments.iter().map(|&argument| argument.to_owned());
        self.before.splice(..0, arguments.chain([text(&java)?.to_owned()]));
        Ok(self)
    }

    /// Adds the JVMTI agent `agents/NAME.c` with these options, which the JVM loads, not the shim.
    pub fn jvmti_agent(self, name: &str, options: &str) -> Result<Self, String> {
        let agent = build::agent(name)?;
        Ok(self.flag(&format!("-agentpath:{}={options}", text(&agent)?)))
    }

    /// Adds the agent by `-Xrun` with exactly this text after its name, and its folder to the library
    /// path. It does not add the shim.
    pub fn xrun(self, name: &str, rest: &str) -> Result<Self, String> {
        let agent = build::agent(name)?;
        Ok(self.library_path(&agent)?.flag(&format!("-Xrun{name}{rest}")))
    }

    /// Sets the search path of libraries to the folder of this library.
    pub fn library_path(self, library: &Path) -> Result<Self, String> {
        let directory = text(library.parent().unwrap_or(library))?.to_owned();
        let path = if Machine::this().is_windows() { "WINEPATH" } else { "LD_LIBRARY_PATH" };
        Ok(self.variable(path, &directory))
    }

    /// Adds a JVM flag.
    pub fn flag(mut self, flag: &str) -> Self {
        self.before.push(flag.to_owned());
        self
    }

    /// Adds a system property.
    pub fn property(self, name: &str, value: &str) -> Self {
        self.flag(&format!("-D{name}={value}"))
    }

    /// Adds JVM flags.
    pub fn flags<'a>(self, flags: impl IntoIterator<Item = &'a str>) -> Self {
        flags.into_iter().fold(self, |launch, flag| launch.flag(flag))
    }

    /// Adds an argument of the program.
    pub fn argument(self, argument: &str) -> Self {
        self.arguments([argument])
    }

    /// Adds arguments of the program.
    pub fn arguments<'a>(mut self, arguments: impl IntoIterator<Item = &'a str>) -> Self {
        self.program.extend(arguments.into_iter().map(str::to_owned));
        self
    }

    /// Sets an environment variable.
    pub fn variable(mut self, name: &str, value: &str) -> Self {
        self.environment.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Sets the shim's own settings.
    pub fn settings(self, settings: &str) -> Self {
        self.variable("JVMPI_OPTIONS", settings)
    }

    /// Adds to the CPU-time timeout, after which a run counts as hung, for a run that has more to do than usual.
    pub fn more_patience(mut self, more: Duration) -> Self {
        self.patience += more;
        self
    }

    /// Adds a process that works for this run: its CPU time counts toward the timeout too.
    fn partner(mut self, process: u32) -> Self {
        self.partner = Some(process);
        self
    }

    /// Runs it to its end and demands exit status 0.
    pub fn run(self) -> Result<Outcome, String> {
        self.run_to(0)
    }

    /// Runs it to its end and demands this exit status.
    pub fn run_to(self, status: i32) -> Result<Outcome, String> {
        self.start()?.finish(status)
    }

    /// Starts it, and waits until the program says that it is ready.
    pub fn ready(self) -> Result<Running, String> {
        let mut running = self.start()?;
        running.wait_for("ready")?;
        Ok(running)
    }

    /// Starts it. Standard input stays open until it is finished.
    pub fn start(self) -> Result<Running, String> {
        let error = |e: io::Error| format!("{}: {e}", self.directory.display());
        let stdout = self.directory.join("stdout");
        let stderr = self.directory.join("stderr");
        let mut command = Machine::this().command(&self.executable);
        // These would change what is run, or add lines to what it writes.
        for name in ["JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS"] {
            command.env_remove(name);
        }
        for name in ["JVMPI_OPTIONS", "JVMPI_CONFIG", "LD_LIBRARY_PATH"] {
            command.env_remove(name);
        }
        command
            .args(self.before.iter().chain(&self.program).map(|argument| in_machine(argument)))
            .envs(self.environment.iter().map(|(name, value)| (name, in_machine(value))))
            .current_dir(&self.directory)
            .stdin(Stdio::piped())
            .stdout(File::create(&stdout).map_err(error)?)
            .stderr(File::create(&stderr).map_err(error)?);
        fs::write(self.directory.join("command"), format!("{command:?}\n")).map_err(error)?;
        // SAFETY: the closure runs in the child between fork and exec, where the calls in it are allowed.
        unsafe { command.pre_exec(reset_signals) };
        let child = command.spawn().map_err(|e| format!("{}: {e}", self.executable.display()))?;
        let patience = cpu_timeout::with(child.id(), self.partner, self.patience);
        let echo = Echo::of([&stdout, &stderr], child.id());
        Ok(Running {
            child,
            patience,
            directory: self.directory,
            reports: self.reports,
            jdk: self.jdk,
            _echo: echo,
        })
    }
}

/// Returns a text for the tested machine: in Wine, the paths of our files begin with the drive of `/`.
fn in_machine(text: &str) -> String {
    let files = target_dir().to_string_lossy().into_owned();
    text.replace(&files, &format!("{}{files}", Machine::this().root_of_paths()))
}

/// Gives all signals their default action and blocks none: with SIGINT or SIGHUP ignored, as under `nohup` or in the
/// background of a shell, JDK 11's `-Xcheck:jni` prints a warning on standard output.
fn reset_signals() -> io::Result<()> {
    // SAFETY: all bits zero are a valid set, and neither call keeps a pointer.
    unsafe {
        for number in 1..libc::SIGRTMIN() {
            libc::signal(number, libc::SIG_DFL);
        }
        let mut none: libc::sigset_t = mem::zeroed();
        libc::sigemptyset(&mut none);
        libc::sigprocmask(libc::SIG_SETMASK, &none, std::ptr::null_mut());
    }
    Ok(())
}

/// A JVM at work. It is killed if it is dropped before it has finished.
#[derive(Debug)]
pub struct Running {
    child: Child,
    patience: CpuTimeout,
    directory: PathBuf,
    reports: Vec<PathBuf>,
    /// The folder of its JDK.
    jdk: PathBuf,
    /// Copies the run's output to standard error if the user wants to see it.
    _echo: Option<Echo>,
}

impl Running {
    /// Waits until the program has printed this line. Fails if it ends, or the time is up, before that.
    pub fn wait_for(&mut self, line: &str) -> Result<(), String> {
        self.wait_for_line("stdout", |found| found == line)
    }

    /// Waits until the program has printed a line with this in it.
    pub fn wait_for_text(&mut self, text: &str) -> Result<(), String> {
        self.wait_for_line("stdout", |line| line.contains(text))
    }

    /// Waits until there is a line with this in it on standard error.
    pub fn wait_for_error(&mut self, text: &str) -> Result<(), String> {
        self.wait_for_line("stderr", |line| line.contains(text))
    }

    /// Waits until the agent has reported a line that starts with this word.
    pub fn wait_for_report(&mut self, word: &str) -> Result<(), String> {
        self.wait_for_line("report", |line| line.split(' ').next() == Some(word))
    }

    fn wait_for_line(&mut self, file: &str, test: impl Fn(&str) -> bool) -> Result<(), String> {
        let path = self.directory.join(file);
        self.wait_until(|| Ok(read(&path).lines().any(&test)))
    }

    /// Waits until this is true. Fails if the program ends, or the time is up, before that.
    pub fn wait_until(
        &mut self,
        mut test: impl FnMut() -> Result<bool, String>,
    ) -> Result<(), String> {
        while !test()? {
            if let Some(status) = self.child.try_wait().map_err(|e| e.to_string())? {
                return Err(self.failed(&format!("ended with {status} too early")));
            }
            self.check_time()?;
            sleep(TICK);
        }
        Ok(())
    }

    /// Returns its process ID.
    pub fn process(&self) -> u32 {
        self.child.id()
    }

    /// Returns the folder in which it runs.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Returns true if it has ended. Closes its standard input, so that it does not wait for lines.
    pub fn has_ended(&mut self) -> Result<bool, String> {
        drop(self.child.stdin.take());
        self.has_ended_with_input_open()
    }

    /// Returns true if it has ended by itself: its standard input stays open.
    pub fn has_ended_with_input_open(&mut self) -> Result<bool, String> {
        self.check_time()?;
        self.child.try_wait().map(|status| status.is_some()).map_err(|e| e.to_string())
    }

    /// Sends the process this signal.
    pub fn signal(&self, signal: libc::c_int) -> Result<(), String> {
        let pid = libc::pid_t::try_from(self.child.id()).map_err(|e| e.to_string())?;
        // SAFETY: kill has no precondition, and the child was not waited for, so the number is its.
        if unsafe { libc::kill(pid, signal) } == 0 {
            return Ok(());
        }
        Err(self.failed(&format!("signal {signal}: {}", io::Error::last_os_error())))
    }

    /// Runs `jcmd` of this JDK on the process.
    pub fn jcmd(&self, jdk: &Jdk, arguments: &[&str]) -> Result<(), String> {
        let directory = self.directory.join("jcmd");
        fs::create_dir_all(&directory).map_err(|e| format!("{}: {e}", directory.display()))?;
        let pid = self.child.id().to_string();
        let jcmd = Launch::new(jdk, &jdk.jcmd(), directory)?.partner(self.process()).argument(&pid);
        jcmd.arguments(arguments.iter().copied()).run().map(|_| ())
    }

    /// Closes its standard input, waits for its end and collects what it left. Fails if the time is up, it dies from a
    /// signal, ends with another status, `-Xcheck:jni` or the shim complains, or a report is malformed.
    pub fn finish(mut self, expected: i32) -> Result<Outcome, String> {
        drop(self.child.stdin.take());
        let status = self.wait()?;
        let stdout = self.read("stdout");
        let stderr = self.read("stderr");
        if status.code() != Some(expected) {
            return Err(self.failed(&format!("ended with {status}, not exit status {expected}")));
        }
        let mut lines = stdout.lines().chain(stderr.lines());
        if let Some(line) = lines.find(|line| is_our_fault(line, &self.jdk)) {
            return Err(self.failed(&format!("complains: {line}")));
        }
        let report = |path: &PathBuf| Report::parse(&read(path));
        let reports = self.reports.iter().map(report).collect::<Result<_, _>>();
        let reports = reports.map_err(|e| self.failed(&e))?;
        let expects = Report::parse_only("expect", &stdout).map_err(|e| self.failed(&e))?;
        Ok(Outcome { stdout, stderr, expects, reports })
    }

    /// Waits for its end without a timeout, and returns its CPU time and memory.
    pub fn measure(mut self) -> Result<Usage, String> {
        drop(self.child.stdin.take());
        let pid = libc::pid_t::try_from(self.child.id()).map_err(|e| e.to_string())?;
        let (mut status, mut usage) = (0, mem::MaybeUninit::<libc::rusage>::uninit());
        // SAFETY: both pointers are to variables of the right type, and the child was not waited for.
        if unsafe { libc::wait4(pid, &raw mut status, 0, usage.as_mut_ptr()) } != pid {
            return Err(self.failed(&io::Error::last_os_error().to_string()));
        }
        if status != 0 {
            return Err(self.failed(&format!("ended with {}", ExitStatus::from_raw(status))));
        }
        // SAFETY: wait4 has succeeded and filled it in.
        let usage = unsafe { usage.assume_init() };
        let micros = |time: libc::timeval| {
            let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
            Duration::from_micros(1_000_000 * seconds + u64::try_from(time.tv_usec).unwrap_or(0))
        };
        let processor = micros(usage.ru_utime) + micros(usage.ru_stime);
        Ok(Usage { processor, memory: u64::try_from(usage.ru_maxrss).unwrap_or(0) })
    }

    /// Waits until it has ended by itself: its standard input stays open.
    pub fn wait(&mut self) -> Result<ExitStatus, String> {
        loop {
            if let Some(status) = self.child.try_wait().map_err(|e| e.to_string())? {
                return Ok(status);
            }
            self.check_time()?;
            sleep(TICK);
        }
    }

    /// Fails if the time is up: writes the stacks of the JVM's threads and kills the JVM.
    fn check_time(&mut self) -> Result<(), String> {
        if !self.patience.left().is_zero() {
            return Ok(());
        }
        let files = stacks::write(self.process(), &self.directory);
        self.signal(libc::SIGQUIT)?;
        sleep(Duration::from_secs(2));
        let _ = self.child.kill();
        let _ = self.child.wait();
        let why = format!("hung; killed after this thread dump; stacks in {files}");
        Err(self.failed_with(&why, DUMP))
    }

    fn read(&self, file: &str) -> String {
        read(&self.directory.join(file))
    }

    fn failed(&self, why: &str) -> String {
        self.failed_with(why, TAIL)
    }

    /// Returns the error text: the reason, the folder of the run's files, and their last lines.
    fn failed_with(&self, why: &str, tail: usize) -> String {
        let mut message = format!("{why}\n  files: {}", self.directory.display());
        for name in ["stdout", "stderr"] {
            let text = self.read(name);
            let lines: Vec<_> = text.lines().collect();
            for line in &lines[lines.len().saturating_sub(tail)..] {
                message.push_str(&format!("\n  {name}: {line}"));
            }
        }
        message
    }
}

/// Returns the text of a file, empty if there is none. The JVM's strings need not be UTF-8. Lines end as on Linux.
fn read(path: &Path) -> String {
    String::from_utf8_lossy(&fs::read(path).unwrap_or_default()).replace("\r\n", "\n")
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Ok(None) = self.child.try_wait() {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}

/// The processor time and memory of a run.
#[derive(Clone, Copy, Debug)]
pub struct Usage {
    /// Processor time of all its threads.
    pub processor: Duration,
    /// The most memory that was resident, in KiB.
    pub memory: u64,
}

/// The output and the reports of a run that has ended.
#[derive(Debug)]
pub struct Outcome {
    /// Its standard output.
    pub stdout: String,
    /// Its standard error.
    pub stderr: String,
    /// The `expect` lines of its standard output.
    pub expects: Report,
    reports: Vec<Report>,
}

impl Outcome {
    /// Returns the report of the agent.
    pub fn report(&self) -> &Report {
        &self.reports[0]
    }

    /// Returns the reports of the agents started by [`Launch::another_agent`], in that order.
    pub fn other_reports(&self) -> &[Report] {
        &self.reports[1..]
    }

    /// Returns the lines of standard error with which the shim refuses something.
    pub fn errors(&self) -> Vec<&str> {
        self.stderr.lines().filter(|line| line.starts_with("[jvmpi] error:")).collect()
    }

    /// The checks that the agent made itself: each of these was made, and none failed.
    pub fn checks(&self, names: &[&str]) -> Result<(), String> {
        for line in self.report().lines("check") {
            if line.text("ok")? != "1" {
                return Err(format!("failed: {line}"));
            }
        }
        for name in names {
            let made = |line: &crate::report::Line| line.text("name") == Ok(name);
            if !self.report().lines("check").any(made) {
                return Err(format!("the agent did not come to check `{name}`"));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Debian's 17.0.21 with jdwp; and 17.0.9 with an agent of ours and with the shim.
    #[test]
    fn only_libraries_of_the_jdk_may_break_the_rules_of_jni() {
        let jdk = Path::new("/usr/lib/jvm/java-17-openjdk-amd64");
        let fails = |line: &str| is_our_fault(line, jdk);
        let refs = "WARNING: JNI local refs: 443, exceeds capacity: 32";
        assert!(!fails(&format!("[{}/lib/libjdwp.so] {refs}", jdk.display())));
        assert!(fails(&format!("[/src/target/checked/libjvmpi.so] {refs}")));
        assert!(fails(&format!("[/src/target/compat-tests/agents/libbreaker.so] {refs}")));
        assert!(fails(&format!("[?] {refs}")));
        assert!(fails(refs));
        assert!(fails("[jvmpi] error: internal error: a bug"));
        assert!(!fails("[jvmpi] warning: JNI"));
    }
}
