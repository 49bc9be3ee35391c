//! Downloads Debian packages for any architecture.

use std::fs;
use std::path::Path;

use crate::machine::Machine;
use crate::tool::tool;

/// Downloads packages into a directory. This system need not be configured for their architecture.
///
/// # Errors
/// Fails if the download fails.
pub fn download(machine: &Machine, packages: &[&str], directory: &Path) -> Result<(), String> {
    let lists = directory.join("lists");
    fs::create_dir_all(lists.join("partial")).map_err(|e| format!("{}: {e}", lists.display()))?;
    let settings = [
        format!("APT::Architecture={}", machine.name),
        format!("APT::Architectures={}", machine.name),
        format!("Dir::State::Lists={}", lists.display()),
        format!("Dir::Cache={}", lists.display()),
        "Dir::State::Status=/dev/null".to_owned(),
        "Acquire::Languages=none".to_owned(),
    ];
    let settings: Vec<_> = settings.iter().flat_map(|setting| ["-o", setting]).collect();
    // apt-get fails if a source has no packages for the architecture; the download below decides.
    let _ = tool("apt-get", &[&settings[..], &["update"]].concat(), directory);
    let packages: Vec<_> =
        packages.iter().map(|package| format!("{package}:{}", machine.name)).collect();
    let packages: Vec<_> = packages.iter().map(String::as_str).collect();
    tool("apt-get", &[&settings[..], &["download"], &packages].concat(), directory)?;
    fs::remove_dir_all(&lists).map_err(|e| format!("{}: {e}", lists.display()))
}
