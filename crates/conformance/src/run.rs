//! Runs JVMs with the suite's agents and collects the outcomes of the cases.

#![expect(
    clippy::disallowed_methods,
    reason = "the directory of the run is one of its own, or that which the user names"
)]

use crate::compile::Compiled;
use crate::manifest::{Case, Excuse, Manifest, Run};
use crate::results::{Outcome, Results, State};
use jvmpi_cpu_timeout::CpuTimeout;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// A JVM with a collector.
#[derive(Clone, Debug)]
pub struct Place {
    /// The name, for example `17/g1` or `17-zero/serial`.
    pub name: String,
    /// The launcher.
    pub java: PathBuf,
    /// The options that select the VM and the collector.
    pub flags: Vec<String>,
    /// The name of its machine or operating system, as exceptions have it.
    pub machine: &'static str,
    /// The drive that an absolute path of this system gets in front for the JVM, for example `Z:`; else empty.
    pub root: &'static str,
}

/// The implementation under test, and an optional layer between it and the agents.
#[derive(Clone, Debug)]
pub struct Implementation {
    /// The path of `libjvmpi.so`.
    pub library: PathBuf,
    /// A library between the interface and the agents, and the option in front of their path.
    pub between: Option<(PathBuf, String)>,
    /// The CPU-time timeout of a run, after which it counts as hung.
    pub patience: Duration,
}

/// The default timeout. It is far more than any run needs: a few seconds, or a minute in an emulator.
pub const PATIENCE: Duration = Duration::from_secs(300);

/// The interval at which a running JVM is polled.
const TICK: Duration = Duration::from_millis(2);

/// Runs the suite on all given JVMs, with up to `workers` JVMs at a time. Calls `progress` with a line about each
/// finished run.
pub fn run_all(
    manifest: &Manifest,
    compiled: &Compiled,
    places: &[Place],
    implementation: &Implementation,
    workers: usize,
    progress: &(dyn Fn(&str) + Sync),
) -> Results {
    let pairs = places.iter().flat_map(|place| manifest.runs.iter().map(move |run| (place, run)));
    let pairs: Vec<_> = pairs.collect();
    let ran = in_parallel(&pairs, workers, |(place, run)| {
        let start = Instant::now();
        let outcomes = run_one(run, compiled, place, implementation);
        let failed = outcomes.values().filter(|o| o.state == State::Fail).count();
        let end = if failed == 0 { String::new() } else { format!(", {failed} FAILED") };
        progress(&format!("{} {}: {} cases{end}", place.name, run.name, outcomes.len()));
        (place, outcomes, u64::try_from(start.elapsed().as_millis()).unwrap_or(u64::MAX))
    });
    let mut results = Results::default();
    for (place, outcomes, time) in ran {
        results.jvms.entry(place.name.clone()).or_default().extend(outcomes);
        *results.milliseconds.entry(place.name.clone()).or_default() += time;
    }
    results
}

/// Calls the function with each item, on this many threads. Returns the results in the order of the items.
pub(crate) fn in_parallel<'a, T: Sync, R: Send>(
    items: &'a [T],
    workers: usize,
    call: impl Fn(&'a T) -> R + Sync,
) -> Vec<R> {
    let next = AtomicUsize::new(0);
    let results = Mutex::new(BTreeMap::new());
    thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    let Some(item) = items.get(number) else { return };
                    let result = call(item);
                    results.lock().unwrap_or_else(PoisonError::into_inner).insert(number, result);
                }
            });
        }
    });
    results.into_inner().unwrap_or_else(PoisonError::into_inner).into_values().collect()
}

/// Runs the cases of one run on one JVM.
pub fn run_one(
    run: &Run,
    compiled: &Compiled,
    place: &Place,
    implementation: &Implementation,
) -> BTreeMap<String, Outcome> {
    let is_skipped = |case: &Case| {
        case.exception(&place.name, place.machine).is_some_and(|known| known.state == Excuse::Skip)
    };
    let said = if run.cases.iter().all(is_skipped) {
        Said::default()
    } else {
        let failed = |why| Said { verdicts: BTreeMap::new(), wrong_end: Some(why) };
        start(run, compiled, place, implementation).unwrap_or_else(failed)
    };
    // If every case has a verdict although the JVM ended wrongly, the wrong end fails all of them.
    let all_judged = run.cases.iter().all(|case| said.verdicts.contains_key(&case.id));
    let verdict = |case: &Case| match (said.verdicts.get(&case.id), &said.wrong_end) {
        (Some(verdict), end) if end.is_none() || !all_judged => verdict.clone(),
        (_, Some(why)) => Err(why.clone()),
        _ => Err("the agent gave no verdict".to_owned()),
    };
    let outcome = |case: &Case| match (case.exception(&place.name, place.machine), verdict(case)) {
        (Some(known), _) if known.state == Excuse::Skip => {
            Outcome { state: State::Skip, reason: known.reason.clone() }
        }
        (_, Ok(())) => Outcome { state: State::Pass, reason: String::new() },
        (None, Err(why)) => Outcome { state: State::Fail, reason: why },
        (Some(known), Err(why)) => {
            let bug = if known.bug.is_empty() { "" } else { " " };
            let reason = format!("{}{bug}{}: {why}", known.reason, known.bug);
            Outcome { state: known.state.into(), reason }
        }
    };
    run.cases.iter().map(|case| (case.id.clone(), outcome(case))).collect()
}

