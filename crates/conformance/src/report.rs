//! Formats the results: as a text matrix, as JUnit XML and as an HTML page.

use crate::manifest::Manifest;
use crate::results::{Outcome, Results, State};
use std::fmt::Write as _;

/// Formats one line per JVM, and one per failed case.
pub fn matrix(results: &Results) -> String {
    let width = results.jvms.keys().map(String::len).max().unwrap_or(0).max(3);
    let mut text = format!("{:width$}", "JVM");
    for state in State::ALL {
        let _ = write!(text, "  {:>5}", state.name());
    }
    text.push('\n');
    for jvm in results.jvms.keys() {
        let _ = write!(text, "{jvm:width$}");
        for state in State::ALL {
            let _ = write!(text, "  {:>5}", results.count(jvm, state));
        }
        text.push('\n');
    }
    for (jvm, id, reason) in results.failures() {
        let _ = writeln!(text, "FAILED {jvm} {id}: {reason}");
    }
    text
}

/// Formats the results as JUnit XML for build servers: one test suite per JVM, one test case per case.
pub fn junit(manifest: &Manifest, results: &Results) -> String {
    let mut xml = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n");
    for (jvm, outcomes) in &results.jvms {
        let failures = results.count(jvm, State::Fail);
        let skipped = outcomes.len() - failures - results.count(jvm, State::Pass);
        #[expect(clippy::cast_precision_loss, reason = "a time to be read by people")]
        let seconds = results.milliseconds.get(jvm).copied().unwrap_or(0) as f64 / 1000.0;
        let _ = writeln!(
            xml,
            "  <testsuite name=\"{}\" tests=\"{}\" failures=\"{failures}\" skipped=\"{skipped}\" time=\"{seconds:.3}\">",
            escaped(jvm),
            outcomes.len(),
        );
        for case in manifest.cases() {
            let Some(outcome) = outcomes.get(&case.id) else { continue };
            let head = format!(
                "    <testcase classname=\"{}\" name=\"{}: {}\"",
                escaped(jvm),
                escaped(&case.id),
                escaped(&case.rule)
            );
            let reason = escaped(&outcome.reason);
            let _ = match outcome.state {
                State::Pass => writeln!(xml, "{head}/>"),
                State::Fail => {
                    writeln!(xml, "{head}><failure message=\"{reason}\"/></testcase>")
                }
                other => writeln!(
                    xml,
                    "{head}><skipped message=\"{}: {reason}\"/></testcase>",
                    other.name()
                ),
            };
        }
        xml.push_str("  </testsuite>\n");
    }
    xml.push_str("</testsuites>\n");
    xml
}

/// The style sheet of the page.
const STYLE: &str = "\
body { font: 15px/1.4 sans-serif; margin: 2em; color: #222 }
table { border-collapse: collapse }
th, td { padding: .2em .6em; border: 1px solid #ccc; text-align: left; vertical-align: top }
thead th { position: sticky; top: 0; background: #fff }
.pass { background: #dff3df } .fail { background: #f6b8b0 } .todo { background: #fdf0c4 }
.bug { background: #f3dcf0 } .skip { background: #eee }";

/// Formats a page with every case on every JVM. The reason of a result is the tooltip of its cell.
pub fn page(manifest: &Manifest, results: &Results) -> String {
    let mut html = format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n\
         <title>JVMPI conformance</title>\n<style>\n{STYLE}\n</style>\n<h1>JVMPI conformance</h1>\n"
    );
    html.push_str("<table>\n<thead><tr><th>case<th>section<th>rule");
    for jvm in results.jvms.keys() {
        let _ = write!(html, "<th>{}", escaped(jvm));
    }
    html.push_str("\n<tbody>\n");
    for (case, outcomes) in results.table(manifest) {
        let _ = write!(
            html,
            "<tr><td id=\"{0}\">{0}<td>{1}<td>{2}",
            escaped(&case.id),
            escaped(&case.section),
            escaped(&case.rule)
        );
        for outcome in outcomes {
            html.push_str(&cell(outcome));
        }
        html.push('\n');
    }
    html.push_str("<tfoot><tr><th colspan=\"3\">passed");
    for jvm in results.jvms.keys() {
        let all = results.jvms[jvm].len() - results.count(jvm, State::Skip);
        let _ = write!(html, "<th>{} of {all}", results.count(jvm, State::Pass));
    }
    html.push_str("\n</table>\n</html>\n");
    html
}

fn cell(outcome: Option<&Outcome>) -> String {
    match outcome {
        None => "<td>".into(),
        Some(Outcome { state, reason }) => {
            let name = state.name();
            format!("<td class=\"{name}\" title=\"{}\">{name}", escaped(reason))
        }
    }
}

/// Escapes text for XML and HTML, including attribute values.
fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            // XML has no representation for control characters.
            c if c.is_control() && c != '\t' => safe.push('\u{fffd}'),
            c => safe.push(c),
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    /// Returns results of the first three cases on two JVMs, with one failure each.
    fn example() -> (Manifest, Results) {
        let manifest = Manifest::of_the_suite();
        let mut results = Results::default();
        let states = [State::Pass, State::Fail, State::Bug];
        for jvm in ["11/g1", "17/zgc"] {
            let cases = manifest.cases().zip(states).map(|(case, state)| {
                let reason = if state == State::Pass { "" } else { "1 < 2 & \"x\"" };
                (case.id.clone(), Outcome { state, reason: reason.into() })
            });
            results.jvms.insert(jvm.into(), cases.collect::<BTreeMap<_, _>>());
        }
        (manifest, results)
    }

    #[test]
    fn matrix_counts_states_and_names_failures() {
        let (manifest, results) = example();
        let text = matrix(&results);
        let lines: Vec<_> = text.lines().collect();
        assert_eq!(lines[0], "JVM      pass   fail   todo    bug   skip");
        assert_eq!(lines[1], "11/g1       1      1      0      1      0");
        let second = &manifest.cases().nth(1).unwrap().id;
        assert_eq!(lines[3], format!("FAILED 11/g1 {second}: 1 < 2 & \"x\""));
    }

    #[test]
    fn special_characters_are_escaped_in_xml() {
        let (manifest, results) = example();
        let xml = junit(&manifest, &results);
        assert_eq!(xml.matches("<testcase ").count(), 6);
        let failure = "<failure message=\"1 &lt; 2 &amp; &quot;x&quot;\"/>";
        assert_eq!(xml.matches(failure).count(), 2, "{xml}");
        assert_eq!(xml.matches("failures=\"1\" skipped=\"1\"").count(), 2);
        assert_eq!(escaped("a\u{1}b"), "a\u{fffd}b");
    }

    #[test]
    fn page_has_a_cell_for_each_case_and_jvm() {
        let (manifest, results) = example();
        let html = page(&manifest, &results);
        assert_eq!(html.matches("<tr><td id=").count(), manifest.cases().count());
        for (class, count) in [("pass", 2), ("fail", 2), ("bug", 2)] {
            assert_eq!(html.matches(&format!("<td class=\"{class}\"")).count(), count, "{class}");
        }
        assert_eq!(html.matches("<th>1 of 3").count(), 2);
    }
}
