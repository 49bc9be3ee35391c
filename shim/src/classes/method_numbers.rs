//! The numbers by which rewritten code names the methods that it reports.
//!
//! A class is rewritten before its methods have IDs. So a number gets its method at the first report: the
//! frame below the report is the method's.
//!
//! An unloaded class returns its numbers. A thread may still have to report an exit by such a number, for a
//! call whose end was missed (`calls`). The numbers are reused once no thread needs them.

use super::methods;
use crate::records::announced_methods::{self, NUMBERS};
use crate::records::class::Class;
use crate::records::construction::Beginning;
use crate::records::numbered::{AppendOnly, Runs};
use crate::threads;
use jni_sys::jmethodID;
use jvm::Jni;
use jvm::lock::Lock;
use std::collections::HashSet;
use std::mem::{ManuallyDrop, MaybeUninit};
use std::ops::Range;
use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering};
use std::sync::{Arc, Once};

/// The method behind a number.
#[derive(Default)]
struct Numbered {
    /// The method's ID; NULL until it is known.
    method: AtomicPtr<jni_sys::_jmethodID>,
    class: AtomicPtr<Class>,
    /// The [`Beginning`] of a constructor.
    beginning: AtomicU64,
}

/// A method that is being reported.
#[derive(Clone, Copy)]
pub struct NumberedMethod<'a> {
    pub id: jmethodID,
    /// The class that declares the method.
    pub class: &'a Arc<Class>,
}

/// The number of entries of a chunk of [`PLACES`].
const CHUNK: usize = 4096;

static PLACES: AppendOnly<Numbered, CHUNK, { NUMBERS / CHUNK }> = AppendOnly::new();

/// The returned numbers of unloaded classes, while threads may still use them.
static RETURNED: Lock<Vec<Range<usize>>> = Lock::new(Vec::new());
static FREE: Lock<Runs> = Lock::new(Runs::new());

/// Reserves numbers for the methods of this class. Returns the first.
pub fn reserve_for(class: &Class, count: usize) -> usize {
    let first = reserve(count);
    class.add_numbers(first..first + count);
    first
}

/// Reserves a number for one known method, which then need not be looked up at its first report.
pub fn reserve_for_method(id: jmethodID, class: &Arc<Class>) -> usize {
    let number = reserve_for(class, 1);
    if let Some(place) = PLACES.get(number) {
        place.set(id, class);
    }
    number
}

/// Returns how many numbers exist, in use or free.
pub fn count() -> usize {
    PLACES.count()
}

/// Reserves numbers for the methods of a class that is being loaded. Returns the first.
pub fn reserve(count: usize) -> usize {
    let free = FREE.lock().take(count);
    let free = free.or_else(|| {
        free_returned();
        FREE.lock().take(count)
    });
    free.unwrap_or_else(|| {
        let first = PLACES.reserve(count);
        if first + count > PLACES.capacity() {
            static SAID: Once = Once::new();
            SAID.call_once(|| {
                log::warn!(
                    "the calls of {} methods are reported, the maximum: calls of methods in classes that are \
                     loaded from now on are not, until other classes are unloaded",
                    PLACES.capacity()
                );
            });
        }
        first
    })
}

/// Returns the numbers of classes that were unloaded or never defined. No code passes them any more.
pub fn give_back(numbers: Vec<Range<usize>>) {
    RETURNED.lock().extend(numbers);
}

/// Frees the returned numbers that no thread uses.
fn free_returned() {
    let returned = std::mem::take(&mut *RETURNED.lock());
    if returned.is_empty() {
        return;
    }
    let threads = threads::all();
    let in_use = threads.iter().flat_map(|thread| thread.in_flight.calls.numbers());
    let in_use: HashSet<_> = in_use.map(|number| number as usize).collect();
    let is_in_use = |run: &Range<usize>| run.clone().any(|number| in_use.contains(&number));
    let (kept, free): (Vec<_>, Vec<_>) = returned.into_iter().partition(is_in_use);
    for number in free.iter().cloned().flatten() {
        announced_methods::remove(number);
        if let Some(place) = PLACES.known(number) {
            place.clear();
        }
    }
    RETURNED.lock().extend(kept);
    let mut all = FREE.lock();
    free.into_iter().for_each(|run| all.put(run));
}

impl Numbered {
    fn set(&self, id: jmethodID, class: &Arc<Class>) {
        self.class.store(Arc::as_ptr(class).cast_mut(), Ordering::Relaxed);
        self.method.store(id, Ordering::Release);
    }

    /// Clears the method: the next report of this number may come from another one.
    fn clear(&self) {
        self.beginning.store(0, Ordering::Relaxed);
        self.method.store(ptr::null_mut(), Ordering::Relaxed);
        self.class.store(ptr::null_mut(), Ordering::Relaxed);
    }
}

/// Records how a constructor begins.
pub fn set_beginning(number: usize, beginning: Beginning) {
    if let Some(place) = PLACES.get(number) {
        place.beginning.store(beginning.bits(), Ordering::Relaxed);
    }
}

/// Returns how a constructor begins.
pub fn beginning(number: usize) -> Option<Beginning> {
    PLACES.known(number).map(|place| Beginning::from_bits(place.beginning.load(Ordering::Relaxed)))
}

/// Runs `f` with the method of a number, which the current thread is reporting.
pub fn with<R>(jni: Jni, number: usize, f: impl FnOnce(NumberedMethod<'_>) -> R) -> Option<R> {
    let place = PLACES.get(number)?;
    let id = place.method.load(Ordering::Acquire);
    let id = if id.is_null() { resolve(jni, place)? } else { id };
    // SAFETY: `resolve` stored the class before the method. The record lives as long as the class, and the
    // class lives because its method is running.
    let class = unsafe { Arc::from_raw(place.class.load(Ordering::Relaxed)) };
    // The record's own reference, which is not counted here.
    let class = ManuallyDrop::new(class);
    Some(f(NumberedMethod { id, class: &class }))
}

/// Returns the method of a number, if it has been reported.
pub fn reported(number: usize) -> Option<jmethodID> {
    let method = PLACES.get(number)?.method.load(Ordering::Acquire);
    (!method.is_null()).then_some(method)
}

/// Finds the method that reports: the caller of the Tracker. None while JVMTI hides the innermost frames, because a
/// virtual thread is being mounted or unmounted.
#[cold]
fn resolve(jni: Jni, place: &Numbered) -> Option<jmethodID> {
    let mut frames = [MaybeUninit::uninit(); 2];
    let walked = jvm::get().jvmti.stack_trace(ptr::null_mut(), 0, &mut frames).ok()?;
    if walked < frames.len() {
        return None;
    }
    // SAFETY: the walk wrote both frames.
    let [tracker, caller] = frames.map(|frame| unsafe { frame.assume_init() }.method);
    methods::of(jni, tracker).filter(|tracker| tracker.class.is_own())?;
    let method = methods::of(jni, caller)?;
    // The frame may belong to an obsolete version of the method; the new version has the same number.
    let id = method.id();
    place.set(id, &method.class);
    Some(id)
}
