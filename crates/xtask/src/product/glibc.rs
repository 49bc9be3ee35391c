//! Binaries that run with an older C library than the one that they are made with.
//!
//! The linker notes for each symbol the version that it finds. Here it finds libraries that have no code, but the
//! symbols of the installed ones in the newest version that is old enough. What is newer is missing: where Rust's
//! own library can do without, it looks when the program runs; all else does not link.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use compat_tests::machine::Machine;
use compat_tests::text;

use super::build::{Build, run};

/// The oldest version of glibc that archives run with: Rust's own library needs no less, nor do JDKs.
pub const OLDEST_GLIBC: [u32; 2] = [2, 17];

const LIBC: &str = "libc.so.6";
const LIBM: &str = "libm.so.6";

/// Since when the libraries for threads and for the loader are parts of libc.so. Their functions have this version
/// or one of the next two there, and those that they had before.
const MERGED: [u32; 2] = [2, 32];

/// What was in libraries of its own before, by the beginnings of its names.
const OWN_LIBRARIES: [(&str, &str); 3] =
    [("dl", "libdl.so.2"), ("pthread_", "libpthread.so.0"), ("sem_", "libpthread.so.0")];

/// Where a program begins, which knows since 2.34 how to call constructors. Before, the program had to say how; a
/// program of Rust's has none that it needs.
const START: &str = "__libc_start_main";

/// Until 2.33 these were in no library, but in each program; the number says which of their structures is meant.
const STATUS: &str = r#"
#if defined __x86_64__
#define VERSION 1
#elif defined __i386__
#define VERSION 3
#else
#define VERSION 0
#endif
#pragma GCC visibility push(hidden)
extern int __xstat64(int, const char *, void *) __attribute__((visibility("default")));
extern int __lxstat64(int, const char *, void *) __attribute__((visibility("default")));
extern int __fxstat64(int, int, void *) __attribute__((visibility("default")));
extern int __fxstatat64(int, int, const char *, void *, int) __attribute__((visibility("default")));
int stat64(const char *path, void *to) { return __xstat64(VERSION, path, to); }
int lstat64(const char *path, void *to) { return __lxstat64(VERSION, path, to); }
int fstat64(int file, void *to) { return __fxstat64(VERSION, file, to); }
int fstatat64(int directory, const char *path, void *to, int flags)
{ return __fxstatat64(VERSION, directory, path, to, flags); }
"#;

/// A linker for this machine that binds nothing newer; it lies in this directory, with what it needs.
///
/// # Errors
/// If the libraries cannot be read or made.
pub fn linker(machine: &Machine, directory: &Path) -> Result<PathBuf, String> {
    machine.can_be_compiled_for()?;
    let directory = directory.join(format!("glibc-{}", machine.name));
    fs::create_dir_all(&directory).map_err(|e| format!("{}: {e}", directory.display()))?;
    let stubs = Stubs { machine, directory };
    stubs.write()?;
    let script = format!(
        "#!/bin/sh\nexec {} -L'{}' -Wl,-z,defs -Wl,--allow-shlib-undefined \"$@\"\n",
        machine.compiler(),
        text(&stubs.directory)?
    );
    // By its name rustc knows what arguments it takes.
    let linker = stubs.file("cc", &script)?;
    let executable = fs::Permissions::from_mode(0o755);
    fs::set_permissions(&linker, executable).map_err(|e| format!("{}: {e}", linker.display()))?;
    Ok(linker)
}

/// The newest version of the C library whose symbols a binary needs.
pub fn newest_glibc(build: &Build, binary: &Path) -> Result<Vec<u32>, String> {
    let needs = run(build.tool("readelf").args(["--wide", "--version-info"]).arg(binary))?;
    let versions = needs.split("Name: GLIBC_").skip(1);
    let versions = versions.map(|rest| numbers(rest.split_whitespace().next().unwrap_or_default()));
    Ok(versions.max().unwrap_or_default())
}

