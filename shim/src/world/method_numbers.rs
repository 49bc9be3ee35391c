//! The methods that rewritten code reports, by the numbers that the code passes.
//!
//! A class is rewritten before its methods have IDs, so a number gets its method when it is first
//! reported: the frame below the report is the method's.

use super::append_only::AppendOnly;
use super::class::Class;
use super::construction::Beginning;
use super::methods;
use crate::jvm::{self, Jni};
use jni_sys::jmethodID;
use std::mem::MaybeUninit;
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering};

/// The method behind a number.
#[derive(Default)]
struct Numbered {
    /// NULL until the method is known.
    method: AtomicPtr<jni_sys::_jmethodID>,
    class: AtomicPtr<Class>,
    /// The epoch in which it was found that agents know the class.
    short_cut_epoch: AtomicU64,
    /// Of a constructor, its [`Beginning`].
    beginning: AtomicU64,
}

/// A method that is being reported.
#[derive(Clone, Copy)]
pub struct NumberedMethod<'a> {
    pub id: jmethodID,
    /// The class that declares it.
    pub class: &'a Class,
}

impl NumberedMethod<'_> {
    /// The class's record, also when the class is gone.
    pub fn kept_class(&self) -> Arc<Class> {
        // SAFETY: `resolve` got the pointer from an `Arc`, which lives while there is a `NumberedMethod`.
        unsafe {
            Arc::increment_strong_count(self.class);
            Arc::from_raw(self.class)
        }
    }
}

static PLACES: AppendOnly<Numbered> = AppendOnly::new();

/// Numbers for so many methods; the first of them.
pub fn reserve(count: usize) -> usize {
    PLACES.reserve(count)
}

/// Keeps how a constructor begins.
pub fn set_beginning(number: usize, beginning: Beginning) {
    if let Some(place) = PLACES.get(number) {
        place.beginning.store(beginning.bits(), Ordering::Relaxed);
    }
}

/// How a constructor begins.
pub fn beginning(number: usize) -> Option<Beginning> {
    PLACES.known(number).map(|place| Beginning::from_bits(place.beginning.load(Ordering::Relaxed)))
}

/// Runs `f` with the method of a number, which the thread that runs is just reporting.
pub fn with<R>(jni: Jni, number: usize, f: impl FnOnce(NumberedMethod<'_>) -> R) -> Option<R> {
    let place = PLACES.get(number)?;
    let id = place.method.load(Ordering::Acquire);
    let id = if id.is_null() { resolve(jni, place)? } else { id };
    // SAFETY: `resolve` stored the class before the method. The record lives as long as the
    // class, which lives as its method is just running.
    let class = unsafe { &*place.class.load(Ordering::Relaxed) };
    Some(f(NumberedMethod { id, class }))
}

/// The method of a number, if it was found in this epoch that agents know its class.
#[inline]
pub fn for_short_cut(number: usize, epoch: u64) -> Option<jmethodID> {
    let place = PLACES.known(number)?;
    let is_current = place.short_cut_epoch.load(Ordering::Acquire) == epoch;
    is_current.then(|| place.method.load(Ordering::Relaxed))
}

/// Takes note that agents know the class of a method that was reported in this epoch.
pub fn allow_short_cut(number: usize, epoch: u64) {
    if let Some(place) = PLACES.get(number) {
        place.short_cut_epoch.store(epoch, Ordering::Release);
    }
}

/// The method of a number, if it has been reported.
pub fn reported(number: usize) -> Option<jmethodID> {
    let method = PLACES.get(number)?.method.load(Ordering::Acquire);
    (!method.is_null()).then_some(method)
}

/// Finds out which method reports: the one that called the Tracker.
#[cold]
fn resolve(jni: Jni, place: &Numbered) -> Option<jmethodID> {
    let mut frame = [MaybeUninit::uninit()];
    let walked = jvm::get().jvmti.stack_trace(ptr::null_mut(), 1, &mut frame).ok()?;
    if walked == 0 {
        return None;
    }
    // SAFETY: the walk wrote one frame.
    let method = methods::of(jni, unsafe { frame[0].assume_init() }.method)?;
    // The code may be older than what the method has now, which has the number too.
    let id = method.id();
    let class = Arc::as_ptr(&method.class);
    place.class.store(class.cast_mut(), Ordering::Relaxed);
    place.method.store(id, Ordering::Release);
    Some(id)
}
