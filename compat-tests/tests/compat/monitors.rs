//! Java monitors: contention, waiting and sleep.

use std::mem;

use crate::prelude::*;

cases![
    contention.under_load_on(&[25]),
    owner_that_leaves_in_any_way_hands_on,
    owner_in_a_trusted_class_hands_on,
    waits_of_owners_and_of_others,
    waits_for_an_initializer_are_whole,
    waits_that_throw_an_exception_are_not_reported.on_every_jdk(),
    parking.on_every_jdk(),
    virtual_threads.since(21),
];

/// The events of entering and leaving.
const ENTERING: &str = "54+55+56";

/// Returns the lines about the watched monitor.
fn watched<'a>(report: &'a Report, monitor: &'a str) -> impl Iterator<Item = &'a Line> {
    report.all().iter().filter(move |line| line.text("monitor") == Ok(monitor))
}

fn count(report: &Report, monitor: &str, word: &str) -> usize {
    watched(report, monitor).filter(|line| line.word == word).count()
}

/// Runs the program with these ways of entering and leaving a monitor, one after the other.
fn staged(java: Launch, waiters: usize, ways: &[&str], events: &str) -> Result<Outcome, String> {
    let java = java.agent("monitors", &format!("events={events}"))?.argument(&waiters.to_string());
    java.arguments(ways.iter().copied()).run()
}

fn rounds(outcome: &Outcome) -> Result<usize, String> {
    Ok(outcome.expects.one("expect")?.int("rounds")? as usize)
}

/// Each thread that waits is reported, and reported as the owner later. The thread that leaves the monitor while others
/// wait is reported before the next one gets the monitor.
fn hands_on(java: Launch, waiters: usize, ways: &[&str], events: &str) -> Result<Outcome, String> {
    let outcome = staged(java, waiters, ways, events)?;
    for way in ways {
        handed_on(&outcome, way, waiters).map_err(|error| format!("{way} {events}: {error}"))?;
    }
    Ok(outcome)
}

fn contention(vm: &Vm<'_>) -> Result<(), String> {
    hands_on(vm.java("Contended")?, 8, &["BLOCK"], ENTERING).map(drop)
}

/// Only leaving a monitor for good counts. Synchronized native methods are tested with and without their own events.
fn owner_that_leaves_in_any_way_hands_on(vm: &Vm<'_>) -> Result<(), String> {
    let ways = [
        "BLOCK",
        "METHOD",
        "STATIC",
        "OLD_STATIC",
        "RECURSIVE",
        "BESIDE",
        "THROWN",
        "METHOD_THROWN",
        "JNI",
        "NATIVE",
        "NATIVE_STATIC",
        "NATIVE_THROWN",
    ];
    hands_on(vm.java("Contended")?, 3, &ways, ENTERING)?;
    let native = ["NATIVE", "NATIVE_THROWN"];
    hands_on(vm.java("Contended")?, 3, &native, "1+3+54+55+56").map(drop)
}

/// The VM does not verify classes of the boot loader, and forgets what that would take.
fn owner_in_a_trusted_class_hands_on(vm: &Vm<'_>) -> Result<(), String> {
    let java = vm.java("Contended")?.flag("-Xshare:off");
    let outcome = hands_on(java, 3, &["LIBRARY"], "57+58")?;
    ensure!(!outcome.stderr.contains("reports nothing"), "{}", outcome.stderr);
    Ok(())
}

fn handed_on(outcome: &Outcome, way: &str, waiters: usize) -> Result<(), String> {
    let report = outcome.report();
    let rounds = rounds(outcome)?;
    for word in ["enter", "entered", "exit"] {
        equal(word, count(report, way, word), rounds * waiters)?;
    }
    let mut queue = Queue::default();
    let mut owner = "main";
    for line in watched(report, way) {
        let thread = line.text("thread")?;
        let is_exit = line.word == "exit";
        ensure!(!is_exit || thread == owner && !queue.has_left, "not the owner, {owner}: {line}");
        queue.add(line)?;
        if queue.waiting.is_empty() {
            owner = "main";
        } else if line.word == "entered" {
            owner = thread;
        }
    }
    Ok(())
}

/// The threads that wait to enter a monitor, and whether its owner has left it, according to the events.
#[derive(Default)]
struct Queue<'a> {
    waiting: Vec<&'a str>,
    has_left: bool,
}

