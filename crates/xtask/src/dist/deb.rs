//! Builds the Debian packages: the library, the files for developers, and the command. Those with `Multi-Arch: same` can
//! be installed for several architectures at once.

use std::env;
use std::fs;
use std::io::Write as _;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use compat_tests::machine::Machine;
use flate2::{Compression, GzBuilder};

use crate::product::{self, DOCUMENTATION, VERSION, run};

/// The revision of the packages. It is lower than that of any package that Debian itself would have.
const REVISION: &str = "0jvmpi1";
/// The variable with the address of the maintainer, as in Debian's own tools.
const ADDRESS: &str = "DEBEMAIL";
const SHARED: &str = "Multi-Arch: same\n";

/// The findings of lintian in the package of the command that are as they should be.
const OVERRIDES: &str = "# The pages of the documentation link to it by this name.\n\
                         jvmpi: wrong-name-for-upstream-changelog *\n";

/// A package.
struct Package {
    name: &'static str,
    /// Its section, and fields that only some packages have.
    section: &'static str,
    fields: &'static str,
    depends: String,
    summary: &'static str,
    description: &'static str,
    /// Its files in the tree of the archive, and their paths under `usr`.
    files: Vec<(String, String)>,
    /// Symbolic links under `usr`, and their targets.
    links: Vec<(String, &'static str)>,
    /// Other files under `usr`.
    texts: Vec<(String, String)>,
    /// Control files beside `control`.
    control: &'static [(&'static str, &'static str)],
}

/// The product for a machine, from which the packages are built.
pub struct Product<'a> {
    pub machine: &'a Machine,
    /// The files, with the paths in the archive.
    pub tree: &'a Path,
    pub paths: Vec<&'a str>,
    /// The version of glibc that the binaries need.
    pub glibc: String,
    /// The modification time of all files, in seconds since 1970.
    pub time: &'a str,
}

/// The licenses of other authors' packages. They differ between architectures, so they are not in `share/doc`.
const LICENSES: &str = "THIRD-PARTY-LICENCES";