/// As people write it.
pub fn version(numbers: &[u32]) -> String {
    let numbers: Vec<_> = numbers.iter().map(u32::to_string).collect();
    numbers.join(".")
}

fn numbers(version: &str) -> Vec<u32> {
    version.split('.').filter_map(|number| number.parse().ok()).collect()
}

/// The libraries that have no code.
struct Stubs<'a> {
    machine: &'a Machine,
    directory: PathBuf,
}

impl Stubs<'_> {
    fn write(&self) -> Result<(), String> {
        let [libc, libm] = [self.symbols(LIBC)?, self.symbols(LIBM)?];
        let mut libraries: BTreeMap<_, Vec<_>> = BTreeMap::new();
        for symbol in old_enough(LIBC, &libc) {
            libraries.entry(symbol.library).or_default().push(symbol);
        }
        libraries.insert(LIBM, old_enough(LIBM, &libm));
        for (name, symbols) in &libraries {
            self.library(name, symbols)?;
        }
        let status = self.file("status.c", STATUS)?;
        let object = self.directory.join("status.o");
        self.compile(&["-O2", "-fPIC", "-c"], &status, &object)?;

        // The installed file says what else belongs to it: the loader, and what is in each program.
        let script = self.installed("libc.so")?;
        let script =
            fs::read_to_string(&script).map_err(|e| format!("{}: {e}", script.display()))?;
        let ours = |name: &str| self.directory.join(name).display().to_string();
        let others = libraries.keys().filter(|name| ![LIBC, LIBM].contains(name));
        let others: Vec<_> = others.map(|name| ours(name)).collect();
        let all = format!("{} {} AS_NEEDED ( {} )", ours(LIBC), ours("status.o"), others.join(" "));
        let words = script
            .split(' ')
            .map(|word| if word.ends_with("/libc.so.6") { all.as_str() } else { word });
        self.file("libc.so", &words.collect::<Vec<_>>().join(" "))?;
        self.file("libm.so", &format!("INPUT ( {} )\n", ours(LIBM)))?;
        Ok(())
    }

    fn file(&self, name: &str, content: &str) -> Result<PathBuf, String> {
        let path = self.directory.join(name);
        fs::write(&path, content).map_err(|e| format!("{}: {e}", path.display()))?;
        Ok(path)
    }

    /// Where the compiler finds a library.
    fn installed(&self, name: &str) -> Result<PathBuf, String> {
        let mut compiler = Command::new(self.machine.compiler());
        let found = run(compiler.arg(format!("-print-file-name={name}")))?;
        let found = PathBuf::from(found.trim());
        if found.is_absolute() { Ok(found) } else { Err(format!("the compiler has no {name}")) }
    }

    /// What readelf says of the symbols of an installed library.
    fn symbols(&self, library: &str) -> Result<String, String> {
        let mut readelf = Command::new(self.machine.binutil("readelf"));
        run(readelf.args(["--wide", "--dyn-syms"]).arg(self.installed(library)?))
    }

    /// Makes a library with these symbols.
    fn library(&self, name: &str, symbols: &[Symbol<'_>]) -> Result<(), String> {
        let mut versions: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        let (mut code, mut data) = (String::new(), String::new());
        for symbol in symbols {
            versions.entry(symbol.version).or_default().push(symbol.name);
            let (to, kind) =
                if symbol.size.is_none() { (&mut code, "function") } else { (&mut data, "object") };
            let size = symbol.size.unwrap_or("4");
            let name = symbol.name;
            let _ = writeln!(
                to,
                ".globl {name}\n.type {name}, %{kind}\n.size {name}, {size}\n{name}: .space {size}"
            );
        }
        let assembly =
            format!(".text\n{code}.data\n{data}.section .note.GNU-stack,\"\",%progbits\n");
        let mut script = String::new();
        for (version, names) in versions {
            let _ = writeln!(script, "{version} {{ global: {}; }};", names.join("; "));
        }
        let source = self.file(&format!("{name}.s"), &assembly)?;
        let script = self.file(&format!("{name}.map"), &script)?;
        let flags = [
            "-shared",
            "-nostdlib",
            &format!("-Wl,-soname,{name}"),
            &format!("-Wl,--version-script,{}", text(&script)?),
        ];
        self.compile(&flags, &source, &self.directory.join(name))
    }

    fn compile(&self, flags: &[&str], source: &Path, output: &Path) -> Result<(), String> {
        let mut compiler = Command::new(self.machine.compiler());
        run(compiler.args(flags).arg("-o").arg(output).arg(source)).map(drop)
    }
}

