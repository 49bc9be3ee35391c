//! Checks that `docs/howto/port-to-jvmti.md` has a table row for every function and every event of JVMPI, and that its
//! C listings are those of `examples/jvmti`, which other tests run.

use jvmpi_sys::EVENTS;

const HEADER: &str = include_str!("../../../jvmpi.h");
const PAGE: &str = include_str!("../../../docs/howto/port-to-jvmti.md");

const MOVED: &str = include_str!("../../../examples/jvmti/moved.c");
const METHODS: &str = include_str!("../../../examples/jvmti/methods.c");

/// Returns the first cells of the table rows under a heading.
fn first_cells(heading: &str) -> Vec<&'static str> {
    let (_, section) = PAGE.split_once(heading).unwrap();
    let section = section.split("\n## ").next().unwrap();
    let rows = section.lines().filter_map(|line| line.strip_prefix("| ")?.split(" |").next());
    rows.skip(1).collect()
}

/// Asserts that exactly one row names this function or event.
fn assert_one_row(cells: &[&str], name: &str) {
    let names = |cell: &str| cell.split(", ").any(|part| part.trim_matches('`') == name);
    assert_eq!(cells.iter().filter(|cell| names(cell)).count(), 1, "rows of {name}");
}

#[test]
fn every_function_and_every_event_has_one_row() {
    let functions = first_cells("\n## Functions\n");
    let (_, interface) = HEADER.split_once("typedef struct JVMPI_Interface {").unwrap();
    let (interface, _) = interface.split_once("} JVMPI_Interface;").unwrap();
    let members = interface.lines().filter_map(|line| line.split_once("(*")?.1.split(')').next());
    // The agent sets this one.
    let members: Vec<_> = members.filter(|member| *member != "NotifyEvent").collect();
    assert_eq!(members.len(), 28);
    for member in members {
        assert_one_row(&functions, member);
    }
    let events = first_cells("\n## Events\n");
    for event in EVENTS {
        assert_one_row(&events, event.name());
    }
}

#[test]
fn listings_are_those_of_the_examples() {
    let mut listings = 0;
    for block in PAGE.split("```").skip(1).step_by(2) {
        let Some((info, code)) = block.split_once('\n') else { continue };
        let example = match info {
            "c moved" => MOVED,
            "c methods" => METHODS,
            other => {
                assert!(!other.starts_with('c'), "C listing of no example: {code}");
                continue;
            }
        };
        assert!(example.contains(code), "{code}");
        listings += 1;
    }
    assert_eq!(listings, 11);
}