impl Product<'_> {
    /// Builds the packages in this directory.
    pub fn packages(&self, directory: &Path) -> Result<Vec<PathBuf>, String> {
        let [library, development, command] = [self.library(), self.development()?, self.command()];
        [library, development, command].iter().map(|it| self.build(it, directory)).collect()
    }

    fn version(&self) -> String {
        format!("{VERSION}-{REVISION}")
    }

    fn needed_by_binaries(&self) -> String {
        format!("libc6 (>= {}), libgcc-s1", self.glibc)
    }

    fn library(&self) -> Package {
        let lib = self.lib();
        Package {
            name: "libjvmpi1",
            section: "libs",
            fields: SHARED,
            depends: self.needed_by_binaries(),
            summary: "JVMPI profiler agents on JDK 11 and later",
            description: "libjvmpi lets unmodified agents of the Java Virtual Machine Profiler\n \
                 Interface (JDK 1.2 to 5) run on today's JVMs. HPROF, the profiler of\n \
                 JDK 1.2 to 8, is included as such an agent.\n",
            files: [
                ("lib/libjvmpi.so.1", "libjvmpi.so.1"),
                ("lib/libhprof.so", "jvmpi/libhprof.so"),
                (&*format!("{DOCUMENTATION}/{LICENSES}"), &*format!("jvmpi/{LICENSES}")),
            ]
            .map(|(from, to)| (from.to_owned(), format!("{lib}/{to}")))
            .to_vec(),
            // JVMs load it from here, and it finds HPROF beside itself.
            links: vec![(format!("{lib}/jvmpi/libjvmpi.so"), "../libjvmpi.so.1")],
            texts: Vec::new(),
            control: &[
                ("shlibs", "libjvmpi 1 libjvmpi1\n"),
                ("triggers", "activate-noawait ldconfig\n"),
            ],
        }
    }

    fn development(&self) -> Result<Package, String> {
        let lib = self.lib();
        let same = |path: &str| (path.to_owned(), path.to_owned());
        let mut files = vec![same("include/jvmpi.h")];
        files.push(("lib/libjvmpi.a".into(), format!("{lib}/libjvmpi.a")));
        for path in self.under(&format!("{DOCUMENTATION}/examples/")) {
            let at = path.replace(DOCUMENTATION, "share/doc/libjvmpi-dev");
            files.push((path, at));
        }
        let texts = product::build_files(&lib)?;
        Ok(Package {
            name: "libjvmpi-dev",
            section: "libdevel",
            fields: SHARED,
            depends: format!("libjvmpi1 (= {})", self.version()),
            summary: "JVMPI profiler agents on JDK 11 and later (development files)",
            description: "The header jvmpi.h, the library for programs that embed a JVM, files for\n \
                 pkg-config and CMake, and examples.\n",
            files,
            links: vec![(format!("{lib}/libjvmpi.so"), "libjvmpi.so.1")],
            texts,
            control: &[],
        })
    }

    fn command(&self) -> Package {
        // Debian's zsh reads another directory.
        let at = |path: &str| path.replace("zsh/site-functions", "zsh/vendor-completions");
        let examples = format!("{DOCUMENTATION}/examples/");
        let ours = ["bin/", "share/"].map(|directory| self.under(directory)).concat();
        // The licenses are in `copyright` and in the package of the library.
        let own = |path: &String| !path.starts_with(&examples) && !path.contains("/LICENSE-");
        let own = |path: &String| own(path) && !path.ends_with(LICENSES);
        Package {
            name: "jvmpi",
            section: "java",
            fields: "Suggests: default-jre-headless, libjvmpi-dev\n",
            depends: format!("{}, libjvmpi1 (= {})", self.needed_by_binaries(), self.version()),
            summary: "profiler for Java programs, and command for JVMPI agents",
            description: "The command jvmpi records profiles of Java programs, also of running ones,\n \
                 as HTML pages, flame graphs, for pprof or in the formats of HPROF. It runs\n \
                 and checks agents of the Java Virtual Machine Profiler Interface.\n",
            files: ours.into_iter().filter(own).map(|path| (path.clone(), at(&path))).collect(),
            links: Vec::new(),
            texts: vec![("share/lintian/overrides/jvmpi".into(), OVERRIDES.into())],
            control: &[],
        }
    }

    /// Returns the directory of libraries under `usr`.
    fn lib(&self) -> String {
        format!("lib/{}", self.machine.multiarch())
    }

    /// Returns the files of the archive below a directory.
    fn under(&self, directory: &str) -> Vec<String> {
        let found = self.paths.iter().filter(|path| path.starts_with(directory));
        found.map(|path| (*path).to_owned()).collect()
    }

    fn build(&self, package: &Package, directory: &Path) -> Result<PathBuf, String> {
        let root = directory.join(format!("{}-deb", package.name));
        let _ = fs::remove_dir_all(&root);
        self.write_files(package, &root)?;
        self.write_control(package, &root)?;
        let name = format!("{}_{}_{}.deb", package.name, self.version(), self.machine.name);
        let made = directory.join(name);
        let mut find = Command::new("find");
        find.arg(&root).args(["-exec", "touch", "-h", "-d", &format!("@{}", self.time), "{}", "+"]);
        run(&mut find)?;
        let mut deb = Command::new("dpkg-deb");
        deb.args(["--root-owner-group", "-Zxz", "--build"]).arg(&root).arg(&made);
        run(deb.env("SOURCE_DATE_EPOCH", self.time))?;
        fs::remove_dir_all(&root).map_err(|e| format!("{}: {e}", root.display()))?;
        Ok(made)
    }

    /// Writes the files that the package installs.
    fn write_files(&self, package: &Package, root: &Path) -> Result<(), String> {
        let usr = root.join("usr");
        let failed = |path: &Path, e: std::io::Error| format!("{}: {e}", path.display());
        let create = |path: &str| {
            let path = usr.join(path);
            let parent = path.parent().unwrap_or(&usr);
            fs::create_dir_all(parent).map_err(|e| failed(parent, e)).map(|()| path)
        };
        for (from, to) in &package.files {
            let (from, to) = (self.tree.join(from), create(to)?);
            fs::copy(&from, &to).map_err(|e| failed(&from, e))?;
            if to.strip_prefix(&usr).is_ok_and(|to| to.starts_with("share/man")) {
                compress(&to)?;
            }
        }
        for (path, to) in &package.links {
            let path = create(path)?;
            symlink(to, &path).map_err(|e| failed(&path, e))?;
        }
        let documentation = format!("share/doc/{}", package.name);
        let own = [
            (format!("{documentation}/copyright"), self.copyright()?),
            (format!("{documentation}/changelog.Debian"), self.changelog()?),
        ];
        for (path, text) in package.texts.iter().chain(&own) {
            let path = create(path)?;
            fs::write(&path, text).map_err(|e| failed(&path, e))?;
            if path.ends_with("changelog.Debian") {
                compress(&path)?;
            }
        }
        Ok(())
    }

    fn write_control(&self, package: &Package, root: &Path) -> Result<(), String> {
        let Package { name, section, fields, depends, summary, description, .. } = package;
        let usr = root.join("usr");
        let size = run(Command::new("du").args(["-sk", "--apparent-size"]).arg(&usr))?;
        let size = size.split_whitespace().next().unwrap_or_default();
        let text = format!(
            "Package: {name}\n\
             Source: jvmpi\n\
             Version: {version}\n\
             Architecture: {architecture}\n\
             Maintainer: {maintainer}\n\
             Installed-Size: {size}\n\
             Depends: {depends}\n\
             Section: {section}\n\
             Priority: optional\n\
             {fields}\
             Description: {summary}\n \
             {description}",
            version = self.version(),
            architecture = self.machine.name,
            maintainer = maintainer(),
        );
        let control = root.join("DEBIAN");
        let failed = |e: std::io::Error| format!("{}: {e}", control.display());
        fs::create_dir_all(&control).map_err(failed)?;
        let sums = run(Command::new("sh")
            .current_dir(root)
            .args(["-ec", "find usr -type f | LC_ALL=C sort | tr '\\n' '\\0' | xargs -0 md5sum"]))?;
        fs::write(control.join("md5sums"), sums).map_err(failed)?;
        fs::write(control.join("control"), text).map_err(failed)?;
        package
            .control
            .iter()
            .try_for_each(|(name, text)| fs::write(control.join(name), text).map_err(failed))
    }

    /// Returns the licenses in Debian's format.
    fn copyright(&self) -> Result<String, String> {
        let read = |name: &str| {
            let path = self.tree.join(DOCUMENTATION).join(name);
            fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()))
        };
        let mit = paragraph(&read("LICENSE-MIT")?);
        Ok(format!(
            "Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/\n\
             Upstream-Name: jvmpi\n\
             Comment: The programs and libraries contain packages of other authors, whose\n \
             licenses are in /usr/lib/*/jvmpi/{LICENSES} of libjvmpi1.\n\n\
             Files: *\n\
             Copyright: the jvmpi developers\n\
             License: Expat or Apache-2.0\n\n\
             License: Expat\n{mit}\n\
             License: Apache-2.0\n \
             On Debian systems, the text of the license is in\n \
             /usr/share/common-licenses/Apache-2.0.\n"
        ))
    }

    fn changelog(&self) -> Result<String, String> {
        let date = run(Command::new("date").args(["-u", "-R", "-d", &format!("@{}", self.time)]))?;
        Ok(format!(
            "jvmpi ({}) unstable; urgency=medium\n\n  \
             * Release {VERSION}: /usr/share/doc/jvmpi/CHANGELOG.md lists the changes.\n\n \
             -- {}  {date}",
            self.version(),
            maintainer()
        ))
    }
}

