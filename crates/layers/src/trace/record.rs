//! The layer that records.
//!
//! Each thread writes into memory of its own ([`thread_buffer`](crate::trace::thread_buffer)), without a lock, a
//! system call or an allocation. A full buffer goes through a [queue](Shared::push) to a thread that writes the file.
//! If events come faster than they can be written, their threads wait.

use crate::layer::{Layer, Neighbours, SLOTS, Slots};
use crate::trace::fields::{ThreadFunction, Word};
use crate::trace::file;
use crate::trace::functions::{self, Details, Function, JNIEnv_and_result};
use crate::trace::shared::{self, Message, Shared, lock};
use crate::trace::thread_buffer::ThreadBuffer;
use jni_sys::{JNIEnv, jboolean, jint, jlong, jmethodID, jobject};
use jvm::platform::{exit, signal};
use jvmpi_formats::planted::{find, for_the_owner, is_name_of, open_to_write};
use jvmpi_sys::*;
use std::cell::{Cell, RefCell};
use std::ffi::{c_char, c_void};
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::ptr;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::Receiver;
use std::sync::{Arc, Mutex, OnceLock};
use std::thread;

/// Records what happens between an agent and what is below, in a file.
pub struct Recorder {
    slot: usize,
    recording: Arc<Recording>,
}

/// A recording that is being made.
struct Recording {
    shared: Arc<Shared>,
    threads: AtomicU32,
    path: PathBuf,
    buffers: Mutex<Vec<Arc<ThreadBuffer>>>,
}

impl Recording {
    /// Has all that was recorded written.
    fn finish(&self) {
        self.flush(true);
        self.shared.finish();
    }

    fn flush(&self, waits: bool) {
        let buffers = lock(&self.buffers).clone();
        buffers.iter().for_each(|buffer| buffer.flush(waits));
    }

    /// The thread that writes.
    fn write(&self, messages: &Receiver<Message>, mut file: File) {
        let error = shared::write(messages, &mut file, || self.flush(false));
        let removed = if remove(&self.path, &file) { "; the file is removed" } else { "" };
        log::error!("cannot record in {}: {error}{removed}", self.path.display());
    }
}

/// The recordings of this process.
static RECORDINGS: Mutex<Vec<Arc<Recording>>> = Mutex::new(Vec::new());

/// Called when the process ends.
extern "C" fn finish_all() {
    let recordings = lock(&RECORDINGS).clone();
    recordings.iter().for_each(|recording| recording.finish());
}

/// Points to the current thread's [`Buffers::places`].
mod current {
    jvm::thread_local_word!("jvmpi_trace_buffers");
}

/// By slot: the buffer of the thread.
type Places = [Cell<*const ThreadBuffer>; SLOTS];

thread_local! {
    static BUFFERS: Buffers = const {
        Buffers { places: [const { Cell::new(ptr::null()) }; SLOTS], kept: RefCell::new(Vec::new()) }
    };
}

/// The buffers of a thread.
struct Buffers {
    places: Places,
    kept: RefCell<Vec<(Arc<Recording>, Arc<ThreadBuffer>)>>,
}

impl Drop for Buffers {
    fn drop(&mut self) {
        current::set(ptr::null::<Places>());
        for (recording, buffer) in self.kept.take() {
            buffer.flush(true);
            lock(&recording.buffers).retain(|other| !Arc::ptr_eq(other, &buffer));
        }
    }
}

impl Recorder {
    /// Begins to record in this file, for the layer in this slot. `%p` in its name stands for the process ID. The file
    /// begins with the path of the agent's library and the version of the VM.
    ///
    /// # Errors
    /// Returns one line if the file cannot be created or another agent records in it.
    pub fn start(slot: usize, path: &str, agent: &str, vm: &str) -> Result<Self, String> {
        let path = PathBuf::from(path.replace("%p", &std::process::id().to_string()));
        let mut recordings = lock(&RECORDINGS);
        if recordings.iter().any(|other| other.path == path) {
            return Err(format!(
                "{} already holds the recording of another agent of this process: give each agent a setting trace of \
                 its own",
                path.display()
            ));
        }
        let (shared, messages) = Shared::new();
        let recording = Arc::new(Recording {
            shared: Arc::new(shared),
            threads: AtomicU32::new(0),
            path: path.clone(),
            buffers: Mutex::new(Vec::new()),
        });
        create(&path, agent, vm)
            .and_then(|file| spawn_writer(recording.clone(), messages, file))
            .map_err(|error| format!("cannot record in {}: {error}", path.display()))?;
        if recordings.is_empty() {
            // If it is not called, the recording ends with JVM_SHUT_DOWN.
            exit::at_exit(finish_all);
        }
        recordings.push(recording.clone());
        Ok(Self { slot, recording })
    }

