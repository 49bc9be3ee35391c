//! Checks the workflows of CI, and the signatures of releases.

mod harness;

use std::fs;
use std::path::PathBuf;
use std::process::{Command, ExitCode};

use compat_tests::workspace_root;
use harness::{Case, Result, run};

const CASES: [Case; 3] = [
    ("actionlint_accepts_the_workflows", &["actionlint"], actionlint_accepts_the_workflows),
    ("actions_are_pinned_by_commit", &[], actions_are_pinned_by_commit),
    ("release_is_signed_only_if_complete", &["minisign"], release_is_signed_only_if_complete),
];

fn main() -> ExitCode {
    harness::run_all(&CASES, None)
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

/// Signs a release as its workflow does, with a key made here.
fn release_is_signed_only_if_complete() -> Result {
    let directory = harness::scratch("workflows", "release")?;
    let key = |name: &str| directory.with_file_name(name);
    let mut generate = Command::new("minisign");
    generate.args(["-G", "-f", "-W", "-p"]).arg(key("public")).arg("-s").arg(key("secret"));
    run(&mut generate)?;
    let write = |name: &str, text: &str| {
        fs::write(directory.join(name), text).map_err(|e| format!("{name}: {e}"))
    };
    let sign = || {
        let mut sign = Command::new(workspace_root().join(".ci/sign"));
        run(sign.arg(&directory).arg(key("secret")))
    };
    let verify = || {
        let mut verify = Command::new("minisign");
        run(verify.args(["-V", "-p"]).arg(key("public")).arg("-m").arg(directory.join("a.sha256")))
    };
    let fails = |result: Result<[String; 2]>, because: &str| match result {
        Ok(_) => Err(format!("no failure because of {because}")),
        Err(why) if why.contains(because) => Ok(()),
        Err(why) => Err(format!("{why} does not name {because}")),
    };

    write("a.tar.gz", "archive")?;
    fails(sign(), "no *.sha256")?;
    let [sums, _] = run(Command::new("sha256sum").arg("a.tar.gz").current_dir(&directory))?;
    write("a.sha256", &sums)?;
    write("extra", "")?;
    fails(sign(), "extra is in no list")?;
    fs::remove_file(directory.join("extra")).map_err(|e| e.to_string())?;
    write("a.tar.gz", "other")?;
    fails(sign(), "a.tar.gz: FAILED")?;
    write("a.tar.gz", "archive")?;

    sign()?;
    let [said, _] = verify()?;
    if !said.contains("Trusted comment: a.sha256") {
        return Err(format!("minisign prints {said}"));
    }
    write("a.sha256", &sums.replace("a.tar.gz", "b.tar.gz"))?;
    fails(verify(), "Signature verification failed")
}
