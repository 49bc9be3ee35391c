//! The agent's part of the stack, with names.

use crate::layer::Neighbours;
use jvm::platform::dynamic_loader::{LoadedLibrary, library_of, symbol_in, this_library};
use object::{Object as _, ObjectSection as _, ObjectSymbol as _};
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::fmt::Write as _;
use std::path::Path;
use std::ptr::{self, NonNull};

/// The number of frames that are looked at, and the number of the agent's frames that are kept.
const LOOKED_AT: usize = 64;
const KEPT: usize = 16;

/// Return addresses in the agent, innermost first.
#[derive(Clone, Debug, Default, Eq, Hash, PartialEq)]
pub struct Stack(Vec<usize>);

/// Return addresses, innermost first.
struct Frames {
    addresses: [usize; LOOKED_AT],
    count: usize,
}

// The unwinder that Rust's standard library links. `backtrace` of glibc calls it; musl has no such function.
unsafe extern "C" {
    fn _Unwind_Backtrace(
        trace: unsafe extern "C" fn(*mut c_void, *mut c_void) -> c_int,
        argument: *mut c_void,
    ) -> c_int;
    fn _Unwind_GetIP(context: *mut c_void) -> usize;
}

/// The callback for `_Unwind_Backtrace`: adds a frame, and ends the walk if there is no room or no address.
///
/// # Safety
/// `context` describes a frame; `frames` points to a `Frames`.
unsafe extern "C" fn add_frame(context: *mut c_void, frames: *mut c_void) -> c_int {
    const NO_REASON: c_int = 0;
    const END_OF_STACK: c_int = 5;
    // SAFETY: as the caller promises.
    let (address, frames) = unsafe { (_Unwind_GetIP(context), &mut *frames.cast::<Frames>()) };
    match frames.addresses.get_mut(frames.count) {
        Some(next) if address != 0 => *next = address,
        _ => return END_OF_STACK,
    }
    frames.count += 1;
    NO_REASON
}

impl Stack {
    /// Returns the frames from this library, which the agent called, up to the caller of the agent.
    #[inline(never)]
    pub fn of_agent() -> Self {
        let mut frames = Frames { addresses: [0; LOOKED_AT], count: 0 };
        // SAFETY: the callback gets the pointer to the frames, which live until the call returns.
        unsafe { _Unwind_Backtrace(add_frame, (&raw mut frames).cast::<c_void>()) };
        let own = this_library().map(|library| library.base);
        let frames = frames.addresses[..frames.count].iter();
        Self::below_own(own, frames.map(|frame| (*frame, library_of(*frame))))
    }

    /// Returns the agent's part of these frames. The innermost ones are in the library that is loaded at `own`.
    fn below_own(
        own: Option<usize>,
        frames: impl Iterator<Item = (usize, Option<LoadedLibrary>)>,
    ) -> Self {
        let mut agent = Vec::new();
        for (address, library) in frames {
            match library {
                Some(library)
                    if agent.is_empty()
                        && (Some(library.base) == own || returns_from_signals(&library.path)) => {}
                Some(library) if Some(library.base) != own && !is_of_the_vm(&library.path) => {
                    agent.push(address);
                }
                _ => break,
            }
        }
        agent.truncate(KEPT);
        Self(agent)
    }

    /// Returns the beginning of the agent's handler alone.
    pub fn of_handler(next: &Neighbours) -> Self {
        Self(vec![next.handler().map_or(0, |handler| handler as usize)])
    }

    /// Returns true if the agent's JVM_OnLoad is running.
    pub fn is_in_jvm_on_load(&self) -> bool {
        self.0.iter().any(|address| name(*address).is_some_and(|name| name.0 == "JVM_OnLoad"))
    }

    /// Returns a line for each frame.
    pub fn describe(&self) -> Vec<String> {
        let line = |(i, address): (usize, &usize)| {
            let mut line = format!("#{i} ");
            let library = library_of(*address);
            if let Some((name, offset)) = name(*address) {
                let _ = write!(line, "{}+{offset:#x} ", demangled(&name));
            }
            let _ = match library {
                Some(LoadedLibrary { base, path }) => {
                    let file = path.file_name().unwrap_or_default().to_string_lossy();
                    write!(line, "({file}+{:#x})", address - base)
                }
                None => write!(line, "({address:#x})"),
            };
            line
        };
        self.0.iter().enumerate().map(line).collect()
    }
}

/// Returns the name as in the source of C++ or Rust.
fn demangled(name: &str) -> String {
    match rustc_demangle::try_demangle(name) {
        Ok(name) => format!("{name:#}"),
        Err(_) => demangled_by_cpp(name).unwrap_or_else(|| name.to_owned()),
    }
}

const CPP_LIBRARY: &str = "libstdc++.so.6";

/// Demangles the name by the C++ library, if an agent has loaded that library.
fn demangled_by_cpp(name: &str) -> Option<String> {
    type Demangle = unsafe extern "C" fn(
        *const c_char,
        *mut c_char,
        *mut libc::size_t,
        *mut c_int,
    ) -> *mut c_char;
    let mangled = CString::new(name).ok().filter(|_| name.starts_with("_Z"))?;
    let function = symbol_in(Path::new(CPP_LIBRARY), c"__cxa_demangle")?;
    // SAFETY: the function has this type; its result is NULL or a string from malloc. The agent whose frames these are
    // needs the library.
    unsafe {
        let demangle = std::mem::transmute::<NonNull<c_void>, Demangle>(function);
        let (length, status) = (ptr::null_mut(), ptr::null_mut());
        let text = NonNull::new(demangle(mangled.as_ptr(), ptr::null_mut(), length, status))?;
        let demangled = CStr::from_ptr(text.as_ptr()).to_string_lossy().into_owned();
        libc::free(text.as_ptr().cast());
        Some(demangled)
    }
}

