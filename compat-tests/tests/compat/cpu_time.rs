//! CPU profiles show CPU time: where it was used, and all of it.

use crate::prelude::*;

cases![
    waiting_threads_have_the_time_that_they_use,
    waiting_threads_have_the_time_that_they_use.under_load_on(&[17]),
    short_threads_have_the_time_that_they_use,
    short_threads_have_the_time_that_they_use.under_load_on(&[25]),
    server_and_clients_have_the_time_that_they_use.since(17),
    parked_threads_cost_nothing,
    collector_and_compiler_are_named,
    cut_stacks_say_so,
    samples_by_clocks_have_the_right_weight,
    replaced_clock_functions_have_no_effect_but_errors_are_reported,
    attached_profile_has_the_time_of_threads_from_before,
];

/// The interval between two samples, in milliseconds.
const INTERVAL: f64 = 2.0;

/// The part of the program that computes, and its method.
const BURN: (&str, &str) = ("second", "CpuShares.burn");

/// A recorded run of `CpuShares`.
struct Recorded {
    outcome: Outcome,
    /// The stacks, outermost frame first, and their samples.
    stacks: Vec<(String, u64)>,
}

/// Records the program in this mode with so many threads, which compute for this many milliseconds.
fn record(
    vm: &Vm<'_>,
    (kind, count, millis): (&str, u32, u32),
    options: &[&str],
) -> Result<Recorded, String> {
    record_behind(vm, (kind, count, millis), &[options, &["--"]].concat())
}

/// The same with all options, `--`, and commands in front of the program.
fn record_behind(
    vm: &Vm<'_>,
    (kind, count, millis): (&str, u32, u32),
    options: &[&str],
) -> Result<Recorded, String> {
    let file = vm.file(&format!("{kind}.collapsed"));
    let interval = format!("{INTERVAL}");
    let record = ["record", "--cpu", "--interval", &interval, "-o", text(&file)?];
    let java = vm.java("CpuShares")?.arguments([kind, &count.to_string(), &millis.to_string()]);
    let outcome = java.behind_jvmpi(&[&record[..], options].concat())?.run()?;
    Ok(Recorded { outcome, stacks: stacks(&file)? })
}

fn stacks(file: &std::path::Path) -> Result<Vec<(String, u64)>, String> {
    let text = contents(file)?;
    let stack = |line: &str| {
        let (stack, samples) = line.rsplit_once(' ')?;
        Some((stack.to_owned(), samples.parse().ok()?))
    };
    text.lines().map(|line| stack(line).ok_or_else(|| line.to_owned())).collect()
}

impl Recorded {
    /// Returns the milliseconds of all stacks that contain this text.
    fn millis(&self, part: &str) -> f64 {
        let matching = self.stacks.iter().filter(|(stack, _)| stack.contains(part));
        INTERVAL * matching.map(|(_, samples)| *samples as f64).sum::<f64>()
    }

    /// Returns a number that the program has measured.
    fn measured(&self, key: &str) -> Result<f64, String> {
        let lines = self.outcome.expects.lines("expect");
        let mut values = lines.filter_map(|line| line.int(key).ok());
        values.next().map(|value| value as f64).ok_or_else(|| format!("no {key}"))
    }

    /// Checks that the profile has the time of the process, within 10 %, and that the methods have their shares, within 5
    /// points. After the program has measured it, the process takes some more time to end.
    fn shows(&self, methods: &[(&str, &str)]) -> Result<(), String> {
        let (all, process) = (self.millis(""), self.measured("process")?);
        ensure!(
            (0.9 * process..1.1 * process + 100.0).contains(&all),
            "{all} ms in the profile, {process} ms of the process"
        );
        for (key, method) in methods {
            let (shown, used) = (self.millis(method), self.measured(key)?);
            let is_near = 100.0 * (shown / all - used / process).abs() <= 5.0;
            ensure!(
                is_near,
                "{method}: {shown} of {all} ms in the profile, {used} of {process} ms used:\n{:?}",
                self.stacks
            );
        }
        Ok(())
    }
}

/// Some wait for sockets and others sleep, beside a thread that computes.
fn waiting_threads_have_the_time_that_they_use(vm: &Vm<'_>) -> Result<(), String> {
    let (readers, sleepers) = (("first", "CpuShares.reader"), ("third", "CpuShares.sleeper"));
    record(vm, ("waiting", 10, 1_500), &[])?.shows(&[readers, sleepers, BURN])
}

/// Each thread uses less than the kernel's clock tick may take.
fn short_threads_have_the_time_that_they_use(vm: &Vm<'_>) -> Result<(), String> {
    record(vm, ("short", 100, 5), &[])?
        .shows(&[("first", "CpuShares.inShort"), ("second", "CpuShares.inLong")])
}

