//! Measures the CPU time of real programs with HPROF, compared with JFR and with agents that only count the same
//! events. Also compares the throughput of two threads with that of one.

use std::process::Command;

use compat_tests::jdk::{Gc, Jdk};
use compat_tests::programs::{Found, Program};
use compat_tests::run::Vm;
use compat_tests::{build, text};

use super::comparison::{Figure, Side, compare};
use super::thread_time::Watch;
use super::{floor, program, rows};

const ROUNDS: usize = 5;

/// Programs that are long enough to be sampled and short enough for timing all their calls.
const PROGRAMS: [&str; 3] = ["clojure", "javac", "closure"];

/// A program that repeats its work this many times, to separate the cost of sampling from that of startup.
const LONG: (&str, &str) = ("javac", "10");

/// The environment variable with the path of a `libasyncProfiler.so` to compare with.
const ASYNC_PROFILER: &str = "JVMPI_ASYNC_PROFILER";

/// The workloads that measure themselves, with the amount of work per thread.
const ALLOCATION: [&str; 2] = ["AllocWork", "100_000"];
const CALLS: [&str; 3] = ["MethodWork", "plain", "2_000_000"];

/// An agent to run a program with.
struct Agent {
    name: &'static str,
    /// The JVM option that loads the agent.
    option: Option<String>,
    /// The prefix of the names of the agent's own threads, if their CPU time is to be shown separately.
    threads: Option<&'static str>,
}

impl Agent {
    fn new(name: &'static str, option: Option<String>) -> Self {
        Self { name, option, threads: None }
    }

    fn with_threads(self, begin: &'static str) -> Self {
        Self { threads: Some(begin), ..self }
    }
}

pub fn run(jdk: &Jdk) -> Result<(), String> {
    let command = build::released_command()?;
    let libraries = command.parent().unwrap_or(&command);
    let (shim, hprof) = (libraries.join("libjvmpi.so"), libraries.join("libhprof.so"));
    let (shim, hprof) = (text(&shim)?, text(&hprof)?);
    let floor = floor::agent("alloc")?;
    let floor = text(&floor)?;
    let floor = |mode: &str| Some(format!("-agentpath:{floor}=mode={mode}"));
    let hprof = |options: &str| {
        Some(format!("-agentpath:{shim}={hprof}:verbose=n,file=/dev/null,format=a,{options}"))
    };
    let counter = |options: &str| program::shim(jdk, "counter", options).map(Some);
    // JFR's profile settings sample every 10 ms.
    let jfr = Some("-XX:StartFlightRecording=settings=profile".to_owned());
    let mut sampling = vec![
        Agent::new("no agent", None),
        Agent::new("JFR, profile.jfc", jfr).with_threads("JFR "),
        Agent::new("HPROF, 10 ms", hprof("cpu=samples")).with_threads("HPROF "),
        Agent::new("HPROF, 1 ms", hprof("cpu=samples,interval=1")).with_threads("HPROF "),
    ];
    if let Ok(library) = std::env::var(ASYNC_PROFILER) {
        // It has no thread of its own: each thread interrupts itself.
        for (name, interval) in [("async-profiler 10 ms", 10), ("async-profiler 1 ms", 1)] {
            let options =
                format!("start,event=ctimer,interval={interval}ms,collapsed,file=/dev/null");
            sampling.push(Agent::new(name, Some(format!("-agentpath:{library}={options}"))));
        }
    }
    let calls = [
        Agent::new("calls, counted", counter("events=1+3")?),
        // The minimum for an agent that times each call.
        Agent::new("and the clock read", counter("events=1+3,clock=y")?),
        Agent::new("HPROF, cpu=times", hprof("cpu=times")),
    ];
    let allocation = [
        Agent::new("floor, tag+class", floor("tag+class")),
        Agent::new("floor, tag+stack", floor("tag+stack")),
        Agent::new("HPROF, heap=sites", hprof("heap=sites")),
        Agent::new("the same, depth=0", hprof("heap=sites,depth=0")),
    ];
    for name in PROGRAMS {
        let program = Program::named(name).ok_or_else(|| format!("no program {name}"))?;
        let vm = Vm::new(jdk, Gc::G1, &format!("bench/hprof/{name}"));
        if let Found::Missing(why) = program.on(&vm)? {
            println!("  {name} skipped: {why}");
            continue;
        }
        rows::section(name);
        compare_agents(&vm, program, &[], &sampling, ROUNDS)?;
        compare_agents(&vm, program, &[], &calls, 1)?;
        compare_agents(&vm, program, &[], &allocation, 1)?;
        if name == LONG.0 {
            rows::section(&format!("{name}, {} times in one run", LONG.1));
            compare_agents(&vm, program, &[LONG.1], &sampling, ROUNDS)?;
        }
    }
    rows::section("two threads that allocate");
    let alone = || Agent::new("no agent", None);
    let [tag_class, _, sites, _] = allocation;
    compare_threads(jdk, &ALLOCATION, &[alone(), tag_class, sites])?;
    rows::section("two threads that call methods");
    let [counted, _, times] = calls;
    compare_threads(jdk, &CALLS, &[alone(), counted, times])
}

