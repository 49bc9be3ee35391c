//! The manifest is consistent and names what there is, and `docs/reference/conformance.md` names its exceptions.

use jvmpi_conformance::document;
use jvmpi_conformance::header;
use jvmpi_conformance::manifest::{Excuse, Manifest};
use jvmpi_conformance::results::State;
use jvmpi_conformance::tried::Tried;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).to_owned()
}

#[test]
fn no_id_is_given_twice() {
    let manifest = Manifest::of_the_suite();
    let mut ids = BTreeSet::new();
    for case in manifest.cases() {
        assert!(ids.insert(&case.id), "{} is there twice", case.id);
    }
    let runs: BTreeSet<_> = manifest.runs.iter().map(|run| &run.name).collect();
    assert_eq!(runs.len(), manifest.runs.len(), "two runs have one name");
}

/// The source of each run's agent names all cases of the run, so no case is only in the manifest.
#[test]
fn every_run_has_its_agent_and_its_program() {
    for run in Manifest::of_the_suite().runs {
        let agent = root().join("suite/agents").join(&run.agent).with_extension("c");
        let text =
            fs::read_to_string(&agent).unwrap_or_else(|e| panic!("{}: {e}", agent.display()));
        for case in &run.cases {
            assert!(
                text.contains(&format!("\"{}\"", case.id)),
                "{} is not in {}.c",
                case.id,
                run.agent
            );
            assert!(case.rule.ends_with('.') && !case.rule.contains('|'), "{}", case.id);
        }
        let program = root().join("suite/workloads").join(&run.workload).with_extension("java");
        assert!(program.is_file(), "{}", program.display());
    }
}

#[test]
fn items_of_cases_are_in_the_header() {
    let items: BTreeSet<_> = header::items().into_iter().map(|(_, name)| name).collect();
    for case in Manifest::of_the_suite().cases() {
        for about in &case.about {
            assert!(
                items.contains(about),
                "{} is about {about}, which jvmpi.h does not have",
                case.id
            );
        }
    }
}

/// Every item of the header has a case, or a reason in `NOT_PROVED`.
#[test]
fn all_that_the_header_has_is_proved() {
    let manifest = Manifest::of_the_suite();
    for (_, name) in header::items() {
        let is_proved = manifest.cases().any(|case| case.about.contains(&name));
        let is_excused = document::NOT_PROVED.iter().any(|(item, _)| *item == name);
        assert!(is_proved != is_excused, "{name}: no case is about it, or one is that cannot be");
    }
}

#[test]
fn exceptions_name_jvms_and_reasons() {
    for case in Manifest::of_the_suite().cases() {
        for exception in &case.except {
            let known = |part: &str| {
                if ["all", "windows"].contains(&part) {
                    return true;
                }
                let versions = ["11", "17", "17-zero", "21", "25"];
                let collectors = ["g1", "serial", "parallel", "zgc", "shenandoah"];
                let or_newer = part.strip_suffix('+').unwrap_or(part);
                versions.contains(&or_newer) || collectors.contains(&part)
            };
            assert!(exception.on.split('/').all(known), "{}: {}", case.id, exception.on);
            assert!(!exception.reason.is_empty(), "{}", case.id);
        }
    }
}

#[test]
fn page_names_the_states_of_all_known_exceptions() {
    let page = fs::read_to_string(root().join("../../docs/reference/conformance.md")).unwrap();
    let (_, exceptions) = page.split_once("\n## What does not pass\n").unwrap();
    let manifest = Manifest::of_the_suite();
    for case in manifest.cases() {
        for exception in case.except.iter().filter(|exception| exception.state != Excuse::Skip) {
            let state = State::from(exception.state).name();
            let lines =
                exceptions.lines().filter(|line| line.starts_with(&format!("- **{state}**")));
            assert_eq!(lines.filter(|line| line.contains(&case.id)).count(), 1, "{}", case.id);
        }
    }
}

#[test]
fn page_of_supported_jvms_is_made_from_the_record() {
    let path = root().join("../../docs/reference/supported-jvms.md");
    let page = fs::read_to_string(&path).unwrap_or_default();
    let tried = Tried::of_the_suite();
    assert!(page == tried.page(), "run cargo xtask conformance --document");
    for feature in [11, 17, 21, 25] {
        assert!(tried.supports(feature), "JDK {feature}: run cargo xtask conformance --record");
    }
}
