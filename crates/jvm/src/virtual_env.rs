//! JNI environments for virtual threads, to which the VM gives none.
//!
//! An environment begins with the pointer to its function table, and is the first argument of each function. The
//! functions in the table here replace that argument with the environment of the current carrier, and jump to the same
//! function in the carrier's table.

use crate::lock::Lock;
use jni_sys::{JNIEnv, JNINativeInterface_};
use std::ffi::c_void;
use std::mem::{offset_of, size_of};
use std::ptr;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicPtr, Ordering};

/// True if the functions exist for this machine.
pub const IS_AVAILABLE: bool = cfg!(any(target_arch = "x86_64", target_arch = "aarch64"));

/// The length of the table, which is not less than that of the VM's table.
const FUNCTIONS: usize = size_of::<JNINativeInterface_>() / size_of::<usize>();
/// The number of reserved entries at the start of the table.
const RESERVED: usize = 4;
/// The size of the code of each function in bytes.
const CODE: usize = 16;

/// The target of an environment pointer. It is never freed, because agents may use the environment of an ended thread.
#[repr(C)]
struct Memory {
    functions: *const Functions,
    /// The environment of the current carrier, or of the last one.
    carrier: AtomicPtr<JNIEnv>,
}

type Functions = [*const c_void; FUNCTIONS];

struct Table(Functions);

// SAFETY: the table consists of addresses of code.
unsafe impl Send for Table {}
// SAFETY: as above.
unsafe impl Sync for Table {}

static TABLE: LazyLock<Table> = LazyLock::new(|| {
    let mut functions = [ptr::null(); FUNCTIONS];
    for (place, function) in functions.iter_mut().enumerate().skip(RESERVED) {
        *function = code().wrapping_byte_add(place * CODE);
    }
    Table(functions)
});

const _: () = assert!(!IS_AVAILABLE || offset_of!(Memory, carrier) == 8, "the code below uses 8");

/// Generates the code of all functions from one template, in which `jvmpi_place` is the table offset in bytes.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
macro_rules! functions {
    ($($instruction:expr),*) => {
        std::arch::global_asm!(
            crate::code_begins!("jvmpi_virtual_env", ".p2align 4"),
            ".set jvmpi_place, 0",
            ".rept {functions}",
            ".p2align 4",
            $($instruction,)*
            ".set jvmpi_place, jvmpi_place + 8",
            ".endr",
            crate::code_ends!("jvmpi_virtual_env"),
            functions = const FUNCTIONS,
        );
    };
}

#[cfg(target_arch = "x86_64")]
functions!(
    concat!(
        "mov ",
        crate::argument_register!(1),
        ", qword ptr [",
        crate::argument_register!(1),
        " + 8]"
    ),
    concat!("mov r11, qword ptr [", crate::argument_register!(1), "]"),
    "jmp qword ptr [r11 + jvmpi_place]"
);

#[cfg(target_arch = "aarch64")]
functions!("ldr x0, [x0, #8]", "ldr x16, [x0]", "ldr x16, [x16, #jvmpi_place]", "br x16");

/// Returns the code of all functions, [`CODE`] bytes each.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
fn code() -> *const c_void {
    unsafe extern "C" {
        #[link_name = "jvmpi_virtual_env"]
        static CODE: c_void;
    }
    &raw const CODE
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
fn code() -> *const c_void {
    unreachable!("no virtual thread has an environment on this machine")
}

/// The environment of a virtual thread. Once dropped, it may be reused for another thread.
pub struct VirtualEnv(&'static Memory);

// SAFETY: the table is read only, and the carrier's environment is atomic.
unsafe impl Send for VirtualEnv {}
// SAFETY: as above.
unsafe impl Sync for VirtualEnv {}

static FREE: Lock<Vec<VirtualEnv>> = Lock::new(Vec::new());

impl VirtualEnv {
    /// Returns an environment that no other virtual thread has.
    pub fn new() -> Self {
        let free = FREE.lock().pop();
        free.unwrap_or_else(|| {
            let carrier = AtomicPtr::new(ptr::null_mut());
            Self(Box::leak(Box::new(Memory { functions: &raw const TABLE.0, carrier })))
        })
    }

    /// Returns the environment pointer, which is the thread's ID for agents.
    pub fn env(&self) -> *mut JNIEnv {
        ptr::from_ref(self.0).cast_mut().cast()
    }

    /// Records that the thread now runs on the carrier with this environment.
    pub fn set_carrier(&self, env: *mut JNIEnv) {
        self.0.carrier.store(env, Ordering::Release);
    }
}

impl Drop for VirtualEnv {
    fn drop(&mut self) {
        FREE.lock().push(Self(self.0));
    }
}

#[cfg(all(test, any(target_arch = "x86_64", target_arch = "aarch64")))]
mod tests {
    use super::*;
    use jni_sys::{jint, jobject};

    static CALLED: AtomicPtr<JNIEnv> = AtomicPtr::new(ptr::null_mut());

    extern "system" fn version(env: *mut JNIEnv) -> jint {
        CALLED.store(env, Ordering::Relaxed);
        7
    }

    extern "system" fn with_arguments(env: *mut JNIEnv, one: usize, other: f64) -> jobject {
        CALLED.store(env, Ordering::Relaxed);
        ptr::without_provenance_mut(one + other as usize)
    }

    /// Checks that each function calls the carrier's function with the carrier's environment and the arguments.
    #[test]
    fn calls_are_forwarded_to_the_carriers_table() {
        type Plain = extern "system" fn(*mut JNIEnv) -> jint;
        type Long = extern "system" fn(*mut JNIEnv, usize, f64) -> jobject;
        let env = VirtualEnv::new();
        for place in RESERVED..FUNCTIONS {
            let functions = [const { AtomicPtr::new(ptr::null_mut()) }; FUNCTIONS];
            let mut carrier = &raw const functions;
            let carrier_env: *mut JNIEnv = (&raw mut carrier).cast();
            env.set_carrier(carrier_env);
            // SAFETY: the environment begins with its table, and the functions stored in this test have these types.
            let (plain, long) = unsafe {
                let table = *env.env().cast::<*const Functions>();
                let function = (*table)[place];
                (
                    std::mem::transmute::<*const c_void, Plain>(function),
                    std::mem::transmute::<*const c_void, Long>(function),
                )
            };
            functions[place].store(version as *mut c_void, Ordering::Relaxed);
            assert_eq!(plain(env.env()), 7);
            assert_eq!(CALLED.swap(ptr::null_mut(), Ordering::Relaxed), carrier_env);
            functions[place].store(with_arguments as *mut c_void, Ordering::Relaxed);
            assert_eq!(long(env.env(), 40, 2.0).addr(), 42);
            assert_eq!(CALLED.swap(ptr::null_mut(), Ordering::Relaxed), carrier_env);
        }
    }
}
