//! Compares the definitions in Rust with those of `jvmpi.h`, and both with the numbers of the binary interface.

mod common;

use std::collections::BTreeSet;
use std::fs;
use std::mem::{align_of, offset_of};
use std::process::Command;

use jvmpi_sys::*;

/// A number on which C and Rust must agree.
struct Fact {
    c: String,
    rust: i64,
    /// The number that the binary interface fixes, for 64-bit and 32-bit pointers (on x86), if it does.
    abi: Option<[i64; 2]>,
}

/// Generates `facts()` and `names()` from one list: all constants but those of [`EVENTS`], then all structs with their
/// size and the offset of each member, for 64-bit | 32-bit pointers. A structure or union inside another is listed by
/// its members, of which the first has its offset.
macro_rules! layout {
    (
        $($constant:ident)*;
        $($ty:ident: $size:literal | $size32:literal {
            $($($member:ident).+: $offset:literal | $offset32:literal,)*
        })*
    ) => {
        fn facts() -> Vec<Fact> {
            let mut facts = Vec::new();
            let mut fact = |c: String, rust, abi| facts.push(Fact { c, rust, abi });
            $(fact(stringify!($constant).into(), i64::from($constant), None);)*
            EVENTS.iter().for_each(|event| fact(event.constant.into(), event.number.into(), None));
            $(
                let ty = stringify!($ty);
                fact(format!("sizeof({ty})"), size_of::<$ty>() as i64, Some([$size, $size32]));
                fact(format!("__alignof__({ty})"), align_of::<$ty>() as i64, None);
                $(
                    let member = path(&[$(stringify!($member)),+]);
                    let offset = offset_of!($ty, $($member).+) as i64;
                    fact(format!("offsetof({ty}, {member})"), offset, Some([$offset, $offset32]));
                    let size = size_of_pointee(|p: *const $ty| {
                    // SAFETY: never called; only its type is used.
                        unsafe { &raw const (*p).$($member).+ }
                    });
                    fact(format!("sizeof((({ty} *)0)->{member})"), size as i64, None);
                )*
            )*
            facts
        }

        fn names() -> BTreeSet<String> {
            let constants = [$(stringify!($constant)),*].map(String::from);
            let members: [&[&str]; _] = [$($(&[stringify!($ty), $(stringify!($member)),+]),*),*];
            let with_outer = |parts: &[&str]| (2..=parts.len()).map(|n| path(&parts[..n])).collect::<Vec<_>>();
            let events = EVENTS.iter().map(|event| event.constant.to_owned());
            constants.into_iter().chain(events).chain(members.into_iter().flat_map(with_outer)).collect()
        }
    };
}

fn path(parts: &[&str]) -> String {
    parts.join(".")
}

fn size_of_pointee<T, F>(_: impl Fn(*const T) -> *const F) -> usize {
    size_of::<F>()
}

