//! Loading an agent into a running JVM and dumping its heap, by HotSpot's own protocol.
//!
//! `jvm.dll` exports a function that queues a command, with the name of a pipe for the answer. A thread that this command
//! starts in the JVM's process calls the function.

use super::process::Process;
use crate::answer::{understand, understand_dump};
use crate::commands::{ARGUMENTS, DUMP, Dump, MOST_ANSWER};
use crate::waiting::{LOOK, Waiting};
use jvm::platform::names::to_system;
use jvmpi_settings::library::pe::address_of;
use std::ffi::{OsStr, OsString, c_void};
use std::fs::File;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io;
use std::os::windows::io::{AsRawHandle, FromRawHandle, OwnedHandle};
use std::path::{Path, PathBuf};
use std::ptr;
use windows_sys::Win32::Foundation::{
    ERROR_NO_DATA, ERROR_PIPE_CONNECTED, GetLastError, INVALID_HANDLE_VALUE, WAIT_TIMEOUT,
};
use windows_sys::Win32::Storage::FileSystem::{FILE_FLAG_FIRST_PIPE_INSTANCE, PIPE_ACCESS_INBOUND};
use windows_sys::Win32::System::Diagnostics::Debug::WriteProcessMemory;
use windows_sys::Win32::System::Memory::{
    MEM_COMMIT, MEM_RELEASE, MEM_RESERVE, PAGE_EXECUTE_READ, PAGE_READWRITE, VirtualAllocEx,
    VirtualFreeEx, VirtualProtectEx,
};
use windows_sys::Win32::System::Pipes::{
    ConnectNamedPipe, CreateNamedPipeW, PIPE_READMODE_BYTE, PIPE_REJECT_REMOTE_CLIENTS,
    PIPE_TYPE_BYTE, PIPE_WAIT,
};
use windows_sys::Win32::System::Threading::{
    CreateRemoteThread, GetExitCodeThread, PROCESS_CREATE_THREAD, PROCESS_QUERY_INFORMATION,
    PROCESS_VM_OPERATION, PROCESS_VM_WRITE, WaitForSingleObject,
};

/// The function of `jvm.dll` that queues a command.
const QUEUE: &str = "JVM_EnqueueOperation";

/// The room for a text of a command with its NUL. The JVM refuses longer ones.
const ROOM: usize = 1025;

/// The data of the thread in the JVM: the function, then its arguments, which are texts.
#[repr(C)]
struct Call {
    queue: usize,
    texts: [[u8; ROOM]; ARGUMENTS + 2],
}

/// Loads the first of these libraries into the JVM, once with each of the options from `commands`. `commands` gets the
/// paths of all libraries.
///
/// # Errors
/// Returns the reason why the JVM cannot be reached, or the JVM's own message.
pub fn load_agent(
    process: &Process,
    libraries: &[&Path],
    commands: impl FnOnce(&[PathBuf]) -> Result<Vec<OsString>, String>,
    waiting: &Waiting,
) -> Result<(), String> {
    let paths: Vec<PathBuf> = libraries.iter().map(|path| (*path).to_owned()).collect();
    for options in commands(&paths)? {
        let arguments = [paths[0].clone().into_os_string(), "true".into(), options];
        let answer = waiting
            .for_start(process, || ask(process, waiting, "load", &arguments, MOST_ANSWER))?;
        understand(&answer).map_err(|why| {
            format!("the JVM {process} has not loaded {}: {why}", paths[0].display())
        })?;
    }
    Ok(())
}

/// Makes the JVM write a dump, and returns the dump's path in `directory`, which is empty.
///
/// # Errors
/// Returns the reason why the JVM cannot be reached, or why there is no dump.
pub fn dump(
    process: &Process,
    directory: &Path,
    what: Dump,
    waiting: &Waiting,
) -> Result<PathBuf, String> {
    let path = directory.join(DUMP);
    let (command, arguments) = what.command(&path);
    let answer = ask(process, waiting, command, &arguments, MOST_ANSWER)?;
    understand_dump(&answer).map_err(|why| {
        let (name, place) = (what.name(), directory.display());
        format!("the JVM {process} has not written a {name} to {place}: {why}")
    })?;
    Ok(path)
}

