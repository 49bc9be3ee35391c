//! Builds the Debian packages. Those with `Multi-Arch: same` can be installed for several architectures at once.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::product::{DOCUMENTATION, VERSION, run};

use super::packages::{LICENSES, Layout, Package, Product, compress, maintainer};

/// The revision of the packages. It is lower than that of any package that Debian itself would have.
const REVISION: &str = "0jvmpi1";
const SHARED: &str = "Multi-Arch: same\n";

/// The findings of lintian in the package of the command that are as they should be.
const OVERRIDES: &str = "# The pages of the documentation link to it by this name.\n\
                         jvmpi: wrong-name-for-upstream-changelog *\n";

/// Fields of the file `control`, and other control files.
struct Control {
    section: &'static str,
    /// Fields that only some packages have.
    fields: &'static str,
    depends: String,
    files: &'static [(&'static str, &'static str)],
}

/// Builds the packages in this directory.
pub fn packages(product: &Product<'_>, directory: &Path) -> Result<Vec<PathBuf>, String> {
    let debian = Debian(product);
    debian
        .all()?
        .iter()
        .map(|(package, control)| debian.build(package, control, directory))
        .collect()
}

/// The product in Debian's packages.
struct Debian<'a>(&'a Product<'a>);

impl Debian<'_> {
    fn version(&self) -> String {
        format!("{VERSION}-{REVISION}")
    }

    fn layout(&self) -> Layout {
        Layout {
            names: ["libjvmpi1", "libjvmpi-dev", "jvmpi"],
            lib: format!("lib/{}", self.0.machine.multiarch()),
            // Debian's zsh reads another directory.
            zsh: "share/zsh/vendor-completions",
        }
    }

    /// Returns the packages. Nothing was ever released with other names or other contents of packages, so they need
    /// no `Breaks`, `Replaces` or `Conflicts`.
    fn all(&self) -> Result<[(Package, Control); 3], String> {
        let [library, development, mut command] = self.0.packages(&self.layout())?;
        command.texts.push(("share/lintian/overrides/jvmpi".into(), OVERRIDES.into()));
        let needed_by_binaries = format!("libc6 (>= {}), libgcc-s1", self.0.glibc);
        let same_library = format!("libjvmpi1 (= {})", self.version());
        Ok([
            (
                library,
                Control {
                    section: "libs",
                    fields: SHARED,
                    depends: needed_by_binaries.clone(),
                    files: &[
                        ("shlibs", "libjvmpi 1 libjvmpi1\n"),
                        ("triggers", "activate-noawait ldconfig\n"),
                    ],
                },
            ),
            (
                development,
                Control {
                    section: "libdevel",
                    fields: SHARED,
                    depends: same_library.clone(),
                    files: &[],
                },
            ),
            (
                command,
                Control {
                    section: "java",
                    fields: "Suggests: default-jre-headless, libjvmpi-dev\n",
                    depends: format!("{needed_by_binaries}, {same_library}"),
                    files: &[],
                },
            ),
        ])
    }

    fn build(
        &self,
        package: &Package,
        control: &Control,
        directory: &Path,
    ) -> Result<PathBuf, String> {
        let root = directory.join(format!("{}-deb", package.name));
        let _ = fs::remove_dir_all(&root);
        self.write_files(package, &root)?;
        self.write_control(package, control, &root)?;
        let name = format!("{}_{}_{}.deb", package.name, self.version(), self.0.machine.name);
        let made = directory.join(name);
        self.0.set_times(&root)?;
        let mut deb = Command::new("dpkg-deb");
        deb.args(["--root-owner-group", "-Zxz", "--build"]).arg(&root).arg(&made);
        run(deb.env("SOURCE_DATE_EPOCH", self.0.time))?;
        fs::remove_dir_all(&root).map_err(|e| format!("{}: {e}", root.display()))?;
        Ok(made)
    }

    /// Writes the files that the package installs.
    fn write_files(&self, package: &Package, root: &Path) -> Result<(), String> {
        self.0.write_files(package, root)?;
        let documentation = root.join("usr/share/doc").join(package.name);
        let failed = |e: std::io::Error| format!("{}: {e}", documentation.display());
        fs::create_dir_all(&documentation).map_err(failed)?;
        fs::write(documentation.join("copyright"), self.copyright()?).map_err(failed)?;
        let changelog = documentation.join("changelog.Debian");
        fs::write(&changelog, self.changelog()?).map_err(failed)?;
        compress(&changelog)
    }

    fn write_control(
        &self,
        package: &Package,
        control: &Control,
        root: &Path,
    ) -> Result<(), String> {
        let Package { name, summary, description, .. } = package;
        let Control { section, fields, depends, files } = control;
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
             Description: {summary}\n{description}",
            version = self.version(),
            architecture = self.0.machine.name,
            maintainer = maintainer(),
            description = paragraph(description),
        );
        let control = root.join("DEBIAN");
        let failed = |e: std::io::Error| format!("{}: {e}", control.display());
        fs::create_dir_all(&control).map_err(failed)?;
        let sums = run(Command::new("sh")
            .current_dir(root)
            .args(["-ec", "find usr -type f | LC_ALL=C sort | tr '\\n' '\\0' | xargs -0 md5sum"]))?;
        fs::write(control.join("md5sums"), sums).map_err(failed)?;
        fs::write(control.join("control"), text).map_err(failed)?;
        files
            .iter()
            .try_for_each(|(name, text)| fs::write(control.join(name), text).map_err(failed))
    }

    /// Returns the licenses in Debian's format.
    fn copyright(&self) -> Result<String, String> {
        let read = |name: &str| {
            let path = self.0.tree.join(DOCUMENTATION).join(name);
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
        let date =
            run(Command::new("date").args(["-u", "-R", "-d", &format!("@{}", self.0.time)]))?;
        Ok(format!(
            "jvmpi ({}) unstable; urgency=medium\n\n  \
             * Release {VERSION}: /usr/share/doc/jvmpi/CHANGELOG.md lists the changes.\n\n \
             -- {}  {date}",
            self.version(),
            maintainer()
        ))
    }
}

/// Indents a text as the value of a field. A line with a single dot stands for an empty line.
fn paragraph(text: &str) -> String {
    let line = |line: &str| match line.trim_end() {
        "" => " .\n".to_owned(),
        line => format!(" {line}\n"),
    };
    text.trim_end().lines().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use compat_tests::machine::Machine;
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
        let debian = Debian(&product);
        let all = debian.all().unwrap();
        for (package, _) in all.iter().filter(|(_, control)| control.fields.contains(SHARED)) {
            let root = scratch.join(format!("{}-{}", package.name, machine.name));
            debian.write_files(package, &root).unwrap();
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