fn is_named(path: &Path, names: &[&str]) -> bool {
    let file = path.file_name().unwrap_or_default().to_string_lossy();
    names.iter().any(|name| file.starts_with(name))
}

fn is_libc(path: &Path) -> bool {
    is_named(path, &["libc.", "libc-", "libpthread"])
}

/// Returns true if the frame between a signal handler and the code that the signal stopped lies in this library:
/// in libc on x86-64, in the kernel's vDSO on i386 and AArch64, in ntdll on Windows.
fn returns_from_signals(path: &Path) -> bool {
    is_libc(path) || is_named(path, &["linux-gate.", "linux-vdso.", "ntdll."])
}

/// Returns true if agents are called from this library.
fn is_of_the_vm(path: &Path) -> bool {
    is_libc(path) || is_named(path, &["libjvm.", "libjava.", "libjli.", "jvm.", "java.", "jli."])
}

/// Returns the function at an address and how far into it, from the symbol table: most functions of an agent are
/// static, so that the dynamic linker does not know them.
fn name(address: usize) -> Option<(String, usize)> {
    let library = library_of(address)?;
    let data = std::fs::read(&library.path).ok()?;
    let file = object::File::parse(&*data).ok()?;
    if file.format() == object::BinaryFormat::Pe {
        return name_in_dll(&file, address - library.base);
    }
    // The program itself may be linked for a fixed address.
    let bias = if file.kind() == object::ObjectKind::Executable { 0 } else { library.base };
    let wanted = (address - bias) as u64;
    let symbol = file
        .symbols()
        .chain(file.dynamic_symbols())
        .filter(|symbol| symbol.kind() == object::SymbolKind::Text && symbol.is_definition())
        .filter(|symbol| {
            (symbol.address()..symbol.address() + symbol.size().max(1)).contains(&wanted)
        })
        .max_by_key(|symbol| symbol.address())?;
    Some((symbol.name().ok()?.to_owned(), (wanted - symbol.address()) as usize))
}

/// The symbols of a DLL have no size. A table lists the beginning and the end of each function, for the unwinder.
fn name_in_dll(file: &object::File<'_>, wanted: usize) -> Option<(String, usize)> {
    let table = file.section_by_name(".pdata")?.data().ok()?;
    let begin = table.chunks_exact(12).find_map(|entry| {
        let [begin, end] = [0, 4].map(|at| &entry[at..at + 4]);
        let [begin, end] = [begin, end].map(|bytes| bytes.try_into().map(u32::from_le_bytes));
        let (begin, end) = (begin.ok()? as usize, end.ok()? as usize);
        (begin..end).contains(&wanted).then_some(begin)
    })?;
    let address = file.relative_address_base() + begin as u64;
    let is_function = |symbol: &object::Symbol<'_, '_>| {
        symbol.address() == address && symbol.kind() == object::SymbolKind::Text
    };
    let name = match file.symbols().find(is_function) {
        Some(symbol) => symbol.name().ok()?.to_owned(),
        None => {
            let mut exports = file.exports().ok()?.flatten();
            let is_it = |export: &object::Export<'_>| {
                export.target() == object::ExportTarget::Address { address }
            };
            let object::NameOrOrdinal::Name(name) = exports.find(is_it)?.into_name() else {
                return None;
            };
            String::from_utf8(name.into_owned()).ok()?
        }
    };
    Some((name, wanted - begin))
}

#[cfg(test)]
mod tests {
    use super::*;
    use jvm::platform::dynamic_loader::Opened;
    use std::ffi::OsStr;

    #[test]
    fn names_are_those_of_the_source() {
        assert_eq!(demangled("_ZN5agent6notify17h0123456789abcdefE"), "agent::notify");
        assert_eq!(demangled("_RNvC5agent6notify"), "agent::notify");
        assert_eq!(demangled("on_event"), "on_event");
        // SAFETY: the initialization of the C++ library has no requirements.
        if unsafe { Opened::open(OsStr::new(CPP_LIBRARY)) }.is_err() {
            println!("skipped: names of C++: there is no libstdc++");
            return;
        }
        assert_eq!(demangled("_ZN5Agent6notifyEi"), "Agent::notify(int)");
    }

    #[test]
    fn stack_begins_in_the_agent_behind_a_signal_on_each_machine() {
        for between in ["/lib/x86_64-linux-gnu/libc.so.6", "linux-gate.so.1", "linux-vdso.so.1"] {
            let library = |base: usize, path: &str| Some(LoadedLibrary { base, path: path.into() });
            let frames = [
                (0x1010, library(0x1000, "/opt/libjvmpi.so")),
                (0x2010, library(0x2000, between)),
                (0x3010, library(0x3000, "/opt/libagent.so")),
                (0x3020, library(0x3000, "/opt/libagent.so")),
                (0x4010, library(0x4000, "/opt/lib/server/libjvm.so")),
                (0x3030, library(0x3000, "/opt/libagent.so")),
            ];
            let stack = Stack::below_own(Some(0x1000), frames.into_iter());
            assert_eq!(stack, Stack(vec![0x3010, 0x3020]), "{between}");
        }
    }
}
