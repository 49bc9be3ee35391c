//! Checks that `docs/porting.md` shows every function and every event of JVMPI in C together with its replacement
//! in JVMTI, and that all of this code compiles.

mod common;

use jvmpi_sys::EVENTS;
use std::fmt::Write as _;
use std::fs;

const HEADER: &str = include_str!("../../../jvmpi.h");
const PAGE: &str = include_str!("../../../docs/porting.md");

/// The code listings under one heading.
#[derive(Default)]
struct Section {
    heading: &'static str,
    jvmpi: Vec<&'static str>,
    jvmti: Vec<&'static str>,
}

/// Returns the sections that have C listings.
fn sections() -> Vec<Section> {
    let mut sections = vec![Section::default()];
    // Text and listings alternate.
    for (number, part) in PAGE.split("```").enumerate() {
        if number % 2 == 0 {
            let headings = part.lines().filter(|line| line.starts_with('#'));
            sections.extend(headings.map(|heading| Section { heading, ..Section::default() }));
            continue;
        }
        let section = sections.last_mut().unwrap();
        if let Some(code) = part.strip_prefix("c jvmpi\n") {
            section.jvmpi.push(code);
        } else if let Some(code) = part.strip_prefix("c jvmti\n") {
            section.jvmti.push(code);
        } else {
            assert!(!part.starts_with("c\n"), "C listing for neither interface: {part}");
        }
    }
    sections.retain(|section| !section.jvmpi.is_empty() || !section.jvmti.is_empty());
    sections
}

#[test]
fn page_shows_every_function_and_every_event() {
    let sections = sections();
    for section in &sections {
        let Section { heading, jvmpi, jvmti } = section;
        assert!(!jvmpi.is_empty() && !jvmti.is_empty(), "{heading} lacks one of the two listings");
    }
    let shown: String = sections.iter().flat_map(|section| section.jvmpi.iter().copied()).collect();
    let shows = |name: &str| {
        let ends = |rest: &str| !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_');
        shown.match_indices(name).any(|(at, _)| ends(&shown[at + name.len()..]))
    };
    let (_, interface) = HEADER.split_once("typedef struct JVMPI_Interface {").unwrap();
    let functions = interface.lines().filter_map(|line| line.split_once("(*")?.1.split(')').next());
    let functions: Vec<_> = functions.collect();
    assert_eq!(functions.len(), 29);
    for function in functions {
        assert!(shows(&format!("jvmpi->{function}")), "{function} is not shown");
    }
    for event in EVENTS {
        assert!(shows(&format!("JVMPI_EVENT_{}", event.name())), "{} is not shown", event.name());
    }
}

/// The variables that the listings use without declaring them. Functions of agents are not declared anywhere.
const OF_JVMPI: &str = "
#include <jvmpi.h>
#include <stdlib.h>
static JVMPI_Interface *jvmpi;
static JNIEnv *env, *thread_env, **thread_envs;
static jobject object;
static jobjectID object_id, class_id;
static jmethodID method;
static JVMPI_RawMonitor heap_lock;
void notify(JVMPI_Event *), sampler(void *);
unsigned char *rewrite();
";
const OF_JVMTI: &str = "
#include <jvmti.h>
#include <stdlib.h>
#include <string.h>
static jvmtiEnv *jvmti;
static JNIEnv *env;
static jthread thread, *threads;
static jclass klass;
static jobject object;
static jmethodID method;
static jlong tag, last_used, pauses, ends;
void JNICALL thread_start(jvmtiEnv *, JNIEnv *, jthread);
void JNICALL sampler(jvmtiEnv *, JNIEnv *, void *);
jlong next_tag();
";

/// Makes one source file from the listings of a section. Functions stay as they are, other code is wrapped in
/// functions, and each callback is assigned to its member of `jvmtiEventCallbacks`.
fn program(declarations: &str, blocks: &[&str]) -> String {
    let mut program = declarations.to_owned();
    for name in ["jint line_of", "jlong tag_of"] {
        if !blocks.iter().any(|block| block.contains(&format!("{name}("))) {
            writeln!(program, "{name}();").unwrap();
        }
    }
    let is_functions = |block: &str| block.lines().any(|line| line == "{");
    let (functions, others): (Vec<&str>, Vec<_>) =
        blocks.iter().copied().partition(|block| is_functions(block));
    for (number, block) in functions.iter().chain(&others).enumerate() {
        let is_handler = block.starts_with("case ");
        match (is_functions(block), is_handler) {
            (true, _) => program += block,
            (_, true) => write!(
                program,
                "void f{number}(JVMPI_Event *e)\n{{\nswitch (e->event_type) {{\n{block}}}\n}}\n"
            )
            .unwrap(),
            _ => write!(program, "void f{number}(void)\n{{\n{block}}}\n").unwrap(),
        }
        let callbacks = block.lines().filter_map(|line| line.strip_prefix("void JNICALL "));
        for callback in callbacks.filter_map(|line| line.split('(').next()) {
            let words = callback.split('_').map(|word| match word {
                "vm" => "VM".to_owned(),
                _ => word[..1].to_uppercase() + &word[1..],
            });
            let member: String = words.collect();
            writeln!(
                program,
                "void set{number}{member}(jvmtiEventCallbacks *c) {{ c->{member} = {callback}; }}"
            )
            .unwrap();
        }
    }
    program
}

#[test]
fn listings_of_both_interfaces_compile() {
    let directory = common::scratch("porting");
    for Section { heading, jvmpi, jvmti } in sections() {
        for (name, declarations, blocks) in
            [("jvmpi.c", OF_JVMPI, jvmpi), ("jvmti.c", OF_JVMTI, jvmti)]
        {
            let Some(mut cc) = common::cc("listings_of_both_interfaces_compile") else { return };
            let file = directory.join(name);
            fs::write(&file, program(declarations, &blocks)).unwrap();
            cc.args(["-std=gnu89", "-fsyntax-only", "-Wall", "-Wextra", "-Werror", "-Wno-unused"]);
            cc.args(["-Wno-unused-parameter", "-Wno-implicit-function-declaration"]);
            common::run(cc.arg(&file)).unwrap_or_else(|error| panic!("{heading}: {error}"));
        }
    }
}
