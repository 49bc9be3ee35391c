//! OBJECT_DUMP: the dump record of one object, read field by field. Agents request many of them, and each JVMTI heap walk
//! would stop the world.

use super::walk::value_of;
use crate::classes::layouts::{self, Fields, Layout};
use crate::classes::{self, Linking};
use crate::gc::{deaths, gate, lookup};
use crate::notify;
use crate::records::agents::Agent;
use crate::records::class::{Class, Instances};
use crate::records::ids::{self, Tag};
use crate::sync::{tagging, vm_locks};
use crate::threads::{self, Thread};
use crate::translate::announce::{self, ClassFor};
use jni_sys::{jclass, jint, jlong, jobject};
use jvm::heap::{Edge, Next, Object, Referrer, Visitor};
use jvm::types::{
    JVMTI_CLASS_STATUS_ARRAY, JVMTI_CLASS_STATUS_PRIMITIVE, JVMTI_ERROR_INTERNAL,
    JVMTI_ERROR_OUT_OF_MEMORY,
};
use jvm::{Error, FieldId, Holder, Jni, internals};
use jvmpi_formats::dump::{
    Buffer, Class as ClassRecord, Full, HeapWriter, ID, Id, Level, Type, Value,
};
use jvmpi_sys::{JVMPI_EVENT_OBJECT_DUMP, JVMPI_Event_object_dump, jobjectID};
use std::ffi::CStr;
use std::ptr;

/// Answers RequestEvent(OBJECT_DUMP) with the record that a heap dump of level 2 would have of the
/// object. Returns false if the ID is not that of a live object, or if the VM has ended meanwhile.
///
/// # Errors
/// Returns the reason why there is no dump.
pub fn request(jni: Jni, agent: &Agent, thread: &Thread, id: jobjectID) -> Result<bool, String> {
    let _no_gc = gate::without_gc();
    let made = jni.frame(32, |jni| {
        let object = lookup::object(jni, id)?;
        Some(make(jni, agent, thread, object, id))
    });
    let Some(mut bytes) = made.transpose()? else { return Ok(false) };
    let object_dump = JVMPI_Event_object_dump {
        data_len: jint::try_from(bytes.len()).unwrap_or(jint::MAX),
        data: bytes.as_mut_ptr().cast(),
    };
    Ok(notify::request(agent, thread, JVMPI_EVENT_OBJECT_DUMP, object_dump))
}

fn make(
    jni: Jni,
    agent: &Agent,
    thread: &Thread,
    object: jobject,
    id: jobjectID,
) -> Result<Buffer, String> {
    let class_object = jni.class_of(object);
    let class = classes::of(jni, class_object)?;
    let (class, layout) = layouts::readable(jni, class, class_object)?;
    announce::class(jni, agent, thread, &class, ClassFor::Dump);
    let listener = announce::listener(agent, thread);
    let name = |object| {
        let id = tagging::id_of(object)?;
        if is_hidden(id) {
            return Ok(0);
        }
        if listener.is_some() {
            announce::object(jni, agent, thread, object, Linking::Jdk)?;
        }
        Ok(id.addr())
    };
    let mut reader = Reader { jni, name };
    let meta = jni.class_of(class_object);
    if !jni.same_object(class_object, meta) {
        return Ok(reader.object(object, id.addr(), &class, &layout)?);
    }
    let status = jvm::get().jvmti.class_status(object)?;
    if status & JVMTI_CLASS_STATUS_PRIMITIVE as jint != 0 {
        // It represents no class in the dump, which also leaves out its values.
        let meta = class.id().addr();
        return Ok(reader.instance(ptr::null_mut(), id.addr(), meta, &layout.instances)?);
    }
    let class = classes::of(jni, object)?;
    let (class, layout) = layouts::readable(jni, class, object)?;
    announce::class(jni, agent, thread, &class, ClassFor::Dump);
    let loader = jvm::get().jvmti.class_loader(object)?;
    let is_array = status & JVMTI_CLASS_STATUS_ARRAY as jint != 0;
    // Classes of the boot loader have neither signers nor a protection domain.
    let [signers, domain] =
        if loader.is_null() || is_array { [ptr::null_mut(); 2] } else { guards(jni, object, id)? };
    let mut others = [0; 3];
    for (other, object) in others.iter_mut().zip([loader, signers, domain]) {
        *other = reader.name_once(object)?;
    }
    Ok(reader.class(object, id.addr(), &layout, others)?)
}

/// Returns true if the object is never shown to agents.
fn is_hidden(id: jobjectID) -> bool {
    threads::is_hidden_object(id) || classes::by_id(id).is_some_and(|class| class.is_own())
}

/// Returns a class's protection domain as a local reference, which is NULL for a class that has none. Returns `None` if
/// the domain cannot be read.
pub fn protection_domain(jni: Jni, class: jclass) -> Option<jobject> {
    const IS_A_FIELD_SINCE: u32 = 25;
    const DOMAIN: &CStr = c"Ljava/security/ProtectionDomain;";
    const GET_DOMAIN: &CStr = c"()Ljava/security/ProtectionDomain;";
    let meta = jni.class_of(class);
    internals::PROTECTION_DOMAIN.find(|| {
        Some(if jvm::get().feature_version() < IS_A_FIELD_SINCE {
            let get = jni.method(meta, c"getProtectionDomain0", GET_DOMAIN)?;
            jni.call_object(class, get, &[]).unwrap_or(ptr::null_mut())
        } else {
            jni.object_field(class, jni.field(meta, c"protectionDomain", DOMAIN)?)
        })
    })
}

