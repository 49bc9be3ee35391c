//! Random stress tests: several agents run in one JVM, beside spinning processes. The program must print the same as
//! without agents, no rule of the specification may be broken, the program must end, and memory must not grow without
//! limit.

use std::collections::HashMap;
use std::fs;
use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, Instant};

use jvmpi_cpu_timeout::OwnTime;

use crate::jdk::{Gc, Jdk};
use crate::programs::{Found, Program, lasting};
use crate::report::Report;
use crate::run::{Outcome, Running, Vm};
use crate::spinning::Spinning;
use crate::text;

/// The name of the program written for these tests, which creates and drops threads, classes and objects.
pub const CHURN: &str = "churn";

/// The polling interval.
const TICK: Duration = Duration::from_millis(100);

/// The CPU time from which on a run can show whether memory grows, because the JVM has to warm up first. It is half
/// of the CPU time that the longest runs get beside the spinning processes.
const WARM: Duration = Duration::from_secs(18);

/// The time that a program has beside that of the agents. It counts only while the program is not waiting for a
/// processor.
const PATIENCE: Duration = Duration::from_secs(10 * 60);

/// The number of times in a run that the program drops everything it has allocated and reports its memory.
const LOOKS: &str = "32";

/// The minimum number of memory reports in a third of a run for a conclusion.
const ENOUGH: usize = 4;

/// The Java heap size of the program written for these tests. It is allocated completely at startup, so that memory
/// growth has other causes.
const HEAP: [&str; 3] = ["-Xms96m", "-Xmx96m", "-XX:+AlwaysPreTouch"];

/// The parameters of a run.
#[derive(Clone, Copy, Debug)]
pub struct Round<'a> {
    /// The JVM.
    pub jdk: &'a Jdk,
    /// The collector.
    pub gc: Gc,
    /// The program; `None` for [`CHURN`].
    pub program: Option<Program>,
    /// The duration of [`CHURN`]. Other programs run to their end; the agents leave them alone after this time.
    pub length: Duration,
    /// The seed from which all other random choices follow.
    pub seed: u64,
    /// The internals that are made unavailable (docs/explanation/internals.md): names separated by commas, or `all`.
    pub without: &'a str,
}

