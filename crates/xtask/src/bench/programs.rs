//! Measures the cost of events, of HPROF and of JFR for real programs: CPU time and memory from start to end.

use compat_tests::jdk::{Gc, Jdk};
use compat_tests::programs::{Found, Program};
use compat_tests::run::Vm;
use compat_tests::{build, text};

use super::comparison::{Figure, Side, compare};

/// The number of runs of each side. With all events, one takes minutes.
const ROUNDS: usize = 1;

/// Programs that compute from start to end.
const PROGRAMS: [&str; 4] = ["clojure", "lucene", "javac", "closure"];

/// Something to run a program with.
#[derive(Clone, Copy)]
enum With {
    /// An agent of the compatibility tests, its options, and the settings of the shim.
    Agent(&'static str, &'static str, &'static str),
    /// HPROF with these options.
    Hprof(&'static str),
    /// An option of the JVM.
    Flag(&'static str),
}

const ALL: [(&str, With); 13] = [
    ("no agent", With::Flag("-Dnone")),
    ("methods", With::Agent("counter", "events=1+3", "")),
    ("methods, getters=skip", With::Agent("counter", "events=1+3", "getters=skip")),
    // The minimum for an agent that times each call.
    ("and the clock read", With::Agent("counter", "events=1+3,clock=y", "")),
    ("with receivers", With::Agent("counter", "events=2+3", "")),
    ("allocation", With::Agent("counter", "events=4+5", "")),
    ("sampling", With::Agent("sampler", "interval=1", "")),
    // All but INSTRUCTION_START.
    ("all events", With::Agent("counter", EVENTS, "")),
    ("HPROF, 10 ms", With::Hprof("cpu=samples")),
    ("HPROF, cpu=times", With::Hprof("cpu=times")),
    ("HPROF, heap=sites", With::Hprof("heap=sites")),
    ("the same, depth=0", With::Hprof("heap=sites,depth=0")),
    // It samples every 10 ms.
    ("JFR, profile.jfc", With::Flag("-XX:StartFlightRecording=settings=profile")),
];
const EVENTS: &str =
    "events=1+2+3+4+5+6+7+8+33+34+35+38+39+40+41+42+43+48+49+51+52+53+54+55+56+57+58+60+61";

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
    println!(" {name}");
    compare_agents(&vm, program)
}

fn compare_agents(vm: &Vm<'_>, program: Program) -> Result<(), String> {
    let command = build::released_command()?;
    let libraries = command.parent().unwrap_or(&command);
    let library = |name: &str| text(&libraries.join(name)).map(str::to_owned);
    let hprof = format!("-agentpath:{}={}", library("libjvmpi.so")?, library("libhprof.so")?);
    let run = |with: With| -> Result<Vec<f64>, String> {
        let Found::Ready(launch) = program.on(vm)? else {
            return Err(format!("no {} any more", program.name));
        };
        // Checking every JNI call would dominate the measurement.
        let launch = launch.flag("-XX:-CheckJNICalls");
        let launch = match with {
            With::Agent(name, options, settings) => {
                let report = launch.directory().join("report");
                let options = format!("out={},{options}", text(&report)?);
                launch.agent(name, &options)?.settings(settings)
            }
            With::Hprof(options) => {
                launch.flag(&format!("{hprof}:verbose=n,file=/dev/null,format=a,{options}"))
            }
            With::Flag(flag) => launch.flag(flag),
        };
        let usage = launch.start()?.measure()?;
        Ok(vec![usage.processor.as_secs_f64(), usage.memory as f64 / 1024.0])
    };
    let figures = [
        Figure { name: "processor, s", digits: 2, cost: true },
        Figure { name: "memory at most, MiB", digits: 0, cost: true },
    ];
    let side =
        |&(name, with): &'static (&str, With)| Side { name, run: Box::new(move || run(with)) };
    let sides: Vec<_> = ALL.iter().map(side).collect();
    compare(&figures, &sides, ROUNDS)
}
