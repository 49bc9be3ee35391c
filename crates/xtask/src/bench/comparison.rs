//! Comparisons of programs that take turns.
//!
//! The machine may be busy, and its speed may change from minute to minute. Therefore the sides of a comparison take
//! turns, and only ratios within one run are meaningful.

use std::fmt::Write as _;

/// One side of a comparison: its name, and a function that runs it and returns its figures.
pub struct Side<'a> {
    pub name: &'a str,
    pub run: Box<dyn Fn() -> Result<Vec<f64>, String> + 'a>,
}

/// A figure that every run returns.
pub struct Figure {
    pub name: &'static str,
    /// The number of decimal places.
    pub digits: usize,
    /// True if lower is better, so that the difference from the first side is shown.
    pub cost: bool,
}

/// Runs every side in turn, `rounds` times, and prints the median of each figure. For a cost it also prints the
/// minimum, which other work on the machine disturbs least, and the difference of both from the first side.
pub fn compare(figures: &[Figure], sides: &[Side<'_>], rounds: usize) -> Result<(), String> {
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
