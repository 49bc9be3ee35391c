//! Loads the agents that the shim itself is responsible for, and calls their `JVM_OnLoad`.

use super::get_env::{self, claim, expect, while_beginning};
use super::library::{self, AgentLibrary, Fault, LibraryError};
use crate::records::agents::{self, Agent};
use jni_sys::JNI_OK;
use jvm::lock::Lock;
use jvm::platform::dynamic_loader::{self, library_of};
use jvm::platform::names::{self, SHIM, file_and_options};
use jvm::vm_structs;
use jvmpi_settings::{ExecStack, OnLoad};
use std::ffi::{CStr, CString, OsStr, c_char};
use std::path::PathBuf;
use std::ptr;
use std::sync::OnceLock;

/// An agent that the shim loads, before the call of its JVM_OnLoad.
pub struct Pending {
    library: AgentLibrary,
    options: Option<CString>,
}

static PENDING: Lock<Vec<Pending>> = Lock::new(Vec::new());

impl Pending {
    /// Returns the time at which the agent's JVM_OnLoad is to be called.
    fn on_load(&self) -> OnLoad {
        let options = self.options.as_deref().map(CStr::to_string_lossy).unwrap_or_default();
        get_env::settings_of(&self.library.path, &options).onload
    }
}

/// Queues an agent, whose JVM_OnLoad is called at the time that its settings say.
pub fn begin_later(agent: Pending) {
    PENDING.lock().push(agent);
}

/// Parses `name:options` and opens the agent library. Returns `None` if the string is empty.
///
/// # Safety
/// `text` is NULL or a NUL-terminated string.
pub unsafe fn pending(text: *const c_char) -> Result<Option<Pending>, String> {
    if text.is_null() {
        return Ok(None);
    }
    // SAFETY: as the caller promises.
    let text = unsafe { CStr::from_ptr(text) }.to_bytes();
    if text.is_empty() {
        return Ok(None);
    }
    let (name, options) = file_and_options(text);
    let options = options.and_then(|options| CString::new(options).ok());
    let may_copy = jvmpi_settings::get().execstack == ExecStack::Copy;
    let library = open(&names::of_system(name), may_copy).map_err(|error| error.to_string())?;
    match &options {
        Some(options) => {
            let options = without_secret(&options.to_string_lossy());
            log::info!("agent {} with the options {options}", library.path.display());
        }
        None => log::info!("agent {} without options", library.path.display()),
    }
    Ok(Some(Pending { library, options }))
}

/// Returns the options without the secret of a recording. Others may read the log of a program.
fn without_secret(options: &str) -> String {
    const KEY: &str = "secret=";
    let hide = |option: &str| {
        if option.starts_with(KEY) { format!("{KEY}…") } else { option.to_owned() }
    };
    options.split(',').map(hide).collect::<Vec<_>>().join(",")
}

/// Loads an agent library by its absolute path, because some agents look for files next to their library.
fn open(name: &OsStr, may_copy: bool) -> Result<AgentLibrary, LibraryError> {
    let path = find(name)?;
    let path = std::path::absolute(&path).unwrap_or(path);
    library::examine(&path)?;
    library::open(&path, may_copy)
}

/// Finds the library that `-Xrun` would load for this name, or one in the directory of the shim.
fn find(name: &OsStr) -> Result<PathBuf, LibraryError> {
    let property = |name: &CStr| jvm::get().jvmti.system_property(name).unwrap_or_default();
    let directories = [property(c"sun.boot.library.path"), property(c"java.library.path")];
    let own = dynamic_loader::this_library();
    let search: Vec<PathBuf> = directories
        .iter()
        .map(|list| names::of_system(list.to_bytes()))
        .flat_map(|list| std::env::split_paths(&list).collect::<Vec<_>>())
        // That would be the working directory, where anybody may have put a library.
        .filter(|directory| !directory.as_os_str().is_empty())
        .chain(own.and_then(|own| own.path.parent().map(PathBuf::from)))
        .collect();
    library::find(name, &search)
}

/// Opens the libraries of `-Xrun` options before the VM does. A faulty library is reported in one line, and JDK 25
/// does not crash on one without `JVM_OnLoad`.
pub fn check_xrun_libraries() -> Result<(), String> {
    static CHECKED: OnceLock<()> = OnceLock::new();
    if CHECKED.set(()).is_err() {
        return Ok(());
    }
    for option in vm_structs::vm_options().unwrap_or_default() {
        let Some(agent) = option.to_bytes().strip_prefix(b"-Xrun") else { continue };
        let (name, options) = file_and_options(agent);
        // The JVM loads the file itself.
        match open(&names::of_system(name), false) {
            Ok(library) => {
                let options = String::from_utf8_lossy(options.unwrap_or_default());
                let settings = get_env::settings_of(&library.path, &options);
                if settings.onload == OnLoad::Init {
                    log::warn!(
                        "onload=init has no effect on {}, because the JVM calls its JVM_OnLoad; use \
                     -agentpath:…/{SHIM}=AGENT in place of -Xrun",
                        library.path.display()
                    );
                }
                expect(&library, options.into_owned());
            }
            // The VM loads this library as a JVMTI agent without the shim.
            Err(error) if error.fault == Fault::JvmtiAgent => {}
            Err(error) => return Err(error.to_string()),
        }
    }
    Ok(())
}

/// Calls JVM_OnLoad of the queued agents that are due at this time.
pub fn begin_all(at: OnLoad) -> Result<(), String> {
    let pending = std::mem::take(&mut *PENDING.lock());
    let (now, later): (Vec<_>, _) = pending.into_iter().partition(|agent| agent.on_load() == at);
    PENDING.lock().extend(later);
    now.into_iter().try_for_each(|agent| begin(agent).map(drop))
}

/// Calls JVM_OnLoad of an agent.
pub fn begin(Pending { library, options }: Pending) -> Result<&'static Agent, String> {
    let path = library.path.display();
    let own_options = options.as_deref().unwrap_or_default().to_string_lossy().into_owned();
    expect(&library, own_options);
    let agent = library_of(library.on_load as usize).and_then(claim).ok_or_else(|| {
        format!("cannot load {path}: there are already {} agents, the maximum", agents::MAX_AGENTS)
    })?;
    // The agent may keep and change the string, so it is leaked.
    let options = options.map_or(ptr::null_mut(), CString::into_raw);
    // SAFETY: the specification has the VM call an agent with these arguments.
    let call = || unsafe { (library.on_load)(jvm::get().vm(), options, ptr::null_mut()) };
    let result = while_beginning(agent, call);
    if result == JNI_OK {
        Ok(agent)
    } else {
        Err(format!(
            "JVM_OnLoad of {path} returned {result}: the agent refuses to run; check its options"
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn log_does_not_show_the_secret_of_a_recording() {
        assert_eq!(without_secret("cpu=samples,secret=0123abcd"), "cpu=samples,secret=…");
        assert_eq!(without_secret("secret=0123abcd,depth=4"), "secret=…,depth=4");
        assert_eq!(without_secret("a=b, c"), "a=b, c");
    }
}
