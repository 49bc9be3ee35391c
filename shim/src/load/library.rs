//! Finds an agent library, examines its file before running any code in it, and loads it.
//!
//! Every [`LibraryError`] is one line: which library, what is wrong with it, what to do.

use jvm::platform::dynamic_loader::{Opened, symbol_in};
use jvmpi_settings::library::{
    EXECUTABLE_STACK, NeededSymbol, ON_LOAD, linkage, without_executable_stack,
};
pub use jvmpi_settings::library::{Fault, LibraryError, examine};
use jvmpi_sys::{JVM_OnLoad, JVM_OnUnload};
use std::env::consts::{DLL_PREFIX, DLL_SUFFIX};
use std::ffi::{CString, OsStr, OsString, c_void};
use std::path::{Path, PathBuf, is_separator};
use std::ptr::NonNull;
use std::{fs, mem};

/// An agent library, which stays loaded until the process ends.
#[derive(Clone, Debug)]
pub struct AgentLibrary {
    /// The file that it was loaded from.
    pub path: PathBuf,
    /// The entry point.
    pub on_load: JVM_OnLoad,
}

/// Finds the library that `name` refers to. A `name` with a `/` is a path. Otherwise `foo` stands for `libfoo.so` in
/// the directories of `search`, and then on the dynamic loader's own search path.
///
/// Like the dynamic loader, this skips a library for another machine if there is a matching one. A library that only
/// the dynamic loader finds, for example in its cache, is loaded in the process.
///
/// # Errors
/// Fails if there is no such library, or if the dynamic loader finds it but cannot load it.
pub fn find(name: impl AsRef<OsStr>, search: &[PathBuf]) -> Result<PathBuf, LibraryError> {
    let name = name.as_ref();
    if name.as_encoded_bytes().iter().any(|byte| is_separator((*byte).into())) {
        let path = PathBuf::from(name);
        return if path.exists() { Ok(path) } else { Err(LibraryError::no_file(&path)) };
    }

    let file_name = [OsStr::new(DLL_PREFIX), name, OsStr::new(DLL_SUFFIX)].join(OsStr::new(""));
    let candidates = search.iter().map(|directory| directory.join(&file_name));
    let (foreign, fitting): (Vec<_>, Vec<_>) = candidates
        .filter(|path| path.is_file())
        .partition(|path| examine(path).is_err_and(|error| error.fault == Fault::Foreign));
    if let Some(path) = fitting.into_iter().next() {
        return Ok(path);
    }
    if let Some(path) = found_by_loader(&file_name)? {
        return Ok(path);
    }
    foreign.into_iter().next().ok_or_else(|| LibraryError::not_found(&file_name, search))
}

/// Loads an agent library permanently and finds its entry point. All symbols are resolved now, so that a missing one
/// is an error here, not a crash when it is called. With `may_copy`, a library whose executable stack the C library
/// refuses is replaced by a copy without one.
///
/// # Errors
/// Fails if the dynamic loader cannot load it, or if it has no entry point.
pub fn open(path: &Path, may_copy: bool) -> Result<AgentLibrary, LibraryError> {
    let library = load(path.as_os_str())
        .or_else(|error| match may_copy && error.to_string_lossy().contains(EXECUTABLE_STACK) {
            true => load_copy(path).unwrap_or(Err(error)),
            false => Err(error),
        })
        .map_err(|error| unloadable(path, error))?;
    // The symbol can be NULL, as that of an indirect function.
    let entry = |name| library.symbol(&CString::new(name).ok()?);
    let on_load = ON_LOAD.into_iter().find_map(entry);
    let on_load = on_load.ok_or_else(|| LibraryError::no_on_load(path, &[]))?;
    // SAFETY: the specification requires this type for a symbol of this name.
    let on_load = unsafe { mem::transmute::<NonNull<c_void>, JVM_OnLoad>(on_load) };
    // If the JVM loaded the library first, it did so lazily, and symbols are unresolved.
    match unresolved_symbol(path, &library) {
        Some(symbol) => Err(unloadable(path, format!("undefined symbol: {symbol}").into())),
        None => Ok(AgentLibrary { path: path.into(), on_load }),
    }
}

/// Loads a copy of a library which wants no executable stack, and lets it have the library's path. None if there can be
/// no such copy.
fn load_copy(path: &Path) -> Option<Result<Opened, OsString>> {
    let copy = without_executable_stack(&fs::read(path).ok()?)?;
    // SAFETY: as in `load`.
    let loaded = unsafe { Opened::from_contents(&copy, path) }?;
    if loaded.is_ok() {
        log::warn!(
            "{} wants an executable stack, which the C library refuses: a copy of it is loaded that wants none; if it \
             crashes or hangs, start the JVM with GLIBC_TUNABLES=glibc.rtld.execstack=2",
            path.display()
        );
    }
    Some(loaded)
}

