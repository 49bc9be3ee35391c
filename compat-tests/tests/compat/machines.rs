//! The tests that cannot run in an emulator of the processor, in Wine, on the zero VM, or on JDKs newer than the tested
//! ones.

use compat_tests::case::Case;
use compat_tests::jdk::{Jdk, Vm};
use compat_tests::machine::Machine;

/// The beginnings of the names of cases that an emulator cannot run, and why.
const IN_EMULATOR: [(&str, &str); 2] = [
    ("dumps/without_memory", "the emulator does not limit the address space"),
    ("faults/", "a program that takes ten seconds counts as hung"),
];

const COMMAND: &str = "the command for Windows has tests of its own";
const ATTACH: &str = "jcmd finds no JVM in Wine";
const SIGNAL: &str = "Windows has no such signal";
const PROGRAMS: &str = "the programs are those of Debian";
const LOAD: &str = "its server gets too little time beside spinning processes";
const CLOCKS: &str = "the clocks advance in steps of 15 ms";
const ELF: &str = "it makes ELF files";
const THREADS_OF_LINUX: &str = "the agent reads the states of threads in /proc";
const FILES: &str = "the files are devices, pipes or limited as on Linux";
const LIBRARIES: &str = "the library is one for Linux";
const PRELOADED: &str = "Windows has no libraries that are loaded before others";

/// The beginnings of the names of cases that need Linux, and why.
const NEEDS_LINUX: &[(&str, &str)] = &[
    ("checks/careless_agent", PRELOADED),
    ("cli/", COMMAND),
    ("collections/asked_for_by_two", THREADS_OF_LINUX),
    ("conformance/", "the suite has a command of its own"),
    ("containers/", "they are those of Linux"),
    ("cpu_time/", COMMAND),
    ("dumps/dump_has_the_objects_that_the_vm_counts", ATTACH),
    ("dumps/in_data_dump_request", SIGNAL),
    ("dumps/without_memory", "Windows does not limit the address space"),
    ("faults/", "they are those of the VM on Linux"),
    ("hprof/a_dump_at_each_signal", SIGNAL),
    ("hprof/a_dump_during_another_one", FILES),
    ("hprof/a_file_that_cannot_be_written", FILES),
    ("hprof/bad_options", "the messages are those of Linux"),
    ("hprof/in_a_running_program_twice", ATTACH),
    ("hprof/killed_jvm_leaves_the_last_whole_dump", SIGNAL),
    ("hprof/programs_do_what_they_do", PROGRAMS),
    ("hprof/samples_of", CLOCKS),
    ("hprof/two_of_them", FILES),
    ("internals/each_taken_away", "the internals are those on Linux"),
    ("internals/all_taken_away", "the internals are those on Linux"),
    ("lifecycle/nothing_passes_it", THREADS_OF_LINUX),
    ("lifecycle/dump_and_reset_requests", SIGNAL),
    ("load/agent_with_an_executable_stack", ELF),
    ("load/attach", ATTACH),
    ("load/embedded", "the program loads libjvm.so"),
    ("load/unusable", ELF),
    ("methods/exceptions_cost_time", CLOCKS),
    ("methods/native_methods_of_a_running_vm", ATTACH),
    ("methods/programs_do_what_they_do", PROGRAMS),
    ("objects/enabled_in_a_running_vm", ATTACH),
    ("objects/reports_are_left_to_others", ATTACH),
    ("porting/", LIBRARIES),
    ("rust_agents/", LIBRARIES),
    ("samples/record", COMMAND),
    ("samples/attached", COMMAND),
    ("samples/exact_counts_are_exact", COMMAND),
    ("samples/intervals_that_are_bad", COMMAND),
    ("sampling/beside_a_debugger", LIBRARIES),
    ("sampling/native_calls_are_not_interrupted", SIGNAL),
    ("sampling/stacks_have_only_calls", SIGNAL),
    ("sampling/threads_inside_malloc", "the lock is that of glibc"),
    ("sampling/virtual_threads_by_their_time", CLOCKS),
    ("security/", "the users and containers are those of Linux"),
    ("soak/", LOAD),
    ("table/functions_called_in_each_event_do_not_allocate", PRELOADED),
    ("trace/", COMMAND),
];

/// The cases that fail because of Wine, and why.
const FAULTS_OF_WINE: &[(&str, &str)] =
    &[("hprof/wall_clock_samples", "beside other programs, threads that sleep are woken late")];

const COMPILES_NOTHING: &str = "the zero VM compiles nothing";
/// Even without an agent, `System.gc()` does not return while a thread is in such a loop.
const DOES_NOT_STOP: &str = "the zero VM does not stop a thread in a loop without calls";

/// The beginnings of the names of cases that zero cannot run, and why.
const ON_ZERO: [(&str, &str); 7] = [
    ("compiled/", COMPILES_NOTHING),
    ("methods/methods_of_the_chosen_classes", COMPILES_NOTHING),
    ("sampling/stacks_have_only_calls", COMPILES_NOTHING),
    ("cli/doctor_lists_what_works", "the command looks at the usual VM of a JDK"),
    ("cli/top_shows_the_hottest_method", "Math.sqrt is a native method, and the hottest one"),
    ("faults/", "the faults are those of the usual VM"),
    ("traces/computing_threads_are_sampled_anywhere", DOES_NOT_STOP),
];

/// The beginnings of the names of cases that cannot run from JDK 26 on, and why.
const SINCE_26: [(&str, &str); 2] = [
    (
        "methods/native_methods_of_a_running_vm",
        "the functions of bound native methods are not found, because a method ID is a number",
    ),
    ("samples/record_keeps_survivors", "the VM does not report what dies in VMDeath"),
];

/// Returns the reason why the case cannot run on this JVM here, if there is one.
pub fn prevent(jdk: &Jdk, topic: &str, case: &Case<'_>) -> Option<String> {
    let name = format!("{topic}/{}", case.name);
    let why = |left_out: &[(&str, &'static str)]| {
        left_out.iter().find(|(left_out, _)| name.starts_with(left_out)).map(|(_, why)| *why)
    };
    let machine = Machine::this();
    if machine.is_windows() {
        let load = case.is_under_load().then_some(LOAD);
        let why = load.or_else(|| why(NEEDS_LINUX)).or_else(|| why(FAULTS_OF_WINE))?;
        return Some(format!("in Wine: {why}"));
    }
    let in_emulator = machine.emulator().and_then(|_| why(&IN_EMULATOR));
    let on_vm = || match jdk.vm {
        Vm::Zero => why(&ON_ZERO),
        Vm::Server => why(&SINCE_26).filter(|_| jdk.feature >= 26),
    };
    in_emulator.or_else(on_vm).map(str::to_owned)
}
