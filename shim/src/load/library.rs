//! Finds an agent library, examines it before anything in it runs, and opens it.
//!
//! Every [`LibraryError`] is one line: which library, what is wrong with it, what to do.

use std::ffi::{CStr, CString, OsStr, OsString};
use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::mem;
use std::os::raw::{c_char, c_void};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::ptr::{self, NonNull};

use jvmpi_sys::{JVM_OnLoad, JVM_OnUnload};
use libloading::os::unix::{Library, RTLD_LAZY, RTLD_LOCAL, RTLD_NOW};
use object::elf::{self, FileHeader32, FileHeader64};
use object::read::elf::{FileHeader, Sym};
use object::{Endianness, ReadCache, ReadRef};

/// An agent library that is loaded, and stays so until the process ends.
#[derive(Clone, Debug)]
pub struct AgentLibrary {
    /// The file it was loaded from.
    pub path: PathBuf,
    /// Its entry point.
    pub on_load: JVM_OnLoad,
}

/// A library that is loaded in this process.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct LoadedLibrary {
    /// The address at which its file is mapped.
    pub base: usize,
    /// The file as the dynamic loader names it.
    pub path: PathBuf,
}

/// Finds the library that `name` means: a path if there is a `/` in it, else `foo` for `libfoo.so`
/// in the directories of `search` and then wherever the dynamic loader looks.
///
/// As in the dynamic loader, a library built for another machine is passed over if there is
/// a fitting one. A library that only the dynamic loader finds (it alone knows its cache) is
/// loaded thereby.
///
/// # Errors
/// [`LibraryError::NoFile`], [`LibraryError::NotFound`]; [`LibraryError::Unloadable`] if the loader finds it but cannot load
/// it.
pub fn find(name: impl AsRef<OsStr>, search: &[PathBuf]) -> Result<PathBuf, LibraryError> {
    let name = name.as_ref();
    if name.as_bytes().contains(&b'/') {
        let path = PathBuf::from(name);
        return if path.exists() { Ok(path) } else { Err(LibraryError::NoFile { path }) };
    }

    let file_name = [OsStr::new("lib"), name, OsStr::new(".so")].join(OsStr::new(""));
    // An empty entry of a search path is the current directory.
    let directory = |path: &PathBuf| if path == "" { PathBuf::from(".") } else { path.clone() };
    let candidates = search.iter().map(|path| directory(path).join(&file_name));
    let (foreign, fitting): (Vec<_>, Vec<_>) = candidates
        .filter(|path| path.is_file())
        .partition(|path| matches!(examine(path), Err(LibraryError::Foreign { .. })));
    if let Some(path) = fitting.into_iter().next() {
        return Ok(path);
    }
    if let Some(path) = found_by_loader(&file_name)? {
        return Ok(path);
    }
    foreign
        .into_iter()
        .next()
        .ok_or_else(|| LibraryError::NotFound { file_name, search: search.to_vec() })
}

/// Examines the file of a library, without loading it, for what makes an agent.
///
/// `JVM_OnLoad` must be in the file itself. Libraries that it needs in turn are not looked at;
/// [`open`] reports what is missing there.
///
/// # Errors
/// What is wrong with the file: all variants but [`LibraryError::NotFound`] and
/// [`LibraryError::Unloadable`].
pub fn examine(path: &Path) -> Result<(), LibraryError> {
    let mut ident = Vec::new();
    let file = File::open(path)
        .and_then(|mut file| file.by_ref().take(5).read_to_end(&mut ident).map(|_| file))
        .map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => LibraryError::NoFile { path: path.into() },
            _ => LibraryError::Unreadable { path: path.into(), error },
        })?;
    let data = &ReadCache::new(file);
    match ident.strip_prefix(&elf::ELFMAG) {
        Some([1]) => examine_elf::<FileHeader32<Endianness>>(path, data),
        Some([2]) => examine_elf::<FileHeader64<Endianness>>(path, data),
        _ => Err(LibraryError::NotElf { path: path.into() }),
    }
}