/// Has the JVM execute a command without arguments, whose answer has at most `most` bytes.
///
/// # Errors
/// Returns the reason why there is no answer.
pub fn execute(
    process: &Process,
    waiting: &Waiting,
    command: &str,
    most: usize,
) -> Result<String, String> {
    ask(process, waiting, command, &Default::default(), most)
}

/// Has the JVM execute a command, and reads the answer to its end. A JVM sends no more than `most` bytes.
fn ask(
    process: &Process,
    waiting: &Waiting,
    command: &str,
    arguments: &[OsString; ARGUMENTS],
    most: usize,
) -> Result<String, String> {
    let failed = |error: io::Error| format!("cannot attach to the JVM {process}: {error}");
    // The hasher has a random seed, so that no other process has a pipe of this name.
    let number = RandomState::new().build_hasher().finish();
    let name = format!(r"\\.\pipe\jvmpi-{number:016x}");
    let pipe = pipe(&name).map_err(failed)?;
    let (path, base) = &process.library;
    let address = address_of(path, QUEUE).map_err(|error| error.to_string())?;
    let address = address.ok_or_else(|| format!("{} has no {QUEUE}", path.display()))?;
    let mut call = Call { queue: base + address as usize, texts: [[0; ROOM]; ARGUMENTS + 2] };
    let [first, second, third] = arguments.each_ref().map(|argument| &**argument);
    let texts = [OsStr::new(command), first, second, third, OsStr::new(&name)];
    for (text, room) in texts.into_iter().zip(&mut call.texts) {
        let bytes = to_system(text).filter(|bytes| bytes.len() < ROOM);
        let bytes = bytes.ok_or_else(|| {
            format!("{} is too long for the JVM, or not in its code page", text.display())
        })?;
        room[..bytes.len()].copy_from_slice(&bytes);
    }
    queue(process, waiting, &call)?;
    waiting.for_answer(process, most, || connected(pipe))
}

