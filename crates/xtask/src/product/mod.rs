//! The files that users get: their paths under a prefix, and how they are built.

mod archive;
mod build;
mod components;
mod glibc;
mod musl;
mod script;

use std::fs;
use std::path::{Path, PathBuf};

use compat_tests::machine::Machine;
use compat_tests::tool::run;
use compat_tests::{contents, workspace_root};

use crate::docs;

pub use build::{Anywhere, Build, COMMIT, VERSION, commit, time, usual_linker};
use components::Components;
pub use glibc::{OLDEST_GLIBC, newest_glibc, version};

/// The directory of the documentation under the prefix.
pub const DOCUMENTATION: &str = "share/doc/jvmpi";

/// A file of the product.
pub struct File {
    /// The path under the prefix.
    pub path: String,
    pub content: Content,
}

/// The content of a file.
pub enum Content {
    /// An executable program, copied from this file.
    Program(PathBuf),
    Library(PathBuf),
    Data(PathBuf),
    Text(String),
    /// A symbolic link to this file in the same directory.
    Link(&'static str),
}

impl File {
    /// Writes the file under `root`, the directory of the prefix.
    pub fn write(&self, root: &Path) -> Result<(), String> {
        let path = root.join(&self.path);
        let parent = path.parent().unwrap_or(root);
        // A running JVM may have the old file mapped; overwriting it in place would change the JVM's memory.
        let _ = fs::remove_file(&path);
        let written = fs::create_dir_all(parent).and_then(|()| match &self.content {
            Content::Program(from) => fs::copy(from, &path).and_then(|_| set_mode(&path, 0o755)),
            Content::Library(from) | Content::Data(from) => {
                fs::copy(from, &path).and_then(|_| set_mode(&path, 0o644))
            }
            Content::Text(text) => fs::write(&path, text).and_then(|()| set_mode(&path, 0o644)),
            Content::Link(to) => std::os::unix::fs::symlink(to, &path),
        });
        written.map_err(|error| format!("{}: {error}", path.display()))
    }
}

fn set_mode(path: &Path, mode: u32) -> std::io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(path, fs::Permissions::from_mode(mode))
}

/// Returns a linker for this machine whose binaries run on older systems too. It is created in `directory`, with its
/// files.
///
/// # Errors
/// Fails if a needed tool or library is missing, or if a file cannot be created.
pub fn linker(machine: &Machine, directory: &Path) -> Result<PathBuf, String> {
    if machine.is_musl() {
        musl::linker(machine, directory)
    } else if machine.is_windows() {
        usual_linker(machine)
    } else {
        glibc::linker(machine, directory)
    }
}

/// Builds and returns all files, sorted by path. Intermediate files are in the directories of `build`.
pub fn files(build: &Build) -> Result<Vec<File>, String> {
    let made = build.directory().join("product");
    wait_for_others(&made)?;
    let binaries = build.run()?;
    let archive = archive::with_own_symbols_alone(build, &binaries.archive, &made)?;
    let root = workspace_root();
    let mut files = vec![
        program("bin/jvmpi", &binaries.jvmpi),
        data("include/jvmpi.h", &root.join("jvmpi.h")),
        library("lib/libjvmpi.so.1", &binaries.libjvmpi),
        File { path: "lib/libjvmpi.so".into(), content: Content::Link("libjvmpi.so.1") },
        library("lib/libhprof.so", &binaries.libhprof),
        data("lib/libjvmpi.a", &archive),
    ];
    let texts = build_files("lib")?;
    files.extend(texts.into_iter().map(|(path, text)| File { path, content: Content::Text(text) }));
    files.extend(generated(build, &made)?);
    files.extend(documentation()?);
    files.extend(components(build)?);
    files.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(files)
}

/// Builds and returns the files for Windows: the command, the libraries, their import library for programs that embed them,
/// the header and the documentation.
pub fn for_windows(build: &Build) -> Result<Vec<File>, String> {
    let made = build.for_windows()?;
    let mut files = vec![
        program("bin/jvmpi.exe", &made.join("jvmpi.exe")),
        library("bin/jvmpi.dll", &made.join("jvmpi.dll")),
        library("bin/hprof.dll", &made.join("hprof.dll")),
        data("lib/libjvmpi.dll.a", &made.join("libjvmpi.dll.a")),
        data("include/jvmpi.h", &workspace_root().join("jvmpi.h")),
    ];
    files.extend(documentation()?);
    files.extend(components(build)?);
    Ok(files)
}