impl<'a> Queue<'a> {
    /// Adds an event. Virtual threads have no names.
    fn add(&mut self, line: &'a Line) -> Result<(), String> {
        let thread = line.text("thread")?;
        let place = self.waiting.iter().position(|waiting| *waiting == thread);
        match line.word.as_str() {
            "enter" => {
                ensure!(place.is_none() || thread.is_empty(), "waits twice: {line}");
                self.waiting.push(thread);
            }
            "entered" => {
                ensure!(mem::take(&mut self.has_left), "the owner has not left: {line}");
                self.waiting.remove(place.ok_or_else(|| format!("has not waited: {line}"))?);
            }
            _ => {
                ensure!(!self.waiting.is_empty(), "nobody waits: {line}");
                self.has_left = true;
            }
        }
        Ok(())
    }
}

fn waits_of_owners_and_of_others(vm: &Vm<'_>) -> Result<(), String> {
    let ways = ["WAIT", "NOTIFIED", "SWITCHED"];
    let outcome = staged(vm.java("Contended")?, 3, &ways, "54+55+56+57+58")?;
    let (report, rounds) = (outcome.report(), rounds(&outcome)?);
    let words = |monitor, thread: &str| -> Vec<&str> {
        let is_its = |line: &&Line| thread.is_empty() || line.text("thread") == Ok(thread);
        watched(report, monitor).filter(is_its).map(|line| line.word.as_str()).collect()
    };
    // An owner that waits lets threads in that wait to enter, however often it has entered. The thread that
    // notifies owned the monitor. No thread waits for it when it leaves.
    let expected = ["wait", "exit", "waited", "enter", "entered"].repeat(rounds);
    equal("the owner that waits", words("WAIT", "main"), expected)?;
    for word in ["enter", "entered"] {
        equal(word, count(report, "WAIT", word), 4 * rounds)?;
    }
    // From JDK 27 on a notified thread may have its MONITOR_WAITED before the notifier leaves the monitor.
    let exits = if vm.jdk.feature >= 27 { 3..=4 } else { 3..=3 };
    let seen = count(report, "WAIT", "exit");
    ensure!(exits.contains(&seen.div_ceil(rounds)) && seen >= 3 * rounds, "{seen} exits");
    // A notified or interrupted thread waits for the monitor again, which the thread that wakes it owns.
    for how in ["notified", "interrupted"] {
        for i in 0..3 {
            let name = format!("{how}-{i}");
            let mut seen = words("NOTIFIED", &name);
            seen.retain(|word| *word != "exit");
            equal(&name, seen, ["wait", "waited", "enter", "entered"].repeat(rounds))?;
        }
    }
    equal("entered", count(report, "NOTIFIED", "entered"), count(report, "NOTIFIED", "enter"))?;
    // A wait that began unseen has no end, and a thread with an unseen end is not taken to be waiting.
    let expected = vec!["enter", "enter", "enter", "enter", "exit", "entered"];
    equal("switched while threads wait", words("SWITCHED", ""), expected)
}

/// The JVM itself waits at a monitor for a class that another thread initializes, and reports only the end of such a wait.
/// Nothing is sent for it. Each wait to enter the monitor ends.
fn waits_for_an_initializer_are_whole(vm: &Vm<'_>) -> Result<(), String> {
    let outcome = vm.java("Initializers")?.agent("counter", "events=54+55+57+58")?.run()?;
    equal("output", outcome.stdout.as_str(), "initialized\n")?;
    // Events that did not come have no line.
    let count = |event| {
        outcome.report().find("events", "type", event).map_or(Ok(0), |line| line.int("count"))
    };
    equal("entered monitors", count("55")?, count("54")?)?;
    let (begun, ended) = (count("57")?, count("58")?);
    // System threads wait at the end.
    ensure!(ended <= begun, "{ended} of {begun} waits ended");
    Ok(())
}

/// The VM reports the beginning of each call of `wait`, and the end only if the caller owns the monitor and the timeout is
/// valid.
fn waits_that_throw_an_exception_are_not_reported(vm: &Vm<'_>) -> Result<(), String> {
    let outcome = vm.java("IllegalWaits")?.agent("monitors", "events=57+58")?.run()?;
    let waits = outcome.expects.one("expect")?.int("waits")? as usize;
    let words: Vec<_> =
        watched(outcome.report(), "monitor").map(|line| line.word.as_str()).collect();
    equal("events", words, ["wait", "waited"].repeat(waits))
}

