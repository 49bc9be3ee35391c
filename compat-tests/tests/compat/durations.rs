//! Measures how long each case takes, so that a slow one is seen before the whole run is too slow.

use std::fmt::Write;
use std::fs;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use compat_tests::build;

/// The number of the slowest cases that are printed.
const PRINTED: usize = 10;

static DURATIONS: Mutex<Vec<(Duration, String)>> = Mutex::new(Vec::new());

/// Runs a case and records how long it took.
pub fn measure<T>(case: &str, run: impl FnOnce() -> T) -> T {
    let start = Instant::now();
    let result = run();
    let mut durations = DURATIONS.lock().unwrap_or_else(PoisonError::into_inner);
    durations.push((start.elapsed(), case.to_owned()));
    result
}

/// Writes the durations of all cases to `target/compat-tests/seconds.txt`, slowest first, and
/// prints the first lines of that file if it has more.
pub fn report() {
    let mut durations = DURATIONS.lock().unwrap_or_else(PoisonError::into_inner);
    if durations.len() <= PRINTED {
        return;
    }
    durations.sort_unstable_by(|a, b| b.cmp(a));
    let lines = |count| {
        durations.iter().take(count).fold(String::new(), |mut text, (duration, case)| {
            let _ = writeln!(text, "{:7.2} {case}", duration.as_secs_f64());
            text
        })
    };
    let file = build::output_dir().join("seconds.txt");
    let written = match fs::write(&file, lines(durations.len())) {
        Ok(()) => file.display().to_string(),
        Err(why) => format!("{} was not written: {why}", file.display()),
    };
    println!("slowest cases, in seconds ({written}):");
    print!("{}", lines(PRINTED));
}