/// Returns a symbol that the library needs and that no loaded library defines, if there is one.
fn unresolved_symbol(path: &Path, library: &Opened) -> Option<String> {
    let is_missing =
        |NeededSymbol { name, version }: &NeededSymbol| !library.finds(name, version.as_deref());
    let missing = linkage(path).ok()?.undefined.into_iter().find(is_missing)?;
    Some(missing.name.to_string_lossy().into_owned())
}

/// Returns the function that a loaded library exports as `JVM_OnUnload`; few agents have one.
pub fn on_unload(path: &Path) -> Option<JVM_OnUnload> {
    let symbol = symbol_in(path, c"JVM_OnUnload")?;
    // SAFETY: the specification requires this type for a symbol of this name.
    Some(unsafe { mem::transmute::<NonNull<c_void>, JVM_OnUnload>(symbol) })
}

/// Loads `file_name`, which has no `/`, through the dynamic loader's search. Returns `None` if it is not found.
fn found_by_loader(file_name: &OsStr) -> Result<Option<PathBuf>, LibraryError> {
    match load(file_name) {
        Ok(library) => Ok(library.path()),
        // If the loader found no file, its message begins with the name that it was given; otherwise with the path
        // of the file.
        Err(error) if starts_with_name(&error, file_name) => Ok(None),
        Err(error) => Err(unloadable(Path::new(file_name), error)),
    }
}

/// Returns true if the loader's message begins with the name of the file.
fn starts_with_name(message: &OsStr, name: &OsStr) -> bool {
    let rest = message.as_encoded_bytes().strip_prefix(name.as_encoded_bytes());
    rest.is_some_and(|rest| rest.starts_with(b":"))
}

/// Loads a library. The error is the loader's message.
fn load(file: &OsStr) -> Result<Opened, OsString> {
    // SAFETY: this runs the initializers of a library that the user asked to load, on the thread and at the time at
    // which the JVM would do so for -Xrun.
    unsafe { Opened::open(file) }
}

fn unloadable(path: &Path, message: OsString) -> LibraryError {
    let message = message.to_string_lossy();
    // The message usually begins with the path, which our error already names.
    let prefix = format!("{}: ", path.display());
    let what = message.strip_prefix(&prefix).unwrap_or(&message);
    let what = what.split_whitespace().collect::<Vec<_>>().join(" ");
    LibraryError::unloadable(path, &what)
}

#[cfg(test)]
mod tests {
    use super::*;
    use jvm::platform::dynamic_loader::library_of;
    use jvmpi_settings::library::testing::{
        AGENT, Directory, complaint, elf_header, without_stack_header,
    };
    use std::ptr;

    #[test]
    fn symbols_of_dependencies_do_not_count() {
        let directory = Directory::new("needed");
        let needed = directory.library("libneeded.so", "void JVM_OnUnload(void *vm) {}\n");
        let agent = directory.compile(
            "libneeding.so",
            "int JVM_OnLoad(void *vm, char *o, void *r) { return 0; }\n",
            &["-shared", "-fPIC", "-Wl,--no-as-needed", needed.to_str().unwrap()],
        );
        assert!(on_unload(&open(&agent, false).unwrap().path).is_none());
        assert!(symbol_in(&needed, c"JVM_OnUnload").is_some());
        assert_eq!(symbol_in(&agent, c"JVM_OnUnload"), None);
    }

    #[test]
    fn dynamic_loader_searches_beyond_the_search_path() {
        let directory = Directory::new("loader");
        let name = "-Wl,-soname,libjvmpi_test_cached.so";
        let path = directory.compile("other.so", AGENT, &["-shared", "-fPIC", name]);
        // The loader finds a loaded library by its soname, like one in its cache.
        open(&path, false).unwrap();
        assert_eq!(find("jvmpi_test_cached", &[]).unwrap(), path);
    }

    #[test]
    fn library_for_another_machine_is_skipped() {
        let [old, new] = ["foreign-old", "foreign-new"].map(Directory::new);
        let foreign = old.write(
            "libjvmpi_test_two.so",
            &elf_header(1, jvmpi_settings::library::testing::elf::EM_SPARC),
        );
        let search = [old.0.clone(), new.0.clone()];
        assert_eq!(find("jvmpi_test_two", &search).unwrap(), foreign);
        let fitting = new.library("libjvmpi_test_two.so", AGENT);
        assert_eq!(find("jvmpi_test_two", &search).unwrap(), fitting);
    }

