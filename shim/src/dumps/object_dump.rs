//! OBJECT_DUMP.

use super::layouts;
use super::record::{self, Reader};
use crate::classes::{self, Linking};
use crate::gc::gate::NoGc;
use crate::gc::{deaths, lookup};
use crate::notify;
use crate::records::agents::Agent;
use crate::records::ids::{self, Tag};
use crate::sync::{tagging, vm_locks};
use crate::threads::{self, Thread};
use crate::translate::announce::{self, ClassFor};
use crate::translate::heap_objects;
use jni_sys::{jclass, jint, jlong, jobject};
use jvm::heap::{Edge, Next, Object, Referrer, Visitor};
use jvm::types::{JVMTI_CLASS_STATUS_ARRAY, JVMTI_CLASS_STATUS_PRIMITIVE};
use jvm::{Jni, internals};
use jvmpi_formats::dump::Buffer;
use jvmpi_sys::{JVMPI_EVENT_OBJECT_DUMP, JVMPI_Event_object_dump, jobjectID};
use std::ffi::CStr;
use std::ptr;

/// Answers RequestEvent(OBJECT_DUMP) with the record that a heap dump of level 2 would have of the
/// object. Returns false if the ID is not that of a live object, or if the dump failed.
pub fn request(jni: Jni, agent: &Agent, thread: &Thread, id: jobjectID) -> bool {
    let _no_gc = NoGc::begin();
    let made = jni.frame(32, |jni| {
        let object = lookup::object(jni, id)?;
        Some(make(jni, agent, thread, object, id))
    });
    let mut bytes = match made {
        None => return false,
        Some(Ok(bytes)) => bytes,
        Some(Err(reason)) => {
            super::log_failure("object", &reason);
            return false;
        }
    };
    let object_dump = JVMPI_Event_object_dump {
        data_len: jint::try_from(bytes.len()).unwrap_or(jint::MAX),
        data: bytes.as_mut_ptr().cast(),
    };
    notify::request(agent, thread, JVMPI_EVENT_OBJECT_DUMP, object_dump)
}

fn make(
    jni: Jni,
    agent: &Agent,
    thread: &Thread,
    object: jobject,
    id: jobjectID,
) -> Result<Buffer, String> {
    let failed = |error: jvm::Error| error.to_string();
    let class_object = jni.class_of(object);
    let class = classes::of(jni, class_object).map_err(failed)?;
    let (class, layout) = layouts::readable(jni, class, class_object)?;
    announce::class(jni, agent, thread, &class, ClassFor::Dump);
    let listener = heap_objects::listener(agent, thread);
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
        return reader.object(object, id.addr(), class.id().addr(), &layout).map_err(failed);
    }
    let status = jvm::get().jvmti.class_status(object).map_err(failed)?;
    if status & JVMTI_CLASS_STATUS_PRIMITIVE as jint != 0 {
        return record::mirror(id.addr(), class.id().addr(), &layout).map_err(failed);
    }
    let class = classes::of(jni, object).map_err(failed)?;
    let (class, layout) = layouts::readable(jni, class, object)?;
    announce::class(jni, agent, thread, &class, ClassFor::Dump);
    let loader = jvm::get().jvmti.class_loader(object).map_err(failed)?;
    let is_array = status & JVMTI_CLASS_STATUS_ARRAY as jint != 0;
    // Classes of the boot loader have neither signers nor a protection domain.
    let [signers, domain] = if loader.is_null() || is_array {
        [ptr::null_mut(); 2]
    } else {
        guards(jni, object, id).map_err(failed)?
    };
    let mut others = [0; 3];
    for (other, object) in others.iter_mut().zip([loader, signers, domain]) {
        *other = reader.name_once(object).map_err(failed)?;
    }
    reader.class(object, id.addr(), &layout, others).map_err(failed)
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
