//! Checks that `docs/reference/events.md` has exactly one row for every event and every member of the table, and that it
//! agrees with the list of events and with `jvmpi.h`.

use jvmpi_sys::{EVENTS, Mode};

const HEADER: &str = include_str!("../../../jvmpi.h");
const MAPPING: &str = include_str!("../../../docs/reference/events.md");

/// Returns the rows whose first cell begins with a name in backquotes, as the name and the rest of the row.
fn rows() -> Vec<(&'static str, &'static str)> {
    MAPPING.lines().filter_map(|line| line.strip_prefix("| `")?.split_once('`')).collect()
}

/// Returns the members of `JVMPI_Interface`.
fn members() -> Vec<&'static str> {
    let start = HEADER.find("typedef struct JVMPI_Interface {").unwrap();
    let end = HEADER.find("} JVMPI_Interface;").unwrap();
    HEADER[start..end].lines().filter_map(member).collect()
}

/// Returns the name of the member that a line declares: `version`, or a function.
fn member(line: &str) -> Option<&str> {
    match line.split_once("(*") {
        Some((_, function)) => function.split(')').next(),
        None => line.trim().starts_with("jint version;").then_some("version"),
    }
}

#[test]
fn every_event_has_one_row_with_its_number_and_sources() {
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

/// Normalizes the name of a JVMTI event, which is `ClassLoad` in the specification and `CLASS_LOAD` in the header.
fn plain(text: &str) -> String {
    text.replace('_', "").to_lowercase()
}

#[test]
fn header_and_event_list_agree() {
    let defined = HEADER.lines().filter_map(|line| line.strip_prefix("#define JVMPI_EVENT_"));
    let mut events = EVENTS.iter();
    for definition in defined {
        // An older name of an event has no number.
        let Some((definition, about)) = definition.split_once(" /* ") else { continue };
        let event = events.next().unwrap_or_else(|| panic!("more events than in the list"));
        let words: Vec<&str> = definition.split_whitespace().collect();
        assert_eq!(words, [event.name(), &event.number.to_string()]);
        let about: Vec<&str> = about.trim_end_matches(" */").split("; ").collect();
        assert_eq!(about[0], event.arm.unwrap_or("-"), "the union member of {}", event.name());
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
fn every_row_describes_a_member_or_an_event() {
    let members = members();
    let arenas = ["single", "generational", "copying"];
    for (name, _) in rows() {
        let known = EVENTS.iter().any(|event| event.name() == name)
            || members.contains(&name)
            || arenas.contains(&name);
        assert!(known, "a row for `{name}`, which is neither a member nor an event");
    }
}
