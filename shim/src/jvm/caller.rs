//! C functions that get the address of their caller.
//!
//! The address that a call returns to lies in the library that makes the call. JVMPI passes no context,
//! yet each agent has a function table of its own: that tells the agents apart. And it tells what the VM
//! does by JNI for itself.

/// Defines a C function of two or three arguments, `fn $name(a, b) -> R`, that passes them and the
/// address it returns to on to `$body(a, b, return_address)`.
macro_rules! with_return_address {
    ($(#[$attribute:meta])* $visibility:vis fn $name:ident($a:ident: $A:ty, $b:ident: $B:ty) -> $R:ty => $body:path;) => {
        crate::jvm::caller::with_return_address! {
            @define $(#[$attribute])* $visibility fn $name($a: $A, $b: $B) -> $R => $body,
            "rdx", "x2", "push dword ptr [esp + 12]\npush dword ptr [esp + 12]", 12
        }
    };
    ($(#[$attribute:meta])* $visibility:vis fn $name:ident($a:ident: $A:ty, $b:ident: $B:ty, $c:ident: $C:ty) -> $R:ty => $body:path;) => {
        crate::jvm::caller::with_return_address! {
            @define $(#[$attribute])* $visibility fn $name($a: $A, $b: $B, $c: $C) -> $R => $body,
            "rcx", "x3", "push dword ptr [esp + 16]\npush dword ptr [esp + 16]\npush dword ptr [esp + 16]", 16
        }
    };
    // The registers are those of the argument that follows. On i386 all arguments are on the stack, where there
    // is no room for another one: they are pushed anew, `$bytes` with the return address.
    (@define $(#[$attribute:meta])* $visibility:vis fn $name:ident($($argument:ident: $type:ty),*) -> $R:ty => $body:path,
     $x86_64:literal, $aarch64:literal, $x86:literal, $bytes:literal) => {
        $(#[$attribute])*
        #[cfg(target_arch = "x86_64")]
        #[unsafe(naked)]
        $visibility unsafe extern "system" fn $name($($argument: $type),*) -> $R {
            // The return address lies on top of the stack.
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
            // The return address lies on top of the stack, the arguments below it.
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

pub(crate) use with_return_address;
