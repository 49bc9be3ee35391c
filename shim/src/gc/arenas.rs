//! The arena models: the arena in which agents see an object, and the moves of survivors.
//!
//! JVMTI does not report how collectors move objects, so arenas are a model for testing agents with
//! moves. `single`: everything is in arena 1. `generational`: survivors of a collection move from arena
//! 1 to arena 2. `copying`: survivors move to a new arena and get new IDs there, and the old arena is
//! deleted with everything left in it. Classes and threads live in arena 1, which stays.

use super::deaths;
use crate::records::announced::Announced;
use crate::records::ids::{self, Tag};
use crate::sync::{bounded_wait, contention};
use crate::{classes, threads};
use jni_sys::jint;
use jvm::types::JVMTI_HEAP_FILTER_UNTAGGED;
use jvmpi_settings::Arenas;
use jvmpi_sys::jobjectID;
use std::ffi::CStr;
use std::sync::atomic::{AtomicI32, Ordering};

/// The arena of all objects, of young objects, or of classes and threads.
const FIRST: jint = 1;
/// The arena of old objects, or the first semi-space.
const SECOND: jint = 2;

/// The arena in which objects are allocated.
static OF_NEW_OBJECTS: AtomicI32 = AtomicI32::new(FIRST);

/// Chooses the model of the settings, before the first object is announced.
pub fn begin() {
    if model() == Arenas::Copying {
        OF_NEW_OBJECTS.store(SECOND, Ordering::Relaxed);
    }
}

fn model() -> Arenas {
    jvmpi_settings::get().arenas
}

pub fn all() -> impl Iterator<Item = jint> {
    let second = match model() {
        Arenas::Single => None,
        Arenas::Generational => Some(SECOND),
        Arenas::Copying => Some(of_new_objects()),
    };
    [FIRST].into_iter().chain(second)
}

pub fn name(arena: jint) -> &'static CStr {
    match (model(), arena) {
        (Arenas::Single, _) => c"Java heap",
        (Arenas::Generational, FIRST) => c"young",
        (Arenas::Generational, _) => c"old",
        (Arenas::Copying, FIRST) => c"permanent",
        (Arenas::Copying, _) => c"space",
    }
}

/// Returns the agents that have got ARENA_NEW of an arena.
pub fn announced(arena: jint) -> &'static Announced {
    // At most two semi-spaces exist at a time.
    static ANNOUNCED: [Announced; 3] = [const { Announced::new() }; 3];
    &ANNOUNCED[if arena == FIRST { 0 } else { 1 + arena as usize % 2 }]
}

fn of_new_objects() -> jint {
    OF_NEW_OBJECTS.load(Ordering::Relaxed)
}

/// Returns the arena of the object with this tag. `stays` is true for classes, which never move.
pub fn of(tag: Tag, stays: bool) -> jint {
    if stays {
        FIRST
    } else if !tag.has_moved() {
        of_new_objects()
    } else if model() == Arenas::Generational {
        SECOND
    } else {
        FIRST
    }
}

/// An object that moves.
pub struct Move {
    /// The object's tag before it moved.
    pub from: Tag,
    pub arena: jint,
    pub new_arena: jint,
    pub new_id: jobjectID,
}

/// The changes that a collection makes to arenas.
#[derive(Default)]
pub struct Changes {
    pub moves: Vec<Move>,
    /// An arena that is deleted when its survivors have moved.
    pub deleted: Option<jint>,
}

/// Creates the arena to which the next [`collect`] moves the survivors, if the model uses a new one.
pub fn make_next() -> Option<jint> {
    (model() == Arenas::Copying).then(|| {
        let next = of_new_objects() + 1;
        announced(next).reset();
        next
    })
}

/// Returns true if the object, which is no class, was left in an arena that has been deleted.
pub fn is_deleted(tag: Tag) -> bool {
    model() == Arenas::Copying && !tag.has_moved() && ids::is_of_earlier_generation(tag)
}

/// Moves the survivors of a collection. No event may be in flight, because IDs may change.
pub fn collect() -> Changes {
    match model() {
        Arenas::Single => Changes::default(),
        Arenas::Generational => Changes {
            moves: survivors(|tag| (!tag.has_moved()).then(|| (tag.moved(true), FIRST, SECOND))),
            ..Changes::default()
        },
        Arenas::Copying => {
            let old = OF_NEW_OBJECTS.fetch_add(1, Ordering::Relaxed);
            let new = old + 1;
            ids::begin_generation();
            let moves = survivors(|tag| {
                let stays = tag.has_moved() || classes::by_id(tag.id()).is_some();
                if stays {
                    return None;
                }
                let stays_with_threads = || Some((tag.moved(true), old, FIRST));
                if threads::by_id(tag.id()).is_some() {
                    return stays_with_threads();
                }
                let Ok(fresh) = ids::fresh() else { return stays_with_threads() };
                ids::count_death();
                let renamed = tag.renamed(fresh);
                contention::rename(tag.id(), renamed.id());
                Some((renamed, old, new))
            });
            Changes { moves, deleted: Some(old) }
        }
    }
}

/// Visits every object that may be announced. `place` returns its new tag, its old arena and its new
/// arena; None if it stays.
fn survivors(mut place: impl FnMut(Tag) -> Option<(Tag, jint, jint)>) -> Vec<Move> {
    let mut moves = Vec::new();
    let visit = |_class, raw: &mut i64, _size| {
        bounded_wait::count_step();
        let from = Tag::from_raw(*raw);
        if from == Tag::OWN || threads::is_hidden_object(from.id()) {
            return;
        }
        if let Some((to, arena, new_arena)) = place(from) {
            *raw = to.raw();
            moves.push(Move { from, arena, new_arena, new_id: to.id() });
        }
    };
    let walked = deaths::during_walk(|| {
        jvm::get().jvmti.iterate_through_heap(JVMTI_HEAP_FILTER_UNTAGGED as jint, visit)
    });
    if let Err(error) = walked {
        // At the end of the VM no more objects move.
        log::debug!("objects stay in their arenas: {error}");
    }
    moves
}
