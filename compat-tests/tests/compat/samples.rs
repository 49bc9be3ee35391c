//! Sampled allocations.

use std::path::Path;

use jvmpi_formats::profile::{Amount, File, Profile};

use crate::prelude::*;

cases![
    record_estimates_shares.on(&[Gc::G1, Gc::Serial, Gc::Parallel]),
    record_keeps_survivors.on(&[Gc::G1, Gc::Serial, Gc::Parallel]),
    attached_record_keeps_survivors,
    exact_counts_are_exact,
    setting_limits_an_agent.on(&[Gc::G1, Gc::Serial, Gc::Parallel]),
    agent_selects_interval,
    other_arguments_are_ignored,
    intervals_that_are_bad_or_do_not_fit_the_setting_are_refused,
];

/// The mean number of bytes between two samples.
const INTERVAL: f64 = 524_288.0;

/// An upper bound of the bytes that the JVM and the JDK allocate in a run of `Shares` besides its objects. The whole
/// start allocates 2 to 6 MB on these JDKs.
const OWN: f64 = 16e6;

/// The probability that an object is sampled.
fn probability(line: &Line) -> Result<f64, String> {
    Ok(1.0 - (-(line.int("size")? as f64) / INTERVAL).exp())
}

/// The rows of the last section whose objects were allocated in this method of `Shares`, added up: allocated and live
/// objects. The list in the same method grows too, with arrays of references.
fn of_site(profile: &Profile, site: &str) -> Result<(Amount, Amount), String> {
    let class = match site {
        "large" => "Shares$Large",
        "medium" => "Shares$Medium",
        _ => "byte[]",
    };
    let sites = profile.sites().next_back().ok_or("no section")?;
    let (mut allocated, mut live) = (Amount::default(), Amount::default());
    for row in &sites.rows {
        let innermost = crate::hprof::methods(profile, row.trace).into_iter().next();
        if profile.site_type(row) == class && innermost == Some(format!("Shares.{site}")) {
            allocated.instances += row.allocated.instances;
            allocated.bytes += row.allocated.bytes;
            live.instances += row.live.instances;
            live.bytes += row.live.bytes;
        }
    }
    Ok((allocated, live))
}

/// The estimate is within four standard deviations of the number. Each of `n` objects is sampled with the probability
/// `p` and then counts as `1 / p`, so the variance of the sum is `n (1 - p) / p`.
fn is_near(what: &str, line: &Line, estimate: Amount, n: i64) -> Result<(), String> {
    let (p, size, n) = (probability(line)?, line.int("size")? as f64, n as f64);
    // Each row is rounded to a whole object.
    let most = 4.0 * (n * (1.0 - p) / p).sqrt() + 1.0;
    let off = (estimate.instances as f64 - n).abs();
    ensure!(
        (0.0..=most).contains(&off),
        "{what}: {} objects instead of {n}, bound {most:.0}: {line}",
        estimate.instances
    );
    let off = (estimate.bytes as f64 - n * size).abs();
    ensure!(
        (0.0..=most * size).contains(&off),
        "{what}: {} bytes instead of {}: {line}",
        estimate.bytes,
        n * size
    );
    Ok(())
}

fn shares_are_near(outcome: &Outcome, file: &Path) -> Result<(), String> {
    let file = File::open(file).map_err(|e| e.to_string())?;
    let mut expected = 0.0;
    let mut variance = 0.0;
    for line in outcome.expects.all() {
        let (made, size) = (line.int("made")?, line.int("size")?);
        let (allocated, _) = of_site(file.profile(), line.text("site")?)?;
        is_near("allocated", line, allocated, made)?;
        let p = probability(line)?;
        expected += (made * size) as f64;
        variance += made as f64 * (size * size) as f64 * (1.0 - p) / p;
    }
    equal("sites", outcome.expects.all().len(), 3)?;
    let sites = file.profile().sites().next_back().ok_or("no section")?;
    let (found, most) = (sites.allocated.bytes as f64, 4.0 * variance.sqrt());
    ensure!(
        (expected - most..=expected + most + OWN).contains(&found),
        "{found} bytes in all instead of {expected}, bound {most:.0}"
    );
    Ok(())
}