    /// Returns the buffer of the current thread; None while the thread ends.
    #[inline]
    fn buffer(&self) -> Option<&ThreadBuffer> {
        // SAFETY: `Buffers` owns the places and the buffers, and clears this pointer before it drops them.
        let buffer = unsafe {
            current::get::<Places>().as_ref().and_then(|places| places[self.slot].get().as_ref())
        };
        buffer.or_else(|| self.new_buffer())
    }

    #[cold]
    fn new_buffer(&self) -> Option<&ThreadBuffer> {
        let made = BUFFERS.try_with(|buffers| {
            let number = self.recording.threads.fetch_add(1, Ordering::Relaxed);
            let buffer = Arc::new(ThreadBuffer::new(number, self.recording.shared.clone()));
            lock(&self.recording.buffers).push(buffer.clone());
            let place = Arc::as_ptr(&buffer);
            buffers.kept.try_borrow_mut().ok()?.push((self.recording.clone(), buffer));
            buffers.places[self.slot].set(place);
            current::set(&raw const buffers.places);
            // SAFETY: it is kept until the thread ends.
            unsafe { place.as_ref() }
        });
        made.ok().flatten()
    }

    /// Runs `body`, which makes the call, and records the call.
    ///
    /// # Safety
    /// The arguments are what an agent passes to the function.
    #[inline]
    unsafe fn call<R: Word>(
        &self,
        function: Function,
        arguments: [u64; 3],
        body: impl FnOnce() -> R,
    ) -> R {
        let Some(buffer) = self.buffer() else { return body() };
        // SAFETY: as the caller promises.
        let said = unsafe { functions::read_arguments(function, arguments) };
        buffer.begin_call(function, said);
        let result = body();
        let first = arguments[0] as usize;
        let mut details = Details::NONE;
        let threads: Vec<JNIEnv_and_result>;
        match function {
            Function::GetCallTrace => {
                let trace = ptr::with_exposed_provenance::<JVMPI_CallTrace>(first);
                // SAFETY: the agent passes a trace or NULL.
                details.trace = unsafe { trace.as_ref() }.copied().unwrap_or(details.trace);
            }
            Function::RawMonitorCreate | Function::CreateSystemThread => {
                details.name = ptr::with_exposed_provenance_mut(first);
            }
            Function::SuspendThreadList | Function::ResumeThreadList => {
                // SAFETY: the agent passes a list, and the function has written the results.
                threads = unsafe {
                    functions::threads_of_list(arguments)
                        .map(|(env, result)| JNIEnv_and_result { env, result: *result })
                        .collect()
                };
                details.threads = threads.as_ptr().cast_mut();
                details.threads_count = threads.len() as jint;
            }
            _ => {}
        }
        buffer.end_call(function, said, result.word(), details);
        result
    }
}

fn create(path: &Path, agent: &str, vm: &str) -> std::io::Result<File> {
    let one_line = |text: &str| text.replace(['\n', '\r'], " ");
    let text = format!(
        "agent={}\nvm={}\npid={}\nword={}\n",
        one_line(agent),
        one_line(vm),
        std::process::id(),
        size_of::<usize>()
    );
    // The user names it, and it may be a pipe or a link. It has what the agent was given in it.
    let mut file = match find(path)? {
        (_, Some(found)) => open_to_write(&found, false)?,
        // Nobody can put a link there in the meantime.
        (path, None) => for_the_owner().create_new(true).open(path)?,
    };
    file.write_all(&file::head(&text)).inspect_err(|_| {
        remove(path, &file);
    })?;
    Ok(file)
}

/// Removes a file that could not be written to its end, unless the path names a device or another file by now.
fn remove(path: &Path, file: &File) -> bool {
    file.metadata().is_ok_and(|own| own.is_file())
        && is_name_of(path, file)
        && fs::remove_file(path).is_ok()
}

/// Starts the thread that writes. Signals are for the threads of the program and the VM.
fn spawn_writer(
    recording: Arc<Recording>,
    messages: Receiver<Message>,
    file: File,
) -> std::io::Result<()> {
    let thread = thread::Builder::new().name("jvmpi trace".into());
    signal::while_blocked(|| thread.spawn(move || recording.write(&messages, file))).map(drop)
}

