//! How many bytes each thread may still allocate until the VM reports its next allocation.
//!
//! The VM draws that number at random when the thread is made, and anew at each report, from the sampling
//! interval at that time. With the interval 0 it is always 0 or 1. But threads that are older than the
//! shim have half a megabyte or so, and no function of JVMTI ends that before the thread itself has
//! allocated as much (measured on JDK 17). The number is a word of the VM's structure for the thread. It
//! is found by experiment, on the current thread, and then set for the others.

use super::ids::Tag;
use super::tagging;
use super::threads::{self, Thread};
use crate::jvm::{self, Jni, internals};
use crate::lock::Memo;
use jni_sys::{jint, jobject};
use jvmti_sys::jthread;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};

/// What is stored so that the next object is reported.
const OVER: usize = 0;
/// The most that is left when the next object is reported: in some VMs one byte.
const LAST: usize = 1;

/// The index of that word in the structure; None if it cannot be found.
static PLACE: Memo<Option<usize>> = Memo::new();

/// Has the next allocation of every thread reported, while the VM reports at an interval of 0. Each
/// thread needs a new allocation buffer (TLAB) afterwards. Returns whether any word was changed: unless
/// the world was stopped since the last call, a thread that was just counting may have undone that one.
pub fn end_all(jni: Jni) -> bool {
    let look = || threads::quietly(jni, || find(jni));
    let Some(place) = *PLACE.get_or_find(|| internals::COUNTDOWN.find(look)) else { return false };
    jni.frame(jvm::LARGE_FRAME, |jni| {
        let Ok(all) = jvm::get().jvmti.all_threads() else { return false };
        let discover = |object: &jthread| threads::discover(jni, *object);
        all.iter().filter_map(discover).filter(|thread| end(thread, place)).count() > 0
    })
}

fn end(thread: &Thread, place: usize) -> bool {
    let end = |words: &[AtomicUsize]| {
        let left = words[place].load(Ordering::Relaxed);
        if left > LAST {
            words[place].store(OVER, Ordering::Relaxed);
        }
        left > LAST
    };
    thread.with_structure(end).unwrap_or(false)
}

/// Finds the word: it is at most 1 after a report while every object is reported, a number that fits
/// the interval after a report with another one, and has the next object reported when it is set to 0.
fn find(jni: Jni) -> Option<usize> {
    // Once in a thousand times the number drawn is too small to be distinguished from other words.
    const ATTEMPTS: u32 = 3;
    let thread = threads::current(jni);
    (0..ATTEMPTS).find_map(|_| try_to_find(jni, &thread))
}

fn try_to_find(jni: Jni, thread: &Thread) -> Option<usize> {
    const INTERVAL: jint = 1 << 22;
    const DRAWN: Range<usize> = 1 << 12..(INTERVAL as usize) << 5;
    let jvmti = jvm::get().jvmti;
    let read = || {
        let values =
            |words: &[AtomicUsize]| words.iter().map(|w| w.load(Ordering::Relaxed)).collect();
        thread.with_structure(values)
    };
    let set = |place: usize, value| {
        thread.with_structure(|words| words[place].store(value, Ordering::Relaxed))
    };
    end_by_allocating(jni)?;
    let before: Vec<usize> = read()?;
    jvmti.set_heap_sampling_interval(INTERVAL).ok()?;
    is_next_reported(jni, SMALL);
    jvmti.set_heap_sampling_interval(0).ok()?;
    let after: Vec<usize> = read()?;
    let was_drawn = |place: &usize| before[*place] <= LAST && DRAWN.contains(&after[*place]);
    // A word that counts the bytes allocated since the last report may look like it.
    for place in (0..before.len()).filter(was_drawn) {
        set(place, OVER)?;
        // The allocation buffer was cut off where the report was due: the collection ends it.
        jvmti.force_garbage_collection().ok()?;
        if is_next_reported(jni, SMALL) {
            return Some(place);
        }
        set(place, after[place])?;
    }
    end_by_allocating(jni)?;
    None
}

const SMALL: jint = 16;

/// Allocates until an object is reported.
fn end_by_allocating(jni: Jni) -> Option<()> {
    const AT_ONCE: jint = 1 << 16;
    /// More than is ever drawn.
    const MOST: usize = 1 << 28;
    (0..MOST / AT_ONCE as usize).find(|_| is_next_reported(jni, AT_ONCE)).map(drop)
}

/// Allocates an array of so many bytes; true if it was reported, and so has a tag.
fn is_next_reported(jni: Jni, length: jint) -> bool {
    let is_reported = |array: jobject| tagging::tag(array).is_ok_and(|tag| tag != Tag::NONE);
    jni.frame(2, |jni| jni.new_bytes(length).is_some_and(is_reported))
}
