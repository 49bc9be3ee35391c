//! Measures the functions that agents call in every event, without contention.

use compat_tests::jdk::{Gc, Jdk};
use compat_tests::run::Vm;

use super::rows;

/// The number of calls of each function in one run.
const TIMES: &str = "times=3000000";
const RUNS: usize = 5;

/// Prints the median time of each function in nanoseconds.
pub fn run(jdk: &Jdk) -> Result<(), String> {
    let mut costs: Vec<(String, Vec<f64>)> = Vec::new();
    for _ in 0..RUNS {
        let vm = Vm::new(jdk, Gc::G1, "bench-calls");
        let outcome = vm.java("Hello")?.agent("table_cost", TIMES)?.run()?;
        for line in outcome.report().lines("cost") {
            let (what, ns) = (line.text("what")?, line.text("ns")?);
            let ns = ns.parse().map_err(|_| format!("no number: {line}"))?;
            match costs.iter_mut().find(|(name, _)| name == what) {
                Some((_, all)) => all.push(ns),
                None => costs.push((what.to_owned(), vec![ns])),
            }
        }
    }
    for (what, mut ns) in costs {
        ns.sort_by(f64::total_cmp);
        println!("  {what:<24} {:>7.1} ns", ns[ns.len() / 2]);
        rows::add("time, ns", &what, ns[ns.len() / 2], ns[0], None);
    }
    Ok(())
}
