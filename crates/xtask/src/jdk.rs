//! `cargo xtask jdk`: downloads the Java runtimes for the tests.

use compat_tests::jdk::{self, Jdk};

use crate::cross;

/// Downloads missing runtimes, or those with these names, and lists all.
pub fn run(arguments: &[String]) -> Result<(), String> {
    let mut arguments = arguments.to_vec();
    let machine = cross::machine(&mut arguments)?;
    if arguments.is_empty() {
        jdk::fetch(machine)?;
    } else {
        jdk::fetch_named(machine, &arguments)?;
    }
    for jdk in jdk::found_for(machine).into_values().chain(jdk::of_vendors(machine)) {
        println!("JDK {:<11} {:<10} {}", jdk.name(), jdk.version, jdk.home.display());
    }
    Ok(())
}

/// Returns the runtime of this feature version.
///
/// # Errors
/// Fails if it is not installed, and lists those that are.
pub fn named(feature: &str) -> Result<Jdk, String> {
    let found = jdk::found();
    feature.parse().ok().and_then(|feature| found.get(&feature).cloned()).ok_or_else(|| {
        let there: Vec<_> = found.keys().map(u32::to_string).collect();
        format!(
            "no JDK {feature}, only [{}]; cargo xtask jdk downloads the others",
            there.join(", ")
        )
    })
}