/// The verdicts that the agent wrote, and the way in which the JVM ended if that was wrong.
#[derive(Default)]
struct Said {
    verdicts: BTreeMap<String, Result<(), String>>,
    wrong_end: Option<String>,
}

fn start(
    run: &Run,
    compiled: &Compiled,
    place: &Place,
    implementation: &Implementation,
) -> Result<Said, String> {
    let between = implementation.between.as_ref();
    let variant = between.map_or(String::new(), |(_, removed)| format!("{removed}/"));
    let directory = compiled.runs().join(&place.name).join(variant).join(&run.name);
    let failed = |error: std::io::Error| format!("{}: {error}", directory.display());
    let _ = fs::remove_dir_all(&directory);
    fs::create_dir_all(&directory).map_err(failed)?;

    let mut java = command(run, compiled, place, implementation);
    let out = directory.join("cases");
    java.env("CONFORM_OUT", &out).current_dir(&directory).stdin(Stdio::null());
    java.stdout(File::create(directory.join("stdout")).map_err(failed)?);
    java.stderr(File::create(directory.join("stderr")).map_err(failed)?);
    fs::write(directory.join("command"), format!("{java:?}\n")).map_err(failed)?;
    let status = wait(&mut java, implementation.patience)?;

    let text = String::from_utf8_lossy(&fs::read(&out).unwrap_or_default()).into_owned();
    let wrong_end = match status {
        None => Some(format!("the JVM hung and was killed; see {}", directory.display())),
        Some(status) if status.code() == Some(run.exit) => None,
        Some(status) => Some(format!(
            "the JVM ended with {status}, expected {}: {}",
            run.exit,
            last_line(&directory)
        )),
    };
    Ok(Said { verdicts: verdicts(&text), wrong_end })
}

fn command(
    run: &Run,
    compiled: &Compiled,
    place: &Place,
    implementation: &Implementation,
) -> Command {
    let path = |path: &Path| format!("{}{}", place.root, path.display());
    let agent = path(&compiled.agent(&run.agent));
    let mut java = Command::new(&place.java);
    // These variables would change the run or its output.
    for name in ["JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS", "JVMPI_CONFIG"] {
        java.env_remove(name);
    }
    let mut specification = agent.clone();
    if let Some((library, removed)) = &implementation.between {
        specification = format!("{}:{removed},{specification}", path(library));
    }
    if let Some(options) = &run.options {
        specification = format!("{specification}:{options}");
    }
    java.env("JVMPI_OPTIONS", &run.settings)
        .args(&place.flags)
        .args(["-Xmx256m", "-XX:-CreateCoredumpOnCrash"])
        .arg(format!("-agentpath:{}={specification}", path(&implementation.library)))
        .arg(format!("-Dconform.agent={agent}"))
        .arg("-cp")
        .arg(path(&compiled.workloads()))
        .arg(&run.workload);
    java
}

/// Waits for the JVM to end. If its CPU-time timeout expires, kills it and returns `None`.
fn wait(java: &mut Command, patience: Duration) -> Result<Option<ExitStatus>, String> {
    let program = java.get_program().to_owned();
    let failed = |error: std::io::Error| format!("{}: {error}", Path::new(&program).display());
    let mut child = java.spawn().map_err(failed)?;
    let mut patience = CpuTimeout::new(patience, vec![child.id()]);
    loop {
        if let Some(status) = child.try_wait().map_err(failed)? {
            return Ok(Some(status));
        }
        if patience.left().is_zero() {
            child.kill().map_err(failed)?;
            child.wait().map_err(failed)?;
            return Ok(None);
        }
        thread::sleep(TICK);
    }
}

/// Returns the last line of the JVM's output.
fn last_line(directory: &Path) -> String {
    let texts = ["stdout", "stderr"].map(|name| {
        String::from_utf8_lossy(&fs::read(directory.join(name)).unwrap_or_default()).into_owned()
    });
    let mut lines = texts.iter().flat_map(|text| text.lines()).filter(|line| !line.is_empty());
    lines.next_back().unwrap_or("it wrote no output").to_owned()
}

/// Parses the lines `case ID pass` and `case ID fail REASON`. Once a case has failed, it stays failed.
fn verdicts(text: &str) -> BTreeMap<String, Result<(), String>> {
    let mut verdicts = BTreeMap::new();
    for line in text.lines() {
        let mut words = line.splitn(4, ' ');
        if words.next() != Some("case") {
            continue;
        }
        let Some(id) = words.next() else { continue };
        match words.next() {
            Some("pass") => drop(verdicts.entry(id.to_owned()).or_insert(Ok(()))),
            Some("fail") => {
                let reason = words.next().unwrap_or("the agent gave no reason").to_owned();
                let verdict = verdicts.entry(id.to_owned()).or_insert(Ok(()));
                if verdict.is_ok() {
                    *verdict = Err(reason);
                }
            }
            _ => {}
        }
    }
    verdicts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failed_case_stays_failed() {
        let text = "case a-1 pass\nnoise\ncase a-2 fail it is 3\ncase a-2 pass\ncase a-1 fail late\ncase a-3\n";
        let verdicts = verdicts(text);
        assert_eq!(verdicts["a-1"], Err("late".to_owned()));
        assert_eq!(verdicts["a-2"], Err("it is 3".to_owned()));
        assert!(!verdicts.contains_key("a-3"));
    }
}
