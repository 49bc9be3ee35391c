//! The machine code between the VM and the functions of native methods: a stub for each method, and the code
//! that reports calls. It is part of the library; nothing is generated at run time.
//!
//! The VM regards the stub as the method's function. A stub loads its slot number and jumps to the function
//! itself or to code that reports the call, calls the function with the arguments copied, and reports its end.
//! Stubs come in groups with a common end, because most of their code would be the same, and there are
//! thousands.

#[cfg_attr(target_arch = "x86_64", path = "x86_64.rs")]
#[cfg_attr(target_arch = "aarch64", path = "aarch64.rs")]
#[cfg_attr(target_arch = "x86", path = "x86.rs")]
mod machine;

use crate::records::native_methods::SLOTS;
use jvmpi_classfile::Kind;
use machine::{GROUP, GROUP_SIZE, STUB_SIZE, words_on_stack};
use std::ffi::c_void;

const _: () = assert!(SLOTS.is_multiple_of(GROUP), "a group is whole");

unsafe extern "C" {
    fn jvmpi_native_stubs();
    fn jvmpi_native_reporting();
}

/// Returns the number of words that the arguments of a native method with these parameters take on the stack:
/// those that do not fit into the machine's integer and floating-point registers. The environment and the
/// receiver or class come first and are counted.
pub fn stack_words(parameters: &[Kind]) -> usize {
    // A long or a double takes one word, or two on 32-bit machines.
    let words = |kind: &Kind| if size_of::<usize>() < 8 { kind.slots().into() } else { 1 };
    let of_kind = |is_float: bool| -> usize {
        let of_it = |kind: &&Kind| matches!(kind, Kind::Float | Kind::Double) == is_float;
        parameters.iter().filter(of_it).map(words).sum()
    };
    words_on_stack(2 + of_kind(false), of_kind(true))
}

pub fn stub(slot: usize) -> *mut c_void {
    let offset = slot / GROUP * GROUP_SIZE + slot % GROUP * STUB_SIZE;
    (jvmpi_native_stubs as *mut c_void).wrapping_byte_add(offset)
}

/// Returns the slot whose stub is at this address.
pub fn slot_of(function: *mut c_void) -> Option<usize> {
    let offset = function.addr().checked_sub(stub(0).addr())?;
    let place = offset % GROUP_SIZE / STUB_SIZE;
    let slot = offset / GROUP_SIZE * GROUP + place;
    (place < GROUP && slot < SLOTS).then_some(slot)
}

/// Returns the address of the code that reports calls.
pub fn reporting() -> *mut c_void {
    jvmpi_native_reporting as *mut c_void
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::records::native_methods::{self, Shape, TARGETS};
    use jvm::lock::Lock;
    use std::ffi::c_int;
    use std::ptr;
    use std::sync::atomic::Ordering;

    /// Returns a reporting stub for a function with these parameters.
    fn stub_of(method: usize, function: *mut c_void, descriptor: &[u8]) -> *mut c_void {
        let kinds = jvmpi_classfile::parameters(descriptor).unwrap();
        let slot = native_methods::bind(ptr::without_provenance_mut(method), function).unwrap();
        let shape = Shape { stack_words: stack_words(&kinds) as u16, ..Shape::SILENT };
        native_methods::at(slot).set_shape(shape);
        TARGETS[slot].store(reporting(), Ordering::Release);
        assert_eq!((slot_of(stub(slot)), slot_of(function)), (Some(slot), None));
        stub(slot)
    }

    #[test]
    fn each_stub_leads_to_its_own_function() {
        type Function = extern "C" fn(usize, usize) -> usize;
        extern "C" fn returns<const RESULT: usize>(_: usize, _: usize) -> usize {
            RESULT
        }
        const FUNCTIONS: [Function; 5] =
            [returns::<0>, returns::<1>, returns::<2>, returns::<3>, returns::<4>];
        let through = |stub: *mut c_void| {
            // SAFETY: the stub has the type of its function.
            let stub: Function = unsafe { std::mem::transmute(stub) };
            stub(0, 0)
        };
        // The other tests use the first slots.
        for slot in SLOTS / 2..SLOTS {
            let function = FUNCTIONS[slot % FUNCTIONS.len()] as *mut c_void;
            TARGETS[slot].store(function, Ordering::Release);
        }
        for slot in SLOTS / 2..SLOTS {
            assert_eq!(slot_of(stub(slot)), Some(slot));
            assert_eq!(through(stub(slot)), slot % FUNCTIONS.len(), "slot {slot}");
        }
        // The reporting code finds the function by the slot number that it gets.
        let reporting = |number: usize| {
            let function = FUNCTIONS[number % FUNCTIONS.len()] as *mut c_void;
            stub_of((8 << 20) + number, function, b"()J")
        };
        let reporting: Vec<_> = (0..3 * GROUP.max(32)).map(reporting).collect();
        for (number, stub) in reporting.into_iter().enumerate() {
            assert_eq!(through(stub), number % FUNCTIONS.len(), "method {number}");
        }
    }

    unsafe extern "C" {
        fn _Unwind_Backtrace(
            look: extern "C" fn(*mut c_void, *mut c_void) -> c_int,
            argument: *mut c_void,
        ) -> c_int;
        fn _Unwind_GetIP(frame: *mut c_void) -> usize;
        fn _Unwind_FindEnclosingFunction(address: *mut c_void) -> *mut c_void;
    }

    /// Returns the functions on the stack, innermost first.
    fn functions_on_the_stack() -> Vec<usize> {
        extern "C" fn look(frame: *mut c_void, functions: *mut c_void) -> c_int {
            // SAFETY: the unwinder passes a frame, and the vector passed to it below.
            unsafe {
                // The return address of a call that does not return may belong to the next function.
                let address = ptr::without_provenance_mut(_Unwind_GetIP(frame).saturating_sub(1));
                let function = _Unwind_FindEnclosingFunction(address);
                (*functions.cast::<Vec<usize>>()).push(function.addr());
            }
            0
        }
        let mut functions = Vec::new();
        // SAFETY: the callback has this type and uses the vector only during this call.
        unsafe { _Unwind_Backtrace(look, (&raw mut functions).cast()) };
        functions
    }

    /// Debuggers and profilers walk through the stubs, and so does the end of a thread by `pthread_exit`.
    #[test]
    fn the_stack_can_be_walked_through_a_stub() {
        type Function = extern "C" fn(usize, usize, i64, i64, i64, i64, i64) -> usize;
        static SEEN: Lock<Vec<usize>> = Lock::new(Vec::new());
        extern "C" fn last(_: usize, _: usize, _: i64, _: i64, _: i64, _: i64, _: i64) -> usize {
            *SEEN.lock() = functions_on_the_stack();
            1
        }
        #[inline(never)]
        extern "C" fn caller(stub: Function) -> usize {
            // The addition prevents a tail call, which would leave no frame.
            stub(0, 0, 1, 2, 3, 4, 5) + 1
        }
        let stub = stub_of(7 << 20, last as Function as *mut c_void, b"(JJJJJ)J");
        // SAFETY: the stub has the type of its function.
        assert_eq!(caller(unsafe { std::mem::transmute::<*mut c_void, Function>(stub) }), 2);
        let chain = [
            last as Function as usize,
            reporting().addr(),
            caller as extern "C" fn(Function) -> usize as usize,
        ];
        let seen = std::mem::take(&mut *SEEN.lock());
        assert!(seen.windows(chain.len()).any(|functions| functions == chain), "{seen:x?}");
    }
}