/// Returns the list of components and their licences.
fn components(build: &Build) -> Result<[File; 2], String> {
    let components = Components::of(build)?;
    let file =
        |name, text| File { path: format!("{DOCUMENTATION}/{name}"), content: Content::Text(text) };
    Ok([
        file("sbom.cdx.json", components.bill()?),
        file("THIRD-PARTY-LICENCES", components.licences()?),
    ])
}

/// Locks the directory against other processes until this process ends.
fn wait_for_others(directory: &Path) -> Result<(), String> {
    let error = |e: std::io::Error| format!("{}: {e}", directory.display());
    fs::create_dir_all(directory).map_err(error)?;
    let lock = fs::File::create(directory.join("lock")).map_err(error)?;
    lock.lock().map_err(error)?;
    std::mem::forget(lock);
    Ok(())
}

fn program(path: &str, from: &Path) -> File {
    File { path: path.into(), content: Content::Program(from.into()) }
}

fn library(path: &str, from: &Path) -> File {
    File { path: path.into(), content: Content::Library(from.into()) }
}

fn data(path: &str, from: &Path) -> File {
    File { path: path.into(), content: Content::Data(from.into()) }
}

/// Returns the paths and texts of the files for pkg-config and CMake, if the libraries are in the directory `lib` of the
/// prefix.
pub fn build_files(lib: &str) -> Result<Vec<(String, String)>, String> {
    let parents = "../".repeat(lib.split('/').count());
    let files = [
        ("pkgconfig", "jvmpi.pc"),
        ("cmake/jvmpi", "jvmpi-config.cmake"),
        ("cmake/jvmpi", "jvmpi-config-version.cmake"),
    ];
    let fill_in = |(directory, name): (&str, &str)| {
        let text = contents(workspace_root().join("packaging").join(name))?;
        let text = text.replace("@VERSION@", VERSION).replace("@LIB@", lib);
        Ok((format!("{lib}/{directory}/{name}"), text.replace("@PARENTS@/", &parents)))
    };
    files.into_iter().map(fill_in).collect()
}

/// Returns the files that the command `jvmpi` generates: manual pages and shell completions.
fn generated(build: &Build, made: &Path) -> Result<Vec<File>, String> {
    let jvmpi = || build.machine.command(&build.directory().join("jvmpi"));
    let manual = made.join("man1");
    let _ = fs::remove_dir_all(&manual);
    run(jvmpi().arg("man").arg(&manual))?;
    let mut files = Vec::new();
    for name in docs::files_below(&manual, "")? {
        files.push(data(&format!("share/man/man1/{name}"), &manual.join(&name)));
    }
    for (shell, path) in [
        ("bash", "share/bash-completion/completions/jvmpi"),
        ("zsh", "share/zsh/site-functions/_jvmpi"),
        ("fish", "share/fish/vendor_completions.d/jvmpi.fish"),
    ] {
        let content = Content::Text(run(jvmpi().args(["completions", shell]))?);
        files.push(File { path: path.into(), content });
    }
    Ok(files)
}

fn documentation() -> Result<Vec<File>, String> {
    let root = workspace_root();
    let mut paths: Vec<_> = docs::PROJECT.map(|(page, _)| page.to_owned()).into();
    paths.extend(["LICENSE-APACHE", "LICENSE-MIT"].map(String::from));
    for directory in ["docs", "compat-tests/faults", "examples"] {
        paths.extend(docs::files_below(root, directory)?);
    }
    let file = |name: String| {
        let (path, from, generated) =
            (format!("{DOCUMENTATION}/{name}"), root.join(&name), docs::generated(&name));
        let content = match generated.as_str() {
            "" => Content::Data(from),
            _ => Content::Text(contents(from)? + &generated),
        };
        Ok(File { path, content })
    };
    paths.into_iter().map(file).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    #[test]
    fn installed_pages_link_to_installed_files() {
        let files = documentation().unwrap();
        let paths: Vec<_> = files.iter().map(|file| Path::new(&file.path)).collect();
        let mut seen = 0;
        for page in paths.iter().filter(|path| path.extension().is_some_and(|end| end == "md")) {
            let page = page.strip_prefix(DOCUMENTATION).unwrap().to_str().unwrap();
            let text = fs::read_to_string(workspace_root().join(page)).unwrap();
            for link in docs::links(&text).iter().filter(|link| !link.contains(':')) {
                seen += 1;
                let path = link.split('#').next().unwrap_or_default();
                let target = Path::new(DOCUMENTATION).join(docs::resolve(page, path));
                // A folder is installed with what is in it.
                assert!(paths.iter().any(|path| path.starts_with(&target)), "{page}: {link}");
            }
        }
        assert!(seen > 50, "only {seen} links");
    }
}
