//! Compiles `jvmpi.h` without warnings in every dialect that its users write, for 64 and for 32 bits, and the agents of
//! the tutorial.

mod common;

use std::fs;
use std::process::Command;

/// A C and C++ source file that uses every kind of declaration in the header.
const SOURCE: &str = r#"
#include "jvmpi.h"
#include "jvmpi.h"

extern char is_as_wide_as_said[sizeof(jobjectID) == WIDTH ? 1 : -1];

static JVMPI_Interface *jvmpi;

/* Functions in variables of the types that the specification gives them. */
static JVMPI_RawMonitor (*create)(char *);
static jint (*start)(char *, jint, void (*)(void *));

static void notify(JVMPI_Event *event)
{
    switch (event->event_type) {
    case JVMPI_EVENT_CLASS_LOAD:
    case JVMPI_EVENT_CLASS_LOAD | JVMPI_REQUESTED_EVENT: {
        char *name = event->u.class_load.class_name;
        jvmpi->RawMonitorDestroy(jvmpi->RawMonitorCreate(name));
        break;
    }
    case JVMPI_EVENT_CLASS_LOAD_HOOK:
        event->u.class_load_hook.new_class_data =
            (unsigned char *)event->u.class_load_hook.malloc_f(1);
        break;
    case JVMPI_EVENT_INSTRUCTION_START:
        if (event->u.instruction.u.lookupswitch_info.pairs_total)
            jvmpi->ProfilerExit(1);
        break;
    }
}

extern "C" JNIEXPORT jint JNICALL JVM_OnLoad(JavaVM *vm, char *options, void *reserved)
{
    (void)options;
    (void)reserved;
    if (jvmpi_get_interface(vm, JVMPI_VERSION_1, &jvmpi) != JNI_OK)
        return JNI_ERR;
    jvmpi->NotifyEvent = notify;
    create = jvmpi->RawMonitorCreate;
    start = jvmpi->CreateSystemThread;
    create((char *)"_a literal");
    start((char *)"a literal", JVMPI_NORMAL_PRIORITY, 0);
    return jvmpi->EnableEvent(JVMPI_EVENT_CLASS_LOAD, 0) == JVMPI_SUCCESS ? JNI_OK : JNI_ERR;
}
"#;

fn compile(test: &str, language: &str, standard: &str) {
    let Some(here) = common::cc_of(test, language) else { return };
    let source = common::scratch(test).join("agent");
    let text = if language == "c" { &SOURCE.replace(r#"extern "C" "#, "") } else { SOURCE };
    fs::write(&source, text).unwrap();
    let narrow = common::cc_32(test, language).map(|cc| (cc, 4));
    for (mut cc, width) in [(here, size_of::<usize>())].into_iter().chain(narrow) {
        cc.args(["-fsyntax-only", "-Wall", "-Wextra", "-pedantic", "-Werror"]);
        cc.arg(format!("-DWIDTH={width}"));
        cc.args([format!("-std={standard}"), format!("-x{language}")]).arg(&source);
        compiles(&mut cc);
    }
}

fn compiles(cc: &mut Command) {
    common::run(cc).unwrap_or_else(|error| panic!("{error}"));
}

#[test]
fn c89() {
    compile("c89", "c", "c89");
}

#[test]
fn c99() {
    compile("c99", "c", "c99");
}

#[test]
fn c11() {
    compile("c11", "c", "c11");
}

#[test]
fn cpp98() {
    compile("cpp98", "c++", "c++98");
}

#[test]
fn cpp20() {
    compile("cpp20", "c++", "c++20");
}

#[test]
fn agents_of_the_tutorial_compile() {
    const EXAMPLES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/agent");
    let standards = ["c89", "c99"];
    for (agent, standard) in ["count.c", "sampler.c"].iter().flat_map(|a| standards.map(|s| (a, s)))
    {
        let Some(mut cc) = common::cc("agents_of_the_tutorial_compile") else { return };
        cc.args(["-fsyntax-only", "-Wall", "-Wextra", "-pedantic", "-Werror"]);
        compiles(cc.arg(format!("-std={standard}")).arg(format!("{EXAMPLES}/{agent}")));
    }
}
