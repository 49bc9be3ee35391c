//! CLASS_LOAD and CLASS_LOAD_HOOK.

use crate::call_trace::slice;
use crate::{ClassId, Line, MethodId, ModifiedUtf8};
use jvmpi_sys::{JVMPI_Event_class_load, JVMPI_Event_class_load_hook, JVMPI_Field, JVMPI_Method};
use std::fmt;
use std::num::TryFromIntError;

/// CLASS_LOAD: the class is linked; none of its code has run.
#[derive(Clone, Copy)]
pub struct ClassLoad<'e> {
    class: ClassId,
    event: &'e JVMPI_Event_class_load,
}

impl<'e> ClassLoad<'e> {
    /// Returns `None` if the event names no class.
    pub(crate) fn of(event: &'e JVMPI_Event_class_load) -> Option<Self> {
        Some(Self { class: ClassId::of(event.class_id)?, event })
    }

    /// Returns the class.
    pub fn class(&self) -> ClassId {
        self.class
    }

    /// Returns the name, for example `java.lang.String` or `[I`.
    pub fn name(&self) -> ModifiedUtf8<'e> {
        // SAFETY: what the event points to lives as long as it.
        unsafe { ModifiedUtf8::of(self.event.class_name) }
    }

    /// Returns the name of the source file, without directories; empty if unknown.
    pub fn source_name(&self) -> ModifiedUtf8<'e> {
        // SAFETY: what the event points to lives as long as it.
        unsafe { ModifiedUtf8::of(self.event.source_name) }
    }

    /// Returns the number of interfaces that the class names. Readers of dumps need it.
    pub fn num_interfaces(&self) -> usize {
        usize::try_from(self.event.num_interfaces).unwrap_or(0)
    }

    /// Returns the methods that the class declares, including constructors and `<clinit>`.
    pub fn methods(&self) -> impl ExactSizeIterator<Item = Method<'e>> + Clone + use<'e> {
        // SAFETY: what the event points to lives as long as it.
        unsafe { slice(self.event.methods, self.event.num_methods) }.iter().map(Method)
    }

    /// Returns the static fields that the class declares, in the order of dumps.
    pub fn static_fields(&self) -> impl ExactSizeIterator<Item = Field<'e>> + Clone + use<'e> {
        // SAFETY: what the event points to lives as long as it.
        unsafe { slice(self.event.statics, self.event.num_static_fields) }.iter().map(Field)
    }

    /// Returns the instance fields that the class declares, without inherited ones, in the order of dumps.
    pub fn instance_fields(&self) -> impl ExactSizeIterator<Item = Field<'e>> + Clone + use<'e> {
        // SAFETY: what the event points to lives as long as it.
        unsafe { slice(self.event.instances, self.event.num_instance_fields) }.iter().map(Field)
    }
}

impl fmt::Debug for ClassLoad<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut f = f.debug_struct("ClassLoad");
        f.field("class", &self.class).field("name", &self.name()).finish_non_exhaustive()
    }
}

/// A method of a class.
#[derive(Clone, Copy)]
pub struct Method<'e>(&'e JVMPI_Method);

impl<'e> Method<'e> {
    /// Returns the ID of the method.
    ///
    /// # Panics
    /// Panics if the VM reported no ID.
    pub fn id(&self) -> MethodId {
        MethodId::of(self.0.method_id).expect("the VM reported a method without ID")
    }

    /// Returns the name.
    pub fn name(&self) -> ModifiedUtf8<'e> {
        // SAFETY: what the event points to lives as long as it.
        unsafe { ModifiedUtf8::of(self.0.method_name) }
    }

    /// Returns the descriptor, for example `(I)Ljava/lang/String;`.
    pub fn signature(&self) -> ModifiedUtf8<'e> {
        // SAFETY: what the event points to lives as long as it.
        unsafe { ModifiedUtf8::of(self.0.method_signature) }
    }

    /// Returns the first and the last line in the source file, if known.
    pub fn lines(&self) -> Option<(u32, u32)> {
        match (Line::from_code(self.0.start_lineno), Line::from_code(self.0.end_lineno)) {
            (Line::Number(first), Line::Number(last)) => Some((first, last)),
            _ => None,
        }
    }
}

