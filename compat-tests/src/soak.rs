//! Everything at once and at random: several agents in one JVM, beside spinning processes, while a
//! program runs. It prints what it prints without them, no rule is broken, it gets on all the time,
//! and its memory does not grow for ever.

use std::collections::HashMap;
use std::fs;
use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::jdk::{Gc, Jdk};
use crate::programs::{Found, Program, lasting};
use crate::report::Report;
use crate::run::{LOCAL_REFERENCES, Outcome, Running, Vm};
use crate::spinning::Spinning;
use crate::stacks;
use crate::watchdog::Watchdog;
use crate::{build, text};

/// The name of the program that is made for this: threads, classes and objects that come and go.
pub const CHURN: &str = "churn";

/// How often a run is looked at.
const TICK: Duration = Duration::from_millis(100);

/// After how much processor time it can be said whether a run's memory grows: it has to be warm first. That is half of
/// what the longest runs get beside the processes that spin, where nothing else is going on.
const WARM: Duration = Duration::from_secs(18);

/// How often in a run all is dropped that was allocated, and the memory looked at.
const LOOKS: &str = "32";

/// From how many looks in a third of a run it can be said.
const ENOUGH: usize = 4;

/// The Java heap of the program that is made for this. It is all there from the beginning, so that
/// what grows is not that.
const HEAP: &str = "96m";

/// What makes one run different from the next.
#[derive(Clone, Copy, Debug)]
pub struct Round<'a> {
    /// The JVM.
    pub jdk: &'a Jdk,
    /// Its collector.
    pub gc: Gc,
    /// What runs, or nothing for [`CHURN`].
    pub program: Option<Program>,
    /// For how long it runs, if it is that; anything else runs to its end, and is left alone after
    /// this time.
    pub length: Duration,
    /// What else is random follows from this.
    pub seed: u64,
    /// What is taken away of all that no specification promises (docs/internals.md): names, with commas between
    /// them, or `all`.
    pub without: &'a str,
}