fn examine_elf<'data, Elf: FileHeader<Endian = Endianness>>(
    path: &Path,
    data: impl ReadRef<'data>,
) -> Result<(), LibraryError> {
    let damaged =
        |error: object::Error| LibraryError::Damaged { path: path.into(), what: error.to_string() };
    let header = Elf::parse(data).map_err(damaged)?;
    let endian = header.endian().map_err(damaged)?;

    let machine = Machine {
        bits: if header.is_class_64() { 64 } else { 32 },
        big_endian: header.is_big_endian(),
        architecture: header.e_machine(endian),
    };
    if machine != Machine::THIS {
        return Err(LibraryError::Foreign { path: path.into(), machine });
    }
    if header.e_type(endian) != elf::ET_DYN {
        let what = match header.e_type(endian) {
            elf::ET_EXEC => "an executable program",
            elf::ET_REL => "an object file",
            elf::ET_CORE => "a core dump",
            _ => "an unknown kind of ELF file",
        };
        return Err(LibraryError::NotShared { path: path.into(), what });
    }

    let sections = header.sections(endian, data).map_err(damaged)?;
    if sections.is_empty() {
        // A file stripped of its section headers loads all the same: `open` looks there.
        return Ok(());
    }
    let symbols = sections.symbols(endian, data, elf::SHT_DYNSYM).map_err(damaged)?;
    let mut instead = Instead::Nothing;
    for symbol in symbols.iter().filter(|symbol| !symbol.is_undefined(endian)) {
        match symbols.symbol_name(endian, symbol).map_err(damaged)? {
            b"JVM_OnLoad" => return Ok(()),
            b"Agent_OnLoad" => instead = Instead::AgentOnLoad,
            name if name.starts_with(b"_Z10JVM_OnLoad") => instead = Instead::Mangled,
            _ => {}
        }
    }
    Err(LibraryError::NoOnLoad { path: path.into(), instead })
}

/// Loads an agent library for ever and finds its entry points. All its symbols are resolved at
/// once, so that a missing one shows here and not when it is called.
///
/// # Errors
/// [`LibraryError::Unloadable`], [`LibraryError::NoOnLoad`].
pub fn open(path: &Path) -> Result<AgentLibrary, LibraryError> {
    let library = load(path.as_os_str()).map_err(|error| unloadable(path, error))?;
    // SAFETY: the type is the one that the interface prescribes for a symbol of this name.
    let on_load = unsafe { library.get::<JVM_OnLoad>("JVM_OnLoad") }
        .map(|symbol| *symbol)
        .map_err(|_| LibraryError::NoOnLoad { path: path.into(), instead: Instead::Nothing })?;
    // Never closed.
    let handle = library.into_raw();
    // The JVM may have loaded the library before without resolving anything.
    match unresolved_symbol(path, handle) {
        Some(symbol) => Err(unloadable(path, format!("undefined symbol: {symbol}").into())),
        None => Ok(AgentLibrary { path: path.into(), on_load }),
    }
}

/// A symbol that the library needs and nobody has, if there is one.
fn unresolved_symbol(path: &Path, handle: *mut c_void) -> Option<String> {
    let data = &ReadCache::new(File::open(path).ok()?);
    let header = FileHeader64::<Endianness>::parse(data).ok()?;
    let endian = header.endian().ok()?;
    let sections = header.sections(endian, data).ok()?;
    let symbols = sections.symbols(endian, data, elf::SHT_DYNSYM).ok()?;
    let needed = symbols
        .iter()
        .filter(|symbol| symbol.is_undefined(endian) && symbol.st_bind() == elf::STB_GLOBAL);
    needed
        .filter_map(|symbol| CString::new(symbols.symbol_name(endian, symbol).ok()?).ok())
        .filter(|name| !name.is_empty())
        .find(|name| {
            // SAFETY: the handle is that of an open library; the name ends with NUL.
            [handle, libc::RTLD_DEFAULT]
                .iter()
                .all(|place| unsafe { libc::dlsym(*place, name.as_ptr()) }.is_null())
        })
        .map(|name| name.to_string_lossy().into_owned())
}

/// What to call in a loaded library when the VM ends; few agents have it.
pub fn on_unload(path: &Path) -> Option<JVM_OnUnload> {
    let symbol = symbol_in(path, c"JVM_OnUnload")?;
    // SAFETY: the type is the one that the interface prescribes for a symbol of this name.
    Some(unsafe { mem::transmute::<NonNull<c_void>, JVM_OnUnload>(symbol) })
}