impl fmt::Debug for Method<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut f = f.debug_struct("Method");
        f.field("name", &self.name()).field("signature", &self.signature());
        f.field("lines", &self.lines()).finish_non_exhaustive()
    }
}

/// A field of a class.
#[derive(Clone, Copy)]
pub struct Field<'e>(&'e JVMPI_Field);

impl<'e> Field<'e> {
    /// Returns the name.
    pub fn name(&self) -> ModifiedUtf8<'e> {
        // SAFETY: what the event points to lives as long as it.
        unsafe { ModifiedUtf8::of(self.0.field_name) }
    }

    /// Returns the descriptor, for example `[I`.
    pub fn signature(&self) -> ModifiedUtf8<'e> {
        // SAFETY: what the event points to lives as long as it.
        unsafe { ModifiedUtf8::of(self.0.field_signature) }
    }

    /// Returns the type as dumps encode it, or `None` if the descriptor is invalid.
    pub fn of_type(&self) -> Option<crate::Type> {
        crate::Type::of_descriptor(*self.signature().as_bytes().first()?)
    }
}

impl fmt::Debug for Field<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut f = f.debug_struct("Field");
        f.field("name", &self.name()).field("signature", &self.signature()).finish()
    }
}

/// CLASS_LOAD_HOOK: a class file that is about to be parsed.
pub struct ClassFile<'e> {
    event: &'e mut JVMPI_Event_class_load_hook,
    /// True if `new_class_data` comes from the event's allocator. The VM owns it once the handler returns.
    is_replaced: bool,
}

/// The error of [`ClassFile::replace`]: the class file is too large, there is no memory for it, or it was already
/// replaced.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NotReplaced;

impl fmt::Display for NotReplaced {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the VM did not allocate memory for the new class file")
    }
}

impl std::error::Error for NotReplaced {}

impl From<TryFromIntError> for NotReplaced {
    fn from(_: TryFromIntError) -> Self {
        Self
    }
}

impl<'e> ClassFile<'e> {
    /// Wraps the event. The class file is unchanged unless it is [replaced](Self::replace).
    pub(crate) fn of(event: &'e mut JVMPI_Event_class_load_hook) -> Self {
        event.new_class_data = event.class_data;
        event.new_class_data_len = event.class_data_len;
        Self { event, is_replaced: false }
    }

    /// Returns the bytes of the class file.
    pub fn bytes(&self) -> &[u8] {
        // SAFETY: what the event points to lives as long as it.
        unsafe { slice(self.event.class_data, self.event.class_data_len) }
    }

    /// Makes the VM parse `with` in place of the class file.
    ///
    /// # Errors
    /// Fails on a second call for the same event, if `with` is too large, or if the VM is out of memory.
    pub fn replace(&mut self, with: &[u8]) -> Result<(), NotReplaced> {
        let length = u32::try_from(with.len())?;
        let new_length = i32::try_from(with.len())?;
        let allocate = self.event.malloc_f.filter(|_| !self.is_replaced).ok_or(NotReplaced)?;
        // SAFETY: the event provides this function for allocating the new class file.
        let memory = unsafe { allocate(length) }.cast::<u8>();
        if memory.is_null() {
            return Err(NotReplaced);
        }
        // SAFETY: `memory` has `with.len()` bytes and is newly allocated.
        unsafe { memory.copy_from_nonoverlapping(with.as_ptr(), with.len()) };
        self.event.new_class_data = memory;
        self.event.new_class_data_len = new_length;
        self.is_replaced = true;
        Ok(())
    }
}

impl fmt::Debug for ClassFile<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ClassFile {{ {} bytes }}", self.event.class_data_len)
    }
}
