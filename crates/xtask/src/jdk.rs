//! `cargo xtask jdk`: the runtimes that the tests run on.

use compat_tests::jdk::{self, Jdk};

/// Fetches what is missing and lists what is there.
pub fn run(_: &[String]) -> Result<(), String> {
    jdk::fetch()?;
    for jdk in jdk::found().values() {
        println!("JDK {:<3} {:<10} {}", jdk.feature, jdk.version, jdk.home.display());
    }
    Ok(())
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
