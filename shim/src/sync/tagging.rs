//! Gives objects their IDs, which are kept in the objects' JVMTI tags ([`ids`]).

use super::vm_locks;
use crate::records::ids::{self, Tag};
use jni_sys::jobject;
use jvm::Result;
use jvmpi_sys::jobjectID;

/// Returns the object's tag, and gives the object an ID if it has none.
pub fn identify(object: jobject) -> Result<Tag> {
    let known = ids::tag(object)?;
    let has_id = !known.id().is_null() || object.is_null();
    if has_id { Ok(known) } else { update(object, |tag| tag) }
}

/// Gives the object an ID if it has none, and changes its tag. Returns the new tag.
pub fn update(object: jobject, change: impl FnOnce(Tag) -> Tag) -> Result<Tag> {
    let _lock = vm_locks::for_tags();
    let before = ids::tag(object)?;
    let identified = if before.id().is_null() { ids::fresh()? } else { before };
    let after = change(identified);
    if after != before {
        jvm::get().jvmti.set_tag(object, after.raw())?;
    }
    Ok(after)
}

/// Returns the object's ID, and gives the object one if it has none. NULL for NULL.
pub fn id_of(object: jobject) -> Result<jobjectID> {
    identify(object).map(Tag::id)
}
