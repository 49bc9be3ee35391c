//! `cargo xtask bench`: measures the cost of the library, compared with the same program without it and with minimal
//! agents.
//!
//! The machine may be busy, and its speed may change from minute to minute. Therefore the sides of a comparison take
//! turns, and only ratios within one run are meaningful.

use std::fmt::Write as _;

use compat_tests::jdk::{self, Jdk};

use crate::jdk::named;

mod alloc;
mod asm;
mod calls;
mod dump;
mod floor;
mod hprof;
mod idle;
mod methods;
mod monitors;
mod program;
mod programs;
mod rewrite;
mod rust;
mod sampling;
mod thread_time;
mod trace;

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
    Bench {
        name: "calls",
        about: "the functions that agents call in every event",
        run: calls::run,
    },
    Bench { name: "dump", about: "heap dumps of up to eight million objects", run: dump::run },
    Bench {
        name: "hprof",
        about: "real programs with HPROF, compared with JFR and with agents that only count",
        run: hprof::run,
    },
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
        about: "CPU time and memory of real programs with events",
        run: programs::run,
    },
    Bench {
        name: "clojure",
        about: "programs: Clojure only",
        run: |jdk| programs::one(jdk, "clojure"),
    },
    Bench {
        name: "lucene",
        about: "programs: Lucene only",
        run: |jdk| programs::one(jdk, "lucene"),
    },
    Bench { name: "javac", about: "programs: javac only", run: |jdk| programs::one(jdk, "javac") },
    Bench {
        name: "closure",
        about: "programs: the Closure Compiler only, on JDK 21 and later",
        run: |jdk| programs::one(jdk, "closure"),
    },
    Bench {
        name: "rust",
        about: "method events for the same agent in C and in Rust",
        run: rust::run,
    },
    Bench {
        name: "rewrite",
        about: "class files rewritten per second, compared with ASM",
        run: rewrite::run,
    },
    Bench {
        name: "sampling",
        about: "computation on ten threads with a sampler that wakes every millisecond",
        run: sampling::run,
    },
    Bench { name: "trace", about: "recording and replaying method events", run: trace::run },
];

/// Runs the benchmark named first, on the JDKs named after it or on all installed ones.
pub fn run(arguments: &[String]) -> Result<(), String> {
    let Some((name, features)) = arguments.split_first() else {
        for Bench { name, about, .. } in BENCHES {
            println!("{name:<10} {about}");
        }
        return Ok(());
    };
    let bench = BENCHES
        .iter()
        .find(|bench| bench.name == name)
        .ok_or_else(|| format!("no benchmark {name}; cargo xtask bench lists them"))?;
    let jdks = if features.is_empty() {
        jdk::found().into_values().collect()
    } else {
        features.iter().map(|feature| named(feature)).collect::<Result<Vec<_>, _>>()?
    };
    for jdk in &jdks {
        println!("{} on JDK {}", bench.name, jdk.version);
        (bench.run)(jdk)?;
    }
    Ok(())
}

/// One side of a comparison: its name, and a function that runs it and returns its figures.
struct Side<'a> {
    name: &'a str,
    run: Box<dyn Fn() -> Result<Vec<f64>, String> + 'a>,
}

/// A figure that every run returns.
struct Figure {
    name: &'static str,
    /// The number of decimal places.
    digits: usize,
    /// True if lower is better, so that the difference from the first side is shown.
    cost: bool,
}

/// Runs every side in turn, `rounds` times, and prints the median of each figure. For a cost it also prints the
/// minimum, which other work on the machine disturbs least, and the difference of both from the first side.
fn compare(figures: &[Figure], sides: &[Side<'_>], rounds: usize) -> Result<(), String> {
    let mut results = vec![vec![Vec::new(); figures.len()]; sides.len()];
    for round in 0..rounds {
        for turn in 0..sides.len() {
            // Each round starts with another side, so that no side always follows the same one.
            let side = (turn + round) % sides.len();
            for (all, value) in results[side].iter_mut().zip((sides[side].run)()?) {
                all.push(value);
            }
        }
    }
    for (i, figure) in figures.iter().enumerate() {
        // A side without this figure returns NaN in each run.
        if results.iter().all(|results| results[i][0].is_nan()) {
            continue;
        }
        println!("  {}", figure.name);
        let base = &results[0][i];
        for (side, results) in sides.iter().zip(&results) {
            let (values, digits) = (&results[i], figure.digits);
            if values[0].is_nan() {
                continue;
            }
            let mut line = format!("    {:<20} median {:.digits$}", side.name, median(values));
            if figure.cost {
                let _ = write!(line, "{}", difference(median(values), median(base), digits));
                let _ = write!(line, "   least {:.digits$}", least(values));
                let _ = write!(line, "{}", difference(least(values), least(base), digits));
            }
            println!("{line}");
        }
    }
    println!("  ({rounds} alternating runs)");
    Ok(())
}

/// Formats the difference from the base; empty for the base itself.
fn difference(value: f64, base: f64, digits: usize) -> String {
    if value == base {
        return String::new();
    }
    format!(" ({:+.1} %, {:+.digits$})", 100.0 * (value / base - 1.0), value - base)
}

fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted[sorted.len() / 2]
}

fn least(values: &[f64]) -> f64 {
    values.iter().copied().fold(f64::INFINITY, f64::min)
}

/// Returns the number after `key` in a line of output, for example in `seconds=0.6` or `ticks per second 900`.
fn number_after(key: &str, text: &str) -> Result<f64, String> {
    let rest = text.split_once(key).ok_or_else(|| format!("no `{key}` in: {text}"))?.1;
    let end = rest.find(char::is_whitespace).unwrap_or(rest.len());
    rest[..end].parse().map_err(|_| format!("no number after `{key}` in: {text}"))
}
