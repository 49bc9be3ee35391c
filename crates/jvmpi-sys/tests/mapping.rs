//! Checks that the mapping table has one section for every event (`docs/reference/events.md`) and one row for every
//! member of `JVMPI_Interface` (`docs/reference/functions.md`), and that both agree with `EVENTS` and with `jvmpi.h`.

use jvmpi_sys::{EVENTS, Mode};

const HEADER: &str = include_str!("../../../jvmpi.h");
const SECTIONS: &str = include_str!("../../../docs/reference/events.md");
const FUNCTIONS: &str = include_str!("../../../docs/reference/functions.md");

/// The rows of an event's table, in order.
const ROWS: [&str; 5] = ["Fields", "Source", "Thread", "Timing", "Differences"];

/// Returns each event's heading, as in "`THREAD_END` (34)", with the rows of its table as name and text.
fn sections() -> Vec<(&'static str, Vec<(&'static str, &'static str)>)> {
    let sections = SECTIONS.split("\n### ").skip(1);
    let sections = sections.map(|section| section.split("\n## ").next().unwrap());
    sections
        .map(|section| {
            let (heading, table) = section.split_once('\n').unwrap();
            let rows = table.lines().filter_map(|line| line.strip_prefix("| ")?.split_once(" | "));
            (heading, rows.map(|(name, text)| (name, text.trim_end_matches(" |"))).collect())
        })
        .collect()
}

/// Returns the functions that have a row.
fn functions() -> Vec<&'static str> {
    let rows = FUNCTIONS.lines().filter_map(|line| line.strip_prefix("| `"));
    rows.filter_map(|row| row.split('`').next()).collect()
}

/// Returns the fields of a union member, those of structures inside it included.
fn fields(arm: &str) -> Vec<&'static str> {
    let end = HEADER.find(&format!("        }} {arm};")).unwrap_or_else(|| panic!("no {arm}"));
    let start = HEADER[..end].rfind("\n        struct {").unwrap();
    let lines =
        HEADER[start..end].lines().filter(|line| !line.trim_start().starts_with(['*', '/']));
    let declarations = lines.filter_map(|line| line.split_once(';'));
    let names = declarations.filter_map(|(declaration, _)| match declaration.split_once("(*") {
        Some((_, function)) => function.split(')').next(),
        None => declaration.rsplit([' ', '*']).next(),
    });
    names.collect()
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
fn every_event_has_one_section_with_its_number_fields_and_sources() {
    let sections = sections();
    assert_eq!(sections.len(), EVENTS.len());
    for event in EVENTS {
        let heading = format!("`{}` ({})", event.name(), event.number);
        let found: Vec<_> = sections.iter().filter(|(found, _)| *found == heading).collect();
        assert_eq!(found.len(), 1, "sections of {heading}");
        let rows = &found[0].1;
        assert_eq!(rows.iter().map(|(name, _)| *name).collect::<Vec<_>>(), ROWS, "{heading}");
        match event.arm {
            Some(arm) => {
                assert!(rows[0].1.starts_with(&format!("`{arm}`: `")), "member of {heading}");
            }
            None => assert!(rows[0].1.starts_with("none"), "member of {heading}"),
        }
        for field in event.arm.into_iter().flat_map(fields) {
            let is_inner = matches!(field, "is_true" | "key" | "low" | "hi" | "chosen_pair_index");
            let is_named = rows[0].1.contains(&format!("`{field}`"));
            assert!(is_inner || field == "pairs_total" || is_named, "{heading} lacks {field}");
        }
        let source = plain(rows[1].1);
        for jvmti in event.jvmti {
            let named = plain(jvmti.trim_start_matches("JVMTI_EVENT_"));
            assert!(source.contains(&named), "the source of {heading} lacks {jvmti}");
        }
    }
}

#[test]
fn differences_are_at_most_five_sentences() {
    for (heading, rows) in sections() {
        let sentences = rows[4].1.matches(". ").count() + 1;
        assert!(sentences <= 5, "{heading} has {sentences} sentences");
    }
}

#[test]
fn mapping_table_has_at_most_500_lines() {
    assert!(SECTIONS.lines().count() + FUNCTIONS.lines().count() <= 500);
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
fn every_member_of_the_table_and_its_extension_has_one_row() {
    const EXTENSION: [&str; 3] = ["StartCpuSamples", "StopCpuSamples", "NextCpuSample"];
    let (mut members, functions) = (members(), functions());
    assert_eq!(members.len(), 30, "members in jvmpi.h: {members:?}");
    members.extend(EXTENSION);
    for member in &members {
        let found = functions.iter().filter(|name| *name == member).count();
        assert_eq!(found, 1, "rows of {member}");
    }
    assert_eq!(functions.len(), members.len(), "a row for something else");
}