/// Creates a pipe for an answer, which only processes of this machine and of users with the rights of this one can open.
fn pipe(name: &str) -> io::Result<OwnedHandle> {
    let name: Vec<u16> = name.encode_utf16().chain([0]).collect();
    let access = PIPE_ACCESS_INBOUND | FILE_FLAG_FIRST_PIPE_INSTANCE;
    let mode = PIPE_TYPE_BYTE | PIPE_READMODE_BYTE | PIPE_WAIT | PIPE_REJECT_REMOTE_CLIENTS;
    // SAFETY: the name ends with NUL.
    let pipe =
        unsafe { CreateNamedPipeW(name.as_ptr(), access, mode, 1, 0, 1 << 16, 0, ptr::null()) };
    if pipe == INVALID_HANDLE_VALUE {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the handle is new.
    Ok(unsafe { OwnedHandle::from_raw_handle(pipe) })
}

/// Waits until the JVM opens the pipe, and returns the pipe to read from. The JVM may have opened it before, or even closed
/// it again.
fn connected(pipe: OwnedHandle) -> io::Result<File> {
    // SAFETY: the handle is that of a pipe.
    let is_connected = unsafe { ConnectNamedPipe(pipe.as_raw_handle(), ptr::null_mut()) } != 0;
    // SAFETY: the function has no precondition.
    let error = unsafe { GetLastError() };
    if !is_connected && ![ERROR_PIPE_CONNECTED, ERROR_NO_DATA].contains(&error) {
        return Err(io::Error::last_os_error());
    }
    Ok(File::from(pipe))
}

/// Queues a command by a thread in the JVM's process.
fn queue(process: &Process, waiting: &Waiting, call: &Call) -> Result<(), String> {
    let rights =
        PROCESS_CREATE_THREAD | PROCESS_QUERY_INFORMATION | PROCESS_VM_OPERATION | PROCESS_VM_WRITE;
    let handle = process.open(rights)?;
    let failed = || {
        let error = io::Error::last_os_error();
        format!(
            "cannot attach to the JVM {process}: {error}; load the agent with jcmd {process} JVMTI.agent_load"
        )
    };
    let data =
        Remote::new(&handle, ptr::from_ref(call).cast(), size_of::<Call>()).ok_or_else(failed)?;
    let code = code();
    let code = Remote::new(&handle, code.as_ptr().cast(), code.len()).ok_or_else(failed)?;
    let mut before = 0;
    // SAFETY: the memory was reserved for the code.
    let is_code = unsafe {
        let process = handle.as_raw_handle();
        VirtualProtectEx(process, code.start, code.size, PAGE_EXECUTE_READ, &raw mut before)
    };
    if is_code == 0 {
        return Err(failed());
    }
    // SAFETY: the code is that of a function of this type, which reads its argument.
    let thread = unsafe {
        let function = std::mem::transmute::<
            *mut c_void,
            unsafe extern "system" fn(*mut c_void) -> u32,
        >(code.start);
        let process = handle.as_raw_handle();
        CreateRemoteThread(process, ptr::null(), 0, Some(function), data.start, 0, ptr::null_mut())
    };
    if thread.is_null() {
        return Err(failed());
    }
    // SAFETY: the handle is new.
    let thread = unsafe { OwnedHandle::from_raw_handle(thread) };
    // SAFETY: the handle is that of a thread.
    while unsafe { WaitForSingleObject(thread.as_raw_handle(), LOOK.as_millis() as u32) }
        == WAIT_TIMEOUT
    {
        if let Err(why) = waiting.check(process) {
            // The thread may still need them.
            std::mem::forget((data, code));
            return Err(why);
        }
    }
    let mut result = 0;
    // SAFETY: the handle is that of a thread, and the place is a local variable.
    unsafe { GetExitCodeThread(thread.as_raw_handle(), &raw mut result) };
    match result {
        0 => Ok(()),
        _ => Err(format!(
            "the JVM {process} takes no commands (error {result}): it is still starting, or was started with -XX:+DisableAttachMechanism"
        )),
    }
}

/// Returns the code of the thread: it calls the function of its [`Call`] with the texts. Windows passes four arguments in
/// registers, and the fifth behind room for those four.
fn code() -> Vec<u8> {
    let text = |number: usize| (size_of::<usize>() + number * ROOM) as u32;
    let mut code = vec![0x48, 0x83, 0xec, 0x38]; // sub rsp, 56
    code.extend([0x48, 0x8b, 0x01]); // mov rax, [rcx]
    for (instruction, number) in [
        ([0x4c, 0x8d, 0x91], 4), // lea r10, [rcx + …]
        ([0x4c, 0x8d, 0x89], 3), // lea r9, [rcx + …]
        ([0x4c, 0x8d, 0x81], 2), // lea r8, [rcx + …]
        ([0x48, 0x8d, 0x91], 1), // lea rdx, [rcx + …]
        ([0x48, 0x8d, 0x89], 0), // lea rcx, [rcx + …]
    ] {
        code.extend(instruction);
        code.extend(text(number).to_le_bytes());
    }
    code.extend([0x4c, 0x89, 0x54, 0x24, 0x20]); // mov [rsp + 32], r10
    code.extend([0xff, 0xd0]); // call rax
    code.extend([0x48, 0x83, 0xc4, 0x38, 0xc3]); // add rsp, 56; ret
    code
}

/// Memory in another process. Freed when it is dropped.
struct Remote<'a> {
    process: &'a OwnedHandle,
    start: *mut c_void,
    size: usize,
}

impl<'a> Remote<'a> {
    /// Copies this many bytes to new memory of the process.
    fn new(process: &'a OwnedHandle, bytes: *const c_void, size: usize) -> Option<Self> {
        let handle = process.as_raw_handle();
        // SAFETY: new memory, where the system likes it.
        let start = unsafe {
            VirtualAllocEx(handle, ptr::null(), size, MEM_RESERVE | MEM_COMMIT, PAGE_READWRITE)
        };
        let remote = (!start.is_null()).then_some(Self { process, start, size })?;
        // SAFETY: both places have this size.
        let is_written = unsafe { WriteProcessMemory(handle, start, bytes, size, ptr::null_mut()) };
        (is_written != 0).then_some(remote)
    }
}

impl Drop for Remote<'_> {
    fn drop(&mut self) {
        // SAFETY: nothing in the process uses the memory any more.
        unsafe { VirtualFreeEx(self.process.as_raw_handle(), self.start, 0, MEM_RELEASE) };
    }
}
