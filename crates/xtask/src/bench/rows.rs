//! The results of benchmarks as a JSON file, and the comparison of two such files.

use std::fs;
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde::{Deserialize, Serialize};

/// A row is worse if its ratio to the first side has grown by this factor.
const WORSE: f64 = 1.1;

/// The results of some benchmarks.
#[derive(Default, Serialize, Deserialize)]
pub struct Rows {
    rows: Vec<Row>,
}

/// One figure of one side of a comparison.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Row {
    bench: String,
    jdk: String,
    /// The heading below which the benchmark prints the comparison.
    section: String,
    figure: String,
    side: String,
    median: f64,
    least: f64,
    /// The median divided by that of the comparison's first side. Only such ratios can be compared between two runs.
    /// None for the first side, and for a figure that is no cost.
    ratio: Option<f64>,
}

/// The current benchmark and JDK, and the rows so far.
#[derive(Default)]
struct Measured {
    bench: String,
    jdk: String,
    section: String,
    rows: Vec<Row>,
}

static MEASURED: Mutex<Option<Measured>> = Mutex::new(None);

fn measured() -> MutexGuard<'static, Option<Measured>> {
    MEASURED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Begins a benchmark on a JDK.
pub fn begin(bench: &str, jdk: &str) {
    println!("{bench} on JDK {jdk}");
    let mut measured = measured();
    let measured = measured.get_or_insert_default();
    // Only the feature version, so that files can be compared after an update of the JDK.
    jdk.split('.').next().unwrap_or(jdk).clone_into(&mut measured.jdk);
    bench.clone_into(&mut measured.bench);
    measured.section.clear();
}

/// Prints the heading of the next comparisons.
pub fn section(heading: &str) {
    println!(" {heading}");
    heading.clone_into(&mut measured().get_or_insert_default().section);
}

/// Adds a row. `base` is the median of the first side, if the figure is a cost of another one.
pub fn add(figure: &str, side: &str, median: f64, least: f64, base: Option<f64>) {
    let mut measured = measured();
    let measured = measured.get_or_insert_default();
    measured.rows.push(Row {
        bench: measured.bench.clone(),
        jdk: measured.jdk.clone(),
        section: measured.section.clone(),
        figure: figure.to_owned(),
        side: side.to_owned(),
        median,
        least,
        ratio: base.map(|base| median / base),
    });
}

/// Writes all rows so far into a file.
pub fn write(file: &str) -> Result<(), String> {
    let rows = measured().take().unwrap_or_default().rows;
    let text = serde_json::to_string_pretty(&Rows { rows }).map_err(|e| format!("{file}: {e}"))?;
    fs::write(file, text).map_err(|e| format!("{file}: {e}"))
}

fn read(file: &str) -> Result<Rows, String> {
    let text = fs::read_to_string(file).map_err(|e| format!("{file}: {e}"))?;
    serde_json::from_str(&text).map_err(|e| format!("{file}: {e}"))
}

/// Compares two files that [`write()`] has written, the older one first.
///
/// # Errors
/// Returns the rows that have become worse by a tenth, or that are missing in the newer file.
pub fn compare(old: &str, new: &str) -> Result<(), String> {
    let worse = worse_rows(&read(old)?, &read(new)?);
    if worse.is_empty() {
        return Ok(());
    }
    Err(format!("{} rows are worse in {new}:\n{}", worse.len(), worse.join("\n")))
}

fn worse_rows(old: &Rows, new: &Rows) -> Vec<String> {
    old.rows.iter().filter_map(|row| row.compared_with(&new.rows)).collect()
}

impl Row {
    fn is_of(&self, other: &Self) -> bool {
        let name = |row: &Self| {
            [&row.bench, &row.jdk, &row.section, &row.figure, &row.side].map(String::clone)
        };
        name(self) == name(other)
    }

    /// Returns a line if the same row among these is worse, or missing.
    fn compared_with(&self, rows: &[Self]) -> Option<String> {
        let Self { bench, jdk, section, figure, side, .. } = self;
        let name = format!("{bench} on JDK {jdk}, {section}, {figure}, {side}");
        let Some(other) = rows.iter().find(|row| row.is_of(self)) else {
            return Some(format!("{name}: missing"));
        };
        let (before, after) = self.ratio.zip(other.ratio)?;
        (after > WORSE * before)
            .then(|| format!("{name}: {before:.2} times the first, now {after:.2}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(side: &str, median: f64, ratio: Option<f64>) -> Row {
        let [bench, jdk, section, figure] =
            ["methods", "17", "1 threads", "call, ns"].map(str::to_owned);
        Row { bench, jdk, section, figure, side: side.to_owned(), median, least: median, ratio }
    }

    fn rows(floor: f64, shim: f64) -> Rows {
        Rows { rows: vec![row("floor", floor, None), row("shim", shim, Some(shim / floor))] }
    }

    #[test]
    fn a_row_that_is_a_tenth_worse_is_named() {
        let worse = worse_rows(&rows(10.0, 12.0), &rows(10.0, 13.3));
        assert_eq!(
            worse,
            ["methods on JDK 17, 1 threads, call, ns, shim: 1.20 times the first, now 1.33"]
        );
        assert_eq!(worse_rows(&rows(10.0, 12.0), &rows(10.0, 13.1)), [""; 0]);
    }

    #[test]
    fn the_speed_of_the_machine_does_not_matter() {
        assert_eq!(worse_rows(&rows(10.0, 12.0), &rows(20.0, 24.0)), [""; 0]);
    }

    #[test]
    fn a_missing_row_is_named() {
        let mut less = rows(10.0, 12.0);
        less.rows.pop();
        let worse = worse_rows(&rows(10.0, 12.0), &less);
        assert_eq!(worse, ["methods on JDK 17, 1 threads, call, ns, shim: missing"]);
    }

    #[test]
    fn written_rows_are_read_again() {
        begin("bench", "17.0.9");
        section("part");
        add("cost", "floor", 2.0, 1.0, None);
        add("cost", "shim", 3.0, 2.5, Some(2.0));
        let file = std::env::temp_dir().join(format!("jvmpi-rows-{}.json", std::process::id()));
        let file = file.to_str().expect("the path is text");
        write(file).expect("the file can be written");
        let Rows { rows } = read(file).expect("the file can be read");
        fs::remove_file(file).expect("the file can be removed");
        let named: Vec<_> =
            rows.iter().map(|row| (row.jdk.as_str(), row.section.as_str(), row.ratio)).collect();
        assert_eq!(named, [("17", "part", None), ("17", "part", Some(1.5))]);
    }
}
