//! CLASS_LOAD_HOOK: what the handler does with the class file, and where the new one comes from.

use crate::check::rules;
use crate::check::{Check, Neighbours, Stack};
use jvmpi_sys::{JVMPI_Event, JVMPI_Event_class_load_hook};
use std::cell::{Cell, RefCell};
use std::ffi::{c_uint, c_void};
use std::{ptr, slice};

type Malloc = Option<unsafe extern "C" fn(c_uint) -> *mut c_void>;

thread_local! {
    /// The VM's function of the event that is being handled on this thread.
    static MALLOC: Cell<Malloc> = const { Cell::new(None) };
    /// The blocks that it has given out in that event.
    static GIVEN: RefCell<Vec<usize>> = const { RefCell::new(Vec::new()) };
}

/// Returns the `malloc_f` that the agent gets.
unsafe extern "C" fn malloc_f(bytes: c_uint) -> *mut c_void {
    let Some(malloc) = MALLOC.get() else { return ptr::null_mut() };
    // SAFETY: it takes any number.
    let memory = unsafe { malloc(bytes) };
    GIVEN.with_borrow_mut(|given| given.push(memory.addr()));
    memory
}

/// The value of the new class file until the handler sets it.
const NOT_SET: usize = 1;

impl Check {
    /// Passes the event on, and looks what has become of it.
    ///
    /// # Safety
    /// It is a CLASS_LOAD_HOOK as the specification has it.
    pub unsafe fn pass_hook(&self, next: &Neighbours, event: *mut JVMPI_Event) {
        // SAFETY: as the caller promises.
        let arm = unsafe { &raw mut (*event).u.class_load_hook };
        // SAFETY: as above.
        let original = unsafe { *arm };
        let before = checksum(&original);
        let outer = MALLOC.replace(original.malloc_f);
        let given = GIVEN.take();
        // SAFETY: as above; the copy is the agent's until its handler has returned.
        unsafe {
            *arm = JVMPI_Event_class_load_hook {
                new_class_data: ptr::without_provenance_mut(NOT_SET),
                new_class_data_len: -1,
                malloc_f: Some(malloc_f),
                ..original
            };
            next.NotifyEvent(event);
        }
        MALLOC.set(outer);
        let given = GIVEN.replace(given);
        // SAFETY: as above.
        let new = unsafe { *arm };
        let data = new.new_class_data;
        // Only values that the VM can handle are passed down.
        let mut result = JVMPI_Event_class_load_hook {
            new_class_data: data,
            new_class_data_len: new.new_class_data_len,
            ..original
        };
        let unchanged = |result: &mut JVMPI_Event_class_load_hook| {
            result.new_class_data = original.class_data;
            result.new_class_data_len = original.class_data_len;
        };
        let place = || Stack::of_handler(next);
        let what =
            |what: &str| format!("CLASS_LOAD_HOOK of {} bytes: {what}", original.class_data_len);
        if data.addr() == NOT_SET || new.new_class_data_len == -1 {
            unchanged(&mut result);
            self.findings.report_at(rules::HOOK_NOT_SET, place(), what("nothing was set"));
        } else if checksum(&original) != before {
            self.findings.report_at(rules::HOOK_IN_PLACE, place(), what("it has changed"));
        } else if !data.is_null() && data != original.class_data && !given.contains(&data.addr()) {
            let text = what(&format!("the new one lies at {data:?}"));
            self.findings.report_at(rules::HOOK_ALLOCATOR, place(), text);
            // The VM frees what it gets: it gets a copy.
            // SAFETY: the agent has set both to a class file of this length.
            unsafe { copy_to_the_vm(&original, &mut result) };
        }
        // SAFETY: as above.
        unsafe { *arm = result };
    }
}

/// # Safety
/// The new class file of `result` is as long as it says.
unsafe fn copy_to_the_vm(
    original: &JVMPI_Event_class_load_hook,
    result: &mut JVMPI_Event_class_load_hook,
) {
    let (Some(malloc), Ok(length)) =
        (original.malloc_f, c_uint::try_from(result.new_class_data_len))
    else {
        return;
    };
    // SAFETY: it takes any number; the memory is as long as was asked for.
    unsafe {
        let memory = malloc(length).cast::<u8>();
        if !memory.is_null() {
            ptr::copy_nonoverlapping(result.new_class_data, memory, length as usize);
            result.new_class_data = memory;
        }
    }
}

/// Returns a sum that changes with any byte of the class file.
fn checksum(event: &JVMPI_Event_class_load_hook) -> u32 {
    let Ok(length) = usize::try_from(event.class_data_len) else { return 0 };
    if event.class_data.is_null() {
        return 0;
    }
    // SAFETY: the VM says that the class file is so long.
    crc32fast::hash(unsafe { slice::from_raw_parts(event.class_data, length) })
}
