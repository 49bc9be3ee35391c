//! The table of JNI functions that all threads use, and the functions that were in it before the
//! shim replaced any.

use super::Result;
use jni_sys::JNINativeInterface__1_2;
use std::sync::OnceLock;

/// The functions of JNI 1.2, which every table has.
pub type Functions = JNINativeInterface__1_2;

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
pub fn edit(edit: impl FnOnce(&mut Functions, &Functions)) -> Result<()> {
    let jvmti = super::get().jvmti;
    let mut table = jvmti.jni_function_table()?;
    let originals = ORIGINALS.get_or_init(|| Originals(*table.functions()));
    edit(table.functions(), &originals.0);
    jvmti.set_jni_function_table(&table)
}
