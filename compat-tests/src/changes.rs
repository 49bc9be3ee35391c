//! Compares the checkout with the newest commit that was tested as a whole.

use std::process::Command;

use crate::workspace_root;

/// The environment variable that, if set, makes tests run even if nothing of what they test has changed.
pub const IGNORED: &str = "JVMPI_TEST_UNCHANGED";

/// The branch that changes are for.
const MAIN: &str = "origin/main";

/// Returns why the tests of these paths need not run: nothing in them has changed. The daily tests run them all the
/// same. Returns `None` if something has changed, or if nothing is known.
pub fn unchanged(paths: &[&str]) -> Option<String> {
    if std::env::var_os(IGNORED).is_some() {
        return None;
    }
    let yesterday = || git(&["rev-list", "-1", "--before=24 hours ago", "HEAD"]);
    let base = base(commit()?, git(&["merge-base", "HEAD", MAIN]), yesterday)?;
    let compare = [&["diff", "--quiet", &base, "--"], paths].concat();
    git(&compare).map(|_| format!("unchanged since {base:.9}; set {IGNORED}=1 to run it"))
}

/// Returns the hash of the current commit, if this is a checkout.
pub fn commit() -> Option<String> {
    git(&["rev-parse", "HEAD"])
}

/// Returns the commit to compare with: where a branch has left the main one; on that, the newest of yesterday.
fn base(
    head: String,
    main: Option<String>,
    yesterday: impl FnOnce() -> Option<String>,
) -> Option<String> {
    main.filter(|main| *main != head).or_else(yesterday)
}

/// Returns the trimmed output of a successful command.
fn git(arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").current_dir(workspace_root()).args(arguments).output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    output.status.success().then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn branch_is_compared_with_where_it_began_and_the_main_one_with_yesterday() {
        let yesterday = || Some("old".to_owned());
        let compared = |main: Option<&str>| {
            base("new".to_owned(), main.map(str::to_owned), yesterday).unwrap()
        };
        assert_eq!(compared(Some("fork")), "fork");
        assert_eq!(compared(Some("new")), "old");
        assert_eq!(compared(None), "old");
        assert_eq!(base("new".to_owned(), None, || None), None);
    }
}
