//! `cargo xtask bench`: what the library costs, measured against the same program without it and
//! against agents that do the least that the work takes.
//!
//! The machine may be busy and slow down from minute to minute: the sides of a comparison take
//! turns, and only ratios within one run count.

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

/// A benchmark, run on one JDK at a time.
struct Bench {
    name: &'static str,
    about: &'static str,
    run: fn(&Jdk) -> Result<(), String>,
}

const BENCHES: &[Bench] = &[
    Bench {
        name: "alloc",
        about: "allocation under OBJECT_ALLOC, and collections while all objects are tagged",
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
        about: "HPROF with real programs, beside JFR and beside agents that only count",
        run: hprof::run,
    },
    Bench {
        name: "idle",
        about: "start-up and computing under an agent that enables nothing, or no more",
        run: idle::run,
    },
    Bench { name: "methods", about: "calls and start-up under method events", run: methods::run },
    Bench {
        name: "monitors",
        about: "locks that nobody waits for and locks that threads wait for, with all events",
        run: monitors::run,
    },
    Bench {
        name: "programs",
        about: "real programs from start to end: processor time and memory under events",
        run: programs::run,
    },
    Bench {
        name: "clojure",
        about: "of programs: Clojure",
        run: |jdk| programs::one(jdk, "clojure"),
    },
    Bench { name: "lucene", about: "of programs: Lucene", run: |jdk| programs::one(jdk, "lucene") },
    Bench {
        name: "javac",
        about: "of programs: the compiler",
        run: |jdk| programs::one(jdk, "javac"),
    },
    Bench {
        name: "closure",
        about: "of programs: the Closure Compiler, from JDK 21 on",
        run: |jdk| programs::one(jdk, "closure"),
    },
    Bench {
        name: "rust",
        about: "method events to the same agent in C and in Rust",
        run: rust::run,
    },
    Bench { name: "rewrite", about: "class files a second, beside ASM", run: rewrite::run },
    Bench {
        name: "sampling",
        about: "computing on ten threads under a sampler that wakes every millisecond",
        run: sampling::run,
    },
    Bench { name: "trace", about: "recording method events, and replaying them", run: trace::run },
];

/// Runs the benchmark named first on the JDKs named after it, or on all that are found.
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

/// One side of a comparison: what it is called, and a run of it that yields its figures.
struct Side<'a> {
    name: &'a str,
    run: Box<dyn Fn() -> Result<Vec<f64>, String> + 'a>,
}

/// A figure that every run yields.
struct Figure {
    name: &'static str,
    /// Digits after the point.
    digits: usize,
    /// Whether it is a cost, to be compared with that of the first side.
    cost: bool,
}

/// Runs every side in turn so many times, and prints the median of each figure. Of a cost it also
/// prints the least, which is what other work on the machine disturbs least, and how both compare
/// with the first side's.
fn compare(figures: &[Figure], sides: &[Side<'_>], rounds: usize) -> Result<(), String> {
    let mut results = vec![vec![Vec::new(); figures.len()]; sides.len()];
    for round in 0..rounds {
        for turn in 0..sides.len() {
            // Each round starts with another side, lest one always runs after the same.
            let side = (turn + round) % sides.len();
            for (all, value) in results[side].iter_mut().zip((sides[side].run)()?) {
                all.push(value);
            }
        }
    }
    for (i, figure) in figures.iter().enumerate() {
        // A side without such a figure has NaN in each run.
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

/// How much more than the base it is; nothing for the base itself.
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

/// The number behind `key` in a line of output, as in `seconds=0.6` or `ticks per second 900`.
fn number_after(key: &str, text: &str) -> Result<f64, String> {
    let rest = text.split_once(key).ok_or_else(|| format!("no `{key}` in: {text}"))?.1;
    let end = rest.find(char::is_whitespace).unwrap_or(rest.len());
    rest[..end].parse().map_err(|_| format!("no number behind `{key}` in: {text}"))
}
