//! C functions that get the address of their caller.
//!
//! JVMPI passes no context, yet each agent has a function table of its own: the address that a
//! call returns to lies in the library that makes the call, which tells the agents apart.

/// Defines a C function of three arguments, `fn $name(a, b, c) -> jint`, that passes them and the
/// address it returns to on to `$body(a, b, c, return_address)`.
macro_rules! with_return_address {
    ($(#[$attribute:meta])* $visibility:vis fn $name:ident($($argument:ident: $type:ty),*) => $body:path;) => {
        $(#[$attribute])*
        #[cfg(target_arch = "x86_64")]
        #[unsafe(naked)]
        $visibility unsafe extern "system" fn $name($($argument: $type),*) -> jni_sys::jint {
            // The return address lies on top of the stack, and rcx holds the fourth argument.
            std::arch::naked_asm!("mov rcx, [rsp]", "jmp {body}", body = sym $body)
        }

        $(#[$attribute])*
        #[cfg(target_arch = "aarch64")]
        #[unsafe(naked)]
        $visibility unsafe extern "system" fn $name($($argument: $type),*) -> jni_sys::jint {
            // The return address is in x30, and x3 holds the fourth argument.
            std::arch::naked_asm!("mov x3, x30", "b {body}", body = sym $body)
        }
    };
}

pub(crate) use with_return_address;