/// A symbol of a library.
#[derive(Debug, PartialEq, Eq)]
struct Symbol<'a> {
    name: &'a str,
    /// `GLIBC_2.2.5`
    version: &'a str,
    /// None of a function.
    size: Option<&'a str>,
    /// The library that it was in before there was but one.
    library: &'static str,
}

/// What readelf says in a line: number, value, size, type, binding, visibility, section, and `name@@GLIBC_2.34`; or
/// with one `@` what only old programs get.
struct Line<'a> {
    name: &'a str,
    version: &'a str,
    numbers: Vec<u32>,
    is_todays: bool,
    size: Option<&'a str>,
}

impl<'a> Line<'a> {
    fn read(line: &'a str) -> Option<Self> {
        let words: Vec<_> = line.split_whitespace().collect();
        let &[_, _, size, kind, _, _, section, name, ..] = words.as_slice() else { return None };
        let (name, version) = name.split_once('@')?;
        let todays = version.strip_prefix('@');
        let version = todays.unwrap_or(version);
        let numbers = numbers(version.strip_prefix("GLIBC_")?);
        let size = match kind {
            "FUNC" | "IFUNC" => None,
            "OBJECT" => Some(size),
            _ => return None,
        };
        let is_defined = section.parse::<u32>().is_ok() && !numbers.is_empty();
        is_defined.then_some(Self { name, version, numbers, is_todays: todays.is_some(), size })
    }
}

/// Of each symbol in what readelf says of a library, the newest version that is old enough.
fn old_enough<'a>(library: &'static str, symbols: &'a str) -> Vec<Symbol<'a>> {
    let mut found: BTreeMap<&str, Vec<Line<'a>>> = BTreeMap::new();
    for line in symbols.lines().filter_map(Line::read) {
        found.entry(line.name).or_default().push(line);
    }
    let newest = |(name, versions): (&'a str, Vec<Line<'a>>)| {
        let merged = |line: &Line<'_>| line.is_todays && line.numbers >= MERGED.to_vec();
        let was_elsewhere = library == LIBC && versions.iter().any(merged);
        let library = if was_elsewhere { own_library(name)? } else { library };
        let old = versions.into_iter().filter(|line| line.numbers <= OLDEST_GLIBC.to_vec());
        let Line { version, size, .. } = old.max_by(|a, b| a.numbers.cmp(&b.numbers))?;
        Some(Symbol { name, version, size, library })
    };
    found.into_iter().filter_map(newest).collect()
}

/// The library that a symbol of libc.so was in before there was but one; None if that is not known.
fn own_library(name: &str) -> Option<&'static str> {
    if name == START {
        return Some(LIBC);
    }
    let own = OWN_LIBRARIES.iter().find(|(beginning, _)| name.starts_with(beginning));
    own.map(|(_, library)| *library)
}

#[cfg(test)]
mod tests {
    use compat_tests::{target_dir, workspace_root};

    use super::*;