layout! {
    JVMPI_VERSION_1
    JVMPI_VERSION_1_1
    JVMPI_VERSION_1_2
    JVMPI_CPU_SAMPLING_1
    JVMPI_SUCCESS
    JVMPI_NOT_AVAILABLE
    JVMPI_FAIL
    JVMPI_MAX_EVENT_TYPE_VAL
    JVMPI_REQUESTED_EVENT
    JVMPI_EVENT_OBJ_ALLOC
    JVMPI_EVENT_OBJ_FREE
    JVMPI_EVENT_OBJ_MOVE
    JVMPI_EVENT_LOAD_COMPILED_METHOD
    JVMPI_EVENT_UNLOAD_COMPILED_METHOD
    JVMPI_EVENT_DUMP_DATA_REQUEST
    JVMPI_EVENT_RESET_DATA_REQUEST
    JVMPI_EVENT_NEW_ARENA
    JVMPI_EVENT_DELETE_ARENA
    JVMPI_THREAD_RUNNABLE
    JVMPI_THREAD_MONITOR_WAIT
    JVMPI_THREAD_CONDVAR_WAIT
    JVMPI_THREAD_SUSPENDED
    JVMPI_THREAD_INTERRUPTED
    JVMPI_CPU_SAMPLE_JAVA
    JVMPI_CPU_SAMPLE_UNKNOWN
    JVMPI_CPU_SAMPLE_ENDED
    JVMPI_CPU_SAMPLE_VM
    JVMPI_CPU_SAMPLE_GC
    JVMPI_CPU_SAMPLE_COMPILER
    JVMPI_CPU_SAMPLE_PROFILER
    JVMPI_MINIMUM_PRIORITY
    JVMPI_NORMAL_PRIORITY
    JVMPI_MAXIMUM_PRIORITY
    JVMPI_NORMAL_OBJECT
    JVMPI_CLASS
    JVMPI_BOOLEAN
    JVMPI_CHAR
    JVMPI_FLOAT
    JVMPI_DOUBLE
    JVMPI_BYTE
    JVMPI_SHORT
    JVMPI_INT
    JVMPI_LONG
    JVMPI_DUMP_LEVEL_0
    JVMPI_DUMP_LEVEL_1
    JVMPI_DUMP_LEVEL_2
    JVMPI_GC_ROOT_UNKNOWN
    JVMPI_GC_ROOT_JNI_GLOBAL
    JVMPI_GC_ROOT_JNI_LOCAL
    JVMPI_GC_ROOT_JAVA_FRAME
    JVMPI_GC_ROOT_NATIVE_STACK
    JVMPI_GC_ROOT_STICKY_CLASS
    JVMPI_GC_ROOT_THREAD_BLOCK
    JVMPI_GC_ROOT_MONITOR_USED
    JVMPI_GC_ROOT_THREAD_OBJ
    JVMPI_GC_CLASS_DUMP
    JVMPI_GC_INSTANCE_DUMP
    JVMPI_GC_OBJ_ARRAY_DUMP
    JVMPI_GC_PRIM_ARRAY_DUMP
    JVMPI_MONITOR_JAVA
    JVMPI_MONITOR_RAW
    ;
    JVMPI_CallFrame: 16 | 8 {
        lineno: 0 | 0,
        method_id: 8 | 4,
    }
    JVMPI_CallTrace: 24 | 12 {
        env_id: 0 | 0,
        num_frames: 8 | 4,
        frames: 16 | 8,
    }
    JVMPI_CpuSample: 48 | 28 {
        trace: 0 | 0,
        thread_id: 24 | 12,
        kind: 32 | 16,
        count: 36 | 20,
        truncated: 40 | 24,
    }
    JVMPI_CpuSampling: 24 | 12 {
        StartCpuSamples: 0 | 0,
        StopCpuSamples: 8 | 4,
        NextCpuSample: 16 | 8,
    }
    JVMPI_Method: 32 | 20 {
        method_name: 0 | 0,
        method_signature: 8 | 4,
        start_lineno: 16 | 8,
        end_lineno: 20 | 12,
        method_id: 24 | 16,
    }
    JVMPI_Field: 16 | 8 {
        field_name: 0 | 0,
        field_signature: 8 | 4,
    }
    JVMPI_Lineno: 8 | 8 {
        offset: 0 | 0,
        lineno: 4 | 4,
    }
    JVMPI_HeapDumpArg: 4 | 4 {
        heap_dump_level: 0 | 0,
    }
    JVMPI_Event: 88 | 48 {
        event_type: 0 | 0,
        env_id: 8 | 4,
        u.class_load.class_name: 16 | 8,
        u.class_load.source_name: 24 | 12,
        u.class_load.num_interfaces: 32 | 16,
        u.class_load.num_methods: 36 | 20,
        u.class_load.methods: 40 | 24,
        u.class_load.num_static_fields: 48 | 28,
        u.class_load.statics: 56 | 32,
        u.class_load.num_instance_fields: 64 | 36,
        u.class_load.instances: 72 | 40,
        u.class_load.class_id: 80 | 44,
        u.class_unload.class_id: 16 | 8,
        u.class_load_hook.class_data: 16 | 8,
        u.class_load_hook.class_data_len: 24 | 12,
        u.class_load_hook.new_class_data: 32 | 16,
        u.class_load_hook.new_class_data_len: 40 | 20,
        u.class_load_hook.malloc_f: 48 | 24,
        u.obj_alloc.arena_id: 16 | 8,
        u.obj_alloc.class_id: 24 | 12,
        u.obj_alloc.is_array: 32 | 16,
        u.obj_alloc.size: 36 | 20,
        u.obj_alloc.obj_id: 40 | 24,
        u.obj_free.obj_id: 16 | 8,
        u.obj_move.arena_id: 16 | 8,
        u.obj_move.obj_id: 24 | 12,
        u.obj_move.new_arena_id: 32 | 16,
        u.obj_move.new_obj_id: 40 | 20,
        u.new_arena.arena_id: 16 | 8,
        u.new_arena.arena_name: 24 | 12,
        u.delete_arena.arena_id: 16 | 8,
        u.thread_start.thread_name: 16 | 8,
        u.thread_start.group_name: 24 | 12,
        u.thread_start.parent_name: 32 | 16,
        u.thread_start.thread_id: 40 | 20,
        u.thread_start.thread_env_id: 48 | 24,
        u.heap_dump.dump_level: 16 | 8,
        u.heap_dump.begin: 24 | 12,
        u.heap_dump.end: 32 | 16,
        u.heap_dump.num_traces: 40 | 20,
        u.heap_dump.traces: 48 | 24,
        u.jni_globalref_alloc.obj_id: 16 | 8,
        u.jni_globalref_alloc.ref_id: 24 | 12,
        u.jni_globalref_free.ref_id: 16 | 8,
        u.method.method_id: 16 | 8,
        u.method_entry2.method_id: 16 | 8,
        u.method_entry2.obj_id: 24 | 12,
        u.compiled_method_load.method_id: 16 | 8,
        u.compiled_method_load.code_addr: 24 | 12,
        u.compiled_method_load.code_size: 32 | 16,
        u.compiled_method_load.lineno_table_size: 36 | 20,
        u.compiled_method_load.lineno_table: 40 | 24,
        u.compiled_method_unload.method_id: 16 | 8,
        u.compiled_method_unload.code_addr: 24 | 12,
        u.instruction.method_id: 16 | 8,
        u.instruction.offset: 24 | 12,
        u.instruction.u.if_info.is_true: 28 | 16,
        u.instruction.u.tableswitch_info.key: 28 | 16,
        u.instruction.u.tableswitch_info.low: 32 | 20,
        u.instruction.u.tableswitch_info.hi: 36 | 24,
        u.instruction.u.lookupswitch_info.chosen_pair_index: 28 | 16,
        u.instruction.u.lookupswitch_info.pairs_total: 32 | 20,
        u.monitor_dump.begin: 16 | 8,
        u.monitor_dump.end: 24 | 12,
        u.monitor_dump.num_traces: 32 | 16,
        u.monitor_dump.traces: 40 | 20,
        u.monitor_dump.threads_status: 48 | 24,
        u.raw_monitor.name: 16 | 8,
        u.raw_monitor.id: 24 | 12,
        u.monitor.object: 16 | 8,
        u.monitor_wait.object: 16 | 8,
        u.monitor_wait.timeout: 24 | 12,
        u.gc_info.used_objects: 16 | 8,
        u.gc_info.used_object_space: 24 | 16,
        u.gc_info.total_object_space: 32 | 24,
        u.object_dump.data_len: 16 | 8,
        u.object_dump.data: 24 | 12,
    }
    JVMPI_Interface: 240 | 120 {
        version: 0 | 0,
        NotifyEvent: 8 | 4,
        EnableEvent: 16 | 8,
        DisableEvent: 24 | 12,
        RequestEvent: 32 | 16,
        GetCallTrace: 40 | 20,
        ProfilerExit: 48 | 24,
        RawMonitorCreate: 56 | 28,
        RawMonitorEnter: 64 | 32,
        RawMonitorExit: 72 | 36,
        RawMonitorWait: 80 | 40,
        RawMonitorNotifyAll: 88 | 44,
        RawMonitorDestroy: 96 | 48,
        GetCurrentThreadCpuTime: 104 | 52,
        SuspendThread: 112 | 56,
        ResumeThread: 120 | 60,
        GetThreadStatus: 128 | 64,
        ThreadHasRun: 136 | 68,
        CreateSystemThread: 144 | 72,
        SetThreadLocalStorage: 152 | 76,
        GetThreadLocalStorage: 160 | 80,
        DisableGC: 168 | 84,
        EnableGC: 176 | 88,
        RunGC: 184 | 92,
        GetThreadObject: 192 | 96,
        GetMethodClass: 200 | 100,
        jobjectID2jobject: 208 | 104,
        jobject2jobjectID: 216 | 108,
        SuspendThreadList: 224 | 112,
        ResumeThreadList: 232 | 116,
    }
}

