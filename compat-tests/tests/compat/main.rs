//! Runs every case on every installed JDK with each collector that the case names. Each combination
//! is a test, such as `jdk17/g1/threads/names_are_never_null`.

use std::collections::BTreeSet;
use std::env;
use std::process::ExitCode;
use std::sync::Arc;
use std::thread;

use compat_tests::build;
use compat_tests::case::{Case, Landing};
use compat_tests::jdk::{self, Gc, Jdk};
use compat_tests::machine::Machine;
use compat_tests::run::Vm;
use compat_tests::spinning::Spinning;
use libtest_mimic::{Arguments, Failed, Trial};

#[macro_use]
mod assert;
mod arenas;
mod checks;
mod class_files;
mod classes;
mod cli;
mod collections;
mod compiled;
mod conformance;
mod containers;
mod cpu_time;
mod dumps;
mod durations;
mod faults;
mod hprof;
mod instructions;
mod internals;
mod jni_references;
mod lifecycle;
mod list;
mod load;
mod locks;
mod machines;
mod methods;
mod monitors;
mod objects;
mod options;
mod porting;
mod rust_agents;
mod samples;
mod sampling;
mod security;
mod soak;
mod table;
mod threads;
mod trace;
mod traces;

/// The imports of most topics.
mod prelude {
    pub use compat_tests::jdk::Gc;
    pub use compat_tests::report::{Line, Report};
    pub use compat_tests::run::{Launch, Outcome, Running, Vm};
    pub use compat_tests::{build, contents, text};

    pub use crate::assert::equal;
    pub(crate) use crate::list::cases;
}

/// The end of the names of cases that run beside spinning processes.
const UNDER_LOAD: &str = "_under_load";

/// A JVM that cases run on, or would if it were there.
#[derive(Clone)]
struct Place {
    feature: u32,
    /// `17`
    name: String,
    gc: Gc,
    jdk: Result<Arc<Jdk>, String>,
}

fn main() -> ExitCode {
    let mut arguments = Arguments::from_args();
    // A case waits for its JVM half of the time.
    let processors = thread::available_parallelism().map_or(1, usize::from);
    arguments.test_threads.get_or_insert(processors * 3 / 2);

    let compiler = jdk::with_javac().map(|jdk| jdk.feature);
    let places = match env::var(jdk::OTHER).map(|name| jdk::other(&name)) {
        Err(_) if env::var_os(jdk::ONLY_USUAL).is_some() => usual_place(),
        Err(_) => places(),
        Ok(Ok(other)) => places_of(other),
        Ok(Err(why)) => {
            eprintln!("{why}");
            return ExitCode::FAILURE;
        }
    };
    let landing = env::var(jdk::LANDING).ok();
    let landing = landing.map(|commit| Landing::of(jdk::usual().map(|jdk| jdk.feature), &commit));
    let mut trials = Vec::new();
    for (topic, cases) in topics() {
        for place in &places {
            let with_gc = places.iter().filter(|other| other.gc == place.gc && other.jdk.is_ok());
            let jdks: Vec<u32> = with_gc.map(|other| other.feature).collect();
            let wants = |case: &&Case<'_>| match landing {
                Some(landing) => landing.wants(case, place.feature, place.gc, &jdks),
                None => case.is_for(place.feature, place.gc),
            };
            for case in cases.iter().filter(wants) {
                trials.push(trial(topic, *case, place.clone(), &compiler));
            }
        }
    }
    // All cases beside them are slow: the spinning processes end early.
    trials.sort_by_key(|trial| !trial.name().ends_with(UNDER_LOAD));
    // If what every case needs does not compile, that is better said once.
    let runs = !arguments.list && trials.iter().any(|trial| !trial.has_ignored_flag());
    if runs {
        eprintln!("\nCompiling what the JVMs load");
        if let Err(why) = build::shim().and_then(|_| build::classes(8)) {
            eprintln!("{why}");
            return ExitCode::FAILURE;
        }
        let jdks = places.iter().filter(|place| place.jdk.is_ok()).map(|place| place.name.as_str());
        eprintln!("Cases on JDK {}:", Vec::from_iter(BTreeSet::from_iter(jdks)).join(", "));
    }
    let conclusion = libtest_mimic::run(&arguments, trials);
    durations::report();
    conclusion.exit_code()
}

