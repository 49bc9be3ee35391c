//! The contents of the events that define a class, a thread or an arena.

use crate::classes::methods::Lines;
use crate::gc::arenas;
use crate::records::agents::Agent;
use crate::records::class::Class;
use crate::threads::{self, Thread};
use jni_sys::{JNIEnv, jclass, jint, jobject};
use jvm::Result;
use jvmpi_sys::*;
use std::ffi::CString;
use std::ptr;
use std::sync::Arc;

/// The contents of CLASS_LOAD for a linked class.
pub struct ClassDefinition {
    source: CString,
    interfaces: usize,
    methods: Vec<JVMPI_Method>,
    statics: Vec<JVMPI_Field>,
    instances: Vec<JVMPI_Field>,
    /// The names and signatures, to which the arrays point.
    _strings: Vec<CString>,
}

impl ClassDefinition {
    pub fn of(object: jclass) -> Result<Self> {
        let jvmti = jvm::get().jvmti;
        let mut strings = Vec::new();
        let mut keep = |text: CString| strings.push_mut(text).as_ptr().cast_mut();
        let mut methods = Vec::new();
        for method in jvmti.class_methods(object)?.iter() {
            let (name, signature) = jvmti.method_name(*method)?;
            let (start_lineno, end_lineno) = Lines::of(jvmti, *method).range();
            methods.push(JVMPI_Method {
                method_name: keep(name),
                method_signature: keep(signature),
                start_lineno,
                end_lineno,
                method_id: *method,
            });
        }
        let (mut statics, mut instances) = (Vec::new(), Vec::new());
        for field in jvmti.class_fields(object)?.iter() {
            let is_static = jvmti.is_static(object, *field)?;
            let list = if is_static { &mut statics } else { &mut instances };
            let jvm::Field { name, signature, .. } = jvmti.field(object, *field)?;
            list.push(JVMPI_Field { field_name: keep(name), field_signature: keep(signature) });
        }
        Ok(Self {
            source: jvmti.source_file(object).unwrap_or_default(),
            interfaces: jvmti.interfaces(object)?.len(),
            methods,
            statics,
            instances,
            _strings: strings,
        })
    }

    /// Returns the event, which points into the definition.
    pub fn event(&mut self, agent: &Agent, class: &Class) -> JVMPI_Event_class_load {
        let Self { methods, statics, instances, .. } = self;
        JVMPI_Event_class_load {
            class_name: class.name(agent.options().names).as_ptr().cast_mut(),
            source_name: self.source.as_ptr().cast_mut(),
            num_interfaces: self.interfaces as jint,
            num_methods: methods.len() as jint,
            methods: methods.as_mut_ptr(),
            num_static_fields: statics.len() as jint,
            statics: statics.as_mut_ptr(),
            num_instance_fields: instances.len() as jint,
            instances: instances.as_mut_ptr(),
            class_id: class.id(),
        }
    }
}

/// Returns the thread that has loaded the class, if it is known and still exists.
pub fn loaded_by(class: &Class) -> Option<Arc<Thread>> {
    let (env, id) = *class.loaded_by.get()?;
    threads::by_env(ptr::without_provenance_mut(env)).filter(|thread| thread.id().addr() == id)
}

/// The contents of THREAD_START. Names are never NULL, because agents pass them to `strlen`.
pub struct ThreadDefinition {
    name: CString,
    group: CString,
    parent: CString,
    id: jobjectID,
    env: *mut JNIEnv,
}

impl ThreadDefinition {
    pub fn of(thread: &Thread) -> Option<Self> {
        let object = thread.object()?;
        let info = jvm::get().jvmti.thread_info(object.get()).ok()?;
        let group = |group: jobject| {
            if group.is_null() { None } else { jvm::get().jvmti.group_info(group).ok() }
        };
        let own = group(info.group);
        let parent = own.as_ref().and_then(|own| group(own.parent));
        Some(Self {
            name: info.name,
            group: own.map(|group| group.name).unwrap_or_default(),
            parent: parent.map(|group| group.name).unwrap_or_default(),
            id: thread.id(),
            env: thread.env(),
        })
    }

    pub fn event(&self) -> JVMPI_Event_thread_start {
        JVMPI_Event_thread_start {
            thread_name: self.name.as_ptr().cast_mut(),
            group_name: self.group.as_ptr().cast_mut(),
            parent_name: self.parent.as_ptr().cast_mut(),
            thread_id: self.id,
            thread_env_id: self.env,
        }
    }
}

pub fn arena(arena: jint) -> JVMPI_Event_new_arena {
    JVMPI_Event_new_arena { arena_id: arena, arena_name: arenas::name(arena).as_ptr().cast_mut() }
}
