//! JVMTI extension events and functions, which are specific to a VM.

use super::{Error, Jvmti, Result, jvmti};
use jni_sys::{JNIEnv, jint};
use jvmpi_jvmti_sys::*;
use std::ffi::{CStr, c_char};
use std::ptr;

/// The callback type of extension events for virtual threads.
pub type OfVirtualThread = unsafe extern "system" fn(*mut jvmtiEnv, *mut JNIEnv, jthread);

impl Jvmti {
    /// Sets the callback of a HotSpot extension event for virtual threads, and enables the event.
    pub fn set_virtual_thread_callback(
        self,
        event: &CStr,
        callback: OfVirtualThread,
    ) -> Result<()> {
        let index = self.extension_event(event)?.ok_or(Error(JVMTI_ERROR_NOT_AVAILABLE))?;
        // SAFETY: the VM passes these three arguments. A C function of this type gets them in the same registers as a
        // variadic function (System V ABI for x86-64, AAPCS64).
        let callback =
            unsafe { std::mem::transmute::<OfVirtualThread, jvmtiExtensionEvent>(callback) };
        jvmti!(self, SetExtensionEventCallback, index, callback)?;
        // Unlike other extension events, setting the callback does not enable these.
        self.set_notification(index as jvmtiEvent, true)
    }

    /// Returns the index of the extension event with this name.
    fn extension_event(self, name: &CStr) -> Result<Option<i32>> {
        let events = self.allocated(|count, all| jvmti!(self, GetExtensionEvents, count, all))?;
        let mut found = None;
        for event in events.iter() {
            if self.string(event.id).as_c_str() == name {
                found = Some(event.extension_event_index);
            }
            self.free_description(event.short_description, event.params, event.param_count);
        }
        Ok(found)
    }

    /// Frees the description of an extension and its parameters.
    fn free_description(self, text: *mut c_char, params: *mut jvmtiParamInfo, count: jint) {
        self.deallocate(text.cast());
        self.array(params, count).iter().for_each(|param| self.deallocate(param.name.cast()));
    }

    /// Returns HotSpot's function for the virtual thread mounted on a suspended carrier, if the VM has it.
    pub fn mounted_virtual_thread(self) -> Result<Option<MountedVirtualThread>> {
        const NAME: &CStr = c"com.sun.hotspot.functions.GetVirtualThread";
        let functions =
            self.allocated(|count, all| jvmti!(self, GetExtensionFunctions, count, all))?;
        let mut found = None;
        for function in functions.iter() {
            if self.string(function.id).as_c_str() == NAME {
                found = function.func;
            }
            let (params, count) = (function.params, function.param_count);
            self.free_description(function.short_description, params, count);
            self.deallocate(function.errors.cast());
        }
        Ok(found.map(|function| MountedVirtualThread { jvmti: self, function }))
    }
}

/// HotSpot's extension function GetVirtualThread.
#[derive(Clone, Copy)]
pub struct MountedVirtualThread {
    jvmti: Jvmti,
    function: unsafe extern "C" fn(*mut jvmtiEnv, ...) -> jvmtiError,
}

impl MountedVirtualThread {
    /// Returns the virtual thread mounted on a suspended carrier as a local reference, if there is one.
    pub fn get(&self, carrier: jthread) -> Option<jthread> {
        let mut thread: jthread = ptr::null_mut();
        crate::lock::assert_none_held();
        // SAFETY: the VM provides this function for these arguments, and checks the thread itself.
        let result = unsafe { (self.function)(self.jvmti.0, carrier, ptr::from_mut(&mut thread)) };
        (Error::check(result).is_ok() && !thread.is_null()).then_some(thread)
    }
}
