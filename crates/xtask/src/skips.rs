//! Finds tests that were skipped unexpectedly. A list of expected skips makes a missing tool an error, as in CI.

use std::collections::BTreeSet;
use std::env;
use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use compat_tests::workspace_root;

/// The environment variable that names the file of expected skips. Each line is a part of a reason; `#` begins a comment.
const LIST: &str = "JVMPI_SKIPS";

/// Runs a test command, which prints each skip as `skipped: REASON`.
///
/// # Errors
/// Fails if a test fails. If there is a list, fails too if a reason is not in it.
pub fn run(command: &mut Command) -> Result<(), String> {
    let Some(list) = env::var_os(LIST).filter(|list| !list.is_empty()) else {
        let status = command.status().map_err(|e| format!("cargo: {e}"))?;
        return if status.success() { Ok(()) } else { Err("tests failed".to_owned()) };
    };
    let list = workspace_root().join(list);
    let expected = fs::read_to_string(&list).map_err(|e| format!("{}: {e}", list.display()))?;
    // Otherwise the standard library's test programs hide what a passed test prints.
    command.env("RUST_TEST_NOCAPTURE", "1").stdout(Stdio::piped());
    let mut child = command.spawn().map_err(|e| format!("cargo: {e}"))?;
    let mut found = BTreeSet::new();
    for line in BufReader::new(child.stdout.take().ok_or("no output")?).split(b'\n') {
        let line = line.map_err(|e| format!("cargo: {e}"))?;
        let line = String::from_utf8_lossy(&line);
        println!("{line}");
        found.extend(reason(&line).map(str::to_owned));
    }
    let status = child.wait().map_err(|e| format!("cargo: {e}"))?;
    let unexpected = unexpected(&found, &expected);
    if !status.success() {
        return Err("tests failed".to_owned());
    }
    if unexpected.is_empty() {
        return Ok(());
    }
    let reasons = unexpected.join("\n  ");
    Err(format!("tests were skipped for reasons that are not in {}:\n  {reasons}", list.display()))
}

/// Returns the reason in a line about a skipped test.
fn reason(line: &str) -> Option<&str> {
    let (before, rest) = line.split_once("skipped: ")?;
    // In brackets before the name of a test, or at the end of the line.
    Some(if before.ends_with('[') { rest.rsplit_once(']')?.0 } else { rest })
}

/// Returns the reasons that contain no line of the list.
fn unexpected<'a>(found: &'a BTreeSet<String>, list: &str) -> Vec<&'a str> {
    let parts = || list.lines().filter(|part| !part.is_empty() && !part.starts_with('#'));
    let is_expected = |reason: &&str| parts().any(|part| reason.contains(part));
    found.iter().map(String::as_str).filter(|reason| !is_expected(reason)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_are_found_in_both_kinds_of_lines() {
        let line = "test [skipped: no JDK [i386]] i386/archive ... ignored";
        assert_eq!(reason(line), Some("no JDK [i386]"));
        assert_eq!(reason("test a ... skipped: needs root"), Some("needs root"));
        assert_eq!(reason("test a ... ok"), None);
    }

    #[test]
    fn reason_without_a_line_in_the_list_is_unexpected() {
        let found: BTreeSet<_> = ["no valgrind", "no JDK for i386"].map(String::from).into();
        assert_eq!(unexpected(&found, "# all\n\nfor i386\n"), ["no valgrind"]);
        assert_eq!(unexpected(&found, "i386\nvalgrind"), [] as [&str; 0]);
        assert_eq!(unexpected(&found, "").len(), 2);
    }
}