    #[test]
    fn the_newest_version_that_is_old_enough() {
        let symbols = old_enough(
            LIBC,
            "Symbol table '.dynsym' contains 3037 entries:
              1: 0000000000000000     0 FUNC    GLOBAL DEFAULT  UND __tls_get_addr@GLIBC_2.3 (30)
              2: 00000000000a2920    94 IFUNC   GLOBAL DEFAULT   15 memcpy@@GLIBC_2.14
              3: 00000000000bc6f0    48 FUNC    GLOBAL DEFAULT   15 memcpy@GLIBC_2.2.5
              4: 00000000000881c0   188 FUNC    GLOBAL DEFAULT   15 dlopen@GLIBC_2.2.5
              5: 00000000000881c0   188 FUNC    GLOBAL DEFAULT   15 dlopen@@GLIBC_2.34
              6: 00000000000881c0   188 FUNC    GLOBAL DEFAULT   15 timer_create@GLIBC_2.3.3
              7: 00000000000881c0   188 FUNC    GLOBAL DEFAULT   15 timer_create@@GLIBC_2.34
              8: 00000000000d3e30    25 FUNC    GLOBAL DEFAULT   15 gettid@@GLIBC_2.30
              9: 00000000001d5320     8 OBJECT  WEAK   DEFAULT   31 environ@@GLIBC_2.2.5
             10: 0000000000027220   158 FUNC    GLOBAL DEFAULT   15 __libc_start_main@GLIBC_2.2.5
             11: 0000000000027220   158 FUNC    GLOBAL DEFAULT   15 __libc_start_main@@GLIBC_2.34
             12: 0000000000000000     0 OBJECT  GLOBAL DEFAULT  ABS GLIBC_2.2.5
             13: 0000000000000018     4 TLS     GLOBAL DEFAULT   24 errno@GLIBC_PRIVATE",
        );
        let expected = [
            ("__libc_start_main", "GLIBC_2.2.5", None, "libc.so.6"),
            ("dlopen", "GLIBC_2.2.5", None, "libdl.so.2"),
            ("environ", "GLIBC_2.2.5", Some("8"), "libc.so.6"),
            ("memcpy", "GLIBC_2.14", None, "libc.so.6"),
        ];
        let expected =
            expected.map(|(name, version, size, library)| Symbol { name, version, size, library });
        assert_eq!(symbols, expected);
    }

    /// Compiles a program for this machine.
    fn program(name: &str, source: &str) -> Result<PathBuf, String> {
        let directory = target_dir().join("tmp/glibc").join(name);
        fs::create_dir_all(&directory).map_err(|e| e.to_string())?;
        let [path, program] = ["main.rs", "main"].map(|file| directory.join(file));
        fs::write(&path, source).map_err(|e| e.to_string())?;
        let linker = linker(Machine::this(), &directory)?;
        let mut rustc = Command::new("rustc");
        rustc.args(["--edition=2024", "--target", Machine::this().target, "-C"]);
        rustc.arg(format!("linker={}", text(&linker)?)).arg(&path).arg("-o").arg(&program);
        run(rustc.current_dir(workspace_root())).map(|_| program)
    }

    #[test]
    fn a_program_needs_nothing_newer_and_runs() {
        let program = program(
            "old",
            "fn main() {
                let file = std::env::current_exe().unwrap();
                let size = std::thread::spawn(|| std::fs::metadata(file).unwrap().len());
                let arguments = std::env::args().skip(1).collect::<Vec<_>>();
                println!(\"{} {arguments:?}\", size.join().unwrap() > 0);
            }",
        )
        .unwrap();
        let build = Build { profile: "dev".into(), machine: Machine::this(), anywhere: None };
        let newest = newest_glibc(&build, &program).unwrap();
        assert!(!newest.is_empty() && newest <= OLDEST_GLIBC.to_vec(), "{newest:?}");
        assert_eq!(run(Command::new(program).arg("a")).unwrap(), "true [\"a\"]\n");
    }

    #[test]
    fn what_is_newer_does_not_link() {
        let source = "unsafe extern \"C\" { fn gettid() -> i32; }
            fn main() { println!(\"{}\", unsafe { gettid() }) }";
        let why = program("new", source).unwrap_err();
        // Linkers have several words for it.
        assert!(why.contains("undefined") && why.contains("gettid"), "{why}");
    }
}
