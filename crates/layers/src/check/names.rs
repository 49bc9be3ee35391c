//! Threads, objects, classes and methods: what events have named, and whether it is still there.

use crate::check::Check;
use crate::check::rules;
use crate::check::table::{Life, Lives, Table};
use crate::check::thread::Thread;
use jni_sys::{JNIEnv, jint, jmethodID};
use jvmpi_sys::*;
use std::collections::HashMap;
use std::slice;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU8, Ordering};
use std::sync::{Mutex, PoisonError};

/// The known state of a thread.
#[derive(Default)]
pub struct KnownThread {
    /// A [`Life`].
    life: AtomicU8,
    pub is_suspended: AtomicBool,
}

/// The entities that events have named.
pub struct Names {
    pub threads: Table<KnownThread>,
    pub suspended: AtomicI32,
    objects: Lives,
    methods: Lives,
    classes: Lives,
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
            thread.life.store(Life::Alive as u8, Ordering::Release);
        }
    }

    fn thread_ended(&self, env: *mut JNIEnv) {
        if let Some(thread) = self.threads.get(env.addr()) {
            thread.life.store(Life::Over as u8, Ordering::Release);
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
    fn has_method(&self, method: usize) -> bool {
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

impl Check {
    /// Returns true if the thread may be asked for; reports it if not.
    pub fn is_thread(&self, function: &str, env: *mut JNIEnv, thread: &Thread) -> bool {
        if !env.is_null() && env == thread.env.get() {
            return true;
        }
        let known = self.names.threads.get(env.addr());
        let rule = match known.map(|known| known.life.load(Ordering::Acquire)) {
            _ if env.is_null() => rules::THREAD_NULL,
            Some(life) if life == Life::Over as u8 => rules::THREAD_ENDED,
            // At first there are threads that no event has named.
            None if self.is_live() && self.names.threads.lacks(env.addr()) => rules::THREAD_UNKNOWN,
            _ => return true,
        };
        self.findings.report(rule, format!("{function}({env:?}){thread}"));
        false
    }

    /// Returns true if the ID may be one of a live object; reports it if not.
    pub fn is_object(&self, function: &str, id: jobjectID, thread: &Thread) -> bool {
        let rule = if self.names.classes.get(id.addr()) == Life::Over {
            rules::CLASS_UNLOADED
        } else if self.names.objects.get(id.addr()) == Life::Over {
            rules::OBJECT_FREED
        } else {
            return true;
        };
        self.findings.report(rule, format!("{function}({id:?}){thread}"));
        false
    }

    /// No object of this ID was found.
    pub fn no_object(&self, function: &str, id: jobjectID, thread: &Thread) {
        if self.is_live() && !self.wants(JVMPI_EVENT_OBJECT_FREE) {
            self.findings.report(rules::OBJECT_UNKNOWN, format!("{function}({id:?}){thread}"));
        }
    }

    /// Returns true if the method may be a live one; reports it if not.
    pub fn is_method(&self, function: &str, method: jmethodID, thread: &Thread) -> bool {
        let rule = match self.names.methods.get(method.addr()) {
            _ if method.is_null() => rules::ARGUMENT_NULL,
            Life::Over => rules::CLASS_UNLOADED,
            Life::Unknown if self.is_live() && !self.names.has_method(method.addr()) => {
                rules::METHOD_UNKNOWN
            }
            _ => return true,
        };
        self.findings.report(rule, format!("{function}({method:?}){thread}"));
        false
    }

    /// A thread was suspended.
    pub fn suspended(&self, env: *mut JNIEnv, thread: &Thread) {
        if let Some(known) = self.names.threads.get(env.addr())
            && !known.is_suspended.swap(true, Ordering::AcqRel)
        {
            thread.suspended.set(thread.suspended.get() + 1);
            self.names.suspended.fetch_add(1, Ordering::AcqRel);
        }
    }

    /// A thread is about to be resumed.
    pub fn resumed(&self, function: &str, env: *mut JNIEnv, thread: &Thread) {
        let Some(known) = self.names.threads.get(env.addr()) else { return };
        if known.is_suspended.swap(false, Ordering::AcqRel) {
            thread.suspended.set(thread.suspended.get() - 1);
            self.names.suspended.fetch_sub(1, Ordering::AcqRel);
        } else {
            self.findings.report(rules::RESUME, format!("{function}({env:?}){thread}"));
        }
    }

    /// The arguments of a function that takes a list of threads.
    ///
    /// # Safety
    /// The list is NULL or has `count` elements.
    pub unsafe fn list<'a>(
        &self,
        function: &str,
        count: jint,
        envs: *mut *mut JNIEnv,
        results: *mut jint,
        thread: &Thread,
    ) -> &'a [*mut JNIEnv] {
        if count < 0 {
            self.findings.report(rules::ARGUMENT_RANGE, format!("{function}({count}, …){thread}"));
        } else if count > 0 && (envs.is_null() || results.is_null()) {
            let what = format!("{function}({count}, {envs:?}, {results:?}){thread}");
            self.findings.report(rules::ARGUMENT_NULL, what);
        } else if count > 0 {
            // SAFETY: as the caller promises.
            return unsafe { slice::from_raw_parts(envs, count as usize) };
        }
        &[]
    }
}
