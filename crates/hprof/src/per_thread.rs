//! What each thread keeps for itself.

use crate::call_times::CallTimes;
use crate::cpu_clock::CpuClock;
use crate::objects::Cursor;
use crate::session::Session;
use crate::sites::Allocations;
use jvmpi::{Frame, Frames};
use profile::ThreadSerial;
use std::sync::Arc;
use std::time::Instant;

/// What a thread keeps for itself, in one session.
#[derive(Debug)]
pub struct Own {
    /// The session that it is for.
    pub session: Arc<Session>,
    /// The [`epoch`](crate::agent::Shared) that it has seen.
    pub epoch: u32,
    /// The number of the thread.
    pub serial: ThreadSerial,
    /// Room for a trace.
    pub frames: Frames,
    /// Where it allocates.
    pub allocations: Allocations<Frame>,
    /// Where its last object was written.
    pub cursor: Cursor,
    /// The calls that it is in.
    pub calls: CallTimes,
    /// When they begin and end.
    pub clock: CpuClock,
    /// The monitor that it waits for, and since when.
    pub waits: Option<(Waited, Instant)>,
}

/// A monitor that is waited for, as events name it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Waited {
    /// That of an object.
    Java(u64),
    /// A raw monitor.
    Raw(u64),
}

impl Own {
    /// The data of a thread that has done nothing yet in the session, which hears of it.
    pub fn new(session: Arc<Session>, epoch: u32, env: usize, serial: ThreadSerial) -> Self {
        let own = Self {
            epoch,
            serial,
            frames: Frames::with_depth(session.depth()),
            allocations: Allocations::default(),
            cursor: Cursor::default(),
            calls: CallTimes::new(session.options.depth),
            clock: CpuClock::default(),
            waits: None,
            session,
        };
        own.session.add_thread(env, serial, own.calls.costs(), own.allocations.counts());
        own
    }
}
