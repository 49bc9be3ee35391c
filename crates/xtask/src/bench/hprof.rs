//! What HPROF costs real programs, beside JFR, which every JDK has, and beside agents that get the same
//! events and only count: processor time from start to end.

use compat_tests::jdk::{Gc, Jdk};
use compat_tests::programs::{Found, Program};
use compat_tests::run::Vm;
use compat_tests::{build, text};

use super::{Figure, Side, compare, floor, program};

const ROUNDS: usize = 5;

/// Those that are long enough to be sampled and short enough to have all their calls timed.
const PROGRAMS: [&str; 3] = ["clojure", "javac", "closure"];

/// What shows the cost of sampling apart from that of the start: the program does its work so many times.
const LONG: (&str, &str) = ("javac", "10");

pub fn run(jdk: &Jdk) -> Result<(), String> {
    let command = build::released_command()?;
    let libraries = command.parent().unwrap_or(&command);
    let (shim, hprof) = (libraries.join("libjvmpi.so"), libraries.join("libhprof.so"));
    let (shim, hprof) = (text(&shim)?, text(&hprof)?);
    let floor = floor::agent("alloc")?;
    let hprof = |options: &str| {
        format!("-agentpath:{shim}={hprof}:verbose=n,file=/dev/null,format=a,{options}")
    };
    // JFR's, which looks every 10 ms.
    let sampling = [
        ("no agent", None),
        ("JFR, profile.jfc", Some("-XX:StartFlightRecording=settings=profile".to_owned())),
        ("HPROF, 10 ms", Some(hprof("cpu=samples"))),
        ("HPROF, 1 ms", Some(hprof("cpu=samples,interval=1"))),
    ];
    let calls = [
        ("calls, counted", Some(program::shim(jdk, "counter", "events=1+3")?)),
        // No agent that times each call can do less.
        ("and the clock read", Some(program::shim(jdk, "counter", "events=1+3,clock=y")?)),
        ("HPROF, cpu=times", Some(hprof("cpu=times"))),
    ];
    let allocation = [
        ("floor, tag+class", Some(format!("-agentpath:{}=mode=tag+class", text(&floor)?))),
        ("floor, tag+stack", Some(format!("-agentpath:{}=mode=tag+stack", text(&floor)?))),
        ("HPROF, heap=sites", Some(hprof("heap=sites"))),
        ("the same, depth=0", Some(hprof("heap=sites,depth=0"))),
    ];
    for name in PROGRAMS {
        let program = Program::named(name).ok_or_else(|| format!("no program {name}"))?;
        let vm = Vm::new(jdk, Gc::G1, &format!("bench/hprof/{name}"));
        if let Found::Missing(why) = program.on(&vm)? {
            println!("  {name} skipped: {why}");
            continue;
        }
        println!(" {name}");
        compare_agents(&vm, program, &[], &sampling, ROUNDS)?;
        compare_agents(&vm, program, &[], &calls, 1)?;
        compare_agents(&vm, program, &[], &allocation, 1)?;
        if name == LONG.0 {
            println!(" {name}, {} times in one run", LONG.1);
            compare_agents(&vm, program, &[LONG.1], &sampling, ROUNDS)?;
        }
    }
    Ok(())
}

/// Compares the processor time under these options. The program gets the arguments besides its own.
fn compare_agents(
    vm: &Vm<'_>,
    program: Program,
    arguments: &[&str],
    agents: &[(&str, Option<String>)],
    rounds: usize,
) -> Result<(), String> {
    let run = |option: Option<&String>| -> Result<Vec<f64>, String> {
        let Found::Ready(launch) = program.on(vm)? else {
            return Err(format!("no {} any more", program.name));
        };
        let launch = arguments.iter().fold(*launch, |launch, argument| launch.argument(argument));
        // What checks every call of JNI would be most of what is measured.
        let launch = launch.flag("-XX:-CheckJNICalls");
        let launch = match option {
            Some(option) => launch.flag(option),
            None => launch,
        };
        Ok(vec![launch.start()?.measure()?.processor.as_secs_f64()])
    };
    let figures = [Figure { name: "processor, s", digits: 2, cost: true }];
    let sides: Vec<_> = agents
        .iter()
        .map(|(name, option)| Side { name, run: Box::new(move || run(option.as_ref())) })
        .collect();
    compare(&figures, &sides, rounds)
}
