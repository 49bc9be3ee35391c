//! A whole profiler, made as they were: `agents/sampler.c`.

use std::fs;

use compat_tests::run::Vm;
use compat_tests::{build, text};

use crate::assert::equal;
use crate::cases;

cases![
    finds_the_hot_methods.on_every_gc(),
    finds_the_hot_methods.under_load(),
    finds_them_stopping_by_jvmti,
    several_samplers,
];

/// A program with two threads that compute and others that wait: those two are the hottest in the
/// report, every frame has a name and theirs have lines.
fn profile(vm: &Vm<'_>, settings: &str) -> Result<(), String> {
    let report = vm.file("samples.txt");
    let options = format!("interval=1,depth=8,top=4,out={}", text(&report)?);
    let outcome = vm.java("Sampled")?.agent("sampler", &options)?.settings(settings).run()?;
    equal("output", outcome.stdout.as_str(), "sampled\n")?;
    let profile = fs::read_to_string(&report).map_err(|e| e.to_string())?;
    ensure!(value(&profile, "samples ")? > 0, "{profile}");
    equal("unresolved frames", value(&profile, "unresolved frames ")?, 0)?;
    let (_, stacks) = profile.split_once("count\n").ok_or("no stacks")?;
    for method in ["Sampled.first(Sampled.java:", "Sampled.second(Sampled.java:"] {
        ensure!(stacks.contains(method), "{method}…) is not among the four hottest:\n{profile}");
    }
    Ok(())
}

/// The number in the line of a profile that begins so.
fn value(profile: &str, key: &str) -> Result<u64, String> {
    let line = profile.lines().find_map(|line| line.strip_prefix(key));
    line.and_then(|rest| rest.trim().parse().ok()).ok_or_else(|| format!("no {key}:\n{profile}"))
}

fn finds_the_hot_methods(vm: &Vm<'_>) -> Result<(), String> {
    profile(vm, "")
}

/// Samplers suspend each other, too, in whatever they are doing.
fn several_samplers(vm: &Vm<'_>) -> Result<(), String> {
    for (samplers, settings) in [(2, ""), (4, "suspend=jvmti"), (8, "")] {
        let mut java = vm.java("Crowd")?.argument("700").settings(settings);
        let report = |number| vm.file(&format!("samples-{number}.txt"));
        for number in 0..samplers {
            let (agent, report) = (build::agent_copy("sampler", number)?, report(number));
            let options = format!("interval=1,out={}", text(&report)?);
            java = java.shim(&format!("{}:{options}", text(&agent)?))?;
        }
        equal("output", java.run()?.stdout.as_str(), "crowded\n")?;
        for number in 0..samplers {
            let profile = fs::read_to_string(report(number)).map_err(|e| e.to_string())?;
            let took = value(&profile, "samples ").map_err(|e| format!("{settings}: {e}"))?;
            ensure!(took > 0, "sampler {number} of {samplers} took no samples: {profile}");
        }
    }
    Ok(())
}

fn finds_them_stopping_by_jvmti(vm: &Vm<'_>) -> Result<(), String> {
    profile(vm, "suspend=jvmti")
}
