//! The packages for Linux distributions: the library, the files for developers, and the command.

use std::env;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use compat_tests::machine::Machine;

use crate::product::{self, DOCUMENTATION, run};

/// The licenses of other authors' packages. They differ between architectures, so they are not in `share/doc`.
pub const LICENSES: &str = "THIRD-PARTY-LICENCES";

/// The variable with the address of the maintainer, as in Debian's own tools.
const ADDRESS: &str = "DEBEMAIL";

/// A package.
pub struct Package {
    pub name: &'static str,
    pub summary: &'static str,
    /// Text in lines that are short enough for a terminal.
    pub description: &'static str,
    /// Its files in the tree of the archive, and their paths under `usr`.
    pub files: Vec<(String, String)>,
    /// Symbolic links under `usr`, and their targets.
    pub links: Vec<(String, &'static str)>,
    /// Other files under `usr`.
    pub texts: Vec<(String, String)>,
}

/// The names that differ between distributions.
pub struct Layout {
    /// The names of the packages with the library, the files for developers, and the command.
    pub names: [&'static str; 3],
    /// The directory of libraries under `usr`.
    pub lib: String,
    /// The directory of completions for zsh under `usr`.
    pub zsh: &'static str,
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

impl Product<'_> {
    /// Returns the packages, in the order of their names in the layout.
    pub fn packages(&self, layout: &Layout) -> Result<[Package; 3], String> {
        Ok([self.library(layout), self.development(layout)?, self.command(layout)])
    }

    fn library(&self, Layout { names: [name, ..], lib, .. }: &Layout) -> Package {
        Package {
            name,
            summary: "JVMPI profiler agents on JDK 11 and later",
            description: "libjvmpi lets unmodified agents of the Java Virtual Machine Profiler\n\
                 Interface (JDK 1.2 to 5) run on today's JVMs. HPROF, the profiler of\n\
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
        }
    }

    fn development(
        &self,
        Layout { names: [_, name, _], lib, .. }: &Layout,
    ) -> Result<Package, String> {
        let same = |path: &str| (path.to_owned(), path.to_owned());
        let mut files = vec![same("include/jvmpi.h")];
        files.push(("lib/libjvmpi.a".into(), format!("{lib}/libjvmpi.a")));
        for path in self.under(&format!("{DOCUMENTATION}/examples/")) {
            let at = path.replace(DOCUMENTATION, &format!("share/doc/{name}"));
            files.push((path, at));
        }
        Ok(Package {
            name,
            summary: "JVMPI profiler agents on JDK 11 and later (development files)",
            description: "The header jvmpi.h, the library for programs that embed a JVM, files for\n\
                 pkg-config and CMake, and examples.\n",
            files,
            links: vec![(format!("{lib}/libjvmpi.so"), "libjvmpi.so.1")],
            texts: product::build_files(lib)?,
        })
    }

    fn command(&self, Layout { names: [.., name], zsh, .. }: &Layout) -> Package {
        let at = |path: &str| path.replace("share/zsh/site-functions", zsh);
        let examples = format!("{DOCUMENTATION}/examples/");
        let ours = ["bin/", "share/"].map(|directory| self.under(directory)).concat();
        // Each format has its own place for the licenses of jvmpi. The others are in the package of the library.
        let own = |path: &String| !path.starts_with(&examples) && !path.contains("/LICENSE-");
        let own = |path: &String| own(path) && !path.ends_with(LICENSES);
        Package {
            name,
            summary: "profiler for Java programs, and command for JVMPI agents",
            description: "The command jvmpi records profiles of Java programs, also of running ones,\n\
                 as HTML pages, flame graphs, for pprof or in the formats of HPROF. It runs\n\
                 and checks agents of the Java Virtual Machine Profiler Interface.\n",
            files: ours.into_iter().filter(own).map(|path| (path.clone(), at(&path))).collect(),
            links: Vec::new(),
            texts: Vec::new(),
        }
    }

    /// Returns the files of the archive below a directory.
    fn under(&self, directory: &str) -> Vec<String> {
        let found = self.paths.iter().filter(|path| path.starts_with(directory));
        found.map(|path| (*path).to_owned()).collect()
    }

    /// Writes the files that the package installs. Manual pages are compressed.
    pub fn write_files(&self, package: &Package, root: &Path) -> Result<(), String> {
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
        for (path, text) in &package.texts {
            let path = create(path)?;
            fs::write(&path, text).map_err(|e| failed(&path, e))?;
        }
        Ok(())
    }

    /// Gives all files in a directory the time of the product.
    pub fn set_times(&self, root: &Path) -> Result<(), String> {
        let mut find = Command::new("find");
        find.arg(root).args(["-exec", "touch", "-h", "-d", &format!("@{}", self.time), "{}", "+"]);
        run(&mut find).map(drop)
    }
}

/// Returns the name and the address of the maintainer.
pub fn maintainer() -> String {
    let address = env::var(ADDRESS).unwrap_or_else(|_| "jvmpi@localhost".into());
    format!("The jvmpi developers <{address}>")
}

/// Replaces a file by a compressed one, which has neither a name nor a time inside.
pub fn compress(path: &Path) -> Result<(), String> {
    run(Command::new("gzip").args(["-9", "--no-name"]).arg(path)).map(drop)
}
