//! The JNI function table that all threads use, and the original functions that the shim has replaced.

use super::jvmti::{Allocated, Jvmti, Result, jvmti};
use jni_sys::{JNINativeInterface_, JNINativeInterface__1_2};
use std::ptr;
use std::sync::OnceLock;

/// The functions of JNI 1.2, which every table contains.
pub type Functions = JNINativeInterface__1_2;

/// A copy of the table. Its length depends on the VM's version of JNI.
struct Table(Allocated<JNINativeInterface_>);

impl Table {
    fn functions(&mut self) -> &mut Functions {
        // SAFETY: JVMTI returned the table, which only this code owns and which begins with these functions.
        unsafe { &mut (*self.0.start()).v1_2 }
    }
}

fn copy(jvmti: Jvmti) -> Result<Table> {
    let mut table = ptr::null_mut();
    jvmti!(jvmti, GetJNIFunctionTable, &mut table)?;
    Ok(Table(jvmti.array(table, 1)))
}

struct Originals(Functions);

// SAFETY: the table consists of function pointers and reserved words that are never written.
unsafe impl Send for Originals {}
// SAFETY: as above.
unsafe impl Sync for Originals {}

static ORIGINALS: OnceLock<Originals> = OnceLock::new();

/// Returns the original functions, or `None` while none has been replaced.
pub fn originals() -> Option<&'static Functions> {
    ORIGINALS.get().map(|originals| &originals.0)
}

/// Installs a function table for all threads. `edit` changes the current table and also gets the original functions.
/// Only one thread at a time may call this.
pub fn edit(jvmti: Jvmti, edit: impl FnOnce(&mut Functions, &Functions)) -> Result<()> {
    let mut table = copy(jvmti)?;
    let originals = ORIGINALS.get_or_init(|| Originals(*table.functions()));
    edit(table.functions(), &originals.0);
    jvmti!(jvmti, SetJNIFunctionTable, table.0.start())
}
