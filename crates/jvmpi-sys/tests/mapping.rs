//! `docs/mapping.md` has exactly one row for every event and every member of the table, and says the
//! same of them as the list of events and `jvmpi.h`.

use jvmpi_sys::{EVENTS, Mode};

const HEADER: &str = include_str!("../../../jvmpi.h");
const MAPPING: &str = include_str!("../../../docs/mapping.md");

/// The rows whose first cell begins with a name in backquotes, as the name and what follows it.
fn rows() -> Vec<(&'static str, &'static str)> {
    MAPPING.lines().filter_map(|line| line.strip_prefix("| `")?.split_once('`')).collect()
}

/// The members of `JVMPI_Interface`.
fn members() -> Vec<&'static str> {
    let start = HEADER.find("typedef struct JVMPI_Interface {").unwrap();
    let end = HEADER.find("} JVMPI_Interface;").unwrap();
    HEADER[start..end].lines().filter_map(member).collect()
}

/// The name of the member that the line declares: `version`, or one that is a function.
fn member(line: &str) -> Option<&str> {
    match line.split_once("(*") {
        Some((_, function)) => function.split(')').next(),
        None => line.trim().starts_with("jint version;").then_some("version"),
    }
}

#[test]
fn every_event_has_one_row_with_its_number_and_what_it_is_made_from() {
    let rows = rows();
    for event in EVENTS {
        let name = event.name();
        let found: Vec<_> = rows.iter().filter(|(row, _)| *row == name).collect();
        assert_eq!(found.len(), 1, "rows of {name}");
        let (number, row) = found[0].1.split_once(" |").unwrap();
        assert_eq!(number, format!(" ({})", event.number), "the number of {name}");
        let source = plain(row.split('|').next().unwrap());
        for jvmti in event.jvmti {
            let named = plain(jvmti.trim_start_matches("JVMTI_EVENT_"));
            assert!(source.contains(&named), "the source of {name} lacks {jvmti}");
        }
    }
}

/// JVMTI's events have other names in its specification than in its header: `ClassLoad`.
fn plain(text: &str) -> String {
    text.replace('_', "").to_lowercase()
}

#[test]
fn the_header_says_the_same_of_each_event() {
    let defined = HEADER.lines().filter_map(|line| line.strip_prefix("#define JVMPI_EVENT_"));
    let mut events = EVENTS.iter();
    for definition in defined {
        // An older name of another event has no number of its own.
        let Some((definition, about)) = definition.split_once(" /* ") else { continue };
        let event = events.next().unwrap_or_else(|| panic!("more events than in the list"));
        let words: Vec<&str> = definition.split_whitespace().collect();
        assert_eq!(words, [event.name(), &event.number.to_string()]);
        let about: Vec<&str> = about.trim_end_matches(" */").split("; ").collect();
        assert_eq!(about[0], event.arm.unwrap_or("-"), "the arm of {}", event.name());
        let mode = match event.mode {
            Mode::MT => "MT",
            Mode::GC_OFF => "GC-off",
            Mode::STOPPED => "stopped",
        };
        assert_eq!(about[1].split(", ").next(), Some(mode), "the mode of {}", event.name());
        let only_requested = about.contains(&"only requested");
        assert_eq!(only_requested, event.requested && !event.enabled, "{}", event.name());
    }
    assert_eq!(events.next(), None, "in the list, but not in jvmpi.h");
}

#[test]
fn every_member_of_the_table_has_one_row() {
    let (members, rows) = (members(), rows());
    assert_eq!(members.len(), 30, "members in jvmpi.h: {members:?}");
    for member in members {
        let found = rows.iter().filter(|(name, _)| *name == member).count();
        assert_eq!(found, 1, "rows of {member}");
    }
}

#[test]
fn no_row_is_about_anything_else() {
    let members = members();
    let arenas = ["single", "generational", "copying"];
    for (name, _) in rows() {
        let known = EVENTS.iter().any(|event| event.name() == name)
            || members.contains(&name)
            || arenas.contains(&name);
        assert!(known, "a row about `{name}`");
    }
}
