//! The JVMTI capabilities of the shim.
//!
//! Most capabilities must be added when the shim is loaded, before it is known what agents will ask for. Therefore the
//! shim adds all that cost nothing until they are used; `docs/explanation/accuracy-and-overhead.md` has the
//! measurements. Capabilities that only one JVMTI agent can have are added when they are needed.

use super::jvmti::{Error, Jvmti, Result};
use jvmpi_jvmti_sys::{JVMTI_ERROR_MUST_POSSESS_CAPABILITY, jvmtiCapabilities};
use std::sync::atomic::{AtomicBool, Ordering};

/// Adds those of the shim's capabilities that the VM can still grant.
///
/// A running VM grants fewer. A function that needs a missing capability fails when it is called.
pub fn take(reader_env: Jvmti, jvmti: Jvmti, lookup_env: Jvmti, class_env: Jvmti) -> Result<()> {
    let possible = jvmti.potential_capabilities()?;
    let mut for_files = jvmtiCapabilities::default();
    for_files.set_can_retransform_classes(possible.can_retransform_classes());
    for_files.set_can_generate_all_class_hook_events(possible.can_generate_all_class_hook_events());
    reader_env.add_capabilities(&for_files)?;
    let mut for_tags = jvmtiCapabilities::default();
    for_tags.set_can_tag_objects(1);
    for_tags.set_can_generate_object_free_events(1);
    lookup_env.add_capabilities(&for_tags)?;
    let mut for_classes = for_tags;
    let hook = possible.can_generate_all_class_hook_events();
    for_classes.set_can_generate_all_class_hook_events(hook);
    class_env.add_capabilities(&for_classes)?;
    let mut taken = jvmtiCapabilities::default();
    macro_rules! take {
        ($($getter:ident $setter:ident;)*) => { $( taken.$setter(possible.$getter()); )* };
    }
    take! {
        can_tag_objects set_can_tag_objects;
        can_generate_object_free_events set_can_generate_object_free_events;
        can_generate_garbage_collection_events set_can_generate_garbage_collection_events;
        can_generate_all_class_hook_events set_can_generate_all_class_hook_events;
        can_retransform_classes set_can_retransform_classes;
        can_redefine_classes set_can_redefine_classes;
        can_generate_compiled_method_load_events set_can_generate_compiled_method_load_events;
        can_generate_native_method_bind_events set_can_generate_native_method_bind_events;
        can_generate_monitor_events set_can_generate_monitor_events;
        can_get_bytecodes set_can_get_bytecodes;
        can_get_line_numbers set_can_get_line_numbers;
        can_get_source_file_name set_can_get_source_file_name;
        can_get_monitor_info set_can_get_monitor_info;
        can_get_current_contended_monitor set_can_get_current_contended_monitor;
        can_get_thread_cpu_time set_can_get_thread_cpu_time;
        can_get_current_thread_cpu_time set_can_get_current_thread_cpu_time;
    }
    // Before JDK 17 this capability disables escape analysis and lock elision in the compilers.
    if jvmti.feature_version() >= 17 {
        taken.set_can_get_owned_monitor_info(possible.can_get_owned_monitor_info());
    }
    jvmti.add_capabilities(&taken)
}

/// Adds `can_support_virtual_threads`, without which JVMTI reports nothing about virtual threads.
pub fn take_virtual_threads(jvmti: Jvmti) -> Result<()> {
    jvmti.add_capabilities(&only(jvmtiCapabilities::set_can_support_virtual_threads))
}

/// Returns one capability, whose setter this is.
fn only(set: fn(&mut jvmtiCapabilities, u32)) -> jvmtiCapabilities {
    let mut capabilities = jvmtiCapabilities::default();
    set(&mut capabilities, 1);
    capabilities
}

fn sampled_allocations() -> jvmtiCapabilities {
    only(jvmtiCapabilities::set_can_generate_sampled_object_alloc_events)
}

/// Adds `can_generate_sampled_object_alloc_events`, which only one agent can have. It may be added and removed
/// repeatedly.
pub fn take_sampled_allocations(jvmti: Jvmti) -> Result<()> {
    jvmti.add_capabilities(&sampled_allocations())
}

/// Relinquishes `can_generate_sampled_object_alloc_events`, so that another agent can have it.
pub fn give_back_sampled_allocations(jvmti: Jvmti) -> Result<()> {
    jvmti.relinquish_capabilities(&sampled_allocations())
}

fn suspension() -> jvmtiCapabilities {
    only(jvmtiCapabilities::set_can_suspend)
}

/// True once `can_suspend` is kept: threads stay suspended for a while, and could not be resumed without it.
static KEEPS_SUSPENSION: AtomicBool = AtomicBool::new(false);

/// Makes a call that suspends a thread, and keeps `can_suspend` for it. Only one agent can have that, so a debugger works
/// until the first such call. None if another agent has it.
pub fn with_suspension(jvmti: Jvmti, call: impl Fn() -> Result<()>) -> Option<Result<()>> {
    KEEPS_SUSPENSION.store(true, Ordering::SeqCst);
    match call() {
        Err(Error(JVMTI_ERROR_MUST_POSSESS_CAPABILITY)) => {
            jvmti.add_capabilities(&suspension()).ok().map(|()| call())
        }
        result => Some(result),
    }
}

/// `can_suspend`, which another agent can have afterwards unless it is kept.
pub struct BorrowedSuspension(Jvmti);

/// Takes `can_suspend` for some time.
///
/// # Errors
/// Returns the error of AddCapabilities if another agent has it.
pub fn borrow_suspension(jvmti: Jvmti) -> Result<BorrowedSuspension> {
    jvmti.add_capabilities(&suspension()).map(|()| BorrowedSuspension(jvmti))
}

impl Drop for BorrowedSuspension {
    fn drop(&mut self) {
        if KEEPS_SUSPENSION.load(Ordering::SeqCst) {
            return;
        }
        if let Err(error) = self.0.relinquish_capabilities(&suspension()) {
            log::debug!("can_suspend is not given back: {error}");
        }
    }
}
