//! Builds binaries that run with an older C library than the build machine's.
//!
//! The linker records for each symbol the version that it finds. Here it links against stub libraries, which contain
//! no code, but the symbols of the installed libraries in the newest version that is old enough. Newer symbols are
//! missing: Rust's standard library looks up optional ones at run time, and everything else fails to link.
//!
//! cargo-zigbuild (0.24) links for an older glibc too, but with a static libunwind instead of libgcc's: users would get
//! another unwinder than the one that the tests of native stacks ran with.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use compat_tests::machine::Machine;
use compat_tests::text;
use compat_tests::tool::run;

use super::build::Build;
use super::script::{file, script};

/// The oldest supported version of glibc. Rust's standard library needs this version, and so do JDKs.
pub const OLDEST_GLIBC: [u32; 2] = [2, 17];

const LIBC: &str = "libc.so.6";
const LIBM: &str = "libm.so.6";

/// The version from which on libpthread and libdl are parts of libc.so. Their functions have this version or one of the
/// next two there, in addition to their former versions.
const MERGED: [u32; 2] = [2, 32];

/// The former libraries of symbols, by prefix of the symbol's name.
const OWN_LIBRARIES: [(&str, &str); 3] =
    [("dl", "libdl.so.2"), ("pthread_", "libpthread.so.0"), ("sem_", "libpthread.so.0")];

/// The entry point of programs. Since 2.34 it runs the constructors itself; before, the program passed it functions for
/// that. Rust programs have no constructors that need it.
const START: &str = "__libc_start_main";

/// Functions that until 2.33 were not in the library but in each program. The number selects a version of the
/// structure.
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

/// Returns a linker for this machine that does not bind newer symbols. It is created in `directory`, with its files.
///
/// # Errors
/// Fails if the libraries cannot be read or created.
pub fn linker(machine: &Machine, directory: &Path) -> Result<PathBuf, String> {
    machine.can_be_compiled_for()?;
    let directory = directory.join(format!("glibc-{}", machine.name));
    let stubs = Stubs { machine, directory };
    stubs.write()?;
    let command = format!(
        "{} -L'{}' -Wl,-z,defs -Wl,--allow-shlib-undefined \"$@\"",
        machine.compiler(),
        text(&stubs.directory)?
    );
    script(&stubs.directory, &command)
}

/// Returns the newest glibc version among the symbols that a binary needs.
pub fn newest_glibc(build: &Build, binary: &Path) -> Result<Vec<u32>, String> {
    let needs = run(build.tool("readelf").args(["--wide", "--version-info"]).arg(binary))?;
    let versions = needs.split("Name: GLIBC_").skip(1);
    let versions = versions.map(|rest| numbers(rest.split_whitespace().next().unwrap_or_default()));
    Ok(versions.max().unwrap_or_default())
}

/// Formats a version number.
pub fn version(numbers: &[u32]) -> String {
    let numbers: Vec<_> = numbers.iter().map(u32::to_string).collect();
    numbers.join(".")
}

fn numbers(version: &str) -> Vec<u32> {
    version.split('.').filter_map(|number| number.parse().ok()).collect()
}

/// Generates the stub libraries.
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

        // The installed linker script names the other files: the loader, and the static part.
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
        file(&self.directory, name, content)
    }

    /// Returns the path of a library that the compiler finds.
    fn installed(&self, name: &str) -> Result<PathBuf, String> {
        let mut compiler = Command::new(self.machine.compiler());
        let found = run(compiler.arg(format!("-print-file-name={name}")))?;
        let found = PathBuf::from(found.trim());
        if found.is_absolute() { Ok(found) } else { Err(format!("the compiler has no {name}")) }
    }

    /// Returns readelf's list of the symbols in an installed library.
    fn symbols(&self, library: &str) -> Result<String, String> {
        let mut readelf = Command::new(self.machine.binutil("readelf"));
        run(readelf.args(["--wide", "--dyn-syms"]).arg(self.installed(library)?))
    }

    /// Creates a stub library with these symbols.
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

/// A symbol in a library.
#[derive(Debug, PartialEq, Eq)]
struct Symbol<'a> {
    name: &'a str,
    /// `GLIBC_2.2.5`
    version: &'a str,
    /// The size of a variable; `None` for a function.
    size: Option<&'a str>,
    /// The library of the symbol before all were merged.
    library: &'static str,
}

/// A line of readelf's list: number, value, size, type, binding, visibility, section, and `name@@GLIBC_2.34`. A single
/// `@` marks a version for old programs only.
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

/// Returns each symbol in readelf's list with its newest version that is old enough.
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

/// Returns the library that contained a symbol of libc.so before the merge, if it is known.
fn own_library(name: &str) -> Option<&'static str> {
    if name == START {
        return Some(LIBC);
    }
    let own = OWN_LIBRARIES.iter().find(|(beginning, _)| name.starts_with(beginning));
    own.map(|(_, library)| *library)
}

#[cfg(test)]
mod tests {
    use compat_tests::{build, target_dir, workspace_root};

    use super::*;

    #[test]
    fn newest_version_that_is_old_enough_is_chosen() {
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

    /// Compiles a Rust program with the linker for old versions.
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
    fn program_needs_only_old_symbols_and_runs() {
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

    /// Releases are linked only every day, so the libraries of the tests are examined. They need newer versions of the same
    /// symbols.
    #[test]
    fn product_calls_no_function_that_the_oldest_library_lacks() {
        let stubs = Stubs { machine: Machine::this(), directory: PathBuf::new() };
        let [libc, libm] = [LIBC, LIBM].map(|library| stubs.symbols(library).unwrap());
        let symbols = [old_enough(LIBC, &libc), old_enough(LIBM, &libm)];
        let exists = |name: &str| {
            let is_linked_in = STATUS.contains(&format!("int {name}("));
            is_linked_in || symbols.iter().flatten().any(|symbol| symbol.name == name)
        };
        for binary in [build::shim(), build::hprof(), build::command()].map(Result::unwrap) {
            let mut readelf = Command::new("readelf");
            let symbols = run(readelf.args(["--wide", "--dyn-syms"]).arg(&binary)).unwrap();
            let needed = symbols.lines().filter_map(|line| {
                let words: Vec<_> = line.split_whitespace().collect();
                let &[_, _, _, "FUNC", "GLOBAL", _, "UND", name, ..] = words.as_slice() else {
                    return None;
                };
                name.split_once("@GLIBC_").map(|(name, _)| name)
            });
            let needed: Vec<_> = needed.collect();
            assert!(needed.contains(&"dlsym"), "{symbols}");
            // The dynamic linker's own function, which no library has.
            let is_missing = |name: &&&str| **name != "__tls_get_addr" && !exists(name);
            let missing: Vec<_> = needed.iter().filter(is_missing).collect();
            assert!(missing.is_empty(), "{} needs {missing:?}", binary.display());
        }
    }

    #[test]
    fn newer_symbol_does_not_link() {
        let source = "unsafe extern \"C\" { fn gettid() -> i32; }
            fn main() { println!(\"{}\", unsafe { gettid() }) }";
        let why = program("new", source).unwrap_err();
        // The wording depends on the linker.
        assert!(why.contains("undefined") && why.contains("gettid"), "{why}");
    }
}
