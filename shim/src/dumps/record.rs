//! The dump record of one object, read field by field. Agents request many of them, and each JVMTI
//! heap walk would stop the world.

use super::walk::value_of;
use crate::records::layout::{Fields, Layout, Objects};
use jni_sys::{jint, jobject};
use jvm::heap::Primitive;
use jvm::types::{JVMTI_ERROR_INTERNAL, JVMTI_ERROR_OUT_OF_MEMORY};
use jvm::{Error, FieldId, Holder, Jni, Result};
use jvmpi_formats::dump::{
    Buffer, Class as ClassRecord, Full, HeapWriter, ID, Id, Level, Type, Value,
};

/// Reads objects. `name` returns the ID of a referenced object.
pub struct Reader<F> {
    pub jni: Jni,
    pub name: F,
}

fn out_of_memory(_: Full) -> Error {
    Error(JVMTI_ERROR_OUT_OF_MEMORY)
}

impl<F: FnMut(jobject) -> Result<Id>> Reader<F> {
    /// Returns the record of an instance or an array whose class has this ID and layout.
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
        let place = writer.instance(id, class, length as u32).map_err(out_of_memory)?;
        for (field, of_type, offset) in fields.iter() {
            writer.set(place, offset, self.field(Holder::Object(object), field, of_type)?);
        }
        Ok(writer.finish())
    }

    fn references(&mut self, array: jobject, id: Id, element: Id) -> Result<Buffer> {
        let length = self.jni.array_length(array);
        let mut writer = writer(length as usize * ID)?;
        let place = writer.objects(id, element, length as u32).map_err(out_of_memory)?;
        for index in 0..length {
            let value = self.name_once(self.jni.array_element(array, index))?;
            writer.set(place, index as usize * ID, Value::Reference(value));
        }
        Ok(writer.finish())
    }

    fn primitives(&mut self, array: jobject, id: Id, of_type: Type) -> Result<Buffer> {
        let length = self.jni.array_length(array) as usize;
        let mut writer = writer(length * of_type.width())?;
        let place =
            writer.primitives_to_be_set(id, of_type, length as u32).map_err(out_of_memory)?;
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

    /// Returns the record of a class with this layout. The array has the class's other references in
    /// the order of the record.
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
        let buffer =
            Buffer::with_capacity(HeapWriter::class_length(&record)).map_err(out_of_memory)?;
        let mut writer = HeapWriter::new(buffer, Level::Values);
        writer.class(&record).map_err(out_of_memory)?;
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

    /// Returns the ID of the referenced object, and deletes the reference.
    pub fn name_once(&mut self, reference: jobject) -> Result<Id> {
        if reference.is_null() {
            return Ok(0);
        }
        let id = (self.name)(reference);
        self.jni.delete_local(reference);
        id
    }
}

/// Returns the record of a Class object that represents no class in the dump. Its field values are
/// left out, like those of such objects in a heap dump.
pub fn mirror(id: Id, meta: Id, layout: &Layout) -> Result<Buffer> {
    let Objects::Instances(fields) = &layout.objects else {
        return Err(Error(JVMTI_ERROR_INTERNAL));
    };
    let length = fields.length(Level::Values);
    let mut writer = writer(length)?;
    writer.instance(id, meta, length as u32).map_err(out_of_memory)?;
    Ok(writer.finish())
}

/// Returns a writer for the record of an object with this many bytes of values.
fn writer(values: usize) -> Result<HeapWriter> {
    let buffer = Buffer::with_capacity(HeapWriter::HEAD + values).map_err(out_of_memory)?;
    Ok(HeapWriter::new(buffer, Level::Values))
}

fn primitive(value: Option<Primitive>) -> Result<Value> {
    value.map(value_of).ok_or(Error(JVMTI_ERROR_INTERNAL))
}

/// Returns the bytes of the numbers in memory order.
fn bytes(numbers: &[u64]) -> &[u8] {
    // SAFETY: every byte of a number may be read.
    unsafe { std::slice::from_raw_parts(numbers.as_ptr().cast(), size_of_val(numbers)) }
}
