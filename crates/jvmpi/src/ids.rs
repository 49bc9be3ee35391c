//! What threads, objects, classes, methods and the like are known by.
//!
//! An ID is valid from the event that defines it to the one that undefines it. A function that is
//! given another one does nothing or says that there is no such thing.

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

        // SAFETY: nothing is read through it; what it stands for belongs to the VM, which takes it
        // from any thread.
        unsafe impl Send for $name {}
        // SAFETY: as above.
        unsafe impl Sync for $name {}

        impl $name {
            pub(crate) fn of(pointer: $pointer) -> Option<Self> {
                NonNull::new(pointer).map(Self)
            }

            /// As C has it.
            pub fn as_ptr(self) -> $pointer {
                self.0.as_ptr()
            }

            /// As a number, which is how dumps tell it; never 0.
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
            /// The one with this number, as a dump tells it; None for 0, which stands for NULL.
            pub fn from_usize(number: usize) -> Option<Self> {
                NonNull::new(std::ptr::without_provenance_mut(number)).map(Self)
            }
        }
    };
}

id! {
    /// An object, be it an instance, an array, a thread or a class.
    ///
    /// Defined by OBJECT_ALLOC, undefined by OBJECT_FREE, OBJECT_MOVE and ARENA_DELETE.
    ObjectId: _jobjectID, jobjectID
}
id! {
    /// A class: the ID of its Class object.
    ///
    /// Defined by CLASS_LOAD, undefined by CLASS_UNLOAD and OBJECT_MOVE.
    ClassId: _jobjectID, jobjectID
}
id! {
    /// A thread: its `JNIEnv *`.
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
    /// A JNI global reference, or a weak one.
    ///
    /// Defined by JNI_GLOBALREF_ALLOC, undefined by JNI_GLOBALREF_FREE, or the weak pair.
    ReferenceId: jni_sys::_jobject, jobject
}
id! {
    /// A raw monitor, of whichever agent.
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
    /// The class whose Class object it is, if it is one.
    pub fn as_class(self) -> ClassId {
        ClassId(self.0)
    }
}

/// An arena: a part of the heap.
///
/// Defined by ARENA_NEW, undefined by ARENA_DELETE.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ArenaId(pub jint);