/// Evaluates each fact in C with this compiler.
fn in_c(cc: &mut Command, test: &str, facts: &[Fact]) -> Result<Vec<i64>, String> {
    let mut source = "#include <stddef.h>\n#include <stdio.h>\n#include \"jvmpi.h\"\n\
                      int main(void)\n{\n"
        .to_owned();
    for fact in facts {
        source += &format!("    printf(\"%ld\\n\", (long)({}));\n", fact.c);
    }
    source += "    return 0;\n}\n";

    let directory = common::scratch(test);
    let (source_file, program) = (directory.join("layout.c"), directory.join("layout"));
    fs::write(&source_file, source).unwrap();
    common::run(
        cc.args(["-std=c89", "-pedantic-errors"]).arg("-o").arg(&program).arg(source_file),
    )?;
    let output = common::run(&mut Command::new(&program))?;
    let numbers: Vec<i64> = output.lines().map(|line| line.parse().unwrap()).collect();
    assert_eq!(numbers.len(), facts.len());
    Ok(numbers)
}

/// Fails with a list of the facts in which the header and the other side differ.
fn compare(facts: &[Fact], header: &[i64], other: &str, expected: impl Fn(&Fact) -> Option<i64>) {
    let mut differences = Vec::new();
    for (fact, &header) in facts.iter().zip(header) {
        if let Some(expected) = expected(fact).filter(|&expected| expected != header) {
            differences.push(format!("{}: {header} in jvmpi.h, {expected} in {other}", fact.c));
        }
    }
    assert!(differences.is_empty(), "\n{}", differences.join("\n"));
}

