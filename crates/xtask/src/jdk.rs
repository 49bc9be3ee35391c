//! `cargo xtask jdk`: the runtimes that the tests run on.

use compat_tests::jdk::{self, Jdk};
use compat_tests::machine::{self, Machine};

use crate::options::Options;

/// Fetches what is missing and lists what is there.
pub fn run(arguments: &[String]) -> Result<(), String> {
    let mut options = Options::of(arguments)?;
    let machine = machine(options.take("machine"))?;
    options.finish()?;
    jdk::fetch(machine)?;
    for jdk in jdk::found_for(machine).values() {
        println!("JDK {:<3} {:<10} {}", jdk.feature, jdk.version, jdk.home.display());
    }
    Ok(())
}

/// The machine of this name, or this one.
///
/// # Errors
/// If there is none: which there are.
pub fn machine(name: Option<String>) -> Result<&'static Machine, String> {
    let Some(name) = name else { return Ok(Machine::this()) };
    Machine::named(&name).ok_or_else(|| {
        let names: Vec<_> = machine::ALL.iter().map(|machine| machine.name).collect();
        format!("unknown machine {name}; there are {}", names.join(", "))
    })
}

/// The runtime of this feature version.
///
/// # Errors
/// If it is not there: which are, and how to get the others.
pub fn named(feature: &str) -> Result<Jdk, String> {
    let found = jdk::found();
    feature.parse().ok().and_then(|feature| found.get(&feature).cloned()).ok_or_else(|| {
        let there: Vec<_> = found.keys().map(u32::to_string).collect();
        format!("no JDK {feature}; there are [{}], cargo xtask jdk fetches more", there.join(", "))
    })
}
