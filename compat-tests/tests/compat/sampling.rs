//! A whole profiler, made as they were: `agents/sampler.c`.

use std::fs;

use compat_tests::run::Vm;
use compat_tests::text;

use crate::assert::equal;
use crate::cases;

cases![
    finds_the_hot_methods.on_every_gc(),
    finds_the_hot_methods.under_load(),
    finds_them_stopping_by_jvmti,
];

/// A program with two threads that compute and others that wait: those two are the hottest in the
/// report, every frame has a name and theirs have lines.
fn profile(vm: &Vm<'_>, settings: &str) -> Result<(), String> {
    let report = vm.file("samples.txt");
    let options = format!("interval=1,depth=8,top=4,out={}", text(&report)?);
    let outcome = vm.java("Sampled")?.agent("sampler", &options)?.settings(settings).run()?;
    equal("output", outcome.stdout.as_str(), "sampled\n")?;
    let profile = fs::read_to_string(&report).map_err(|e| e.to_string())?;
    let number = |key: &str| {
        let line = profile.lines().find_map(|line| line.strip_prefix(key));
        line.and_then(|rest| rest.trim().parse::<u64>().ok()).ok_or_else(|| format!("no {key}"))
    };
    ensure!(number("samples ")? > 0, "{profile}");
    equal("unresolved frames", number("unresolved frames ")?, 0)?;
    let (_, stacks) = profile.split_once("count\n").ok_or("no stacks")?;
    for method in ["Sampled.first(Sampled.java:", "Sampled.second(Sampled.java:"] {
        ensure!(stacks.contains(method), "{method}…) is not among the four hottest:\n{profile}");
    }
    Ok(())
}

fn finds_the_hot_methods(vm: &Vm<'_>) -> Result<(), String> {
    profile(vm, "")
}

fn finds_them_stopping_by_jvmti(vm: &Vm<'_>) -> Result<(), String> {
    profile(vm, "suspend=jvmti")
}
