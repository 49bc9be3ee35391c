//! Monitor dumps.

use crate::dump::Id;
use crate::dump::buffer::{Buffer, Full};
use crate::dump::cursor::{self, Cursor, Malformed, Reason};
use crate::dump::heap::Ids;

/// The kind of a monitor.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// The monitor of a Java object.
    Java {
        /// The object.
        object: Id,
    },
    /// A JVMPI raw monitor.
    Raw {
        /// The address of its name in the process that made the dump.
        name: Id,
        /// The `JVMPI_RawMonitor` itself.
        monitor: Id,
    },
}

/// A monitor. Threads are identified by their environments.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Monitor {
    /// The kind of the monitor.
    pub kind: Kind,
    /// The thread that owns it; NULL if none does.
    pub owner: Id,
    /// The number of times that the owner has entered it.
    pub entry_count: u32,
    /// The threads that wait to enter.
    pub waiting_to_enter: Vec<Id>,
    /// The threads that wait to be notified.
    pub waiting_to_be_notified: Vec<Id>,
}

/// `JVMPI_MONITOR_JAVA`
const JAVA: u8 = 1;
/// `JVMPI_MONITOR_RAW`
const RAW: u8 = 2;

/// Appends a monitor to a dump.
pub fn write_monitor(buffer: &mut Buffer, monitor: &Monitor) -> Result<(), Full> {
    match monitor.kind {
        Kind::Java { object } => {
            buffer.append(&[JAVA])?;
            buffer.append(&object.to_ne_bytes())?;
        }
        Kind::Raw { name, monitor } => {
            buffer.append(&[RAW])?;
            buffer.append(&name.to_ne_bytes())?;
            buffer.append(&monitor.to_ne_bytes())?;
        }
    }
    buffer.append(&monitor.owner.to_ne_bytes())?;
    buffer.append(&monitor.entry_count.to_be_bytes())?;
    for threads in [&monitor.waiting_to_enter, &monitor.waiting_to_be_notified] {
        buffer.append(&u32::try_from(threads.len()).map_err(|_| Full)?.to_be_bytes())?;
        for thread in threads {
            buffer.append(&thread.to_ne_bytes())?;
        }
    }
    Ok(())
}

/// Returns the monitors in `dump`.
pub fn read_monitors(dump: &[u8]) -> impl Iterator<Item = Result<Monitor, Malformed>> {
    cursor::records(dump, monitor)
}

fn monitor(cursor: &mut Cursor<'_>) -> Result<Monitor, Reason> {
    let kind = match cursor.u1()? {
        JAVA => Kind::Java { object: cursor.id()? },
        RAW => Kind::Raw { name: cursor.id()?, monitor: cursor.id()? },
        other => return Err(format!("unknown monitor kind {other}")),
    };
    let (owner, entry_count) = (cursor.id()?, cursor.u4()?);
    let threads = |cursor: &mut Cursor<'_>| {
        let count = cursor.u4()? as usize;
        Ok::<_, Reason>(Ids::new(cursor.ids(count)?).iter().collect())
    };
    Ok(Monitor {
        kind,
        owner,
        entry_count,
        waiting_to_enter: threads(cursor)?,
        waiting_to_be_notified: threads(cursor)?,
    })
}