/// Returns a class's signers and protection domain, as local references in the current frame.
fn guards(jni: Jni, class: jclass, id: jobjectID) -> jvm::Result<[jobject; 2]> {
    let quickly = || {
        let meta = jni.class_of(class);
        let signers = jni.method(meta, c"getSigners", c"()[Ljava/lang/Object;")?;
        if jni.call_object(class, signers, &[]).is_some() {
            // `getSigners` returns a copy of the array, so the heap walk below has to find the
            // original.
            return None;
        }
        Some([ptr::null_mut(), protection_domain(jni, class)?])
    };
    if let Some(guards) = threads::internally(jni, quickly) {
        return Ok(guards);
    }
    let lock = vm_locks::for_tags();
    let mut walk = Guards { class: id, guards: [Tag::NONE; 2] };
    let follow = || jvm::get().jvmti.follow_from(class, &mut walk);
    deaths::during_walk(follow)?;
    drop(lock);
    let mut found = [ptr::null_mut(); 2];
    for (object, guard) in found.iter_mut().zip(walk.guards) {
        *object = lookup::object(jni, guard.id()).unwrap_or(ptr::null_mut());
    }
    Ok(found)
}

/// A heap walk that finds the signers and the protection domain of a class.
struct Guards {
    class: jobjectID,
    guards: [Tag; 2],
}

impl Visitor for Guards {
    fn reference(
        &mut self,
        edge: Edge,
        _: Object,
        raw: &mut jlong,
        referrer: Option<Referrer>,
    ) -> Next {
        let is_ours = |referrer: Referrer| Tag::from_raw(referrer.tag).id() == self.class;
        let number = match edge {
            Edge::Signers => 0,
            Edge::ProtectionDomain => 1,
            _ => return Next::Skip,
        };
        if referrer.is_some_and(is_ours) {
            if Tag::from_raw(*raw).id().is_null() {
                let Ok(fresh) = ids::fresh() else { return Next::Skip };
                *raw = fresh.raw();
            }
            self.guards[number] = Tag::from_raw(*raw);
        }
        Next::Skip
    }
}

/// Reads objects. `name` returns the ID of a referenced object.
struct Reader<F> {
    jni: Jni,
    name: F,
}

fn out_of_memory(_: Full) -> Error {
    Error(JVMTI_ERROR_OUT_OF_MEMORY)
}

impl<F: FnMut(jobject) -> jvm::Result<Id>> Reader<F> {
    /// Returns the record of an instance or an array of a class with this layout.
    fn object(
        &mut self,
        object: jobject,
        id: Id,
        class: &Class,
        layout: &Layout,
    ) -> jvm::Result<Buffer> {
        match (class.instances(), layouts::elements(class)) {
            (Instances::References(element), _) => {
                let element = element.as_ref().map_or(0, |element| element.id().addr());
                self.references(object, id, element)
            }
            (_, Some(of_type)) => self.primitives(object, id, of_type),
            (_, None) => self.instance(object, id, class.id().addr(), &layout.instances),
        }
    }

    /// A NULL object has no values.
    fn instance(
        &mut self,
        object: jobject,
        id: Id,
        class: Id,
        fields: &Fields,
    ) -> jvm::Result<Buffer> {
        let length = fields.length(Level::Values);
        let mut writer = writer(length)?;
        let place = writer.instance(id, class, length as u32).map_err(out_of_memory)?;
        for (field, of_type, offset) in fields.iter().filter(|_| !object.is_null()) {
            writer.set(place, offset, self.field(Holder::Object(object), field, of_type)?);
        }
        Ok(writer.finish())
    }

    fn references(&mut self, array: jobject, id: Id, element: Id) -> jvm::Result<Buffer> {
        let length = self.jni.array_length(array);
        let mut writer = writer(length as usize * ID)?;
        let place = writer.objects(id, element, length as u32).map_err(out_of_memory)?;
        for index in 0..length {
            let value = self.name_once(self.jni.array_element(array, index))?;
            writer.set(place, index as usize * ID, Value::Reference(value));
        }
        Ok(writer.finish())
    }

    fn primitives(&mut self, array: jobject, id: Id, of_type: Type) -> jvm::Result<Buffer> {
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
    fn class(
        &mut self,
        class: jobject,
        id: Id,
        layout: &Layout,
        [loader, signers, protection_domain]: [Id; 3],
    ) -> jvm::Result<Buffer> {
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

    fn field(&mut self, holder: Holder, field: FieldId, of_type: Type) -> jvm::Result<Value> {
        match of_type {
            Type::Reference => {
                let value = self.name_once(self.jni.reference_field(holder, field))?;
                Ok(Value::Reference(value))
            }
            _ => {
                let value = self.jni.primitive_field(holder, field, of_type.descriptor());
                value.map(value_of).ok_or(Error(JVMTI_ERROR_INTERNAL))
            }
        }
    }

    /// Returns the ID of the referenced object, and deletes the reference.
    fn name_once(&mut self, reference: jobject) -> jvm::Result<Id> {
        if reference.is_null() {
            return Ok(0);
        }
        let id = (self.name)(reference);
        self.jni.delete_local(reference);
        id
    }
}

/// Returns a writer for the record of an object with this many bytes of values.
fn writer(values: usize) -> jvm::Result<HeapWriter> {
    let buffer = Buffer::with_capacity(HeapWriter::HEAD + values).map_err(out_of_memory)?;
    Ok(HeapWriter::new(buffer, Level::Values))
}

/// Returns the bytes of the numbers in memory order.
fn bytes(numbers: &[u64]) -> &[u8] {
    // SAFETY: every byte of a number may be read.
    unsafe { std::slice::from_raw_parts(numbers.as_ptr().cast(), size_of_val(numbers)) }
}