/// Their threads wait for sockets most of the time.
fn server_and_clients_have_the_time_that_they_use(vm: &Vm<'_>) -> Result<(), String> {
    let recorded = record(vm, ("server", 6, 120), &[])?;
    recorded.shows(&[("first", "CpuShares.worker"), ("second", "CpuShares.client")])
}

fn parked_threads_cost_nothing(vm: &Vm<'_>) -> Result<(), String> {
    let recorded = record(vm, ("parked", 1_000, 1_500), &[])?;
    recorded.shows(&[BURN])?;
    let seconds = recorded.measured("ms")? / 1_000.0;
    let waits = recorded.measured("waits")? / seconds;
    let share = recorded.measured("sampler_us")? / 10_000.0 / seconds;
    let costs_little = waits < 20.0 && share < 5.0;
    ensure!(
        costs_little,
        "the sampling thread waits {waits} times a second and uses {share} % of a processor"
    );
    Ok(())
}

fn collector_and_compiler_are_named(vm: &Vm<'_>) -> Result<(), String> {
    let recorded = record(vm, ("garbage", 2, 1_500), &[])?;
    recorded.shows(&[("first", "CpuShares.garbage"), BURN])?;
    for name in ["[GC]", "[JIT compiler]", "[VM]"] {
        let is_named = recorded.millis(name) > 0.0;
        ensure!(is_named, "no {name}: {:?}", recorded.stacks);
    }
    Ok(())
}

fn cut_stacks_say_so(vm: &Vm<'_>) -> Result<(), String> {
    let whole = record(vm, ("deep", 300, 200), &[])?;
    equal("truncated", whole.millis("[truncated]"), 0.0)?;
    let cut = record(vm, ("deep", 300, 200), &["--depth", "8"])?;
    let is_cut = |stack: &str| stack.starts_with("[truncated];CpuShares.deep;CpuShares.deep;");
    let samples: u64 = cut.stacks.iter().filter(|(s, _)| is_cut(s)).map(|(_, n)| n).sum();
    ensure!(samples > 75, "{:?}", cut.stacks);
    let says =
        cut.outcome.stderr.lines().any(|line| line.contains("are cut off: use a larger --depth"));
    ensure!(says, "{}", cut.outcome.stderr);
    Ok(())
}

/// With this setting no thread gets a signal, and with this limit the kernel has no timers.
fn samples_by_clocks_have_the_right_weight(vm: &Vm<'_>) -> Result<(), String> {
    let by_setting = record(vm, ("sleepers", 4, 1_500), &["--setting", "suspend=jvmti"])?;
    by_setting.shows(&[("first", "CpuShares.sleeper"), BURN])?;
    let limit = ["--", "prlimit", "--sigpending=0"];
    let by_limit = record_behind(vm, ("sleepers", 4, 1_500), &limit)?;
    by_limit.shows(&[("first", "CpuShares.sleeper"), BURN])?;
    let lines = by_limit.outcome.stderr.lines();
    let warnings = lines.filter(|line| line.contains("CPU timers are not available")).count();
    equal("warnings", warnings, 1)
}

fn replaced_clock_functions_have_no_effect_but_errors_are_reported(
    vm: &Vm<'_>,
) -> Result<(), String> {
    let library = format!("LD_PRELOAD={}", text(&build::agent("clocks")?)?);
    let record = |millis, variables: &[&str]| {
        record_behind(vm, ("sleepers", 4, millis), &[&["--", "env", &library], variables].concat())
    };
    let recorded = record(1_500, &[])?;
    recorded.shows(&[])?;
    // The program's own times of threads are set back, but not the differences by which it computes this long.
    let shown = recorded.millis(BURN.1);
    ensure!((1_350.0..1_650.0).contains(&shown), "{shown} ms in the profile");

    let recorded = record(500, &["REFUSE_CLOCKS=1"])?;
    equal("time", recorded.millis("CpuShares") as i64, 0)?;
    let line = "the CPU clocks of threads cannot be read (Operation not permitted (os error 1))";
    equal(line, recorded.outcome.stderr.matches(line).count(), 1)
}

/// The threads have never run code of the shim before.
fn attached_profile_has_the_time_of_threads_from_before(vm: &Vm<'_>) -> Result<(), String> {
    let file = vm.file("attached.collapsed");
    let java = vm.java("Busy")?.ready()?;
    let process = java.process().to_string();
    let record = ["record", "--cpu", "-d", "3", "-o", text(&file)?, "--pid", &process];
    crate::cli::jvmpi(Some(java.process()), &record)?;
    let stacks = stacks(&file)?;
    let count = |part: &str| -> u64 {
        stacks.iter().filter(|(stack, _)| stack.contains(part)).map(|(_, samples)| *samples).sum()
    };
    ensure!(count("Busy.") * 10 >= count("") * 8, "{stacks:?}");
    java.finish(0).map(drop)
}