/// Keeps the shim itself loaded until the process ends. A VM unloads a library whose
/// `Agent_OnAttach` fails, although threads may be in its callbacks and agents hold its table.
pub fn keep_this_one() {
    let here = keep_this_one as *const () as usize;
    if let Some(path) =
        library_of(here).and_then(|l| CString::new(l.path.as_os_str().as_bytes()).ok())
    {
        // SAFETY: the library is loaded already, so this runs none of its code.
        unsafe {
            libc::dlopen(path.as_ptr(), libc::RTLD_NOLOAD | libc::RTLD_NODELETE | libc::RTLD_NOW)
        };
    }
}

/// The library in which `address` lies (of code or of data), `None` if in none.
pub fn library_of(address: usize) -> Option<LoadedLibrary> {
    // SAFETY: Dl_info is plain data that is valid when zeroed.
    let mut info = unsafe { mem::zeroed::<libc::Dl_info>() };
    // SAFETY: dladdr only compares the address; `info` is writable.
    let found = unsafe { libc::dladdr(address as *const c_void, &mut info) } != 0;
    (found && !info.dli_fname.is_null()).then(|| LoadedLibrary {
        base: info.dli_fbase as usize,
        // SAFETY: the loader's own string, which lives as long as the library; `info` was filled.
        path: unsafe { path_from(info.dli_fname) },
    })
}

/// Whether the library is the VM's or the shim's: what calls agents and is none.
pub fn is_of_the_vm(library: &LoadedLibrary) -> bool {
    let here = is_of_the_vm as *const () as usize;
    library_of(here).is_some_and(|own| own.base == library.base)
        || symbol_in(&library.path, c"JNI_CreateJavaVM").is_some()
}

/// The address of a symbol that the library at `path` itself defines. `None` if it does not, or is
/// not loaded.
pub fn symbol_in(path: &Path, symbol: &CStr) -> Option<NonNull<c_void>> {
    // SAFETY: a library that is loaded already is not initialised again.
    let library = unsafe { Library::open(Some(path), libc::RTLD_NOLOAD | RTLD_LAZY) }.ok()?;
    let handle = library.into_raw();
    let address = own_symbol(handle, symbol);
    // SAFETY: takes back the handle given up above, to close it.
    drop(unsafe { Library::from_raw(handle) });
    address
}

/// `dlsym` without the libraries that the one of `handle` depends on.
fn own_symbol(handle: *mut c_void, symbol: &CStr) -> Option<NonNull<c_void>> {
    // SAFETY: the callers pass the handle of an open library; `symbol` ends with NUL.
    let address = NonNull::new(unsafe { libc::dlsym(handle, symbol.as_ptr()) })?;
    let owner = library_of(address.as_ptr() as usize)?;
    (owner.path == path_of(handle)?).then_some(address)
}

/// Loads `file_name` (without a `/`) as the dynamic loader finds it. `None` if it does not.
fn found_by_loader(file_name: &OsStr) -> Result<Option<PathBuf>, LibraryError> {
    match load(file_name) {
        Ok(library) => Ok(path_of(library.into_raw())),
        // The loader's message begins with the name it was given, or, once it has found the file,
        // with the file's path.
        Err(error) if error.as_bytes().starts_with(&[file_name.as_bytes(), b":"].concat()) => {
            Ok(None)
        }
        Err(error) => Err(unloadable(Path::new(file_name), error)),
    }
}

/// `dlopen`; the error is the loader's message.
fn load(file: &OsStr) -> Result<Library, OsString> {
    // SAFETY: runs the initialisers of a library that the user named to be loaded, on
    // the thread and at the time at which the JVM would do the same for -Xrun.
    unsafe { Library::open(Some(file), RTLD_NOW | RTLD_LOCAL) }.map_err(|error| match error {
        libloading::Error::DlOpen { source } => source.to_string().into(),
        other => other.to_string().into(),
    })
}

fn unloadable(path: &Path, message: OsString) -> LibraryError {
    let message = message.to_string_lossy();
    // The message usually begins with the path, which our line names already.
    let prefix = format!("{}: ", path.display());
    let what = message.strip_prefix(&prefix).unwrap_or(&message);
    let what = what.split_whitespace().collect::<Vec<_>>().join(" ");
    LibraryError::Unloadable { path: path.into(), what }
}

