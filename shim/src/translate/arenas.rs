//! ARENA_NEW outside of collections.

use crate::gc::arenas;
use crate::notify::Delivery;
use crate::records::agents::Agent;
use crate::sync::announcements;
use crate::threads::Thread;
use jni_sys::jint;
use jvmpi_sys::{JVMPI_EVENT_ARENA_NEW, JVMPI_Event_new_arena};

/// Announces the existing arenas, on the current thread.
pub fn announce_all(agent: &Agent, thread: &Thread) {
    arenas::all().for_each(|arena| announce(agent, thread, arena));
}

/// Announces an arena that an event is about to name, unless the agent has received its
/// ARENA_NEW. The current thread must be announced already.
#[inline]
pub fn announce(agent: &Agent, thread: &Thread, arena: jint) {
    if agent.wants(JVMPI_EVENT_ARENA_NEW) && !arenas::announced(arena).to(agent) {
        announce_now(agent, thread, arena);
    }
}

#[cold]
fn announce_now(agent: &Agent, thread: &Thread, arena: jint) {
    if let Some(delivery) = Delivery::begin_to(agent, thread, JVMPI_EVENT_ARENA_NEW) {
        announcements::once(arenas::announced(arena), agent, || {
            delivery.send(agent, event(arena));
        });
    }
}

pub fn event(arena: jint) -> JVMPI_Event_new_arena {
    JVMPI_Event_new_arena { arena_id: arena, arena_name: arenas::name(arena).as_ptr().cast_mut() }
}