fn recorded(
    vm: &Vm<'_>,
    megabytes: &str,
    options: &[&str],
    file: &Path,
) -> Result<Outcome, String> {
    let arguments = [&["record", "--alloc", "-o", text(file)?], options, &["--"]].concat();
    vm.java("Shares")?.argument(megabytes).behind_jvmpi(&arguments)?.run()
}

fn record_estimates_shares(vm: &Vm<'_>) -> Result<(), String> {
    let file = vm.file("shares.txt");
    let outcome = recorded(vm, "2048", &[], &file)?;
    let remark = "; allocations are estimated from a sample per 524288 bytes";
    ensure!(outcome.stderr.trim_end().ends_with(remark), "{}", outcome.stderr);
    let written = contents(&file)?;
    ensure!(written.contains("in every 524288 allocated bytes"), "the file names no interval");
    shares_are_near(&outcome, &file)
}

/// All rows are survivors, and as many as the program keeps.
fn record_keeps_survivors(vm: &Vm<'_>) -> Result<(), String> {
    let file = vm.file("survivors.txt");
    let outcome = recorded(vm, "2048", &["--live"], &file)?;
    let file = File::open(&file).map_err(|e| e.to_string())?;
    for line in outcome.expects.all() {
        let (allocated, live) = of_site(file.profile(), line.text("site")?)?;
        equal("objects that did not survive", allocated, live)?;
        is_near("survivors", line, live, line.int("kept")?)?;
    }
    equal("sites", outcome.expects.all().len(), 3)
}

/// The program forgets the objects of a round in the next one, so it keeps at most those of one round. Between two
/// collections of the young generation there is up to ten times as much garbage.
fn attached_record_keeps_survivors(vm: &Vm<'_>) -> Result<(), String> {
    let file = vm.file("attached.txt");
    let java = vm.java("Shares")?.arguments(["2048", "on"]).flags(["-Xmn600m", "-Xmx1g"]);
    let java = java.ready()?;
    let pid = java.process().to_string();
    let record = ["record", "--alloc", "--live", "-d", "3", "-o", text(&file)?, "--pid", &pid];
    crate::cli::jvmpi(Some(java.process()), &record)?;
    java.finish(0)?;
    let file = File::open(&file).map_err(|e| e.to_string())?;
    let sites = file.profile().sites().next_back().ok_or("no section")?;
    let mean = (2_147_483_648.0 / 64.0 + OWN) / INTERVAL;
    let most = (mean + 4.0 * mean.sqrt()) * INTERVAL;
    ensure!(
        (0.0..most).contains(&(sites.live.bytes as f64)),
        "{} bytes survive, at most {most:.0}",
        sites.live.bytes
    );
    // There may be none, because each round begins without kept objects.
    equal("objects that did not survive", sites.allocated, sites.live)
}

fn exact_counts_are_exact(vm: &Vm<'_>) -> Result<(), String> {
    let file = vm.file("exact.txt");
    let outcome = recorded(vm, "16", &["--exact"], &file)?;
    ensure!(!outcome.stderr.contains("estimated"), "{}", outcome.stderr);
    let file = File::open(&file).map_err(|e| e.to_string())?;
    for line in outcome.expects.all() {
        let (allocated, _) = of_site(file.profile(), line.text("site")?)?;
        equal("objects", allocated.instances as i64, line.int("made")?)?;
        equal("bytes", allocated.bytes as i64, line.int("made")? * line.int("size")?)?;
    }
    equal("sites", outcome.expects.all().len(), 3)
}