/// The functions that threads of agents run, with the slots of their recorders. A function that comes when
/// all are taken runs unnoticed.
static THREAD_FUNCTIONS: [OnceLock<(usize, unsafe extern "C" fn(*mut c_void))>; 16] =
    [const { OnceLock::new() }; 16];

/// Runs the agent's function with this number, and records that.
unsafe extern "C" fn run<const FUNCTION: usize>(arg: *mut c_void) {
    let Some((slot, function)) = THREAD_FUNCTIONS[FUNCTION].get() else { return };
    let recorder = Recorder::slots().get(*slot);
    let number = THREAD_FUNCTIONS[..=FUNCTION].iter().filter_map(OnceLock::get);
    let number = number.filter(|(other, _)| other == slot).count() as u8;
    if let Some(recorder) = recorder
        && let Some(buffer) = recorder.buffer()
    {
        buffer.run(number);
        // SAFETY: the agent passed it to be called.
        unsafe { function(arg) };
        buffer.end_run();
    } else {
        // SAFETY: as above.
        unsafe { function(arg) };
    }
}

/// Returns the function passed on for a thread's function: it records when that runs.
fn recorded(slot: usize, function: ThreadFunction) -> ThreadFunction {
    static RUN: [unsafe extern "C" fn(*mut c_void); 16] = [
        run::<0>, run::<1>, run::<2>, run::<3>, run::<4>, run::<5>, run::<6>, run::<7>, run::<8>,
        run::<9>, run::<10>, run::<11>, run::<12>, run::<13>, run::<14>, run::<15>,
    ];
    let function = function?;
    let is_it = |&(other_slot, other): &(usize, unsafe extern "C" fn(*mut c_void))| {
        other_slot == slot && ptr::fn_addr_eq(other, function)
    };
    let place =
        THREAD_FUNCTIONS.iter().position(|place| is_it(place.get_or_init(|| (slot, function))));
    Some(place.map_or(function, |place| RUN[place]))
}

macro_rules! record {
    ($(
        $(#[doc = $what:literal])*
        fn $name:ident($($argument:ident: $type:ty),*) $(-> $result:ty)?, else $otherwise:expr;
    )*) => {
        impl Layer for Recorder {
            fn slots() -> &'static Slots<Self> {
                static RECORDERS: Slots<Recorder> = Slots::new();
                &RECORDERS
            }

            #[inline]
            unsafe fn NotifyEvent(&self, next: &Neighbours, event: *mut JVMPI_Event) {
                // SAFETY: as the caller promises.
                unsafe { self.event(next, event) }
            }

            $(
                #[inline]
                unsafe fn $name(&self, next: &Neighbours $(, $argument: $type)*) $(-> $result)? {
                    let arguments = functions::arguments_of(&[$($argument.word()),*]);
                    $(let $argument = PassOn::pass_on($argument, self);)*
                    if Function::$name == Function::ProfilerExit {
                        self.before_exit(arguments);
                    }
                    // SAFETY: as the caller promises.
                    unsafe { self.call(Function::$name, arguments, || next.$name($($argument),*)) }
                }
            )*
        }
    };
}

for_each_function!(record);

/// The value that is passed to the function below for an argument.
trait PassOn: Sized {
    fn pass_on(self, _: &Recorder) -> Self {
        self
    }
}

impl PassOn for jint {}
impl PassOn for jlong {}
impl<T> PassOn for *mut T {}

impl PassOn for ThreadFunction {
    fn pass_on(self, recorder: &Recorder) -> Self {
        recorded(recorder.slot, self)
    }
}

impl Recorder {
    /// # Safety
    /// The same as for [`Layer::NotifyEvent`].
    #[inline]
    unsafe fn event(&self, next: &Neighbours, event: *mut JVMPI_Event) {
        // SAFETY: as the caller promises.
        let event_type = unsafe { (*event).event_type };
        match self.buffer() {
            // SAFETY: as the caller promises.
            Some(buffer) => unsafe {
                buffer.event(event, || next.NotifyEvent(event));
            },
            // SAFETY: as the caller promises.
            None => unsafe { next.NotifyEvent(event) },
        }
        if event_type == JVMPI_EVENT_JVM_SHUT_DOWN {
            self.recording.finish();
        }
    }

    /// ProfilerExit does not return.
    fn before_exit(&self, arguments: [u64; 3]) {
        if let Some(buffer) = self.buffer() {
            buffer.end_call(Function::ProfilerExit, arguments, 0, Details::NONE);
        }
        self.recording.finish();
    }
}
