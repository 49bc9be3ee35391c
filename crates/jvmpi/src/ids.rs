//! The IDs of threads, objects, classes, methods, references and raw monitors.
//!
//! An ID is valid from the event that defines it until the event that undefines it. A function that gets an
//! invalid ID has no effect, or returns that there is no such thing.

use jni_sys::{_jmethodID, JNIEnv, jint, jmethodID, jobject};
use jvmpi_sys::{_JVMPI_RawMonitor, _jobjectID, JVMPI_RawMonitor, jobjectID};
use std::fmt;
use std::ptr::NonNull;

macro_rules! id {
    ($(#[doc = $what:literal])* $name:ident: $target:ty, $pointer:ty) => {
        $(#[doc = $what])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(transparent)]
        pub struct $name(NonNull<$target>);

        // SAFETY: the pointer is never dereferenced here. The VM accepts the ID from any thread.
        unsafe impl Send for $name {}
        // SAFETY: as above.
        unsafe impl Sync for $name {}

        impl $name {
            pub(crate) fn of(pointer: $pointer) -> Option<Self> {
                NonNull::new(pointer).map(Self)
            }

            /// Returns the ID as the C interface has it.
            pub fn as_ptr(self) -> $pointer {
                self.0.as_ptr()
            }

            /// Returns the ID as a number, as it appears in dumps. It is never 0.
            pub fn as_usize(self) -> usize {
                self.0.as_ptr().addr()
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}({:#x})", stringify!($name), self.as_usize())
            }
        }
    };
}

macro_rules! from_number {
    ($name:ident) => {
        impl $name {
            /// Converts a number from a dump to an ID. Returns `None` for 0, which stands for NULL.
            pub fn from_usize(number: usize) -> Option<Self> {
                NonNull::new(std::ptr::without_provenance_mut(number)).map(Self)
            }
        }
    };
}

id! {
    /// An object: an instance, an array, a Thread object or a Class object.
    ///
    /// Defined by OBJECT_ALLOC, undefined by OBJECT_FREE, OBJECT_MOVE and ARENA_DELETE.
    ObjectId: _jobjectID, jobjectID
}
id! {
    /// A class, identified by its Class object.
    ///
    /// Defined by CLASS_LOAD, undefined by CLASS_UNLOAD and OBJECT_MOVE.
    ClassId: _jobjectID, jobjectID
}
id! {
    /// A thread, identified by its `JNIEnv *`.
    ///
    /// Defined by THREAD_START, undefined by THREAD_END.
    ThreadId: JNIEnv, *mut JNIEnv
}
id! {
    /// A method.
    ///
    /// Defined by CLASS_LOAD, undefined by CLASS_UNLOAD.
    MethodId: _jmethodID, jmethodID
}
id! {
    /// A JNI global or weak global reference.
    ///
    /// Defined by JNI_GLOBALREF_ALLOC, undefined by JNI_GLOBALREF_FREE; weak ones by the two JNI_WEAK events.
    ReferenceId: jni_sys::_jobject, jobject
}
id! {
    /// A raw monitor, of any agent.
    RawMonitorId: _JVMPI_RawMonitor, JVMPI_RawMonitor
}

from_number!(ObjectId);
from_number!(ClassId);
from_number!(ThreadId);

impl From<ClassId> for ObjectId {
    fn from(class: ClassId) -> Self {
        Self(class.0)
    }
}

impl ObjectId {
    /// Converts the ID of a Class object to the ID of that class. Whether it is a Class object is not checked.
    pub fn as_class(self) -> ClassId {
        ClassId(self.0)
    }
}

/// An arena: a part of the heap.
///
/// Defined by ARENA_NEW, undefined by ARENA_DELETE.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ArenaId(pub jint);