    #[test]
    fn missing_library_error_lists_search_path() {
        let error = find("jvmpi_test_none", &["/a".into(), "/b c".into()]).unwrap_err();
        assert_eq!(
            error.to_string(),
            "libjvmpi_test_none.so is not in any of /a, /b c, nor where the dynamic loader looks: \
             add its directory to LD_LIBRARY_PATH, or give its path as in \
             -agentpath:libjvmpi.so=/path/to/libjvmpi_test_none.so"
        );
        let path = Path::new("/no/such\nfile.so");
        let line = "/no/such\\nfile.so does not exist: check the path of the agent";
        assert_eq!(find(path, &[]).unwrap_err().to_string(), line);
        assert_eq!(examine(path).unwrap_err().to_string(), line);
    }

    /// Builds an agent the way old toolchains did: linked against symbol versions that the C library keeps only for
    /// old programs, with an executable stack, and with another convention for returning structures.
    #[test]
    fn old_agent_is_opened() {
        let directory = Directory::new("old");
        // The first version of the C library for each machine.
        let version = match cfg!(target_arch = "x86_64") {
            true => "GLIBC_2.2.5",
            false if cfg!(target_arch = "x86") => "GLIBC_2.0",
            // The other C libraries are not that old.
            false => return,
        };
        let source = format!(
            "__asm__(\".symver old_errlist, sys_errlist@{version}\");\n\
             __asm__(\".symver old_log, log@{version}\");\n\
             extern const char *const old_errlist[]; double old_log(double);\n\
             struct pair {{ int a, b; }};\n\
             struct pair swap(int a, int b) {{ struct pair p; p.a = b; p.b = a; return p; }}\n\
             int JVM_OnLoad(void *vm, char *o, void *r) {{\n\
                 return swap(old_errlist[0] != 0, (int)old_log(1.0)).b;\n\
             }}\n"
        );
        let arguments = ["-shared", "-fPIC", "-fpcc-struct-return", "-Wl,-z,execstack", "-lm"];
        let file = directory.compile("libold.so", &source, &arguments);
        examine(&file).unwrap();
        let needs = linkage(&file).unwrap().undefined;
        let version = CString::new(version).unwrap();
        for name in [c"sys_errlist", c"log"] {
            let needed = needs.iter().find(|needed| *needed.name == *name).unwrap();
            assert_eq!(needed.version.as_ref(), Some(&version));
        }
        let library = open(&file, false).unwrap();
        // SAFETY: this agent ignores its arguments.
        let result =
            unsafe { (library.on_load)(ptr::null_mut(), ptr::null_mut(), ptr::null_mut()) };
        assert_eq!(result, 1);
    }

    #[test]
    fn copy_of_a_library_has_its_path_and_wants_no_executable_stack() {
        let directory = Directory::new("copy");
        let arguments = ["-shared", "-fPIC", "-Wl,-z,execstack"];
        let executable = directory.compile("libexecutable.so", AGENT, &arguments);
        let bytes = without_stack_header(&fs::read(directory.library("plain", AGENT)).unwrap());
        let header_less = directory.write("libheaderless.so", &bytes);
        for path in [executable, header_less] {
            if cfg!(target_arch = "aarch64") && path.ends_with("libheaderless.so") {
                continue;
            }
            assert_eq!(load_copy(&path).unwrap().unwrap().path().as_deref(), Some(&*path));
            let library = open(&path, false).unwrap();
            assert_eq!(library_of(library.on_load as usize).unwrap().path, path);
            assert!(on_unload(&path).is_some());
            let maps = fs::read_to_string("/proc/self/maps").unwrap();
            assert!(!maps.contains(path.to_str().unwrap()), "the file itself is loaded");
            assert!(!maps.contains("rwxp 00000000 00:00 0                          [stack]"));
        }
    }

    #[test]
    fn missing_symbols_and_libraries_are_reported_in_one_line() {
        let directory = Directory::new("missing");
        let file =
            directory.library("file", "int frob(void); int JVM_OnLoad(void) { return frob(); }\n");
        examine(&file).unwrap();
        let advice = ": provide what is missing ('jvmpi check' on the library lists it) or rebuild the \
                      agent";
        assert_eq!(
            complaint(&file, open(&file, false).unwrap_err()),
            format!("cannot be loaded: undefined symbol: frob{advice}")
        );

        let needed = directory.compile(
            "libjvmpi_test_needed.so",
            AGENT,
            &["-shared", "-fPIC", "-Wl,-soname,libjvmpi_test_needed.so"],
        );
        let arguments = ["-shared", "-fPIC", "-Wl,--no-as-needed", needed.to_str().unwrap()];
        let file = directory.compile("needing", AGENT, &arguments);
        fs::remove_file(&needed).unwrap();
        let line = complaint(&file, open(&file, false).unwrap_err());
        assert!(line.starts_with("cannot be loaded: libjvmpi_test_needed.so: "), "{line}");
        assert!(line.ends_with(advice), "{line}");
    }
}