/// What a round came to.
#[derive(Clone, Debug)]
pub enum End {
    /// Everything was right; what it did, in a line.
    Clean(String),
    /// There is no such program here, and why.
    Missing(String),
    /// The JVM crashed in code of its own that crashes without the shim too: where.
    VmFault(&'static str),
}

/// Where JVMs crash under any agent: when classes are rewritten at the wrong moment, and when the heap is walked while
/// a virtual thread is being made (docs/mapping.md, "Methods and instructions", "Dumps").
const VM_FAULTS: [&str; 2] =
    ["DefaultMethods::generate_default_methods(", "JvmtiEnvBase::is_vthread_alive("];

/// What programs print without agents, by JDK and name.
#[derive(Debug, Default)]
pub struct Expected(HashMap<(u32, &'static str), String>);

/// The agents of a round, with their options. The first is the one that the program calls.
fn agents(seed: u64, length: Duration) -> Vec<(&'static str, String)> {
    let soak = |drivers: u32, part: u64| {
        let (seed, length) = (2 * seed + part, length.as_millis());
        let options =
            format!("seed={seed},drivers={drivers},length={length},progress=progress-{part}");
        ("soak", options)
    };
    let sampler = |number: u32| ("sampler", format!("interval=1,out=samples-{number}.txt"));
    let checker = |mode: &str| ("checker", format!("mode={mode}"));
    let big_lock = ("big_lock", "calls=collections+requests+traces+disabling".to_owned());
    match seed >> 2 & 3 ^ seed & 3 {
        0 => vec![soak(2, 0), checker("all"), sampler(0)],
        1 => vec![soak(1, 0), checker(""), sampler(0), sampler(1)],
        2 => vec![soak(1, 0), checker("monitors"), big_lock, sampler(0)],
        _ => vec![soak(2, 0), soak(1, 1), checker("")],
    }
}

impl Round<'_> {
    /// The name of the round's program.
    #[must_use]
    pub fn program_name(&self) -> &'static str {
        self.program.map_or(CHURN, |program| program.name)
    }

    /// Runs it.
    ///
    /// # Errors
    /// What went wrong, the command line, and where the run's files lie.
    pub fn run(&self, case: &str, expected: &mut Expected) -> Result<End, String> {
        let vm = Vm::new(self.jdk, self.gc, case);
        let launch = match self.launch(&vm)? {
            Found::Missing(why) => return Ok(End::Missing(why)),
            Found::Ready(launch) => *launch,
        };
        let expected = self.expected(&vm, expected)?;
        let agents = agents(self.seed, self.length);
        let mut launch = launch.patience(Duration::from_secs(24 * 60 * 60));
        let mut settings = Vec::new();
        if !self.without.is_empty() {
            launch = launch.variable("JVMPI_TEST_WITHOUT", self.without);
            settings.push("log=info");
        }
        if self.virtual_threads_are_threads() {
            settings.push("virtual=own");
        }
        launch = launch.settings(&settings.join(","));
        if self.jdk.feature < 21 {
            launch = launch.tolerates(LOCAL_REFERENCES);
        }
        for (number, (name, options)) in agents.iter().enumerate() {
            launch = match *name {
                // What it writes is for people.
                "sampler" => {
                    let agent = build::agent_copy(name, number)?;
                    launch.shim(&format!("{}:{options}", text(&agent)?))?
                }
                _ if number == 0 => launch.agent(name, options)?,
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
        // One in four has the processors for itself: it gets further in the same time.
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
            let java = vm.java("Churn")?.argument(&milliseconds);
            let java = [format!("-Xms{HEAP}"), format!("-Xmx{HEAP}")]
                .iter()
                .fold(java, |java, flag| java.flag(flag))
                .flag("-XX:+AlwaysPreTouch");
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

    /// One in two where there are any.
    fn virtual_threads_are_threads(&self) -> bool {
        self.jdk.feature >= 21 && self.seed >> 2 & 1 != 0
    }

    /// What the program prints alone.
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

    /// Waits for its end; what it left, and what it took.
    fn watch(&self, mut running: Running) -> Result<(Outcome, String), String> {
        let process = running.process();
        let directory = running.directory().to_owned();
        let mut watchdog = Watchdog::new(process, directory.join("progress-0"));
        while !running.has_ended()? {
            if let Err(why) = watchdog.look() {
                let files = stacks::write(process, Some(self.jdk), &directory);
                return Err(format!("{why}; stacks in {files}"));
            }
            sleep(TICK);
        }
        let used = watchdog.used();
        let is_warm = self.program.is_none() && used > WARM;
        let outcome = running.finish(0)?;
        let mut usage = format!("{:.0} s CPU", used.as_secs_f64());
        if let Some((warm, late)) = growth(outcome.report())?.filter(|_| is_warm) {
            // An eighth is what threads and classes make that happen to be there, and what the VM keeps of the
            // IDs of methods each time that classes are rewritten: 3 MB in such a run on JDK 25.
            if late > warm + warm / 8 {
                return Err(format!("memory grows: at least {warm} bytes, then {late}"));
            }
            usage = format!("{usage}, {} -> {} MiB", warm >> 20, late >> 20);
        }
        Ok((outcome, usage))
    }
}

/// Where the JVM crashed that ran in this folder, if that is the fault of the VM.
fn vm_fault(directory: &Path) -> Option<&'static str> {
    let files = fs::read_dir(directory).ok()?.flatten().map(|entry| entry.path());
    let reports = files.filter(|file| text(file).is_ok_and(|path| path.contains("/hs_err_pid")));
    let texts: Vec<_> = reports.flat_map(fs::read_to_string).collect();
    let is_frame = |line: &str, place: &str| line.starts_with("# V ") && line.contains(place);
    VM_FAULTS
        .into_iter()
        .find(|place| texts.iter().any(|text| text.lines().any(|line| is_frame(line, place))))
}

/// The least memory in use after a collection in the second third of the run, and in the last. Not each of them
/// counts: agents may just have put it off, and what is known of the dead has to stay until they are told of it.
/// So a few say nothing, which is all that there is where the machine is too busy.
fn growth(report: &Report) -> Result<Option<(i64, i64)>, String> {
    let lines = report.lines("memory").map(|line| line.int("in_use"));
    let memory = lines.collect::<Result<Vec<_>, _>>()?;
    let third = memory.len() / 3;
    if third < ENOUGH {
        return Ok(None);
    }
    let least = |from: usize| memory[from..].iter().take(third).min().copied();
    Ok(least(third).zip(least(2 * third)))
}

/// The program printed what it always prints, and no agent or the shim complains.
fn judge(outcome: &Outcome, expected: &str) -> Result<(), String> {
    let printed = lasting(&outcome.stdout);
    if printed != expected {
        return Err(format!("it printed\n{printed}and not\n{expected}"));
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
