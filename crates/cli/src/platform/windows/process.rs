//! A process that is a JVM. Processes of other users are seen if this one may open them.

use crate::jdk_version::version_in;
use std::env;
use std::ffi::OsString;
use std::fmt;
use std::fs::{self, File};
use std::os::windows::ffi::OsStringExt;
use std::os::windows::io::{AsRawHandle, FromRawHandle, OwnedHandle};
use std::path::PathBuf;
use std::time::Duration;
use windows_sys::Win32::Foundation::{FILETIME, INVALID_HANDLE_VALUE, WAIT_TIMEOUT};
use windows_sys::Win32::System::Diagnostics::ToolHelp::{
    CreateToolhelp32Snapshot, MODULEENTRY32W, Module32FirstW, Module32NextW, PROCESSENTRY32W,
    Process32FirstW, Process32NextW, TH32CS_SNAPMODULE, TH32CS_SNAPPROCESS,
};
use windows_sys::Win32::System::SystemInformation::GetSystemTimeAsFileTime;
use windows_sys::Win32::System::Threading::{
    GetProcessTimes, OpenProcess, PROCESS_QUERY_LIMITED_INFORMATION, PROCESS_SYNCHRONIZE,
    WaitForSingleObject,
};

/// A process that is a JVM.
#[derive(Clone, Debug)]
pub struct Process {
    number: i32,
    /// The path of `jvm.dll`, and its address in the process.
    pub library: (PathBuf, usize),
}

impl fmt::Display for Process {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.number)
    }
}

impl Process {
    /// Returns the running JVMs that this user may examine.
    pub fn jvms() -> impl Iterator<Item = Self> {
        let mut entry = PROCESSENTRY32W {
            dwSize: size_of::<PROCESSENTRY32W>() as u32,
            // SAFETY: the structure is plain data, for which zeros are a value.
            ..unsafe { std::mem::zeroed() }
        };
        let mut numbers = Vec::new();
        let snapshot = snapshot(TH32CS_SNAPPROCESS, 0);
        if let Some(snapshot) = snapshot {
            let snapshot = snapshot.as_raw_handle();
            // SAFETY: the handle is that of a snapshot, and the structure has its size.
            let mut has_more = unsafe { Process32FirstW(snapshot, &raw mut entry) } != 0;
            while has_more {
                numbers.extend(i32::try_from(entry.th32ProcessID));
                // SAFETY: as above.
                has_more = unsafe { Process32NextW(snapshot, &raw mut entry) } != 0;
            }
        }
        numbers.into_iter().filter_map(|number| Self::jvm(number).ok())
    }

    /// Returns the JVM with this process ID.
    ///
    /// # Errors
    /// Returns an error if there is no such process, if it is no JVM, or if it is not accessible.
    pub fn jvm(number: i32) -> Result<Self, String> {
        if opened(number, PROCESS_QUERY_LIMITED_INFORMATION).is_none() {
            return Err(format!(
                "process {number} does not exist, or belongs to another user: list the JVMs with jvmpi list"
            ));
        }
        let is_jvm = |(path, _): &(PathBuf, usize)| {
            path.file_name().is_some_and(|name| name.eq_ignore_ascii_case("jvm.dll"))
        };
        let library = modules(number).into_iter().find(is_jvm);
        let library =
            library.ok_or_else(|| format!("process {number} is not a JVM, or not yet"))?;
        Ok(Self { number, library })
    }

    /// Returns the process ID.
    pub fn number(&self) -> i32 {
        self.number
    }

    /// Returns a handle of the process with these rights.
    ///
    /// # Errors
    /// Returns an error if the process has ended or belongs to another user.
    pub fn open(&self, rights: u32) -> Result<OwnedHandle, String> {
        opened(self.number, rights)
            .ok_or_else(|| format!("process {self} has ended, or belongs to another user"))
    }