/// The path of the library that `handle` (from `dlopen`) stands for.
fn path_of(handle: *mut c_void) -> Option<PathBuf> {
    /// The public beginning of `struct link_map` in `<link.h>`.
    #[repr(C)]
    struct LinkMap {
        l_addr: usize,
        l_name: *const c_char,
    }
    let mut map = ptr::null::<LinkMap>();
    // SAFETY: the callers pass the handle of an open library; RTLD_DI_LINKMAP writes one pointer.
    let result =
        unsafe { libc::dlinfo(handle, libc::RTLD_DI_LINKMAP, (&raw mut map).cast::<c_void>()) };
    // SAFETY: on success it points to the loader's record of the library, which names its file.
    (result == 0).then(|| unsafe { path_from((*map).l_name) })
}

/// # Safety
/// `name` must be a C string.
unsafe fn path_from(name: *const c_char) -> PathBuf {
    // SAFETY: the caller's promise.
    let name = unsafe { CStr::from_ptr(name) };
    Path::new(OsStr::from_bytes(name.to_bytes())).to_path_buf()
}

/// What a library was built for.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Machine {
    bits: u8,
    big_endian: bool,
    architecture: elf::Machine,
}

impl Machine {
    /// What this JVM, and so this library, runs on.
    const THIS: Self = Self {
        bits: if cfg!(target_pointer_width = "64") { 64 } else { 32 },
        big_endian: cfg!(target_endian = "big"),
        architecture: if cfg!(target_arch = "x86_64") {
            elf::EM_X86_64
        } else if cfg!(target_arch = "x86") {
            elf::EM_386
        } else if cfg!(target_arch = "aarch64") {
            elf::EM_AARCH64
        } else if cfg!(target_arch = "arm") {
            elf::EM_ARM
        } else if cfg!(target_arch = "powerpc64") {
            elf::EM_PPC64
        } else if cfg!(target_arch = "riscv64") {
            elf::EM_RISCV
        } else if cfg!(target_arch = "s390x") {
            elf::EM_S390
        } else if cfg!(target_arch = "loongarch64") {
            elf::EM_LOONGARCH
        } else {
            panic!("name the ELF machine of this architecture here")
        },
    };

    fn architecture(self) -> String {
        let name = match self.architecture {
            elf::EM_386 => "i386",
            elf::EM_X86_64 => "x86-64",
            elf::EM_AARCH64 => "AArch64",
            elf::EM_ARM => "ARM",
            elf::EM_SPARC | elf::EM_SPARC32PLUS | elf::EM_SPARCV9 => "SPARC",
            elf::EM_PPC | elf::EM_PPC64 => "PowerPC",
            elf::EM_IA_64 => "Itanium",
            elf::EM_MIPS => "MIPS",
            elf::EM_PARISC => "PA-RISC",
            elf::EM_RISCV => "RISC-V",
            elf::EM_S390 => "z/Architecture",
            elf::EM_LOONGARCH => "LoongArch",
            elf::Machine(other) => return format!("machine {other}"),
        };
        name.into()
    }
}

/// As in `32-bit (i386)`.
impl fmt::Display for Machine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let big_endian = if self.big_endian { "big-endian " } else { "" };
        write!(f, "{}-bit ({big_endian}{})", self.bits, self.architecture())
    }
}

/// What a library exports that has no `JVM_OnLoad`.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Instead {
    /// `Agent_OnLoad`: it is an agent for JVMTI, not for JVMPI.
    AgentOnLoad,
    /// `JVM_OnLoad` as C++ names it.
    Mangled,
    /// Nothing of the kind.
    Nothing,
}

/// Why an agent library is refused. Displayed, it is one line: which library, what is wrong with
/// it, what to do.
#[derive(Debug)]
pub enum LibraryError {
    /// There is no file of this path.
    NoFile {
        /// As the user gave it.
        path: PathBuf,
    },
    /// There is no library of this name.
    NotFound {
        /// `libfoo.so`.
        file_name: OsString,
        /// Where it was looked for, besides where the dynamic loader looks by itself.
        search: Vec<PathBuf>,
    },
    /// The file cannot be read.
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// The file is of another kind.
    NotElf {
        /// The file.
        path: PathBuf,
    },
    /// The file breaks the rules of its format.
    Damaged {
        /// The file.
        path: PathBuf,
        /// Which part of it.
        what: String,
    },
    /// The library was built for another machine than this JVM.
    Foreign {
        /// The library.
        path: PathBuf,
        /// What it was built for.
        machine: Machine,
    },
    /// The file is a program or an object file.
    NotShared {
        /// The file.
        path: PathBuf,
        /// What it is.
        what: &'static str,
    },
    /// The library does not export `JVM_OnLoad`.
    NoOnLoad {
        /// The library.
        path: PathBuf,
        /// What it exports instead.
        instead: Instead,
    },
    /// The dynamic loader refuses the library.
    Unloadable {
        /// The library.
        path: PathBuf,
        /// The loader's message.
        what: String,
    },
}

