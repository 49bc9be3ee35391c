//! Measures the cost of OBJECT_ALLOC per object, compared with minimal JVMTI agents that take the VM's event, tag the
//! object and make a call. Also measures what the tags of live objects cost in collections.

use std::process::Command;

use compat_tests::jdk::Jdk;
use compat_tests::text;

use super::comparison::{Figure, Side, compare};
use super::floor;
use super::program::{self, Printed};

const ROUNDS: usize = 3;

/// The number of objects per thread, and the numbers of threads.
const OBJECTS: &str = "300_000";
const THREADS: [&str; 3] = ["1", "2", "4"];

/// The number of objects that stay alive while their tags are measured.
const LIVE: &str = "500_000";

pub fn run(jdk: &Jdk) -> Result<(), String> {
    for threads in THREADS {
        println!(" {threads} threads");
        let program = ["AllocWork", OBJECTS, threads];
        let run = |agent: &Agent| work(jdk, agent, &[], &program)?.numbers(&["ns_per_op="]);
        let agents = agents(jdk, &["tag", "tag+class"], "4")?;
        let ns = Figure { name: "allocation, ns", digits: 1, cost: true };
        compare(&[ns], &sides(&agents, run), ROUNDS)?;
    }
    println!(" {LIVE} live objects");
    let program = ["AllocWork", OBJECTS, "1", LIVE];
    let run = |agent: &Agent| pauses(&work(jdk, agent, &["-Xlog:gc:stdout"], &program)?.stdout);
    let figures = [
        Figure { name: "pauses, ms", digits: 1, cost: true },
        Figure { name: "longest pause, ms", digits: 1, cost: true },
    ];
    compare(&figures, &sides(&agents(jdk, &["free"], "4+5")?, run), ROUNDS)
}

/// An agent to run the program with.
struct Agent {
    name: String,
    /// The JVM option that loads the agent.
    option: Option<String>,
    /// The settings of the shim.
    settings: &'static str,
}

/// Returns the floor agent in these modes, the shim with these events enabled, and no agent.
fn agents(jdk: &Jdk, modes: &[&str], events: &str) -> Result<Vec<Agent>, String> {
    let floor = floor::agent("alloc")?;
    let floor = text(&floor)?;
    let shim = program::shim(jdk, "counter", &format!("events={events}"))?;

    let of_floor = |mode: &&str| Agent {
        name: format!("floor, {mode}"),
        option: Some(format!("-agentpath:{floor}=mode={mode}")),
        settings: "",
    };
    let of_shim = |settings| Agent {
        name: format!("shim, {settings}"),
        option: Some(shim.clone()),
        settings,
    };
    let mut agents: Vec<_> = modes.iter().map(of_floor).collect();
    agents.extend(["alloc=sampled", "alloc=bytecode"].map(of_shim));
    agents.push(Agent { name: "no agent".to_owned(), option: None, settings: "" });
    Ok(agents)
}

fn sides<'a>(
    agents: &'a [Agent],
    run: impl Fn(&Agent) -> Result<Vec<f64>, String> + Copy + 'a,
) -> Vec<Side<'a>> {
    agents
        .iter()
        .map(|agent| Side { name: &agent.name, run: Box::new(move || run(agent)) })
        .collect()
}

/// Runs the program and returns its output.
fn work(jdk: &Jdk, agent: &Agent, options: &[&str], program: &[&str]) -> Result<Printed, String> {
    program::run(
        Command::new(jdk.java())
            .env("JVMPI_OPTIONS", agent.settings)
            .args(&agent.option)
            .args(options)
            .args(["-cp", &floor::classes()?])
            .args(program),
    )
}

/// Returns the sum of all pauses in the JVM's log, and the longest one, in milliseconds.
fn pauses(log: &str) -> Result<Vec<f64>, String> {
    let pauses: Vec<f64> = log
        .lines()
        .filter(|line| line.contains("Pause"))
        .filter_map(|line| line.rsplit(' ').next()?.strip_suffix("ms")?.parse().ok())
        .collect();
    if pauses.is_empty() {
        return Err(format!("no pauses in: {log}"));
    }
    Ok(vec![pauses.iter().sum(), pauses.iter().copied().fold(0.0, f64::max)])
}
