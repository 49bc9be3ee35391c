//! `cargo xtask bench`: measures the cost of the library, compared with the same program without it and with minimal
//! agents.

use compat_tests::jdk::{self, Jdk};

use crate::jdk::named;

mod alloc;
mod comparison;
mod dump;
mod floor;
mod idle;
mod methods;
mod monitors;
mod program;
mod programs;
mod sampling;

/// A benchmark, which runs on one JDK at a time.
struct Bench {
    name: &'static str,
    about: &'static str,
    run: fn(&Jdk) -> Result<(), String>,
}

const BENCHES: &[Bench] = &[
    Bench {
        name: "alloc",
        about: "allocation with OBJECT_ALLOC, and collections with all objects tagged",
        run: alloc::run,
    },
    Bench { name: "dump", about: "heap dumps of up to eight million objects", run: dump::run },
    Bench {
        name: "idle",
        about: "startup and computation with an agent that enables nothing, or has disabled everything",
        run: idle::run,
    },
    Bench { name: "methods", about: "calls and startup with method events", run: methods::run },
    Bench {
        name: "monitors",
        about: "uncontended and contended monitors, with all events",
        run: monitors::run,
    },
    Bench {
        name: "programs",
        about: "CPU time and memory of real programs with events, HPROF and JFR",
        run: programs::run,
    },
    Bench {
        name: "sampling",
        about: "computation on ten threads with a sampler that wakes every millisecond, or every ten",
        run: sampling::run,
    },
];

/// Runs the benchmark named first, or `all`, on the JDKs named after it or on all installed ones.
pub fn run(arguments: &[String]) -> Result<(), String> {
    let Some((name, features)) = arguments.split_first() else {
        for Bench { name, about, .. } in BENCHES {
            println!("{name:<10} {about}");
        }
        return Ok(());
    };
    let is_chosen = |bench: &&Bench| name == "all" || bench.name == name;
    let benches: Vec<_> = BENCHES.iter().filter(is_chosen).collect();
    if benches.is_empty() {
        return Err(format!("no benchmark {name}; cargo xtask bench lists them"));
    }
    let jdks = if features.is_empty() {
        jdk::found().into_values().collect()
    } else {
        features.iter().map(|feature| named(feature)).collect::<Result<Vec<_>, _>>()?
    };
    for bench in benches {
        for jdk in &jdks {
            println!("{} on JDK {}", bench.name, jdk.version);
            (bench.run)(jdk)?;
        }
    }
    Ok(())
}