/// A parked thread waits for the object that `LockSupport.getBlocker` returns.
fn parking(vm: &Vm<'_>) -> Result<(), String> {
    let java = vm.java("Parks")?.agent("monitors", "events=57+58")?;
    let outcome = java.settings("park=monitor").run()?;
    let staged = outcome.expects.one("expect")?;
    let others = (staged.int("threads")? - 1) * staged.int("rounds")?;
    let report = outcome.report();
    let of = |name: &str| -> Vec<&Line> {
        report.all().iter().filter(|line| line.text("thread") == Ok(name)).collect()
    };
    for name in ["lock", "condition", "latch", "queue"] {
        let other = of(&format!("other-{name}"));
        for word in ["wait", "waited"] {
            let lines =
                other.iter().filter(|line| line.word == word && line.text("monitor") == Ok(name));
            equal(&format!("{word} at {name}"), lines.count() as i64, others)?;
        }
        ensure!(other.iter().all(|line| line.text("monitor") == Ok(name)), "{name}: {other:?}");
    }
    for (name, monitor, least, most) in [
        ("nanos", "blocker", 100_000, 100_000),
        ("until", "blocker", 1, 100_000),
        ("ever", "blocker", 0, 0),
        ("sleep", "-", 86_400_000, 86_400_000),
    ] {
        let lines = of(name);
        let words: Vec<_> = lines.iter().map(|line| line.word.as_str()).collect();
        equal(name, words, vec!["wait", "waited"])?;
        ensure!(lines.iter().all(|line| line.text("monitor") == Ok(monitor)), "{lines:?}");
        let timeout = lines[0].int("timeout")?;
        ensure!((least..=most).contains(&timeout), "{name}: {timeout}");
    }
    ensure!(of("nothing").is_empty(), "{:?}", of("nothing"));
    let at_blocker = watched(report, "blocker").filter(|line| line.text("thread") == Ok("main"));
    equal("parking that is over at once", at_blocker.count(), 0)
}

/// JDK 21 keeps the carrier of a virtual thread that waits for a monitor, so the carrier is reported as
/// waiting. Later JDKs let it run other threads and report nothing. A thread that leaves the monitor is
/// reported in both cases, carriers too. If each virtual thread is a thread of its own, all waits are reported.
fn virtual_threads(vm: &Vm<'_>) -> Result<(), String> {
    for settings in ["virtual=carrier", "virtual=own"] {
        virtual_threads_with(vm, settings).map_err(|error| format!("{settings}: {error}"))?;
    }
    Ok(())
}

fn virtual_threads_with(vm: &Vm<'_>, settings: &str) -> Result<(), String> {
    let are_threads = settings == "virtual=own";
    let all_wait = are_threads || vm.jdk.feature < 24;
    let told = if all_wait { 6 } else { 2 };
    let java = vm.java_for(21, "VirtualContended")?.agent("monitors", "")?.settings(settings);
    let java = java.property("jdk.virtualThreadScheduler.parallelism", "8");
    let outcome = java.argument(&told.to_string()).run()?;
    let report = outcome.report();
    equal("stages", outcome.expects.one("expect")?.int("stages")?, 2)?;
    for word in ["enter", "entered", "exit"] {
        let seen = count(report, "contended", word);
        ensure!(seen == 2 * told || word == "exit" && !all_wait, "{word}: saw {seen}");
    }
    let mut queue = Queue::default();
    for line in watched(report, "contended") {
        let (thread, is_exit) = (line.text("thread")?, line.word == "exit");
        ensure!(!is_carrier(thread) || !are_threads && (all_wait || is_exit), "{line}");
        ensure!(!are_threads || thread != "other", "not on its own thread: {line}");
        ensure!(!is_exit || !all_wait || !queue.has_left, "left twice: {line}");
        queue.add(line)?;
    }
    let waits: Vec<_> = watched(report, "waited").map(|line| line.word.as_str()).collect();
    let of = |word| waits.iter().filter(|found| **found == word).count();
    let expected = if all_wait { 4 } else { 0 };
    equal("wait and waited", (of("wait"), of("waited")), (expected, expected))?;
    let slept = watched(report, "-").filter(|line| line.text("thread").is_ok_and(is_carrier));
    equal("sleep of carriers", slept.count(), 0)
}

fn is_carrier(thread: &str) -> bool {
    thread.starts_with("ForkJoinPool")
}
