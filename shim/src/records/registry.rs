//! The known live threads, by environment and by object.

use super::agents::Agent;
use super::thread::{self, Thread, known_current};
use super::virtual_thread::VirtualThread;
use jni_sys::JNIEnv;
use jvm::GlobalRef;
use jvm::lock::{Lock, Map};
use jvmpi_sys::{JVMPI_EVENT_THREAD_START, jobjectID};
use std::ptr;
use std::sync::{Arc, LazyLock};

/// Live threads by the address of their environment.
static BY_ENV: LazyLock<Map<usize, Arc<Thread>>> = LazyLock::new(Map::new);
/// Live virtual threads by the number that `java.lang.Thread` gives each thread.
static VIRTUAL: LazyLock<Map<i64, Arc<Thread>>> = LazyLock::new(Map::new);
/// By environment, the ID of the `java.lang.Thread` of its last thread that has ended. For a while the object still
/// leads to the environment.
static ENDED: LazyLock<Map<usize, usize>> = LazyLock::new(Map::new);
/// By environment, the record of a thread that ran code so late that it could not keep the record itself. It is
/// dropped when the next such thread has the environment.
static LATE: LazyLock<Map<usize, Arc<Thread>>> = LazyLock::new(Map::new);
/// The records that [`forget`] has removed, and the references to their objects.
static RECORDS: Retired<Thread> = Retired(Lock::new(Vec::new()));
static OBJECTS: Retired<GlobalRef> = Retired(Lock::new(Vec::new()));
/// The IDs of the objects that are hidden from agents, among them those of the shim's own threads.
static HIDDEN: LazyLock<Map<usize, ()>> = LazyLock::new(Map::new);
/// The environments of threads whose `java.lang.Thread` object has an ID, by that ID.
static BY_ID: LazyLock<Map<usize, usize>> = LazyLock::new(Map::new);

/// Returns the live record for this environment, and creates it if there is none.
pub fn record(env: *mut JNIEnv) -> Arc<Thread> {
    let known = BY_ENV.get(env.addr());
    known.unwrap_or_else(|| BY_ENV.get_or_insert(env.addr(), Arc::new(Thread::new(env))))
}

/// Returns the record for the virtual thread with this number, and creates it if there is none.
pub fn virtual_record(number: i64) -> Arc<Thread> {
    if let Some(known) = VIRTUAL.get(number) {
        return known;
    }
    // Two threads can create it at once only for a third one that does not run.
    let new = Arc::new(Thread::new_virtual(VirtualThread::new(number)));
    let thread = VIRTUAL.get_or_insert(number, Arc::clone(&new));
    BY_ENV.get_or_insert(thread.env().addr(), Arc::clone(&thread))
}

/// Removes the record, so that it is not found any more.
pub fn forget(thread: &Thread) {
    if let Some(as_virtual) = &thread.as_virtual {
        VIRTUAL.remove(as_virtual.number);
    }
    let is_it = |known: &Arc<Thread>| ptr::eq(Arc::as_ptr(known), thread);
    if let Some(thread) = BY_ENV.remove_if(thread.env().addr(), is_it) {
        RECORDS.add(thread);
    }
    BY_ID.remove_if(thread.id().addr(), |env| *env == thread.env().addr());
    // The lock is released first.
    let object = thread.object.lock().take();
    if let Some(object) = object {
        OBJECTS.add(object);
    }
}

/// Values that can no longer be looked up but may still be in use. A thread that has looked one up never drops the last
/// reference, because it may have threads suspended, and then it may not call `free`.
struct Retired<T>(Lock<Vec<Arc<T>>>);

impl<T> Retired<T> {
    /// Adds this, and drops all that nobody else uses. What is in use now, a later call drops.
    fn add(&self, new: Arc<T>) {
        let mut retired = self.0.lock();
        retired.push(new);
        let unused: Vec<_> = retired.extract_if(.., |any| Arc::strong_count(any) == 1).collect();
        drop(retired);
        drop(unused);
    }
}

/// Records the ID of the thread's object.
pub fn note_id(thread: &Thread, id: jobjectID) {
    BY_ID.insert(id.addr(), thread.env().addr());
}

