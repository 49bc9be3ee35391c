//! METHOD_ENTRY2, INSTRUCTION_START, COMPILED_METHOD_LOAD and COMPILED_METHOD_UNLOAD.

use crate::call_trace::slice;
use crate::{Line, MethodId, ObjectId};
use jni_sys::jint;
use jvmpi_sys::*;
use std::ffi::c_void;
use std::fmt;

/// METHOD_ENTRY2: a method is entered.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MethodEntry2 {
    /// The method.
    pub method: MethodId,
    /// The object on which the method is called; `None` for a static method.
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
/// The event does not contain the instruction; read it from the class file at `offset`.
#[derive(Clone, Copy)]
pub struct InstructionStart {
    /// The method.
    pub method: MethodId,
    /// The offset of the instruction in the method's bytecode, in bytes.
    pub offset: u32,
    /// The event's union as words: the operands of `if`, `tableswitch` or `lookupswitch`.
    words: [jint; 3],
}

impl InstructionStart {
    #[inline]
    pub(crate) fn of(event: &JVMPI_Event_instruction) -> Option<Self> {
        let method = MethodId::of(event.method_id)?;
        // SAFETY: the union is three words long, and every bit pattern is a valid word.
        let words = unsafe { (&raw const event.u).cast::<[jint; 3]>().read_unaligned() };
        Some(Self { method, offset: event.offset.cast_unsigned(), words })
    }

    /// Returns true if the instruction is a conditional branch that is taken.
    #[inline]
    pub fn is_true(&self) -> bool {
        self.words[0].to_ne_bytes()[0] != 0
    }

    /// Returns the key of a `tableswitch`, and the lowest and the highest key of its table.
    #[inline]
    pub fn tableswitch(&self) -> (i32, i32, i32) {
        let [key, low, hi] = self.words;
        (key, low, hi)
    }

    /// Returns the index of the matching pair of a `lookupswitch`, counted from 0, and the number of pairs. The
    /// two are equal if the default is taken.
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

    /// Returns the method.
    pub fn method(&self) -> MethodId {
        self.method
    }

    /// Returns the start address of the code.
    pub fn code_address(&self) -> *const c_void {
        self.event.code_addr
    }

    /// Returns the size of the code in bytes.
    pub fn code_size(&self) -> u32 {
        self.event.code_size.cast_unsigned()
    }

    /// Returns pairs of a code offset and the source line that the code from there on belongs to.
    pub fn lines(&self) -> impl ExactSizeIterator<Item = (u32, Line)> + Clone + use<'e> {
        // SAFETY: what the event points to lives as long as it.
        let table = unsafe { slice(self.event.lineno_table, self.event.lineno_table_size) };
        table.iter().map(|entry| (entry.offset.cast_unsigned(), Line::from_code(entry.lineno)))
    }
}

impl fmt::Debug for CompiledMethodLoad<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut f = f.debug_struct("CompiledMethodLoad");
        f.field("method", &self.method).field("code_address", &self.code_address());
        f.field("code_size", &self.code_size()).finish_non_exhaustive()
    }
}

/// COMPILED_METHOD_UNLOAD: compiled code is discarded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CompiledMethodUnload {
    /// The method.
    pub method: MethodId,
    /// The start address of the code. An extension of `libjvmpi.so` to the specification.
    pub code_address: *const c_void,
}

impl CompiledMethodUnload {
    pub(crate) fn of(event: JVMPI_Event_compiled_method_unload) -> Option<Self> {
        Some(Self { method: MethodId::of(event.method_id)?, code_address: event.code_addr })
    }
}