/// The names of these modules, with their cases.
macro_rules! topics {
    ($($topic:ident)*) => { vec![$((stringify!($topic), $topic::cases())),*] };
}

/// Returns the topics. Those with the longest cases come first, so that no processor waits for one of them at the end.
fn topics() -> Vec<(&'static str, Vec<Case<'static>>)> {
    topics! {
        soak conformance hprof internals faults load options table threads class_files classes
        traces lifecycle compiled cpu_time samples sampling objects collections arenas locks
        methods instructions dumps monitors jni_references rust_agents porting cli containers
        security checks trace
    }
}

/// Every JDK with every collector; which of them start is found out for all JDKs at a time. The newer JDKs, which need
/// not be there, are left out if they are not.
fn places() -> Vec<Place> {
    let found = jdk::found();
    let expected = Machine::this().jdks.iter().map(|(feature, _)| *feature);
    let all: BTreeSet<u32> = expected.chain(found.keys().copied()).collect();
    thread::scope(|scope| {
        let probes: Vec<_> = all
            .into_iter()
            .map(|feature| match found.get(&feature).cloned() {
                Some(jdk) => scope.spawn(|| places_of(jdk)),
                None => scope.spawn(move || missing(feature)),
            })
            .collect();
        probes.into_iter().flat_map(|probe| probe.join().expect("a probe panicked")).collect()
    })
}

/// Returns the usual JDK with G1.
fn usual_place() -> Vec<Place> {
    let places = jdk::usual().map_or_else(places, places_of);
    places.into_iter().filter(|place| place.gc == Gc::G1).collect()
}

/// This JDK with every collector.
fn places_of(jdk: Jdk) -> Vec<Place> {
    let (feature, name, jdk) = (jdk.feature, jdk.name(), Arc::new(jdk));
    let place = |gc: Gc| {
        let lacks = || format!("this JDK {name} lacks {}", gc.name());
        let jdk = if jdk.supports(gc) { Ok(Arc::clone(&jdk)) } else { Err(lacks()) };
        Place { feature, name: name.clone(), gc, jdk }
    };
    Gc::ALL.map(place).into()
}

fn missing(feature: u32) -> Vec<Place> {
    let why = format!("no JDK {feature} (cargo xtask jdk fetches it)");
    Gc::ALL.map(|gc| Place { feature, name: feature.to_string(), gc, jdk: Err(why.clone()) }).into()
}

/// Returns the case as a test; ignored, with the reason before its name, if it cannot run here.
fn trial(topic: &str, case: Case<'static>, place: Place, compiler: &Result<u32, String>) -> Trial {
    let load = if case.is_under_load() { UNDER_LOAD } else { "" };
    let name = format!("jdk{}/{}/{topic}/{}{load}", place.name, place.gc.name(), case.name);
    let jdk = place.jdk.and_then(|jdk| match compiler {
        Ok(_) if let Some(reason) = machines::prevent(&jdk, topic, &case) => Err(reason),
        Err(missing) => Err(missing.clone()),
        Ok(feature) if *feature < case.release => {
            Err(format!("no javac for Java {}", case.release))
        }
        Ok(_) => Ok(jdk),
    });
    match jdk {
        Ok(jdk) => Trial::test(name.clone(), move || {
            let _spinning = case.is_under_load().then(Spinning::start).transpose()?;
            durations::measure(&name, || (case.run)(&Vm::new(&jdk, place.gc, &name)))
                .map_err(Failed::from)
        }),
        Err(reason) => {
            let message = reason.clone();
            Trial::test(name, move || Err(Failed::from(message)))
                .with_kind(format!("skipped: {reason}"))
                .with_ignored_flag(true)
        }
    }
}
