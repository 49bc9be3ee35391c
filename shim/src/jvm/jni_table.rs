//! The table of JNI functions that all threads use, and the functions that were in it before the
//! shim replaced any.

use super::error::Result;
use super::jvmti::{Allocated, Jvmti, jvmti};
use jni_sys::{JNINativeInterface_, JNINativeInterface__1_2};
use std::ptr;
use std::sync::OnceLock;

/// The functions of JNI 1.2, which every table has.
pub type Functions = JNINativeInterface__1_2;

/// A copy of the table, which is as long as the VM's version of JNI makes it.
struct Table(Allocated<JNINativeInterface_>);

impl Table {
    fn functions(&mut self) -> &mut Functions {
        // SAFETY: JVMTI returned the table, which is ours alone and begins with these.
        unsafe { &mut (*self.0.start()).v1_2 }
    }
}

fn copy(jvmti: Jvmti) -> Result<Table> {
    let mut table = ptr::null_mut();
    jvmti!(jvmti, GetJNIFunctionTable, &mut table)?;
    Ok(Table(jvmti.array(table, 1)))
}

struct Originals(Functions);

// SAFETY: the table is function pointers and reserved words that nobody writes.
unsafe impl Send for Originals {}
// SAFETY: as above.
unsafe impl Sync for Originals {}

static ORIGINALS: OnceLock<Originals> = OnceLock::new();

/// The functions as they were, None as long as none has been replaced.
pub fn originals() -> Option<&'static Functions> {
    ORIGINALS.get().map(|originals| &originals.0)
}

/// Makes all threads use the table as `edit` leaves it, given the functions as they were. Only one
/// thread at a time may call this.
pub fn edit(jvmti: Jvmti, edit: impl FnOnce(&mut Functions, &Functions)) -> Result<()> {
    let mut table = copy(jvmti)?;
    let originals = ORIGINALS.get_or_init(|| Originals(*table.functions()));
    edit(table.functions(), &originals.0);
    jvmti!(jvmti, SetJNIFunctionTable, table.0.start())
}
