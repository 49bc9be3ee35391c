//! Measures the cost of events for real programs: CPU time and memory from start to end.

use compat_tests::jdk::{Gc, Jdk};
use compat_tests::programs::{Found, Program};
use compat_tests::run::Vm;
use compat_tests::text;

use super::comparison::{Figure, Side, compare};
use super::rows;

/// The number of runs of each side. With all events, one takes minutes.
const ROUNDS: usize = 1;

/// Programs that compute from start to end.
const PROGRAMS: [&str; 4] = ["clojure", "lucene", "javac", "closure"];

/// The agents: a label, the agent's name, its options, and the settings of the shim.
const AGENTS: [(&str, &str, &str, &str); 6] = [
    ("methods", "counter", "events=1+3", ""),
    ("methods, getters=skip", "counter", "events=1+3", "getters=skip"),
    ("with receivers", "counter", "events=2+3", ""),
    ("allocation", "counter", "events=4+5", ""),
    ("sampling", "sampler", "interval=1", ""),
    (
        "all events",
        "counter",
        // All but INSTRUCTION_START.
        "events=1+2+3+4+5+6+7+8+33+34+35+38+39+40+41+42+43+48+49+51+52+53+54+55+56+57+58+60+61",
        "",
    ),
];

/// Measures all programs, one after the other.
pub fn run(jdk: &Jdk) -> Result<(), String> {
    PROGRAMS.iter().try_for_each(|name| program(jdk, name))
}

fn program(jdk: &Jdk, name: &str) -> Result<(), String> {
    let program = Program::named(name).ok_or_else(|| format!("no program {name}"))?;
    let vm = Vm::new(jdk, Gc::G1, &format!("bench/{name}"));
    if let Found::Missing(why) = program.on(&vm)? {
        println!("  {name} skipped: {why}");
        return Ok(());
    }
    rows::section(name);
    compare_agents(&vm, program)
}

fn compare_agents(vm: &Vm<'_>, program: Program) -> Result<(), String> {
    let run = |agent: Option<(&str, &str, &str)>| -> Result<Vec<f64>, String> {
        let Found::Ready(launch) = program.on(vm)? else {
            return Err(format!("no {} any more", program.name));
        };
        // Checking every JNI call would dominate the measurement.
        let mut launch = launch.flag("-XX:-CheckJNICalls");
        if let Some((name, options, settings)) = agent {
            let report = launch.directory().join("report");
            let options = format!("out={},{options}", text(&report)?);
            launch = launch.agent(name, &options)?.settings(settings);
        }
        let usage = launch.start()?.measure()?;
        Ok(vec![usage.processor.as_secs_f64(), usage.memory as f64 / 1024.0])
    };
    let figures = [
        Figure { name: "processor, s", digits: 2, cost: true },
        Figure { name: "memory at most, MiB", digits: 0, cost: true },
    ];
    let mut sides = vec![Side { name: "no agent", run: Box::new(|| run(None)) }];
    for (name, agent, options, settings) in AGENTS {
        sides.push(Side { name, run: Box::new(move || run(Some((agent, options, settings)))) });
    }
    compare(&figures, &sides, ROUNDS)
}
