//! The functions of JVMPI, and what is recorded of a call.

use crate::trace::fields::{Fields, Word};
use jni_sys::{JNIEnv, jint};
use jvmpi_sys::*;
use std::ffi::c_char;
use std::ptr;

macro_rules! declare {
    ($(
        $(#[doc = $what:literal])*
        fn $name:ident($($argument:ident: $type:ty),*) $(-> $result:ty)?, else $otherwise:expr;
    )*) => {
        /// The functions of the interface, in the order of its table.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        #[repr(u8)]
        pub enum Function {
            $($(#[doc = $what])* $name,)*
        }

        /// All of them.
        pub const FUNCTIONS: &[Function] = &[$(Function::$name,)*];

        impl Function {
            /// Its name.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self { $(Self::$name => stringify!($name),)* }
            }

            /// Returns the names of its arguments, and whether it has a result.
            pub(crate) fn signature(self) -> (&'static [&'static str], bool) {
                match self { $(Self::$name => (
                    &[$(stringify!($argument)),*],
                    [$(stringify!($result),)? ""].len() > 1,
                ),)* }
            }
        }
    };
}

for_each_function!(declare);

const _: () = assert!(FUNCTIONS.len() <= 0x20, "there are tags for so many");

impl Function {
    /// Returns the function with this number.
    pub(crate) fn of(number: u8) -> Option<Self> {
        FUNCTIONS.get(usize::from(number)).copied()
    }

    /// Returns true if its calls have a recorded place in the order of all threads: other threads can notice their
    /// effect in what is reported afterwards.
    pub(crate) fn has_place(self) -> bool {
        matches!(
            self,
            Self::EnableEvent
                | Self::DisableEvent
                | Self::RequestEvent
                | Self::ProfilerExit
                | Self::RawMonitorCreate
                | Self::RawMonitorDestroy
                | Self::SuspendThread
                | Self::ResumeThread
                | Self::SuspendThreadList
                | Self::ResumeThreadList
                | Self::CreateSystemThread
                | Self::RunGC
        )
    }
}

/// Returns the arguments of a call, at most three, as numbers.
#[inline]
pub fn arguments_of(words: &[u64]) -> [u64; 3] {
    let mut arguments = [0; 3];
    arguments[..words.len()].copy_from_slice(words);
    arguments
}

/// The recorded value of RequestEvent's argument for a heap dump without one.
pub const NO_ARGUMENT: u64 = u64::MAX;

/// Goes through the arguments that are passed by pointer. Memory that the call writes is not read.
///
/// # Safety
/// They are what an agent passes to the function.
#[inline]
pub unsafe fn read_arguments(function: Function, arguments: [u64; 3]) -> [u64; 3] {
    let [first, second, _] = arguments;
    match function {
        Function::GetCallTrace => {
            let trace = ptr::with_exposed_provenance::<JVMPI_CallTrace>(first as usize);
            // SAFETY: as the caller promises.
            let env = unsafe { trace.as_ref() }.map_or(0, |trace| trace.env_id.word());
            [env, second, 0]
        }
        Function::RequestEvent if first == JVMPI_EVENT_HEAP_DUMP.word() => {
            let arg = ptr::with_exposed_provenance::<JVMPI_HeapDumpArg>(second as usize);
            // SAFETY: as the caller promises.
            let level = unsafe { arg.as_ref() };
            [first, level.map_or(NO_ARGUMENT, |arg| arg.heap_dump_level.word()), 0]
        }
        // The pointers say nothing afterwards.
        Function::CreateSystemThread => [0, second, 0],
        Function::RawMonitorCreate => [0; 3],
        Function::SuspendThreadList | Function::ResumeThreadList => [first, 0, 0],
        _ => arguments,
    }
}

/// Returns the threads of a list, each with the place of its result. A list that is not valid has none.
///
/// # Safety
/// The arguments are those that an agent has passed to a function that takes a list of threads, and stay valid.
pub unsafe fn threads_of_list(
    [count, envs, results]: [u64; 3],
) -> impl Iterator<Item = (*mut JNIEnv, *mut jint)> {
    let count = if envs == 0 || results == 0 { 0 } else { count as jint };
    let (envs, results): (*mut *mut JNIEnv, *mut jint) = (Word::of(envs), Word::of(results));
    // SAFETY: the caller promises `count` elements of both.
    (0..usize::try_from(count).unwrap_or(0)).map(move |i| unsafe { (*envs.add(i), results.add(i)) })
}

/// Goes through the arguments of a call, as [`read_arguments`] has them.
pub fn arguments<F: Fields>(f: &mut F, function: Function, arguments: &mut [u64; 3]) {
    let (names, _) = function.signature();
    for (name, value) in names.iter().zip(arguments) {
        *value = match *name {
            "env" | "trace" => f.env(*value),
            "mid" => f.method(*value),
            "lock_id" => f.monitor(*value),
            // They are among the [`Details`].
            "name" | "lock_name" | "env_list" | "results" => *value,
            _ => f.number(*value),
        };
    }
}

/// The values that a call has passed or got by pointers.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Details {
    /// The name of what it creates.
    pub name: *mut c_char,
    /// The stack that GetCallTrace has found.
    pub trace: JVMPI_CallTrace,
    /// The threads of a list, and what became of them.
    pub threads: *mut JNIEnv_and_result,
    pub threads_count: jint,
}

/// A thread of a list.
#[allow(non_camel_case_types, reason = "as the types that it is of")]
#[derive(Clone, Copy)]
#[repr(C)]
pub struct JNIEnv_and_result {
    pub env: *mut JNIEnv,
    pub result: jint,
}

impl Details {
    pub const NONE: Self = Self {
        name: ptr::null_mut(),
        trace: JVMPI_CallTrace { env_id: ptr::null_mut(), num_frames: 0, frames: ptr::null_mut() },
        threads: ptr::null_mut(),
        threads_count: 0,
    };
}

/// Goes through them.
///
/// # Safety
/// The memory they point to is valid.
pub unsafe fn details<F: Fields>(f: &mut F, function: Function, details: &mut Details) {
    // SAFETY: as the caller promises.
    unsafe {
        match function {
            Function::RawMonitorCreate | Function::CreateSystemThread => {
                f.string(&mut details.name);
            }
            Function::GetCallTrace => crate::trace::events::frames(f, &mut details.trace),
            Function::SuspendThreadList | Function::ResumeThreadList => {
                let count = &mut details.threads_count;
                f.counted(count, &mut details.threads, |f, thread| {
                    f.thread(&mut thread.env);
                    f.field(&mut thread.result);
                });
            }
            _ => {}
        }
    }
}

/// Goes through what the function has returned.
pub fn result<F: Fields>(f: &mut F, function: Function, result: &mut u64) {
    if function.signature().1 {
        *result = match function {
            Function::RawMonitorCreate => f.monitor(*result),
            _ => f.number(*result),
        };
    }
}
