//! `cargo xtask jdk`: downloads the Java runtimes for the tests.

use compat_tests::jdk::{self, Jdk};

use crate::cross;

/// Downloads missing runtimes, or those of the named versions, and lists all.
pub fn run(arguments: &[String]) -> Result<(), String> {
    let mut arguments = arguments.to_vec();
    let machine = cross::machine(&mut arguments)?;
    if arguments.is_empty() {
        jdk::fetch(machine)?;
    } else {
        let feature = |argument: &String| {
            argument.parse().map_err(|_| format!("{argument} is no version, such as 26"))
        };
        jdk::fetch_named(machine, &arguments.iter().map(feature).collect::<Result<Vec<_>, _>>()?)?;
    }
    for jdk in jdk::found_for(machine).values() {
        println!("JDK {:<3} {:<10} {}", jdk.feature, jdk.version, jdk.home.display());
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
