//! Threads, objects, classes and methods: what events have named, and whether it is still there.

use crate::check::table::{Life, Lives, Table};
use jni_sys::JNIEnv;
use jvmpi_sys::*;
use std::collections::HashMap;
use std::slice;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::sync::{Mutex, PoisonError};

/// The known state of a thread.
#[derive(Default)]
pub struct KnownThread {
    pub has_ended: AtomicBool,
    pub is_suspended: AtomicBool,
}

/// The entities that events have named.
pub struct Names {
    pub threads: Table<KnownThread>,
    pub suspended: AtomicI32,
    pub objects: Lives,
    pub methods: Lives,
    pub classes: Lives,
    methods_of: Mutex<HashMap<usize, Vec<usize>>>,
}

impl Names {
    pub fn new() -> Self {
        Self {
            threads: Table::new(1 << 13),
            suspended: AtomicI32::new(0),
            objects: Lives::new(1 << 15),
            methods: Lives::new(1 << 18),
            classes: Lives::new(1 << 15),
            methods_of: Mutex::default(),
        }
    }

    pub fn thread_lives(&self, env: *mut JNIEnv) {
        if let Some(thread) = self.threads.put(env.addr()) {
            thread.has_ended.store(false, Ordering::Release);
        }
    }

    fn thread_ended(&self, env: *mut JNIEnv) {
        if let Some(thread) = self.threads.get(env.addr()) {
            thread.has_ended.store(true, Ordering::Release);
            if thread.is_suspended.swap(false, Ordering::AcqRel) {
                self.suspended.fetch_sub(1, Ordering::AcqRel);
            }
        }
    }

    /// An event is about to be sent that may name something for the first time.
    ///
    /// # Safety
    /// The event is as the specification has it.
    pub unsafe fn define(&self, event: &JVMPI_Event) {
        // SAFETY: as the caller promises, for the arm that belongs to the type.
        unsafe {
            match event.event_type & !JVMPI_REQUESTED_EVENT {
                JVMPI_EVENT_THREAD_START => {
                    self.thread_lives(event.u.thread_start.thread_env_id);
                    self.objects.revive(event.u.thread_start.thread_id.addr());
                }
                JVMPI_EVENT_OBJECT_ALLOC => self.objects.revive(event.u.obj_alloc.obj_id.addr()),
                JVMPI_EVENT_OBJECT_FREE => {
                    self.objects.set(event.u.obj_free.obj_id.addr(), Life::Over);
                }
                JVMPI_EVENT_OBJECT_MOVE => {
                    self.objects.set(event.u.obj_move.obj_id.addr(), Life::Over);
                    self.objects.revive(event.u.obj_move.new_obj_id.addr());
                }
                JVMPI_EVENT_CLASS_LOAD => self.class_loaded(&event.u.class_load),
                _ => {}
            }
        }
    }

    /// An event was handled that may have named something for the last time.
    ///
    /// # Safety
    /// The event is as the specification has it.
    pub unsafe fn undefine(&self, event: &JVMPI_Event) {
        match event.event_type {
            JVMPI_EVENT_THREAD_END => self.thread_ended(event.env_id),
            JVMPI_EVENT_CLASS_UNLOAD => {
                // SAFETY: as the caller promises, for the arm that belongs to the type.
                self.class_unloaded(unsafe { event.u.class_unload.class_id }.addr());
            }
            _ => {}
        }
    }

    /// # Safety
    /// The event is as the specification has it.
    unsafe fn class_loaded(&self, class: &JVMPI_Event_class_load) {
        let id = class.class_id.addr();
        let methods = if class.methods.is_null() || class.num_methods <= 0 {
            &[]
        } else {
            // SAFETY: as the caller promises.
            unsafe { slice::from_raw_parts(class.methods, class.num_methods as usize) }
        };
        let methods: Vec<usize> = methods.iter().map(|method| method.method_id.addr()).collect();
        methods.iter().for_each(|method| self.methods.set(*method, Life::Alive));
        self.classes.revive(id);
        self.objects.revive(id);
        self.methods_of.lock().unwrap_or_else(PoisonError::into_inner).insert(id, methods);
    }

    /// Returns true if a loaded class has the method, although the table has forgotten it or never had it.
    pub fn has_method(&self, method: usize) -> bool {
        let classes = self.methods_of.lock().unwrap_or_else(PoisonError::into_inner);
        let known = classes.values().any(|methods| methods.contains(&method));
        drop(classes);
        if known {
            self.methods.set(method, Life::Alive);
        }
        known
    }

    fn class_unloaded(&self, id: usize) {
        let methods = self.methods_of.lock().unwrap_or_else(PoisonError::into_inner).remove(&id);
        methods.into_iter().flatten().for_each(|method| self.methods.set(method, Life::Over));
        self.classes.set(id, Life::Over);
    }
}
