//! `docs/mapping.md` has exactly one row for every event and every member of the table.

const HEADER: &str = include_str!("../../../jvmpi.h");
const MAPPING: &str = include_str!("../../../docs/mapping.md");

/// The rows whose first cell begins with a name in backquotes, as the name and what follows it.
fn rows() -> Vec<(&'static str, &'static str)> {
    MAPPING.lines().filter_map(|line| line.strip_prefix("| `")?.split_once('`')).collect()
}

/// Names and numbers of all events; older names of the same events have no number of their own.
fn events() -> Vec<(&'static str, i32)> {
    let defined = HEADER.lines().filter_map(|line| line.strip_prefix("#define JVMPI_EVENT_"));
    let event = |definition: &'static str| {
        let mut words = definition.split_whitespace();
        Some((words.next()?, words.next()?.parse().ok()?))
    };
    defined.filter_map(event).collect()
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
fn every_event_has_one_row_with_its_number() {
    let (events, rows) = (events(), rows());
    assert_eq!(events.len(), 37, "events in jvmpi.h: {events:?}");
    for (event, number) in events {
        let found: Vec<_> = rows.iter().filter(|(name, _)| *name == event).collect();
        assert_eq!(found.len(), 1, "rows of {event}");
        assert!(found[0].1.starts_with(&format!(" ({number}) |")), "the number of {event}");
    }
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
    let (events, members) = (events(), members());
    let arenas = ["single", "generational", "copying"];
    for (name, _) in rows() {
        let known = events.iter().any(|(event, _)| *event == name)
            || members.contains(&name)
            || arenas.contains(&name);
        assert!(known, "a row about `{name}`");
    }
}
