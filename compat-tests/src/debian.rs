//! Downloads Debian packages for any architecture, and from its unstable distribution.

use std::fs;
use std::path::Path;

use crate::machine::Machine;
use crate::tool::tool;

/// The keys that sign Debian's distributions, from the package debian-archive-keyring.
const KEYS: &str = "/usr/share/keyrings/debian-archive-keyring.gpg";

/// The packages with the libraries that a Java runtime without a display needs.
pub const LIBRARIES: [&str; 4] = ["libc6", "libgcc-s1", "libstdc++6", "zlib1g"];

/// The distributions that packages come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Distribution {
    /// The distributions that this system is configured for.
    System,
    /// Debian's unstable distribution, `sid`.
    Unstable,
}

/// Downloads packages into a directory. This system need not be configured for their architecture or distribution.
pub fn download(
    machine: &Machine,
    distribution: Distribution,
    packages: &[&str],
    directory: &Path,
) -> Result<(), String> {
    let lists = directory.join("lists");
    let error = |e: std::io::Error| format!("{}: {e}", lists.display());
    fs::create_dir_all(lists.join("partial")).map_err(error)?;
    let mut settings = vec![
        format!("APT::Architecture={}", machine.name),
        format!("APT::Architectures={}", machine.name),
        format!("Dir::State::Lists={}", lists.display()),
        format!("Dir::Cache={}", lists.display()),
        "Dir::State::Status=/dev/null".to_owned(),
        "Acquire::Languages=none".to_owned(),
    ];
    if distribution == Distribution::Unstable {
        if !Path::new(KEYS).is_file() {
            return Err(format!("no {KEYS}: apt-get install debian-archive-keyring"));
        }
        // apt-get update removes foreign files from the folder of the lists.
        let sources = directory.join("sources.list");
        let source = format!("deb [signed-by={KEYS}] http://deb.debian.org/debian sid main\n");
        fs::write(&sources, source).map_err(error)?;
        settings.push(format!("Dir::Etc::SourceList={}", sources.display()));
        settings.push("Dir::Etc::SourceParts=/dev/null".to_owned());
    }
    let settings: Vec<_> = settings.iter().flat_map(|setting| ["-o", setting]).collect();
    // apt-get fails if a source has no packages for the architecture; the download below decides.
    let _ = tool("apt-get", &[&settings[..], &["update"]].concat(), directory);
    let packages: Vec<_> =
        packages.iter().map(|package| format!("{package}:{}", machine.name)).collect();
    let packages: Vec<_> = packages.iter().map(String::as_str).collect();
    tool("apt-get", &[&settings[..], &["download"], &packages].concat(), directory)?;
    fs::remove_dir_all(&lists).map_err(error)
}

/// Downloads packages, and unpacks them into the directory.
pub fn unpack(
    machine: &Machine,
    distribution: Distribution,
    packages: &[&str],
    directory: &Path,
) -> Result<(), String> {
    download(machine, distribution, packages, directory)?;
    let unpack = "for package in *.deb; do dpkg -x \"$package\" .; rm \"$package\"; done";
    tool("sh", &["-ec", unpack], directory)
}