/// Records that the object with this ID no longer stands for a thread.
pub fn forget_id(id: jobjectID) {
    BY_ID.remove(id.addr());
}

/// Records that the thread with this object ID has ended.
pub fn note_end(thread: &Thread) {
    if thread.is_virtual() {
        return;
    }
    ENDED.insert(thread.env().addr(), thread.id().addr());
}

/// Returns true if the last thread that ended with this environment was the object with this ID.
pub fn has_ended(env: usize, id: jobjectID) -> bool {
    ENDED.get(env) == Some(id.addr())
}

/// Returns the live thread with this environment. None for NULL, invalid pointers and threads that have ended.
pub fn by_env(env: *mut JNIEnv) -> Option<Arc<Thread>> {
    if env.is_null() {
        return None;
    }
    BY_ENV.get(env.addr())
}

/// Returns the live thread with this kernel thread ID, if it has run code of the shim.
pub fn by_os_thread(number: i32) -> Option<Arc<Thread>> {
    all().into_iter().find(|thread| thread.os_thread() == number)
}

/// Returns the live thread whose `java.lang.Thread` object has this ID.
pub fn by_id(id: jobjectID) -> Option<Arc<Thread>> {
    BY_ENV.get(BY_ID.get(id.addr())?)
}

/// Hides the object with this ID from agents.
pub fn hide(id: jobjectID) {
    HIDDEN.insert(id.addr(), ());
}

/// Returns the IDs of all hidden objects, including threads.
pub fn hidden_objects() -> Vec<usize> {
    HIDDEN.keys()
}

pub fn is_hidden_object(id: jobjectID) -> bool {
    HIDDEN.contains(id.addr())
}

/// Returns a live thread that was announced to the agent, preferably one with thread-local data of the agent. Among
/// those it prefers the VM's own threads, which do not end and never run code of the shim.
pub fn known_to(agent: &Agent) -> Option<Arc<Thread>> {
    let is_announced = |thread: &Arc<Thread>| {
        !thread.is_hidden()
            && !thread.announced.is_withdrawn(agent)
            && (thread.announced.to(agent) || !agent.wants(JVMPI_EVENT_THREAD_START))
    };
    let rank = |thread: &Arc<Thread>| {
        let has_data = !thread.local_storage(agent).is_null();
        (!has_data, thread.is_virtual() || thread.os_thread() != 0, thread.id().addr())
    };
    all().into_iter().filter(is_announced).min_by_key(rank)
}

pub fn all() -> Vec<Arc<Thread>> {
    BY_ENV.values()
}

/// Returns the environment of the current thread, NULL if it has no record yet.
pub fn known_current_env() -> *mut JNIEnv {
    known_current().map_or(ptr::null_mut(), |thread| thread.env())
}

/// Returns true for the current thread's environment: the one that agents know, or the one that native code gets from
/// the VM. False if the thread has no record yet.
pub fn is_current(env: *mut JNIEnv) -> bool {
    known_current().is_some_and(|thread| thread.env() == env || thread.runs_in(env))
        && !env.is_null()
}

/// Makes this the record of the current thread. If the thread detaches in a destructor of a `pthread_key`, its
/// thread-local storage is gone, and the registry keeps the record.
pub fn own(thread: Option<Arc<Thread>>) {
    if let Some(late) = thread::own(thread) {
        LATE.insert(late.env().addr(), late);
    }
}

/// Returns the record of the current thread, even if another thread has created it.
pub fn recorded() -> Option<Arc<Thread>> {
    let known = known_current_env();
    let env = if known.is_null() { jvm::try_get()?.jni()?.env() } else { known };
    by_env(env)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn retired_value_is_dropped_by_a_later_call_and_not_by_its_last_user() {
        let retired = Retired(Lock::default());
        let looked_up = Arc::new(1);
        let value = Arc::downgrade(&looked_up);
        retired.add(Arc::clone(&looked_up));
        drop(looked_up);
        assert_eq!(value.strong_count(), 1);
        retired.add(Arc::new(2));
        assert_eq!(value.strong_count(), 0);
        assert!(retired.0.lock().is_empty());
    }
}
