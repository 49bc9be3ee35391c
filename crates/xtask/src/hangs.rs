//! `cargo xtask soak hangs`: programs that once hung or crashed JVMs, in many settings.

use std::time::Instant;

use compat_tests::jdk::{self, Gc, Jdk};
use compat_tests::run::{Launch, Vm};
use compat_tests::spinning::Spinning;
use compat_tests::{build, text};

/// The default number of runs of each program on each JDK.
const RUNS: u32 = 100;

type Prepare = fn(&Vm<'_>) -> Result<Launch, String>;

/// The programs, each with the oldest JDK that can run it.
const PROGRAMS: [(&str, u32, Prepare); 4] = [
    ("malloc", 8, malloc),
    ("start", 8, start),
    ("dumps", 8, dumps),
    ("virtual", 21, virtual_threads),
];

fn sampler() -> Result<String, String> {
    Ok(format!("{}:interval=1,out=samples.txt", text(&build::agent("sampler")?)?))
}

/// A sampler suspends threads that are in `malloc`.
fn malloc(vm: &Vm<'_>) -> Result<Launch, String> {
    vm.java("NativeMemory")?.argument("100000").shim(&format!("{},looks=100", sampler()?))
}

/// A sampler starts while objects are announced, and the threads that it needs start late.
fn start(vm: &Vm<'_>) -> Result<Launch, String> {
    let java = vm.java("Sampled")?.jvmti_agent("delay", "")?;
    java.agent("checker", "mode=all")?.shim(&sampler()?)
}

/// Dumps are requested beside threads in JNI critical sections, with a nearly full heap.
fn dumps(vm: &Vm<'_>) -> Result<Launch, String> {
    let java = vm.java("CriticalSections")?.argument("10").agent("dump_requests", "")?;
    Ok(java.flag("-Xmx24m").flag("-Xmn1m"))
}

/// Dumps and existing objects are requested while virtual threads are started.
fn virtual_threads(vm: &Vm<'_>) -> Result<Launch, String> {
    vm.java_for(21, "VirtualStarts")?.argument("5").agent("dump_requests", "")
}

/// Runs the programs that once hung JVMs. The arguments are a number of runs, programs, and JDKs such as `jdk17`.
pub fn run(arguments: &[String]) -> Result<(), String> {
    let (mut runs, mut names, mut features) = (RUNS, Vec::new(), Vec::new());
    for argument in arguments {
        if PROGRAMS.iter().any(|(name, ..)| name == argument) {
            names.push(argument.as_str());
        } else if let Some(feature) = argument.strip_prefix("jdk") {
            features.push(
                feature
                    .parse::<u32>()
                    .map_err(|_| format!("{argument} is not a JDK such as jdk17"))?,
            );
        } else {
            runs = argument
                .parse()
                .map_err(|_| format!("{argument} is neither a program nor a number of runs"))?;
        }
    }
    let mut jdks: Vec<_> = jdk::found().into_values().collect();
    jdks.retain(|jdk| features.is_empty() || features.contains(&jdk.feature));
    let mut failed = 0;
    for (name, since, launch) in PROGRAMS {
        for jdk in jdks.iter().filter(|jdk| jdk.feature >= since) {
            if names.is_empty() || names.contains(&name) {
                failed += run_often(name, launch, jdk, runs);
            }
        }
    }
    if failed == 0 { Ok(()) } else { Err(format!("{failed} runs failed")) }
}

/// Runs one program on one JDK, with all settings in turn. Returns the number of failed runs.
fn run_often(name: &str, launch: Prepare, jdk: &Jdk, runs: u32) -> u32 {
    let began = Instant::now();
    let mut failed = 0;
    for number in 0..runs {
        let is = |bit: u32| number >> bit & 1 != 0;
        let gc = if is(0) { Gc::Serial } else { Gc::G1 };
        let (has_one_processor, has_one_arena, is_busy) = (is(1), is(2), is(3));
        let run = || {
            let mut launch = launch(&Vm::new(jdk, gc, &format!("hangs/{name}/{number}")))?;
            if has_one_processor {
                launch = launch.on_one_processor()?;
            }
            if has_one_arena {
                launch = launch.variable("MALLOC_ARENA_MAX", "1");
            }
            let _spinning = is_busy.then(Spinning::start).transpose()?;
            launch.run()
        };
        if let Err(why) = run() {
            println!(
                "FAILED {name} jdk{} {} one processor: {has_one_processor}, one arena: {has_one_arena}, busy: \
                 {is_busy}: {why}",
                jdk.feature,
                gc.name()
            );
            failed += 1;
        }
    }
    let seconds = began.elapsed().as_secs();
    println!("{name} jdk{}: {runs} runs, {failed} failed ({seconds} s)", jdk.feature);
    failed
}
