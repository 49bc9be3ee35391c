//! C functions that receive the address of their caller.
//!
//! The return address of a call lies in the library that made the call. JVMPI passes no context, yet each agent has
//! its own function table; the return address shows which agent calls. It also shows which JNI calls the VM makes for
//! itself.

/// Defines a C function of two or three arguments, `fn $name(a, b) -> R`, that calls
/// `$body(a, b, return_address)`.
#[macro_export]
macro_rules! with_return_address {
    ($(#[$attribute:meta])* $visibility:vis fn $name:ident($a:ident: $A:ty, $b:ident: $B:ty) -> $R:ty => $body:path;) => {
        $crate::with_return_address! {
            @define $(#[$attribute])* $visibility fn $name($a: $A, $b: $B) -> $R => $body,
            $crate::argument_register!(3), "x2", "push dword ptr [esp + 12]\npush dword ptr [esp + 12]", 12
        }
    };
    ($(#[$attribute:meta])* $visibility:vis fn $name:ident($a:ident: $A:ty, $b:ident: $B:ty, $c:ident: $C:ty) -> $R:ty => $body:path;) => {
        $crate::with_return_address! {
            @define $(#[$attribute])* $visibility fn $name($a: $A, $b: $B, $c: $C) -> $R => $body,
            $crate::argument_register!(4), "x3", "push dword ptr [esp + 16]\npush dword ptr [esp + 16]\npush dword ptr [esp + 16]", 16
        }
    };
    // The registers are those of the next argument. On i386 all arguments are on the stack, which has no space for
    // one more, so they are pushed again: `$bytes` including the return address.
    (@define $(#[$attribute:meta])* $visibility:vis fn $name:ident($($argument:ident: $type:ty),*) -> $R:ty => $body:path,
     $x86_64:expr, $aarch64:literal, $x86:literal, $bytes:literal) => {
        $(#[$attribute])*
        #[cfg(target_arch = "x86_64")]
        #[unsafe(naked)]
        $visibility unsafe extern "system" fn $name($($argument: $type),*) -> $R {
            // The return address is on top of the stack.
            std::arch::naked_asm!(concat!("mov ", $x86_64, ", [rsp]"), "jmp {body}", body = sym $body)
        }

        $(#[$attribute])*
        #[cfg(target_arch = "aarch64")]
        #[unsafe(naked)]
        $visibility unsafe extern "system" fn $name($($argument: $type),*) -> $R {
            // The return address is in x30.
            std::arch::naked_asm!(concat!("mov ", $aarch64, ", x30"), "b {body}", body = sym $body)
        }

        $(#[$attribute])*
        #[cfg(target_arch = "x86")]
        #[unsafe(naked)]
        $visibility unsafe extern "system" fn $name($($argument: $type),*) -> $R {
            // The return address is on top of the stack, followed by the arguments.
            std::arch::naked_asm!(
                "push dword ptr [esp]",
                $x86,
                "call {body}",
                concat!("add esp, ", $bytes),
                "ret",
                body = sym $body
            )
        }
    };
}
