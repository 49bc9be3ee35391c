//! The functions that an agent exports to the VM: `JVM_OnLoad` and the event handler.

use crate::boundary::{report, set_name};
use crate::dispatch::Sent;
use crate::{Agent, Jvmpi, LoadError, OnLoad};
use jni_sys::{JNI_ERR, JNI_OK, JavaVM, jint};
use jvmpi_sys::*;
use std::ffi::{CStr, c_char};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::OnceLock;

/// Exports `JVM_OnLoad`, which loads an agent of the given type.
///
/// The library needs `crate-type = ["cdylib"]` and the default `panic = "unwind"`.
///
/// ```
/// use jvmpi::*;
///
/// struct Hello;
///
/// impl Agent for Hello {
///     fn load(jvmpi: &mut OnLoad, options: &str) -> Result<Self, LoadError> {
///         if !options.is_empty() {
///             return Err("hello takes no options".into());
///         }
///         jvmpi.enable(EventType::JvmInitDone);
///         Ok(Self)
///     }
///
///     fn jvm_init_done(&self, _: &mut MultiThreaded<'_>) {
///         eprintln!("hello");
///     }
/// }
///
/// export_agent!(Hello);
/// ```
#[macro_export]
macro_rules! export_agent {
    ($agent:ty) => {
        const _: () = {
            static LOADED: $crate::export::Loaded<$agent> = $crate::export::Loaded::new();

            unsafe extern "C" fn notify_event(event: *mut $crate::sys::JVMPI_Event) {
                // SAFETY: only the VM calls this function, and it passes a valid event.
                unsafe { LOADED.notify_event(event) }
            }

            /// The entry point of the agent, which the VM calls once it has loaded the library.
            #[unsafe(no_mangle)]
            pub unsafe extern "system" fn JVM_OnLoad(
                vm: *mut $crate::sys::jni_sys::JavaVM,
                options: *mut ::core::ffi::c_char,
                _reserved: *mut ::core::ffi::c_void,
            ) -> $crate::sys::jni_sys::jint {
                // SAFETY: the VM calls this function with the arguments that `on_load` requires.
                unsafe { LOADED.on_load(vm, options, env!("CARGO_CRATE_NAME"), notify_event) }
            }
        };
    };
}

/// The slot for the agent of this library; empty until the agent is loaded.
#[derive(Debug)]
pub struct Loaded<A>(OnceLock<(Jvmpi, A)>);

type NotifyEvent = unsafe extern "C" fn(*mut JVMPI_Event);

impl<A: Agent> Loaded<A> {
    /// Creates an empty slot.
    #[allow(clippy::new_without_default, reason = "only for a static")]
    pub const fn new() -> Self {
        Self(OnceLock::new())
    }

    /// Loads the agent.
    ///
    /// # Safety
    /// The VM has just called `JVM_OnLoad` with `vm` and `options`, and `notify_event` calls
    /// [`notify_event`](Self::notify_event) of this slot.
    pub unsafe fn on_load(
        &'static self,
        vm: *mut JavaVM,
        options: *const c_char,
        name: &'static str,
        notify_event: NotifyEvent,
    ) -> jint {
        set_name(name);
        // SAFETY: as the caller promises.
        let load = || unsafe { self.load(vm, options, notify_event) };
        match catch_unwind(AssertUnwindSafe(load)) {
            Ok(Ok(())) => JNI_OK,
            Ok(Err(error)) => {
                report(&error);
                JNI_ERR
            }
            Err(_) => {
                report(&"JVM_OnLoad failed with the panic above; the agent is not loaded");
                JNI_ERR
            }
        }
    }

    /// # Safety
    /// The same as for [`on_load`](Self::on_load).
    unsafe fn load(
        &'static self,
        vm: *mut JavaVM,
        options: *const c_char,
        notify_event: NotifyEvent,
    ) -> Result<(), LoadError> {
        // SAFETY: as the caller promises.
        let (jvmpi, interface) = unsafe { Jvmpi::get(vm) }?;
        // SAFETY: the caller promises that `options` comes from the VM: NULL or a NUL-terminated string.
        let options = if options.is_null() { c"" } else { unsafe { CStr::from_ptr(options) } };
        let options = options.to_str().map_err(|_| {
            format!("the options are not UTF-8: {}", options.to_bytes().escape_ascii())
        })?;
        // SAFETY: `on_load` lives until the end of this function, and `JVM_OnLoad` is running until then.
        let mut on_load = unsafe { OnLoad::new(jvmpi) };
        if let Some((_, agent)) = self.0.get() {
            agent.load_again(&mut on_load, options)?;
        } else {
            let agent = A::load(&mut on_load, options)?;
            if self.0.set((jvmpi, agent)).is_err() {
                return Err("the agent is being loaded twice".into());
            }
            // SAFETY: `interface` is the VM's table, whose `NotifyEvent` entry is for the agent to fill.
            unsafe { (*interface).NotifyEvent = Some(notify_event) };
        }
        for (i, event) in on_load.events.iter().enumerate() {
            let enabled = match (event, on_load.interval) {
                (crate::EventType::ObjectAlloc, Some(bytes)) => {
                    jvmpi.enable_sampled_allocations(bytes)
                }
                _ => jvmpi.enable(*event),
            };
            if let Err(error) = enabled {
                for enabled in &on_load.events[..i] {
                    let _ = jvmpi.disable(*enabled);
                }
                return Err(error.to_string().into());
            }
        }
        Ok(())
    }

    /// Passes an event to the agent's method for it.
    ///
    /// # Safety
    /// The VM is sending `event` and waits for this function to return.
    #[inline]
    pub unsafe fn notify_event(&'static self, event: *mut JVMPI_Event) {
        let Some((jvmpi, agent)) = self.0.get() else { return };
        // SAFETY: as the caller promises.
        let sent = unsafe { Sent::new(agent, *jvmpi, event) };
        if catch_unwind(AssertUnwindSafe(|| sent.dispatch())).is_err() {
            disable_after_panic(*jvmpi, sent.event_type());
        }
    }
}

/// Disables an event whose method panicked.
#[cold]
fn disable_after_panic(jvmpi: Jvmpi, event_type: jint) {
    let name = EventType::of(event_type).map_or("", EventType::name);
    // SAFETY: DisableEvent may be called in all modes; it does not use the second argument.
    unsafe { (jvmpi.table().DisableEvent)(event_type, std::ptr::null_mut()) };
    report(&format_args!("{name} is disabled after the panic above; the program continues"));
}
