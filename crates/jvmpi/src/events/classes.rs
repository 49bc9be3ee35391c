//! CLASS_LOAD and CLASS_LOAD_HOOK.

use crate::call_trace::{Line, slice};
use crate::{ClassId, MethodId, ModifiedUtf8};
use jvmpi_sys::{JVMPI_Event_class_load, JVMPI_Event_class_load_hook, JVMPI_Field, JVMPI_Method};
use std::fmt;
use std::num::TryFromIntError;

/// CLASS_LOAD: the class is linked, none of its code has run.
#[derive(Clone, Copy)]
pub struct ClassLoad<'e> {
    class: ClassId,
    event: &'e JVMPI_Event_class_load,
}

impl<'e> ClassLoad<'e> {
    /// None without a class.
    pub(crate) fn of(event: &'e JVMPI_Event_class_load) -> Option<Self> {
        Some(Self { class: ClassId::of(event.class_id)?, event })
    }

    /// The class.
    pub fn class(&self) -> ClassId {
        self.class
    }

    /// Its name, as `java.lang.String` or `[I`.
    pub fn name(&self) -> ModifiedUtf8<'e> {
        // SAFETY: what the event points to lives as long as it.
        unsafe { ModifiedUtf8::of(self.event.class_name) }
    }

    /// The name of its source file, without directories; empty if it is not known.
    pub fn source_name(&self) -> ModifiedUtf8<'e> {
        // SAFETY: what the event points to lives as long as it.
        unsafe { ModifiedUtf8::of(self.event.source_name) }
    }

    /// How many interfaces it names. Readers of dumps need it.
    pub fn num_interfaces(&self) -> usize {
        usize::try_from(self.event.num_interfaces).unwrap_or(0)
    }

    /// The methods that it declares, constructors and `<clinit>` included.
    pub fn methods(&self) -> impl ExactSizeIterator<Item = Method<'e>> + Clone + use<'e> {
        // SAFETY: what the event points to lives as long as it.
        unsafe { slice(self.event.methods, self.event.num_methods) }.iter().map(Method)
    }

    /// The static fields that it declares, in the order of dumps.
    pub fn static_fields(&self) -> impl ExactSizeIterator<Item = Field<'e>> + Clone + use<'e> {
        // SAFETY: what the event points to lives as long as it.
        unsafe { slice(self.event.statics, self.event.num_static_fields) }.iter().map(Field)
    }

    /// The instance fields that it declares, in the order of dumps; none that are inherited.
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
    /// The method.
    ///
    /// # Panics
    /// If the VM has told none.
    pub fn id(&self) -> MethodId {
        MethodId::of(self.0.method_id).expect("the VM has told a method without ID")
    }

    /// Its name.
    pub fn name(&self) -> ModifiedUtf8<'e> {
        // SAFETY: what the event points to lives as long as it.
        unsafe { ModifiedUtf8::of(self.0.method_name) }
    }

    /// Its descriptor, as `(I)Ljava/lang/String;`.
    pub fn signature(&self) -> ModifiedUtf8<'e> {
        // SAFETY: what the event points to lives as long as it.
        unsafe { ModifiedUtf8::of(self.0.method_signature) }
    }

    /// Its first and last line in the source, if they are known.
    pub fn lines(&self) -> Option<(u32, u32)> {
        match (Line::of(self.0.start_lineno), Line::of(self.0.end_lineno)) {
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
    /// Its name.
    pub fn name(&self) -> ModifiedUtf8<'e> {
        // SAFETY: what the event points to lives as long as it.
        unsafe { ModifiedUtf8::of(self.0.field_name) }
    }

    /// Its descriptor, as `[I`.
    pub fn signature(&self) -> ModifiedUtf8<'e> {
        // SAFETY: what the event points to lives as long as it.
        unsafe { ModifiedUtf8::of(self.0.field_signature) }
    }

    /// Its type, as dumps know it. None if the descriptor is none.
    pub fn of_type(&self) -> Option<dump::Type> {
        dump::Type::of_descriptor(*self.signature().as_bytes().first()?)
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
    /// From the event's allocator, with its length: it belongs to the VM when the handler has returned.
    is_replaced: bool,
}

/// A class file cannot be replaced: it is too large, or there is no memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NotReplaced;

impl fmt::Display for NotReplaced {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the VM gives no memory for the new class file")
    }
}

impl std::error::Error for NotReplaced {}

impl From<TryFromIntError> for NotReplaced {
    fn from(_: TryFromIntError) -> Self {
        Self
    }
}

impl<'e> ClassFile<'e> {
    /// The class file stays as it is unless it is [replaced](Self::replace).
    pub(crate) fn of(event: &'e mut JVMPI_Event_class_load_hook) -> Self {
        event.new_class_data = event.class_data;
        event.new_class_data_len = event.class_data_len;
        Self { event, is_replaced: false }
    }

    /// The class file.
    pub fn bytes(&self) -> &[u8] {
        // SAFETY: what the event points to lives as long as it.
        unsafe { slice(self.event.class_data, self.event.class_data_len) }
    }

    /// Has the VM parse this class file instead. Once; the second one is not taken.
    pub fn replace(&mut self, with: &[u8]) -> Result<(), NotReplaced> {
        let length = u32::try_from(with.len())?;
        let new_length = i32::try_from(with.len())?;
        let allocate = self.event.malloc_f.filter(|_| !self.is_replaced).ok_or(NotReplaced)?;
        // SAFETY: it is there for this.
        let memory = unsafe { allocate(length) }.cast::<u8>();
        if memory.is_null() {
            return Err(NotReplaced);
        }
        // SAFETY: there are so many bytes, which are new.
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
