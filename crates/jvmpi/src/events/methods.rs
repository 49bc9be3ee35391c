//! METHOD_ENTRY2, INSTRUCTION_START, COMPILED_METHOD_LOAD and COMPILED_METHOD_UNLOAD.

use crate::call_trace::{Line, slice};
use crate::{MethodId, ObjectId};
use jni_sys::jint;
use jvmpi_sys::*;
use std::ffi::c_void;
use std::fmt;

/// METHOD_ENTRY2: a method is entered.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MethodEntry2 {
    /// The method.
    pub method: MethodId,
    /// The object whose method it is; None if it is static.
    pub receiver: Option<ObjectId>,
}

impl MethodEntry2 {
    #[inline]
    pub(crate) fn of(event: JVMPI_Event_method_entry2) -> Option<Self> {
        let method = MethodId::of(event.method_id)?;
        Some(Self { method, receiver: ObjectId::of(event.obj_id) })
    }
}

/// INSTRUCTION_START: an instruction is about to be executed.
///
/// The event does not say which instruction it is; that is in the class file.
#[derive(Clone, Copy)]
pub struct InstructionStart {
    /// The method.
    pub method: MethodId,
    /// Bytes from the start of the method's bytecode.
    pub offset: u32,
    /// What the three kinds of instructions are about to do, as words: the union's.
    words: [jint; 3],
}

impl InstructionStart {
    #[inline]
    pub(crate) fn of(event: &JVMPI_Event_instruction) -> Option<Self> {
        let method = MethodId::of(event.method_id)?;
        // SAFETY: the union has this size, and every word is a value.
        let words = unsafe { (&raw const event.u).cast::<[jint; 3]>().read_unaligned() };
        Some(Self { method, offset: event.offset.cast_unsigned(), words })
    }

    /// If it is `if…`: whether the branch is taken.
    #[inline]
    pub fn is_true(&self) -> bool {
        self.words[0].to_ne_bytes()[0] != 0
    }

    /// If it is `tableswitch`: the value switched on, and the lowest and highest in the table.
    #[inline]
    pub fn tableswitch(&self) -> (i32, i32, i32) {
        let [key, low, hi] = self.words;
        (key, low, hi)
    }

    /// If it is `lookupswitch`: the pair that matched, 0 for the first, and how many pairs there are. The two
    /// are equal for the default.
    #[inline]
    pub fn lookupswitch(&self) -> (i32, i32) {
        (self.words[0], self.words[1])
    }
}

impl fmt::Debug for InstructionStart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut f = f.debug_struct("InstructionStart");
        f.field("method", &self.method).field("offset", &self.offset).finish_non_exhaustive()
    }
}

/// COMPILED_METHOD_LOAD: a method was compiled.
#[derive(Clone, Copy)]
pub struct CompiledMethodLoad<'e> {
    method: MethodId,
    event: &'e JVMPI_Event_compiled_method_load,
}

impl<'e> CompiledMethodLoad<'e> {
    pub(crate) fn of(event: &'e JVMPI_Event_compiled_method_load) -> Option<Self> {
        Some(Self { method: MethodId::of(event.method_id)?, event })
    }

    /// The method.
    pub fn method(&self) -> MethodId {
        self.method
    }

    /// The start of the code.
    pub fn code_address(&self) -> *const c_void {
        self.event.code_addr
    }

    /// How many bytes the code has.
    pub fn code_size(&self) -> u32 {
        self.event.code_size.cast_unsigned()
    }

    /// From which bytes of the code on which line of the source is executed.
    pub fn lines(&self) -> impl ExactSizeIterator<Item = (u32, Line)> + Clone + use<'e> {
        // SAFETY: what the event points to lives as long as it.
        let table = unsafe { slice(self.event.lineno_table, self.event.lineno_table_size) };
        table.iter().map(|entry| (entry.offset.cast_unsigned(), Line::of(entry.lineno)))
    }
}

impl fmt::Debug for CompiledMethodLoad<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut f = f.debug_struct("CompiledMethodLoad");
        f.field("method", &self.method).field("code_address", &self.code_address());
        f.field("code_size", &self.code_size()).finish_non_exhaustive()
    }
}

/// COMPILED_METHOD_UNLOAD: compiled code goes away.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CompiledMethodUnload {
    /// The method.
    pub method: MethodId,
    /// Where the code was. Not in the specification: only `libjvmpi.so` tells it.
    pub code_address: *const c_void,
}

impl CompiledMethodUnload {
    pub(crate) fn of(event: JVMPI_Event_compiled_method_unload) -> Option<Self> {
        Some(Self { method: MethodId::of(event.method_id)?, code_address: event.code_addr })
    }
}
