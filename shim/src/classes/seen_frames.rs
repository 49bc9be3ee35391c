//! A per-thread cache of frames, because call traces contain the same frames again and again.

use super::methods::{self, Method};
use jni_sys::jint;
use jvm::Jni;
use jvm::types::jvmtiFrameInfo;
use rustc_hash::FxBuildHasher;
use std::cell::Cell;
use std::hash::BuildHasher;
use std::sync::Arc;

/// A cached frame.
pub struct SeenFrame {
    method: usize,
    location: i64,
    /// The method.
    pub record: Arc<Method>,
    /// The line number that agents get.
    pub lineno: jint,
}

/// The frames that one thread has seen most recently. Each frame has only one place in the cache.
pub struct SeenFrames {
    /// The [`methods::generation`] in which the frames were found.
    generation: u64,
    places: Box<[Option<SeenFrame>]>,
}

const PLACES: usize = 512;

thread_local! {
    static SEEN: Cell<Option<SeenFrames>> = const { Cell::new(None) };
}

impl SeenFrames {
    /// Takes the cache of the current thread until it is put back. Returns an empty one if it is in use.
    pub fn take() -> Self {
        let seen = SEEN.try_with(Cell::take).ok().flatten();
        seen.unwrap_or_else(|| Self {
            generation: methods::generation(),
            places: std::iter::repeat_with(|| None).take(PLACES).collect(),
        })
    }

    /// Returns the cache for the next trace of the current thread.
    pub fn put_back(self) {
        // At the end of the thread there is no next trace.
        let _ = SEEN.try_with(|seen| seen.set(Some(self)));
    }

    /// Returns the cached frame, or else the one that `find` finds. The argument of `find` is true if the
    /// method has got new code since the frame was cached. `runs` as for [`methods::as_it_is`].
    pub fn find(
        &mut self,
        jni: Jni,
        frame: &jvmtiFrameInfo,
        runs: bool,
        find: impl FnOnce(bool) -> Option<Arc<Method>>,
    ) -> Option<&SeenFrame> {
        let generation = methods::generation();
        if self.generation != generation {
            // The ID of an unloaded method may belong to another method now.
            self.places.fill_with(|| None);
            self.generation = generation;
        }
        let jvmtiFrameInfo { method, location } = *frame;
        let place = FxBuildHasher.hash_one((method.addr(), location)) as usize % PLACES;
        let place = &mut self.places[place];
        let is_it = |seen: &&SeenFrame| seen.method == method.addr() && seen.location == location;
        let known = place.as_ref().filter(is_it);
        let is_replaced = known.map(|seen| seen.record.is_replaced(jni, runs));
        if is_replaced != Some(false) {
            let record = find(is_replaced == Some(true))?;
            let lineno = record.lineno(location);
            *place = Some(SeenFrame { method: method.addr(), location, record, lineno });
        }
        place.as_ref()
    }
}
