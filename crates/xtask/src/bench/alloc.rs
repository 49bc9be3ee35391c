//! What OBJECT_ALLOC costs for each object, against agents that do no more than to take the VM's
//! event, tag the object and make a call; and what the tags of live objects cost in collections.

use std::process::Command;

use compat_tests::jdk::Jdk;
use compat_tests::text;

use super::program::{self, Printed};
use super::{Figure, Side, compare, floor};

const ROUNDS: usize = 3;

/// Objects that each thread allocates, and on how many threads that is done at a time.
const OBJECTS: &str = "300_000";
const THREADS: [&str; 3] = ["1", "2", "4"];

/// Objects that stay alive while their tags are measured.
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

/// What the program runs under.
struct Agent {
    name: String,
    /// The option that loads it.
    option: Option<String>,
    /// The shim's settings.
    settings: &'static str,
}

/// The floor agent in these modes, the shim with these events enabled, and none.
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

/// What the program prints.
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

/// All pauses that the JVM logged and the longest of them, in milliseconds.
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