/// Compares the CPU time with these agents, and the share of the agents' own threads. `arguments` are added to the
/// program's own.
fn compare_agents(
    vm: &Vm<'_>,
    program: Program,
    arguments: &[&str],
    agents: &[Agent],
    rounds: usize,
) -> Result<(), String> {
    let run = |agent: &Agent| -> Result<Vec<f64>, String> {
        let Found::Ready(launch) = program.on(vm)? else {
            return Err(format!("no {} any more", program.name));
        };
        let launch = arguments.iter().fold(*launch, |launch, argument| launch.argument(argument));
        // Checking every JNI call would dominate the measurement.
        let launch = launch.flag("-XX:-CheckJNICalls");
        let launch = match &agent.option {
            Some(option) => launch.flag(option),
            None => launch,
        };
        let running = launch.start()?;
        let threads = agent.threads.map(|begin| (begin, Watch::begin(running.process())));
        let processor = running.measure()?.processor.as_secs_f64();
        let own = threads.map_or(Ok(f64::NAN), |(begin, watch)| watch.end(begin))?;
        Ok(vec![processor, own, 100.0 * own / processor])
    };
    let figures = [
        Figure { name: "processor, s", digits: 2, cost: true },
        Figure { name: "of it in the profiler's own threads, s", digits: 3, cost: false },
        Figure { name: "the same in per cent", digits: 2, cost: false },
    ];
    compare(&figures, &sides(agents, run), rounds)
}

/// Compares the throughput of two threads with that of one, in wall-clock time. The result is meaningful only on an
/// idle machine with at least two CPUs.
fn compare_threads(jdk: &Jdk, work: &[&str], agents: &[Agent]) -> Result<(), String> {
    let classes = floor::classes()?;
    let nanos = |agent: &Agent, threads: &str| -> Result<f64, String> {
        let mut java = Command::new(jdk.java());
        let java = java.args(&agent.option).args(["-cp", &classes]).args(work).arg(threads);
        Ok(program::run(java)?.numbers(&["ns_per_op="])?[0])
    };
    let run = |agent: &Agent| -> Result<Vec<f64>, String> {
        // The times are per operation of each thread.
        let (one, two) = (nanos(agent, "1")?, nanos(agent, "2")?);
        Ok(vec![one, two, 2.0 * one / two])
    };
    let figures = [
        Figure { name: "one thread, ns", digits: 1, cost: true },
        Figure { name: "two threads, ns", digits: 1, cost: true },
        Figure { name: "throughput of two, by that of one", digits: 2, cost: false },
    ];
    compare(&figures, &sides(agents, run), ROUNDS)
}

fn sides<'a>(
    agents: &'a [Agent],
    run: impl Fn(&Agent) -> Result<Vec<f64>, String> + Copy + 'a,
) -> Vec<Side<'a>> {
    let side = |agent: &'a Agent| Side { name: agent.name, run: Box::new(move || run(agent)) };
    agents.iter().map(side).collect()
}
