//! Checks the arguments that name threads, objects and methods.

use crate::check::Check;
use crate::check::rules;
use crate::check::table::Life;
use crate::check::thread::Thread;
use jni_sys::{JNIEnv, jint, jmethodID};
use jvmpi_sys::{JVMPI_EVENT_OBJECT_FREE, jobjectID};
use std::sync::atomic::Ordering;

impl Check {
    /// Returns true if the thread may be asked for; reports it if not.
    pub fn is_thread(&self, function: &str, env: *mut JNIEnv, thread: &Thread) -> bool {
        if !env.is_null() && env == thread.env.get() {
            return true;
        }
        let known = self.names.threads.get(env.addr());
        let rule = match known.map(|known| known.has_ended.load(Ordering::Acquire)) {
            _ if env.is_null() => rules::THREAD_NULL,
            Some(true) => rules::THREAD_ENDED,
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

    /// A thread was suspended, unless it had ended.
    pub fn suspended(&self, env: *mut JNIEnv, thread: &Thread) {
        if let Some(known) = self.names.threads.get(env.addr())
            && env != thread.env.get()
            && !known.has_ended.load(Ordering::Acquire)
            && !known.is_suspended.swap(true, Ordering::AcqRel)
        {
            thread.suspended.set(thread.suspended.get() + 1);
            self.names.suspended.fetch_add(1, Ordering::AcqRel);
        }
    }

    /// A thread is about to be resumed.
    pub fn resumed(&self, function: &str, env: *mut JNIEnv, thread: &Thread) {
        if !self.is_thread(function, env, thread) {
            return;
        }
        let Some(known) = self.names.threads.get(env.addr()) else { return };
        if known.is_suspended.swap(false, Ordering::AcqRel) {
            thread.suspended.set(thread.suspended.get() - 1);
            self.names.suspended.fetch_sub(1, Ordering::AcqRel);
        } else {
            self.findings.report(rules::RESUME, format!("{function}({env:?}){thread}"));
        }
    }

    /// Checks the arguments of a function that takes a list of threads.
    pub fn check_list(
        &self,
        function: &str,
        count: jint,
        envs: *mut *mut JNIEnv,
        results: *mut jint,
        thread: &Thread,
    ) {
        let rule = if count < 0 {
            rules::ARGUMENT_RANGE
        } else if count > 0 && (envs.is_null() || results.is_null()) {
            rules::ARGUMENT_NULL
        } else {
            return;
        };
        self.findings.report(rule, format!("{function}({count}, {envs:?}, {results:?}){thread}"));
    }
}
