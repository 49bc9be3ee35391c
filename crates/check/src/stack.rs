//! The agent's part of the stack, with names.

use object::{Object as _, ObjectSymbol as _};
use std::ffi::{CStr, c_void};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// How many frames are looked at, and how many of the agent are kept.
const LOOKED_AT: usize = 64;
const KEPT: usize = 16;

/// Return addresses in the agent, innermost first.
#[derive(Clone, Debug, Default, Eq, Hash, PartialEq)]
pub struct Stack(Vec<usize>);

/// The library that an address lies in.
struct Library {
    base: usize,
    path: PathBuf,
}

fn library_of(address: usize) -> Option<Library> {
    // SAFETY: dladdr takes any address, and fills the structure if it returns one that is not 0. The name
    // lives as long as the library, which is being executed.
    unsafe {
        let mut info: libc::Dl_info = std::mem::zeroed();
        if libc::dladdr(address as *const c_void, &raw mut info) == 0 || info.dli_fname.is_null() {
            return None;
        }
        let path = CStr::from_ptr(info.dli_fname).to_string_lossy().into_owned();
        Some(Library { base: info.dli_fbase.addr(), path: path.into() })
    }
}

impl Stack {
    /// The frames between this library, which the agent has called, and what has called the agent.
    #[inline(never)]
    pub fn of_agent() -> Self {
        let mut frames = [std::ptr::null_mut::<c_void>(); LOOKED_AT];
        // SAFETY: it writes at most so many addresses.
        let count = unsafe { libc::backtrace(frames.as_mut_ptr(), LOOKED_AT as i32) };
        let own = library_of(Self::of_agent as *const () as usize).map(|library| library.base);
        let mut agent = Vec::new();
        for frame in &frames[..count.max(0) as usize] {
            match library_of(frame.addr()) {
                // Libc is in between when the agent was stopped by a signal.
                Some(library)
                    if agent.is_empty()
                        && (Some(library.base) == own || is_libc(&library.path)) => {}
                Some(library) if Some(library.base) != own && !is_of_the_vm(&library.path) => {
                    agent.push(frame.addr());
                }
                _ => break,
            }
        }
        agent.truncate(KEPT);
        Self(agent)
    }

    /// The beginning of this function alone.
    pub fn of_function(address: usize) -> Self {
        Self(vec![address])
    }

    /// Whether the agent's JVM_OnLoad is running.
    pub fn is_in_jvm_on_load(&self) -> bool {
        self.0.iter().any(|address| name(*address).is_some_and(|name| name.0 == "JVM_OnLoad"))
    }

    /// A line for each frame.
    pub fn describe(&self) -> Vec<String> {
        let line = |(i, address): (usize, &usize)| {
            let mut line = format!("#{i} ");
            let library = library_of(*address);
            if let Some((name, offset)) = name(*address) {
                let _ = write!(line, "{name}+{offset:#x} ");
            }
            let _ = match library {
                Some(Library { base, path }) => {
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

fn is_named(path: &Path, names: &[&str]) -> bool {
    let file = path.file_name().unwrap_or_default().to_string_lossy();
    names.iter().any(|name| file.starts_with(name))
}

fn is_libc(path: &Path) -> bool {
    is_named(path, &["libc.", "libc-", "libpthread"])
}

/// Whether agents are called from this library.
fn is_of_the_vm(path: &Path) -> bool {
    is_libc(path) || is_named(path, &["libjvm.", "libjava.", "libjli."])
}

/// The function at an address and how far into it, from the symbol table: most functions of an agent are
/// static, so that the dynamic linker does not know them.
fn name(address: usize) -> Option<(String, usize)> {
    let library = library_of(address)?;
    let data = std::fs::read(&library.path).ok()?;
    let file = object::File::parse(&*data).ok()?;
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