#[test]
fn rust_layout_equals_the_header() {
    let test = "rust_layout_equals_the_header";
    let Some(mut cc) = common::cc(test) else { return };
    let facts = facts();
    let header = in_c(&mut cc, test, &facts).unwrap_or_else(|error| panic!("{error}"));
    compare(&facts, &header, "Rust", |fact| Some(fact.rust));
    let width = if cfg!(target_pointer_width = "64") { 0 } else { 1 };
    compare(&facts, &header, "the ABI", |fact| Some(fact.abi?[width]));
}

#[test]
fn header_layout_equals_the_32_bit_abi() {
    let test = "header_layout_equals_the_32_bit_abi";
    let Some(mut cc) = common::cc_32(test, "c") else { return };
    let facts = facts();
    match in_c(cc.arg("-static"), test, &facts) {
        Ok(header) => compare(&facts, &header, "the ABI", |fact| Some(fact.abi?[1])),
        Err(error) => common::skip(test, &format!("32-bit programs do not run here: {error}")),
    }
}

#[test]
fn list_is_complete() {
    let header = fs::read_to_string(common::header()).unwrap();
    let in_header = declared(&header);
    let listed = names();
    let missing: Vec<_> = in_header.difference(&listed).collect();
    assert!(missing.is_empty(), "in jvmpi.h, but not in the list: {missing:?}");
    let extra: Vec<_> = listed.difference(&in_header).collect();
    assert!(extra.is_empty(), "in the list, but not in jvmpi.h: {extra:?}");

    let files = [include_str!("../src/constants.rs"), include_str!("../src/event_types.rs")];
    let in_rust = files.into_iter().flat_map(str::lines);
    let in_rust = in_rust.filter_map(|line| line.strip_prefix("pub const ")?.split(':').next());
    let in_rust = in_rust.filter(|&name| name != "EVENTS");
    let extra: Vec<_> = in_rust.filter(|&name| !listed.contains(name)).collect();
    assert!(extra.is_empty(), "in Rust, but not in jvmpi.h: {extra:?}");
}

/// Returns the names that a header declares: constants, and members of structs with the struct's name in front.
fn declared(header: &str) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    let mut code = String::new();
    for line in without_comments(header).lines() {
        let words: Vec<_> = line.split_whitespace().collect();
        match words[..] {
            // A macro without a value is the include guard.
            ["#define", name, _, ..] => _ = names.insert(name.to_owned()),
            [first, ..] if first.starts_with('#') => {}
            _ => code += &format!("{line}\n"),
        }
    }

    let mut rest = code.as_str();
    while let Some((_, body)) = rest.split_once("typedef struct JVMPI_") {
        let (tag, body) = body.split_at(body.find([' ', ';']).unwrap());
        rest = body;
        if let Some(mut members) = body.trim_start().strip_prefix('{') {
            let found = members_of(&mut members);
            names.extend(found.into_iter().map(|member| format!("JVMPI_{tag}.{member}")));
            rest = members;
        }
    }
    names
}

fn without_comments(text: &str) -> String {
    let mut code = String::new();
    let mut rest = text;
    while let Some((before, comment)) = rest.split_once("/*") {
        code += before;
        rest = comment.split_once("*/").expect("a comment has no end").1;
    }
    code + rest
}

/// Returns the members up to the closing brace, which is consumed. Nested members are paths.
fn members_of(code: &mut &str) -> Vec<String> {
    let mut members = Vec::new();
    loop {
        let end = code.find(['{', ';', '}']).expect("a struct has no end");
        let (declaration, rest) = code.split_at(end);
        *code = &rest[1..];
        match &rest[..1] {
            "}" => return members,
            ";" => members.push(declared_name(declaration)),
            _ => {
                let inner = members_of(code);
                let (name, rest) = code.split_once(';').expect("a member has no end");
                *code = rest;
                let name = name.trim();
                members.push(name.to_owned());
                members.extend(inner.into_iter().map(|member| format!("{name}.{member}")));
            }
        }
    }
}

/// Returns `name` for `type *name` and for `type (*name)(...)`.
fn declared_name(declaration: &str) -> String {
    let declarator = match declaration.split_once("(*") {
        Some((_, pointer)) => pointer.split(')').next().unwrap(),
        None => declaration,
    };
    declarator.rsplit([' ', '*']).next().unwrap().to_owned()
}