/// Returns the name and the address of the maintainer.
fn maintainer() -> String {
    let address = env::var(ADDRESS).unwrap_or_else(|_| "jvmpi@localhost".into());
    format!("The jvmpi developers <{address}>")
}

/// Indents a text as the value of a field. A line with a single dot stands for an empty line.
fn paragraph(text: &str) -> String {
    let line = |line: &str| match line.trim_end() {
        "" => " .\n".to_owned(),
        line => format!(" {line}\n"),
    };
    text.trim_end().lines().map(line).collect()
}

/// Replaces a file by a compressed one, which has neither a name nor a time inside.
fn compress(path: &Path) -> Result<(), String> {
    let failed = |e: std::io::Error| format!("{}: {e}", path.display());
    let mut name = path.as_os_str().to_owned();
    name.push(".gz");
    let mut encoder = GzBuilder::new().write(Vec::new(), Compression::best());
    encoder.write_all(&fs::read(path).map_err(failed)?).map_err(failed)?;
    fs::write(name, encoder.finish().map_err(failed)?).map_err(failed)?;
    fs::remove_file(path).map_err(failed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    /// Writes a tree whose files differ between machines, and returns the files of the packages that may be installed
    /// for several machines at once.
    fn shared_files(machine: &Machine, scratch: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
        let tree = scratch.join(machine.name);
        let paths = [
            "bin/jvmpi",
            "include/jvmpi.h",
            "lib/libjvmpi.so.1",
            "lib/libhprof.so",
            "lib/libjvmpi.a",
            "share/doc/jvmpi/LICENSE-MIT",
            "share/doc/jvmpi/THIRD-PARTY-LICENCES",
            "share/doc/jvmpi/examples/agent/count.c",
        ];
        for path in paths {
            let file = tree.join(path);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            let of_all = path.ends_with(".h") || path.ends_with(".c") || path.ends_with("-MIT");
            fs::write(file, if of_all { "same" } else { machine.name }).unwrap();
        }
        let product = Product {
            machine,
            tree: &tree,
            paths: paths.to_vec(),
            glibc: "2.17".into(),
            time: "1000000000",
        };
        let mut files = BTreeMap::new();
        for package in [product.library(), product.development().unwrap()] {
            assert!(package.fields.contains(SHARED));
            let root = scratch.join(format!("{}-{}", package.name, machine.name));
            product.write_files(&package, &root).unwrap();
            let found =
                run(Command::new("find").arg(&root).args(["-type", "f", "-o", "-type", "l"]));
            for path in found.unwrap().lines().map(Path::new) {
                let name = path.strip_prefix(&root).unwrap().to_owned();
                // The target of a link may be in another package.
                let content = fs::read_link(path)
                    .map(|to| to.into_os_string().into_encoded_bytes())
                    .or_else(|_| fs::read(path));
                files.insert(name, content.unwrap());
            }
        }
        files
    }

    #[test]
    fn packages_of_two_architectures_can_be_installed_together() {
        let scratch = compat_tests::target_dir().join("xtask-deb-test");
        let _ = fs::remove_dir_all(&scratch);
        let [amd64, i386] = ["amd64", "i386"].map(|name| Machine::named(name).unwrap());
        let [one, other] = [amd64, i386].map(|machine| shared_files(machine, &scratch));
        let same: Vec<_> = one.keys().filter(|path| other.contains_key(*path)).collect();
        for path in &same {
            assert_eq!(one[*path], other[*path], "{}", path.display());
        }
        assert!(same.iter().any(|path| path.ends_with("libjvmpi1/copyright")), "{same:?}");
        assert!(one.contains_key(Path::new("usr/lib/x86_64-linux-gnu/libjvmpi.so.1")));
        assert!(other.contains_key(Path::new("usr/lib/i386-linux-gnu/pkgconfig/jvmpi.pc")));
        fs::remove_dir_all(&scratch).unwrap();
    }
}
