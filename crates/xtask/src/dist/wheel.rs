//! Builds the wheel for pip: the command, the libraries and the header.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use compat_tests::machine::Machine;
use compat_tests::tool::run;
use compat_tests::{python, text, workspace_root};

use crate::product::{self, Content, DOCUMENTATION, VERSION};

/// The tool that packs wheels.
pub const WHEEL: &str = "wheel==0.48.0";

/// The files of the tree in the wheel. pip installs `scripts` in `bin` and `data` in the root of an environment.
const FILES: [(&str, &str); 5] = [
    ("bin/jvmpi", "data/scripts/jvmpi"),
    ("lib/libjvmpi.so.1", "data/data/lib/jvmpi/libjvmpi.so"),
    ("lib/libhprof.so", "data/data/lib/jvmpi/libhprof.so"),
    ("include/jvmpi.h", "data/data/include/jvmpi.h"),
    ("share/man/man1/jvmpi.1", "data/data/share/man/man1/jvmpi.1"),
];
/// The files of the wheel for Windows, where a program looks for libraries beside it.
const FOR_WINDOWS: [(&str, &str); 4] = [
    ("bin/jvmpi.exe", "data/scripts/jvmpi.exe"),
    ("bin/jvmpi.dll", "data/scripts/jvmpi.dll"),
    ("bin/hprof.dll", "data/scripts/hprof.dll"),
    ("include/jvmpi.h", "data/data/include/jvmpi.h"),
];
const LICENSES: [&str; 3] = ["LICENSE-APACHE", "LICENSE-MIT", "THIRD-PARTY-LICENCES"];

/// Builds the wheel of the files in this tree. Its files have this time.
pub fn build(
    machine: &Machine,
    tree: &Path,
    directory: &Path,
    time: &str,
) -> Result<PathBuf, String> {
    let own = format!("jvmpi-{VERSION}");
    let root = directory.join("wheel");
    let _ = fs::remove_dir_all(&root);
    let write = |path: String, content: Content| product::File { path, content }.write(&root);
    let files = if machine.is_windows() { &FOR_WINDOWS[..] } else { &FILES };
    for &(from, to) in files {
        let from = tree.join(from);
        let is_program = to.starts_with("data/scripts");
        let content = if is_program { Content::Program(from) } else { Content::Data(from) };
        write(format!("{own}.{to}"), content)?;
    }
    let information = |name: &str| format!("{own}.dist-info/{name}");
    let documentation = tree.join(DOCUMENTATION);
    for name in LICENSES {
        let content = Content::Data(documentation.join(name));
        write(information(&format!("licenses/{name}")), content)?;
    }
    let bill = Content::Data(documentation.join("sbom.cdx.json"));
    write(information("sboms/jvmpi.cdx.json"), bill)?;
    let page = workspace_root().join("crates/cli/README.md");
    let page = fs::read_to_string(&page).map_err(|e| format!("{}: {e}", page.display()))?;
    write(information("METADATA"), Content::Text(metadata(machine, &page)))?;
    let tag = format!("py3-none-{}", platform(machine)?);
    let wheel = format!(
        "Wheel-Version: 1.0\nGenerator: jvmpi {VERSION}\nRoot-Is-Purelib: false\nTag: {tag}\n"
    );
    write(information("WHEEL"), Content::Text(wheel))?;
    let mut pack = python::with(&[WHEEL])?;
    pack.args(["-m", "wheel", "pack", "--dest-dir", text(directory)?]).arg(&root);
    run(pack.env("SOURCE_DATE_EPOCH", time))?;
    fs::remove_dir_all(&root).map_err(|e| format!("{}: {e}", root.display()))?;
    Ok(directory.join(format!("{own}-{tag}.whl")))
}

/// Returns the tag of a platform with the glibc version that the binaries need.
fn platform(machine: &Machine) -> Result<&'static str, String> {
    Ok(match machine.name {
        "amd64" => "manylinux2014_x86_64",
        "i386" => "manylinux2014_i686",
        "arm64" => "manylinux2014_aarch64",
        "musl" => "musllinux_1_2_x86_64",
        "windows" => "win_amd64",
        other => return Err(format!("wheels have no name for {other}")),
    })
}

fn metadata(machine: &Machine, page: &str) -> String {
    let system = if machine.is_windows() { "Microsoft :: Windows" } else { "POSIX :: Linux" };
    let mut text = format!(
        "Metadata-Version: 2.4\n\
         Name: jvmpi\n\
         Version: {VERSION}\n\
         Summary: Profiles Java programs, and runs JVMPI agents on current JVMs\n\
         Keywords: java,jvm,jvmpi,profiler,hprof\n\
         Classifier: Environment :: Console\n\
         Classifier: Operating System :: {system}\n\
         Classifier: Programming Language :: Java\n\
         Classifier: Programming Language :: Rust\n\
         Classifier: Topic :: Software Development :: Debuggers\n\
         License-Expression: MIT OR Apache-2.0\n"
    );
    for name in LICENSES {
        _ = writeln!(text, "License-File: {name}");
    }
    _ = write!(text, "Description-Content-Type: text/markdown\n\n{page}");
    text
}
