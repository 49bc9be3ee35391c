//! Checks the workflows of CI.

mod harness;

use std::fs;
use std::path::PathBuf;
use std::process::{Command, ExitCode};

use compat_tests::workspace_root;
use harness::{Case, Result, run};

const CASES: [Case; 3] = [
    ("actionlint_accepts_the_workflows", &["actionlint"], actionlint_accepts_the_workflows),
    ("actions_are_pinned_by_commit", &[], actions_are_pinned_by_commit),
    ("jobs_have_timeouts", &[], jobs_have_timeouts),
];

fn main() -> ExitCode {
    harness::run_all(&CASES, |_| None)
}

/// Returns the workflows: their paths and texts.
fn workflows() -> Result<Vec<(PathBuf, String)>> {
    let directory = workspace_root().join(".github/workflows");
    let files = fs::read_dir(&directory).map_err(|e| format!("{}: {e}", directory.display()))?;
    let read = |path: PathBuf| {
        let text = fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()))?;
        Ok((path, text))
    };
    let workflows = files.flatten().map(|file| read(file.path())).collect::<Result<Vec<_>>>()?;
    if workflows.len() < 2 { Err("only one workflow".into()) } else { Ok(workflows) }
}

fn actionlint_accepts_the_workflows() -> Result {
    let mut actionlint = Command::new("actionlint");
    actionlint.args(workflows()?.into_iter().map(|(path, _)| path)).current_dir(workspace_root());
    run(&mut actionlint).map(drop)
}

/// A tag can be moved to other code, a commit cannot.
fn actions_are_pinned_by_commit() -> Result {
    let mut seen = 0;
    for (path, text) in workflows()? {
        for line in text.lines() {
            let line = line.trim_start().trim_start_matches("- ");
            let Some(action) = line.strip_prefix("uses: ") else { continue };
            seen += 1;
            let pinned = action.split_once('@').and_then(|(_, rest)| rest.split_once(" # v"));
            if !pinned.is_some_and(|(hash, _)| is_commit(hash)) {
                return Err(format!(
                    "{}: {action} is not pinned as COMMIT # vVERSION",
                    path.display()
                ));
            }
        }
    }
    if seen < 5 { Err(format!("only {seen} actions")) } else { Ok(()) }
}

fn is_commit(hash: &str) -> bool {
    hash.len() == 40 && hash.bytes().all(|byte| byte.is_ascii_hexdigit())
}

fn jobs_have_timeouts() -> Result {
    for (path, text) in workflows()? {
        let Some((_, jobs)) = text.split_once("\njobs:\n") else {
            return Err(format!("{} has no jobs", path.display()));
        };
        let mut job = None;
        for line in jobs.lines().chain(["  end:"]) {
            let is_name = line.starts_with("  ") && line.ends_with(':') && !line.starts_with("   ");
            if is_name && let Some(job) = job.replace(line.trim()) {
                return Err(format!("{}: {job} has no timeout-minutes", path.display()));
            }
            if line.starts_with("    timeout-minutes: ") {
                job = None;
            }
        }
    }
    Ok(())
}