/// The agent `samples` has got as many objects as are sampled on average, up to four standard deviations: the numbers
/// of samples have Poisson distributions, nearly. It has got an OBJECT_FREE for exactly those that have died.
fn is_sampled(vm: &Vm<'_>, outcome: &Outcome) -> Result<(), String> {
    let line = outcome.report().one("samples")?;
    equal("errors", outcome.report().count("error"), 0)?;
    let mean = |key: &str| {
        outcome
            .expects
            .all()
            .iter()
            .map(|line| Ok(line.int(key)? as f64 * probability(line)?))
            .sum()
    };
    for (what, key) in [("sampled", "made"), ("left", "kept")] {
        let (found, mean): (_, Result<f64, String>) = (line.int(what)? as f64, mean(key));
        let mean = mean?;
        // From JDK 26 on the VM does not report what dies in the collection at the end.
        let is_unknown = what == "left" && vm.jdk.feature >= 26;
        let own = if is_unknown { f64::INFINITY } else { OWN / INTERVAL };
        let range = mean - 4.0 * mean.sqrt()..=mean + own + 4.0 * (mean + own).sqrt();
        ensure!(range.contains(&found), "{what}: {found}, expected {range:?}");
    }
    equal("unknown objects that were freed", line.int("unknown")?, 0)?;
    // MONITOR_WAIT names an object that is no sample. It was announced before, and not as a sample.
    ensure!(line.int("waits")? > 0 && line.int("early")? > 0, "{line}");
    equal("waits at unknown objects", line.int("unknown_waits")?, 0)
}

fn setting_limits_an_agent(vm: &Vm<'_>) -> Result<(), String> {
    let java = vm.java("Shares")?.argument("2048").settings("alloc=every:512k");
    is_sampled(vm, &java.agent("samples", "")?.run()?)
}

fn agent_selects_interval(vm: &Vm<'_>) -> Result<(), String> {
    let java = vm.java("Shares")?.argument("2048");
    let outcome = java.agent("samples", "interval=524288")?.run()?;
    equal("result", outcome.report().one("enabled")?.int("result")?, 0)?;
    is_sampled(vm, &outcome)
}

/// Old agents may pass any argument, because it had no meaning.
fn other_arguments_are_ignored(vm: &Vm<'_>) -> Result<(), String> {
    let java = vm.java("Shares")?.argument("1");
    let outcome = java.agent("samples", "interval=7")?.run()?;
    equal("result", outcome.report().one("enabled")?.int("result")?, 0)?;
    // Two of 512 KiB each would be samples.
    let objects = outcome.report().one("samples")?.int("sampled")?;
    ensure!(objects > 100, "{objects} objects");
    Ok(())
}

fn intervals_that_are_bad_or_do_not_fit_the_setting_are_refused(vm: &Vm<'_>) -> Result<(), String> {
    let java = vm.java("Shares")?.argument("1").settings("alloc=every:1m");
    let outcome = java.agent("samples", "interval=524288")?.run()?;
    equal("result", outcome.report().one("enabled")?.int("result")?, -1)?;
    let why = "the interval 524288 does not fit the setting alloc=every:1m";
    equal("warnings", outcome.stderr.matches(why).count(), 1)?;

    let hprof = text(&build::hprof()?)?.to_owned();
    for (sample, settings, why) in [
        ("512k", "alloc=bytecode", "the interval 524288 does not fit the setting alloc=bytecode"),
        ("0k", "", "HPROF ERROR: hprof option error: a sampling interval is "),
    ] {
        let java = vm.java("Hello")?.shim(&format!("{hprof}:heap=sites,sample={sample}"))?;
        let outcome = java.settings(settings).run_to(1)?;
        ensure!(outcome.stderr.contains(why), "{why}: {}", outcome.stderr);
    }
    crate::options::refused(vm, "alloc=every:0", &["every:0", "alloc", "every:512k"])?;
    let arguments = ["record", "--alloc", "--alloc-interval", "0", "--"];
    let outcome = vm.java("Hello")?.behind_jvmpi(&arguments)?.run_to(2)?;
    let why =
        "jvmpi: error: invalid value '0' for '--alloc-interval <SIZE>': a sampling interval is ";
    ensure!(outcome.stderr.starts_with(why), "{}", outcome.stderr);
    equal("output", outcome.stdout.as_str(), "")
}