    /// Checks that the process still exists.
    ///
    /// # Errors
    /// Returns an error if it has exited.
    pub fn is_alive(&self) -> Result<(), String> {
        let process = self.open(PROCESS_SYNCHRONIZE)?;
        // SAFETY: the handle is that of a process.
        match unsafe { WaitForSingleObject(process.as_raw_handle(), 0) } {
            WAIT_TIMEOUT => Ok(()),
            _ => Err(format!("process {self} has ended")),
        }
    }

    /// Returns false: no signal stops a process here.
    pub fn is_stopped(&self) -> bool {
        false
    }

    /// Returns the time since its start.
    pub fn age(&self) -> Option<Duration> {
        let [started, ..] = self.times()?;
        let mut now = FILETIME::default();
        // SAFETY: the place is a local variable.
        unsafe { GetSystemTimeAsFileTime(&raw mut now) };
        duration(now).checked_sub(started)
    }

    /// Returns the CPU time of the process in seconds. That of its collector is not known: 0.
    pub fn cpu_times(&self) -> (f64, f64) {
        let [_, _, system, user] = self.times().unwrap_or_default();
        ((system + user).as_secs_f64(), 0.0)
    }

    /// Returns the times of the start and the end, and the CPU times of system and program.
    fn times(&self) -> Option<[Duration; 4]> {
        let process = self.open(PROCESS_QUERY_LIMITED_INFORMATION).ok()?;
        let mut times = [FILETIME::default(); 4];
        let [start, end, system, user] = &mut times;
        // SAFETY: the handle is that of a process, and the places are local variables.
        let is_known =
            unsafe { GetProcessTimes(process.as_raw_handle(), start, end, system, user) } != 0;
        is_known.then(|| times.map(duration))
    }

    /// Returns true: the number is the process's own, as there are no namespaces.
    pub fn has_variable(&self, _name: &str, _value: &str) -> bool {
        true
    }

    /// Returns its main class or JAR file, and the arguments.
    pub fn command_line(&self) -> String {
        self.told().map(|(_, command)| command).unwrap_or_default()
    }

    /// Returns the main class that it runs, or the name of the JAR file.
    pub fn program(&self) -> Option<String> {
        let command = self.command_line();
        let program = command.split(' ').next()?.rsplit(['/', '\\']).next()?;
        Some(program.to_owned()).filter(|program| !program.is_empty())
    }

    /// Returns the name of the user that it belongs to; `?` if it is unknown.
    pub fn user_name(&self) -> String {
        self.told().map_or("?".into(), |(user, _)| user)
    }

    /// Returns the user and the command line that the JVM tells in a file for `jps`, if this user may read it.
    fn told(&self) -> Option<(String, String)> {
        let places = fs::read_dir(env::temp_dir()).ok()?.flatten().map(|entry| entry.path());
        places.into_iter().find_map(|place| {
            let user = place.file_name()?.to_str()?.strip_prefix("hsperfdata_")?.to_owned();
            let counters = fs::read(place.join(self.to_string())).ok()?;
            Some((user, counter(&counters, "sun.rt.javaCommand")?))
        })
    }

    /// Returns the version of its JDK, such as `Java 17.0.9`.
    pub fn java(&self) -> Option<String> {
        // bin\server\jvm.dll
        let home = self.library.0.ancestors().nth(3)?;
        version_in(File::open(home.join("release")).ok()?)
    }
}

#[cfg(test)]
impl Process {
    /// Returns this process, for tests that need no JVM.
    pub fn this() -> Self {
        let number = i32::try_from(std::process::id()).unwrap();
        Self { number, library: (PathBuf::new(), 0) }
    }
}

/// Returns the text of a counter in a file of the JVM. The file has a header, in which are the place and the number of the
/// counters, and for each its length, the places of its name and its data, and the length of an array.
fn counter(file: &[u8], name: &str) -> Option<String> {
    let number = |at: usize| {
        let bytes = file.get(at..at + 4)?.try_into().ok()?;
        usize::try_from(i32::from_le_bytes(bytes)).ok()
    };
    let text = |at: usize, most: usize| {
        let text = file.get(at..)?.get(..most)?.split(|byte| *byte == 0).next()?;
        Some(String::from_utf8_lossy(text).into_owned())
    };
    let (mut at, count) = (number(24)?, number(28)?);
    for _ in 0..count {
        let length = number(at)?;
        if text(at + number(at + 4)?, name.len() + 1)? == name {
            return text(at + number(at + 16)?, number(at + 8)?);
        }
        at += length;
    }
    None
}