impl fmt::Display for LibraryError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let line = match self {
            Self::NoFile { path } => {
                format!("{} does not exist: check the path of the agent", path.display())
            }
            Self::NotFound { file_name, search } => {
                let searched = search
                    .iter()
                    .filter(|directory| *directory != "")
                    .map(|directory| format!("{}, ", directory.display()))
                    .collect::<String>();
                format!(
                    "{} is not in any of {searched}nor where the dynamic loader looks: add its \
                     directory to LD_LIBRARY_PATH, or give its path as in \
                     -agentpath:libjvmpi.so=/path/to/{0}",
                    file_name.display()
                )
            }
            Self::Unreadable { path, error } => {
                format!("{} cannot be read: {error}: give this user access to it", path.display())
            }
            Self::NotElf { path } => format!(
                "{} is not an ELF file: give the agent's shared library for Linux",
                path.display()
            ),
            Self::Damaged { path, what } => {
                format!("{} is damaged ({what}): install or build it anew", path.display())
            }
            Self::Foreign { path, machine } => format!(
                "{} is a {machine} library but this JVM is {}: rebuild the agent for {}",
                path.display(),
                Machine::THIS,
                Machine::THIS.architecture()
            ),
            Self::NotShared { path, what } => format!(
                "{} is {what}, not a shared library: link the agent with -shared",
                path.display()
            ),
            Self::NoOnLoad { path, instead: Instead::AgentOnLoad } => format!(
                "{} exports Agent_OnLoad but no JVM_OnLoad, so it is a JVMTI agent: load it with \
                 -agentpath:{0} itself",
                path.display()
            ),
            Self::NoOnLoad { path, instead: Instead::Mangled } => format!(
                "{} exports JVM_OnLoad under its C++ name only: declare it extern \"C\" and \
                 rebuild the agent",
                path.display()
            ),
            Self::NoOnLoad { path, instead: Instead::Nothing } => format!(
                "{} does not export JVM_OnLoad, so it is no JVMPI agent: check that it is the \
                 right library and that nothing hides the symbol",
                path.display()
            ),
            Self::Unloadable { path, what } => format!(
                "{} cannot be loaded: {what}: provide what is missing ('ldd -r' on the library \
                 lists it) or rebuild the agent",
                path.display()
            ),
        };
        for c in line.chars() {
            if c.is_control() { write!(f, "{}", c.escape_default())? } else { write!(f, "{c}")? }
        }
        Ok(())
    }
}