/// The result of a round.
#[derive(Clone, Debug)]
pub enum End {
    /// No fault was found; the text summarizes the work done.
    Clean(String),
    /// The program is not available here; the text says why.
    Missing(String),
    /// The JVM crashed at a place where it also crashes without the shim.
    VmFault(&'static str),
}

/// The places where JVMs crash under any agent: when classes are rewritten at the wrong moment, and when the heap is
/// walked while a virtual thread is being created (docs/explanation/differences.md, "Heap walks").
const VM_FAULTS: [&str; 2] =
    ["DefaultMethods::generate_default_methods(", "JvmtiEnvBase::is_vthread_alive("];

/// The outputs of programs without agents, by JDK and program.
#[derive(Debug, Default)]
pub struct Expected(HashMap<(u32, &'static str), String>);

/// Returns the agents of a round with their options. The program calls the first one.
fn agents(seed: u64, length: Duration) -> Vec<(&'static str, String)> {
    let soak = |drivers: u32, part: u64| {
        let (seed, length) = (2 * seed + part, length.as_millis());
        ("soak", format!("seed={seed},drivers={drivers},length={length}"))
    };
    let sampler = || ("sampler", String::new());
    let checker = |mode: &str| ("checker", format!("mode={mode}"));
    let big_lock = ("big_lock", "calls=collections+requests+traces+disabling".to_owned());
    match seed >> 2 & 3 ^ seed & 3 {
        0 => vec![soak(2, 0), checker("all"), sampler()],
        1 => vec![soak(1, 0), checker(""), sampler(), sampler()],
        2 => vec![soak(1, 0), checker("monitors"), big_lock, sampler()],
        _ => vec![soak(2, 0), soak(1, 1), checker("")],
    }
}

impl Round<'_> {
    /// Returns the name of the round's program.
    pub fn program_name(&self) -> &'static str {
        self.program.map_or(CHURN, |program| program.name)
    }

    /// Runs the round. An error has the fault, the command line, and the folder with the files of the run.
    pub fn run(&self, case: &str, expected: &mut Expected) -> Result<End, String> {
        let vm = Vm::new(self.jdk, self.gc, case);
        let launch = match self.launch(&vm)? {
            Found::Missing(why) => return Ok(End::Missing(why)),
            Found::Ready(launch) => *launch,
        };
        let expected = self.expected(&vm, expected)?;
        let agents = agents(self.seed, self.length);
        let more = self.program.map_or(Duration::ZERO, |_| PATIENCE);
        let mut launch = launch.more_patience(self.length + more);
        let mut settings = Vec::new();
        if !self.without.is_empty() {
            launch = launch.variable("JVMPI_TEST_WITHOUT", self.without);
            settings.push("log=info");
        }
        if self.virtual_threads_are_threads() {
            settings.push("virtual=own");
        }
        launch = launch.settings(&settings.join(","));
        for (number, (name, options)) in agents.iter().enumerate() {
            launch = match number {
                0 => launch.agent(name, options)?,
                _ => launch.another_agent(name, options)?,
            };
        }
        let directory = launch.directory().to_owned();
        let names: Vec<_> = agents.iter().map(|(name, _)| *name).collect();
        let failed = |why: String| {
            let command = fs::read_to_string(directory.join("command")).unwrap_or_default();
            format!(
                "{why}\n  seed: {}\n  agents: {}\n  files: {}\n  command: {}",
                self.seed,
                names.join(" "),
                directory.display(),
                command.trim_end()
            )
        };
        // One round in four runs without spinning processes, and gets further in the same time.
        let _spinning = (self.seed >> 4 & 3 != 0).then(Spinning::start).transpose()?;
        let began = Instant::now();
        let (outcome, usage) = match self.watch(launch.start()?) {
            Ok(watched) => watched,
            Err(why) => return vm_fault(&directory).map(End::VmFault).ok_or_else(|| failed(why)),
        };
        judge(&outcome, &expected).map_err(failed)?;
        let soaked = outcome.report().one("soaked").map_err(failed)?;
        let done = soaked.to_string();
        Ok(End::Clean(format!(
            "{:.0} s, {} ({})",
            began.elapsed().as_secs_f64(),
            usage,
            done.trim_start_matches("soaked ")
        )))
    }

    fn launch(&self, vm: &Vm<'_>) -> Result<Found, String> {
        let Some(program) = self.program else {
            let milliseconds = self.length.as_millis().to_string();
            let java = vm.java("Churn")?.argument(&milliseconds).property("churn.least", "1");
            let java = java.flags(HEAP);
            let java = match self.length > WARM {
                true => java.property("churn.looks", LOOKS),
                false => java,
            };
            let java = match self.virtual_threads_are_threads() {
                true => java.property("churn.virtual", "100"),
                false => java,
            };
            return Ok(Found::Ready(Box::new(java)));
        };
        program.on(vm)
    }

    /// Returns true for every second round on JDKs with virtual threads.
    fn virtual_threads_are_threads(&self) -> bool {
        self.jdk.feature >= 21 && self.seed >> 2 & 1 != 0
    }

    /// Returns the output of the program without agents.
    fn expected(&self, vm: &Vm<'_>, expected: &mut Expected) -> Result<String, String> {
        let Some(program) = self.program else { return Ok(String::new()) };
        let key = (self.jdk.feature, program.name);
        if let Some(text) = expected.0.get(&key) {
            return Ok(text.clone());
        }
        let Found::Ready(launch) = program.on(vm)? else { return Ok(String::new()) };
        let text = lasting(&launch.run()?.stdout);
        expected.0.insert(key, text.clone());
        Ok(text)
    }

    /// Waits for the program's end. Returns its outcome and its resource usage.
    fn watch(&self, mut running: Running) -> Result<(Outcome, String), String> {
        let mut time = OwnTime::new(vec![running.process()]);
        while !running.has_ended()? {
            time.gained();
            sleep(TICK);
        }
        let used = time.used();
        let is_warm = self.program.is_none() && used > WARM;
        let outcome = running.finish(0)?;
        let mut usage = format!("{:.0} s CPU", used.as_secs_f64());
        if let Some((warm, late)) = growth(outcome.report())?.filter(|_| is_warm) {
            // An eighth is what remains of threads and classes at that moment, and what the VM keeps for method IDs
            // each time that classes are rewritten: 3 MB in such a run on JDK 25.
            if late > warm + warm / 8 {
                return Err(format!("memory grows: at most {warm} bytes, then at least {late}"));
            }
            usage = format!("{usage}, {} -> {} MiB", warm >> 20, late >> 20);
        }
        Ok((outcome, usage))
    }
}

/// Returns the known place where the JVM that ran in this folder has crashed, if there is one.
fn vm_fault(directory: &Path) -> Option<&'static str> {
    let files = fs::read_dir(directory).ok()?.flatten().map(|entry| entry.path());
    let reports = files.filter(|file| text(file).is_ok_and(|path| path.contains("/hs_err_pid")));
    let texts: Vec<_> = reports.flat_map(fs::read_to_string).collect();
    let is_frame = |line: &str, place: &str| line.starts_with("# V ") && line.contains(place);
    VM_FAULTS
        .into_iter()
        .find(|place| texts.iter().any(|text| text.lines().any(|line| is_frame(line, place))))
}

/// Returns the greatest memory in use after a collection in the second third of the run, and the least in the last.
///
/// Single measurements differ by a quarter: agents may just have disabled GC, and records of dead objects remain until the
/// agents have received OBJECT_FREE. Therefore the result is `None` if there are only a few, as on a busy machine.
fn growth(report: &Report) -> Result<Option<(i64, i64)>, String> {
    let lines = report.lines("memory").map(|line| line.int("in_use"));
    let memory = lines.collect::<Result<Vec<_>, _>>()?;
    let third = memory.len() / 3;
    if third < ENOUGH {
        return Ok(None);
    }
    let (warm, late) = memory[third..].split_at(third);
    Ok(warm.iter().max().copied().zip(late.iter().min().copied()))
}

/// Checks that the program printed its usual output, and that neither an agent nor the shim reports an error.
fn judge(outcome: &Outcome, expected: &str) -> Result<(), String> {
    let printed = lasting(&outcome.stdout);
    if printed != expected {
        return Err(format!("unexpected output:\n{printed}expected:\n{expected}"));
    }
    for report in std::iter::once(outcome.report()).chain(outcome.other_reports()) {
        for word in ["violation", "error"] {
            let lines: Vec<_> = report.lines(word).map(ToString::to_string).collect();
            if !lines.is_empty() {
                return Err(lines.join("\n"));
            }
        }
    }
    let complaint = |line: &&str| line.starts_with("[jvmpi] error") || line.contains("panicked");
    match outcome.stderr.lines().find(complaint) {
        Some(line) => Err(line.to_owned()),
        None => Ok(()),
    }
}
