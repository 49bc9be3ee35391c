//! The record of one object, read value by value: agents ask for many, and a walk of JVMTI's stops the
//! world for each.

use crate::jvm::heap::Primitive;
use crate::jvm::{Error, FieldId, Holder, Jni, Result};
use crate::records::layout::{Fields, Layout, Objects};
use jni_sys::{jint, jobject};
use jvmpi_formats::dump::{
    Buffer, Class as ClassRecord, Full, HeapWriter, ID, Id, Level, Type, Value,
};
use jvmti_sys::{JVMTI_ERROR_INTERNAL, JVMTI_ERROR_OUT_OF_MEMORY};

/// Reads objects; `name` gives the ID of one that is referred to.
pub struct Reader<F> {
    pub jni: Jni,
    pub name: F,
}

impl From<Full> for Error {
    fn from(_: Full) -> Self {
        Self(JVMTI_ERROR_OUT_OF_MEMORY)
    }
}

impl<F: FnMut(jobject) -> Result<Id>> Reader<F> {
    /// The record of an instance or an array of a class with this ID and layout.
    pub fn object(
        &mut self,
        object: jobject,
        id: Id,
        class: Id,
        layout: &Layout,
    ) -> Result<Buffer> {
        match &layout.objects {
            Objects::Instances(fields) => self.instance(object, id, class, fields),
            Objects::References(element) => self.references(object, id, *element),
            Objects::Primitives(of_type) => self.primitives(object, id, *of_type),
        }
    }

    fn instance(&mut self, object: jobject, id: Id, class: Id, fields: &Fields) -> Result<Buffer> {
        let length = fields.length(Level::Values);
        let mut writer = writer(length)?;
        let place = writer.instance(id, class, length as u32)?;
        for (field, of_type, offset) in fields.iter() {
            writer.set(place, offset, self.field(Holder::Object(object), field, of_type)?);
        }
        Ok(writer.finish())
    }

    fn references(&mut self, array: jobject, id: Id, element: Id) -> Result<Buffer> {
        let length = self.jni.array_length(array);
        let mut writer = writer(length as usize * ID)?;
        let place = writer.objects(id, element, length as u32)?;
        for index in 0..length {
            let value = self.name_once(self.jni.array_element(array, index))?;
            writer.set(place, index as usize * ID, Value::Reference(value));
        }
        Ok(writer.finish())
    }

    fn primitives(&mut self, array: jobject, id: Id, of_type: Type) -> Result<Buffer> {
        let length = self.jni.array_length(array) as usize;
        let mut writer = writer(length * of_type.width())?;
        let place = writer.primitives_to_be_set(id, of_type, length as u32)?;
        let mut elements = [0; 1024];
        let mut done = 0;
        while done < length {
            let descriptor = of_type.descriptor();
            let read = self.jni.primitive_elements(array, descriptor, done as jint, &mut elements);
            if read == 0 {
                return Err(Error(JVMTI_ERROR_INTERNAL));
            }
            let bytes = &bytes(&elements)[..read * of_type.width()];
            writer.set_primitives(place, done, of_type, bytes);
            done += read;
        }
        Ok(writer.finish())
    }

    /// The record of a class with this layout. What else belongs to a class is in the same order as
    /// in the record.
    pub fn class(
        &mut self,
        class: jobject,
        id: Id,
        layout: &Layout,
        [loader, signers, protection_domain]: [Id; 3],
    ) -> Result<Buffer> {
        let mut statics = vec![0; layout.statics.length(Level::Values)];
        for (field, of_type, offset) in layout.statics.iter() {
            let value = self.field(Holder::Class(class), field, of_type)?;
            value.write(&mut statics[offset..offset + of_type.width()]);
        }
        let record =
            ClassRecord { loader, signers, protection_domain, ..layout.class_record(id, &statics) };
        let buffer = Buffer::with_capacity(HeapWriter::class_length(&record))?;
        let mut writer = HeapWriter::new(buffer, Level::Values);
        writer.class(&record)?;
        Ok(writer.finish())
    }

    fn field(&mut self, holder: Holder, field: FieldId, of_type: Type) -> Result<Value> {
        match of_type {
            Type::Reference => {
                let value = self.name_once(self.jni.reference_field(holder, field))?;
                Ok(Value::Reference(value))
            }
            _ => primitive(self.jni.primitive_field(holder, field, of_type.descriptor())),
        }
    }

    /// The ID of what a reference refers to, which is given back.
    pub fn name_once(&mut self, reference: jobject) -> Result<Id> {
        if reference.is_null() {
            return Ok(0);
        }
        let id = (self.name)(reference);
        self.jni.delete_local(reference);
        id
    }
}

/// The instance of Class that stands for no class that could be dumped. As in a heap dump, its
/// values are not given.
pub fn mirror(id: Id, meta: Id, layout: &Layout) -> Result<Buffer> {
    let Objects::Instances(fields) = &layout.objects else {
        return Err(Error(JVMTI_ERROR_INTERNAL));
    };
    let length = fields.length(Level::Values);
    let mut writer = writer(length)?;
    writer.instance(id, meta, length as u32)?;
    Ok(writer.finish())
}

/// Writes the record of an object that has so many bytes of values.
fn writer(values: usize) -> std::result::Result<HeapWriter, Full> {
    let buffer = Buffer::with_capacity(HeapWriter::HEAD + values)?;
    Ok(HeapWriter::new(buffer, Level::Values))
}

fn primitive(value: Option<Primitive>) -> Result<Value> {
    value.map(Value::from).ok_or(Error(JVMTI_ERROR_INTERNAL))
}

/// The numbers as they lie in memory.
fn bytes(numbers: &[u64]) -> &[u8] {
    // SAFETY: every byte of a number may be read.
    unsafe { std::slice::from_raw_parts(numbers.as_ptr().cast(), size_of_val(numbers)) }
}