impl std::error::Error for LibraryError {}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::process::{self, Command};

    use super::*;

    const AGENT: &str = "int JVM_OnLoad(void *vm, char *o, void *r) { return 7; }\n\
                         void JVM_OnUnload(void *vm) {}\n";

    /// A directory that is removed when the test ends.
    struct Directory(PathBuf);

    impl Directory {
        fn new(test: &str) -> Self {
            let path = std::env::temp_dir().join(format!("jvmpi-{}-{test}", process::id()));
            fs::create_dir_all(&path).unwrap();
            Self(path)
        }

        fn write(&self, file: &str, content: &[u8]) -> PathBuf {
            let path = self.0.join(file);
            fs::write(&path, content).unwrap();
            path
        }

        /// Compiles C source text to `file`.
        fn compile(&self, file: &str, source: &str, arguments: &[&str]) -> PathBuf {
            let path = self.0.join(file);
            let source = self.write(&format!("{file}.c"), source.as_bytes());
            let mut cc = Command::new("cc");
            let status = cc.arg("-o").arg(&path).arg(source).args(arguments).status().unwrap();
            assert!(status.success(), "{cc:?}");
            path
        }

        fn library(&self, file: &str, source: &str) -> PathBuf {
            self.compile(file, source, &["-shared", "-fPIC"])
        }
    }

    impl Drop for Directory {
        fn drop(&mut self) {
            fs::remove_dir_all(&self.0).unwrap();
        }
    }

    /// The start of an ELF shared library for the given class and machine.
    fn elf_header(class: u8, machine: elf::Machine) -> Vec<u8> {
        let mut header = vec![0; 64];
        header[..7].copy_from_slice(&[0x7f, b'E', b'L', b'F', class, 1, 1]);
        header[16..18].copy_from_slice(&elf::ET_DYN.0.to_le_bytes());
        header[18..20].copy_from_slice(&machine.0.to_le_bytes());
        header
    }

    /// The error's line without the path at its start.
    fn complaint(path: &Path, error: LibraryError) -> String {
        let line = error.to_string();
        line.strip_prefix(&format!("{} ", path.display())).expect(&line).to_string()
    }

    fn examine_complaint(path: &Path) -> String {
        complaint(path, examine(path).unwrap_err())
    }

    #[test]
    fn an_agent_is_found_examined_and_opened() {
        let directory = Directory::new("agent");
        let file = directory.library("libjvmpi_test_agent.so", AGENT);
        let path =
            find("jvmpi_test_agent", &["/nowhere".into(), "".into(), directory.0.clone()]).unwrap();
        assert_eq!(path, file);
        assert_eq!(find(&file, &[]).unwrap(), file);
        examine(&path).unwrap();
        assert_eq!(symbol_in(&path, c"JVM_OnLoad"), None, "it must not be loaded yet");

        let library = open(&path).unwrap();
        assert_eq!(library.path, path);
        // SAFETY: the agent above looks at none of its arguments.
        let result =
            unsafe { (library.on_load)(ptr::null_mut(), ptr::null_mut(), ptr::null_mut()) };
        assert_eq!(result, 7);
        let on_load = library.on_load as usize;
        let on_unload = on_unload(&path).unwrap() as usize;
        let address = |symbol| symbol_in(&path, symbol).map(|symbol| symbol.as_ptr() as usize);
        assert_eq!(address(c"JVM_OnLoad"), Some(on_load));
        assert_eq!(address(c"JVM_OnUnload"), Some(on_unload));
        assert_eq!(address(c"JVM_OnVacation"), None);

        let owner = library_of(on_load).unwrap();
        assert_eq!(owner.path, path);
        assert!(owner.base <= on_load && on_load - owner.base < 0x10_0000);
        assert_eq!(library_of(on_unload), Some(owner));
        assert_eq!(library_of(0), None);
    }

    #[test]
    fn symbols_of_other_libraries_do_not_count() {
        let directory = Directory::new("needed");
        let needed = directory.library("libneeded.so", "void JVM_OnUnload(void *vm) {}\n");
        let agent = directory.compile(
            "libneeding.so",
            "int JVM_OnLoad(void *vm, char *o, void *r) { return 0; }\n",
            &["-shared", "-fPIC", "-Wl,--no-as-needed", needed.to_str().unwrap()],
        );
        assert!(on_unload(&open(&agent).unwrap().path).is_none());
        assert!(symbol_in(&needed, c"JVM_OnUnload").is_some());
        assert_eq!(symbol_in(&agent, c"JVM_OnUnload"), None);
    }

    #[test]
    fn the_dynamic_loader_finds_what_the_search_path_lacks() {
        let directory = Directory::new("loader");
        let name = "-Wl,-soname,libjvmpi_test_cached.so";
        let path = directory.compile("other.so", AGENT, &["-shared", "-fPIC", name]);
        // The loader knows a library that is loaded by its soname, as if it were in its cache.
        open(&path).unwrap();
        assert_eq!(find("jvmpi_test_cached", &[]).unwrap(), path);
    }

    #[test]
    fn a_library_for_another_machine_is_passed_over() {
        let [old, new] = ["foreign-old", "foreign-new"].map(Directory::new);
        let foreign = old.write("libjvmpi_test_two.so", &elf_header(1, elf::EM_SPARC));
        let search = [old.0.clone(), new.0.clone()];
        assert_eq!(find("jvmpi_test_two", &search).unwrap(), foreign);
        let fitting = new.library("libjvmpi_test_two.so", AGENT);
        assert_eq!(find("jvmpi_test_two", &search).unwrap(), fitting);
    }

    #[test]
    fn what_is_not_there_is_said_with_where_it_was_looked_for() {
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

    #[test]
    fn what_is_no_library_is_refused() {
        let directory = Directory::new("no-library");
        for (content, expected) in [
            (&b""[..], "is not an ELF file: give the agent's shared library for Linux"),
            (
                b"INPUT(libfoo.so.1)\n",
                "is not an ELF file: give the agent's shared library for Linux",
            ),
            (b"\x7fELF", "is not an ELF file: give the agent's shared library for Linux"),
            (
                b"\x7fELF\x02\x01\x01",
                "is damaged (Invalid ELF header size or alignment): install or build it anew",
            ),
        ] {
            assert_eq!(examine_complaint(&directory.write("file", content)), expected);
        }
        assert_eq!(
            examine_complaint(&directory.0),
            "cannot be read: Is a directory (os error 21): give this user access to it"
        );
        for (argument, expected) in [
            ("-c", "is an object file, not a shared library: link the agent with -shared"),
            (
                "-no-pie",
                "is an executable program, not a shared library: link the agent with -shared",
            ),
        ] {
            let file = directory.compile("file", "int main(void) { return 0; }\n", &[argument]);
            assert_eq!(examine_complaint(&file), expected);
        }
    }

    #[test]
    fn a_library_cut_short_is_refused() {
        let directory = Directory::new("prefix");
        let content = fs::read(directory.library("whole", AGENT)).unwrap();
        for length in (0..content.len()).step_by(97) {
            let file = directory.write("file", &content[..length]);
            assert!(examine(&file).is_err(), "{length} of {} bytes", content.len());
        }
    }

    #[test]
    #[cfg(all(target_arch = "x86_64", target_pointer_width = "64"))]
    fn foreign_libraries_are_named_in_words() {
        let directory = Directory::new("machine");
        let mut big_endian = elf_header(2, elf::Machine(21_u16.swap_bytes()));
        big_endian[5] = 2;
        for (header, machine) in [
            (elf_header(1, elf::EM_386), "32-bit (i386)"),
            (elf_header(1, elf::EM_X86_64), "32-bit (x86-64)"),
            (elf_header(2, elf::EM_AARCH64), "64-bit (AArch64)"),
            (big_endian, "64-bit (big-endian PowerPC)"),
            (elf_header(2, elf::Machine(0xbeef)), "64-bit (machine 48879)"),
        ] {
            assert_eq!(
                examine_complaint(&directory.write("file", &header)),
                format!(
                    "is a {machine} library but this JVM is 64-bit (x86-64): rebuild the agent \
                     for x86-64"
                )
            );
        }
    }

    #[test]
    fn a_library_without_on_load_is_refused() {
        let directory = Directory::new("on-load");
        let refusal = |source| examine_complaint(&directory.library("file", source));
        let path = directory.0.join("file");
        assert_eq!(
            refusal("int Agent_OnLoad(void *vm, char *o, void *r) { return 0; }\n"),
            format!(
                "exports Agent_OnLoad but no JVM_OnLoad, so it is a JVMTI agent: load it with \
                 -agentpath:{} itself",
                path.display()
            )
        );
        assert_eq!(
            refusal("int _Z10JVM_OnLoadP7JavaVM_PcPv(void *vm, char *o, void *r) { return 0; }\n"),
            "exports JVM_OnLoad under its C++ name only: declare it extern \"C\" and rebuild the \
             agent"
        );
        let nothing = "does not export JVM_OnLoad, so it is no JVMPI agent: check that it is the \
                       right library and that nothing hides the symbol";
        for source in [
            "static int JVM_OnLoad(void) { return 0; }\nint (*f)(void) = JVM_OnLoad;\n",
            "int JVM_OnLoad(void);\nint (*f)(void) = JVM_OnLoad;\n",
            "int JVM_OnLoad2(void) { return 0; }\n",
        ] {
            assert_eq!(refusal(source), nothing, "{source}");
        }
        let error = open(&directory.library("file", "int JVM_OnLoad2(void) { return 0; }\n"));
        assert_eq!(complaint(&path, error.unwrap_err()), nothing);
    }

    #[test]
    fn what_the_loader_misses_is_one_line() {
        let directory = Directory::new("missing");
        let file =
            directory.library("file", "int frob(void); int JVM_OnLoad(void) { return frob(); }\n");
        examine(&file).unwrap();
        let advice = ": provide what is missing ('ldd -r' on the library lists it) or rebuild the \
                      agent";
        assert_eq!(
            complaint(&file, open(&file).unwrap_err()),
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
        let line = complaint(&file, open(&file).unwrap_err());
        assert!(line.starts_with("cannot be loaded: libjvmpi_test_needed.so: "), "{line}");
        assert!(line.ends_with(advice), "{line}");
    }
}
