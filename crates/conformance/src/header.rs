//! Lists the items to be proved: the functions, events, fields and constants that `jvmpi.h` declares.

use std::collections::BTreeSet;

/// The kind of an item in the header.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// A member of `JVMPI_Interface`.
    Function,
    /// An event type.
    Event,
    /// A field of an event or of a structure that an event points to.
    Field,
    /// Any other constant.
    Constant,
}

impl Kind {
    /// All kinds.
    pub const ALL: [Self; 4] = [Self::Function, Self::Event, Self::Field, Self::Constant];

    /// Returns the plural, as a heading.
    pub fn title(self) -> &'static str {
        match self {
            Self::Function => "Functions",
            Self::Event => "Events",
            Self::Field => "Fields",
            Self::Constant => "Constants",
        }
    }
}

/// The constants in `jvmpi.h` that have no meaning of their own to be proved: the include guard, and a limit.
const NOT_OF_THE_SPECIFICATION: [&str; 2] = ["JVMPI_H", "JVMPI_MAX_EVENT_TYPE_VAL"];

/// The beginning of the constants of the extension for CPU samples, which only libjvmpi.so has.
const CPU_SAMPLES: &str = "JVMPI_CPU_SAMPL";

const HEADER: &str = include_str!("../suite/jvmpi.h");

/// Returns all items of the header in their order: functions and events by name, fields with a path such as
/// `class_load.class_name`, and constants.
pub fn items() -> Vec<(Kind, String)> {
    let (events, constants) = defines();
    let functions = members("JVMPI_Interface").into_iter().map(|name| (Kind::Function, name));
    let events = events.into_iter().map(|name| (Kind::Event, name));
    let constants = constants.into_iter().map(|name| (Kind::Constant, name));
    functions.chain(events).chain(fields()).chain(constants).collect()
}

/// Returns the names of the events, without older names of the same event, and of all other constants.
fn defines() -> (Vec<String>, Vec<String>) {
    let (mut events, mut constants) = (Vec::new(), Vec::new());
    for line in HEADER.lines().filter_map(|line| line.strip_prefix("#define ")) {
        let (name, value) = line.split_once(' ').unwrap_or((line, ""));
        let is_alias = value.trim_start().starts_with("JVMPI_");
        if is_alias || NOT_OF_THE_SPECIFICATION.contains(&name) || name.starts_with(CPU_SAMPLES) {
            continue;
        }
        match name.strip_prefix("JVMPI_EVENT_") {
            Some(event) => events.push(event.to_owned()),
            None => constants.push(name.to_owned()),
        }
    }
    (events, constants)
}

fn fields() -> Vec<(Kind, String)> {
    const PLAIN: [&str; 6] = [
        "JVMPI_CallFrame",
        "JVMPI_CallTrace",
        "JVMPI_Method",
        "JVMPI_Field",
        "JVMPI_Lineno",
        "JVMPI_HeapDumpArg",
    ];
    let plain = PLAIN
        .iter()
        .flat_map(|of| members(of).into_iter().map(move |member| format!("{of}.{member}")));
    let of_events = members("JVMPI_Event").into_iter().map(|member| {
        let arm = member.strip_prefix("u.").map(str::to_owned);
        arm.unwrap_or_else(|| format!("JVMPI_Event.{member}"))
    });
    let mut seen = BTreeSet::new();
    let fields = plain.chain(of_events).filter(|name| seen.insert(name.clone()));
    fields.map(|name| (Kind::Field, name)).collect()
}

/// Returns the members of a struct. Members of nested structs and unions are paths.
fn members(of: &str) -> Vec<String> {
    let start = format!("typedef struct {of} {{");
    let end = format!("}} {of};");
    let body = HEADER.split_once(&start).and_then(|(_, rest)| rest.split_once(&end));
    let body = without_comments(body.map_or("", |(body, _)| body));
    let lines = body.lines().filter(|line| !line.trim_start().starts_with('#'));
    let body: String = lines.collect::<Vec<_>>().join(" ");
    let mut levels: Vec<Vec<String>> = vec![Vec::new()];
    for statement in body.split_inclusive(['{', '}', ';']) {
        let (text, end) = statement.split_at(statement.len() - 1);
        match end {
            "{" => levels.push(Vec::new()),
            "}" => {}
            ";" if !text.trim().is_empty() => {
                let name = name_of(text);
                // A statement that closes a struct consists of a name alone.
                let closed = if text.trim() == name { levels.pop() } else { None };
                let own = levels.last_mut().expect("braces are balanced");
                match closed {
                    Some(inner) => {
                        own.extend(inner.into_iter().map(|member| format!("{name}.{member}")));
                    }
                    None => own.push(name.to_owned()),
                }
            }
            _ => {}
        }
    }
    levels.pop().unwrap_or_default()
}

/// Returns the declared name: that of a function pointer, or the last word.
fn name_of(declaration: &str) -> &str {
    let function = declaration.split_once("(*").and_then(|(_, rest)| rest.split(')').next());
    let last = declaration.rsplit([' ', '*']).find(|word| !word.is_empty());
    function.or(last).unwrap_or_default()
}

fn without_comments(text: &str) -> String {
    let mut parts = text.split("/*");
    let mut plain = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        plain.push_str(part.split_once("*/").map_or("", |(_, rest)| rest));
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_of_every_kind_are_found() {
        let items = items();
        let of = |kind| items.iter().filter(move |(k, _)| *k == kind).map(|(_, name)| &**name);
        assert_eq!(of(Kind::Function).count(), 30);
        assert_eq!(of(Kind::Event).count(), 37);
        let fields: Vec<_> = of(Kind::Field).collect();
        for field in [
            "JVMPI_CallFrame.lineno",
            "JVMPI_Event.env_id",
            "class_load.instances",
            "class_load_hook.malloc_f",
            "instruction.u.lookupswitch_info.pairs_total",
            "object_dump.data",
        ] {
            assert!(fields.contains(&field), "{field} is not in {fields:?}");
        }
        let constants: Vec<_> = of(Kind::Constant).collect();
        assert!(constants.contains(&"JVMPI_GC_ROOT_UNKNOWN"));
        assert!(!constants.contains(&"JVMPI_EVENT_OBJ_ALLOC"));
        assert!(!constants.contains(&"JVMPI_CPU_SAMPLING_1"));
    }
}