fn opened(number: i32, rights: u32) -> Option<OwnedHandle> {
    // SAFETY: the function takes numbers.
    let process = unsafe { OpenProcess(rights, 0, number.unsigned_abs()) };
    // SAFETY: the handle is new.
    (!process.is_null()).then(|| unsafe { OwnedHandle::from_raw_handle(process) })
}

fn snapshot(of: u32, process: u32) -> Option<OwnedHandle> {
    // SAFETY: the function takes numbers.
    let snapshot = unsafe { CreateToolhelp32Snapshot(of, process) };
    // SAFETY: the handle is new.
    (snapshot != INVALID_HANDLE_VALUE).then(|| unsafe { OwnedHandle::from_raw_handle(snapshot) })
}

/// Returns the paths of the modules of a process, and their addresses in it.
fn modules(number: i32) -> Vec<(PathBuf, usize)> {
    let Some(snapshot) = snapshot(TH32CS_SNAPMODULE, number.unsigned_abs()) else {
        return Vec::new();
    };
    let snapshot = snapshot.as_raw_handle();
    let mut entry = MODULEENTRY32W {
        dwSize: size_of::<MODULEENTRY32W>() as u32,
        // SAFETY: the structure is plain data, for which zeros are a value.
        ..unsafe { std::mem::zeroed() }
    };
    let mut modules = Vec::new();
    // SAFETY: the handle is that of a snapshot, and the structure has its size.
    let mut has_more = unsafe { Module32FirstW(snapshot, &raw mut entry) } != 0;
    while has_more {
        let path = entry.szExePath.split(|word| *word == 0).next().unwrap_or_default();
        modules.push((OsString::from_wide(path).into(), entry.modBaseAddr.addr()));
        // SAFETY: as above.
        has_more = unsafe { Module32NextW(snapshot, &raw mut entry) } != 0;
    }
    modules
}

/// Returns a time in the system's unit, 100 ns.
fn duration(time: FILETIME) -> Duration {
    let units = u64::from(time.dwHighDateTime) << 32 | u64::from(time.dwLowDateTime);
    Duration::from_micros(units / 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn facts_about_a_process_are_known() {
        let own = Process::this();
        assert_eq!(own.is_alive(), Ok(()));
        assert!(own.age().unwrap() < Duration::from_secs(600) && own.cpu_times().0 < 600.0);
        let program = env::current_exe().unwrap();
        assert!(
            modules(own.number).iter().any(|(path, address)| *path == program && *address != 0)
        );
        let line = Process::jvm(own.number).unwrap_err();
        assert_eq!(line, format!("process {own} is not a JVM, or not yet"));
        assert!(Process::jvm(i32::MAX).unwrap_err().contains("does not exist"));
    }

    #[test]
    fn counter_is_found_by_its_name() {
        let mut file = vec![0; 32];
        let mut begin =
            |at: usize, number: i32| file[at..at + 4].copy_from_slice(&number.to_le_bytes());
        begin(24, 32);
        begin(28, 2);
        for (name, data) in [("java.x", "1"), ("sun.rt.javaCommand", r"C:\a\app.jar --port 80")] {
            let numbers =
                [20 + name.len() + 1 + data.len() + 1, 20, data.len() + 1, 0, 21 + name.len()];
            file.extend(numbers.iter().flat_map(|number| (*number as i32).to_le_bytes()));
            file.extend([name, "\0", data, "\0"].concat().bytes());
        }
        let found = counter(&file, "sun.rt.javaCommand");
        assert_eq!(found.as_deref(), Some(r"C:\a\app.jar --port 80"));
        assert_eq!((counter(&file, "java.y"), counter(&file[..40], "java.x")), (None, None));
    }
}
