//! Values of fields and of array elements.

use super::jni::{FieldId, Jni};
use super::jvmti::heap::Primitive;
use jni_sys::{jclass, jint, jobject};

/// The object or class that contains a field.
#[derive(Clone, Copy)]
pub enum Holder {
    /// An object, for an instance field.
    Object(jobject),
    /// A class, for a static field.
    Class(jclass),
}

/// Defines functions that read a primitive value. Each row has the JNI functions for one descriptor character.
macro_rules! getters {
    ($($descriptor:literal $variant:ident $instance:ident $statics:ident $region:ident;)*) => {
        impl Jni {
            /// Returns the value of a field of the primitive type with this descriptor.
            pub fn primitive_field(
                self,
                holder: Holder,
                field: FieldId,
                descriptor: u8,
            ) -> Option<Primitive> {
                let env = self.env();
                // SAFETY: the functions exist since JNI 1.2, and the environment is that of this thread. The callers
                // pass a live object or class, and a field of it with this type.
                unsafe {
                    Some(match (descriptor, holder) {
                        $(($descriptor, Holder::Object(object)) => {
                            Primitive::$variant(((**env).v1_2.$instance)(env, object, field.0))
                        }
                        ($descriptor, Holder::Class(class)) => {
                            Primitive::$variant(((**env).v1_2.$statics)(env, class, field.0))
                        })*
                        _ => return None,
                    })
                }
            }

            /// Copies elements of an array of the primitive type with this descriptor, from index `first` on, in the
            /// host's byte order. Returns the number of elements, at most one per entry of `to`.
            pub fn primitive_elements(
                self,
                array: jobject,
                descriptor: u8,
                first: jint,
                to: &mut [u64],
            ) -> usize {
                let (env, start) = (self.env(), to.as_mut_ptr());
                let left = self.array_length(array) - first;
                let count = left.clamp(0, jint::try_from(to.len()).unwrap_or(jint::MAX));
                // SAFETY: as above, with an array that has these elements. No type is larger than an entry or has a
                // stricter alignment.
                unsafe {
                    match descriptor {
                        $($descriptor => ((**env).v1_2.$region)(env, array, first, count, start.cast()),)*
                        _ => return 0,
                    }
                }
                count as usize
            }
        }
    };
}

impl Jni {
    /// Returns the value of a reference field as a local reference.
    pub fn reference_field(self, holder: Holder, field: FieldId) -> jobject {
        match holder {
            Holder::Object(object) => self.object_field(object, field),
            Holder::Class(class) => self.static_object_field(class, field),
        }
    }
}

getters! {
    b'Z' Boolean GetBooleanField GetStaticBooleanField GetBooleanArrayRegion;
    b'B' Byte GetByteField GetStaticByteField GetByteArrayRegion;
    b'C' Char GetCharField GetStaticCharField GetCharArrayRegion;
    b'S' Short GetShortField GetStaticShortField GetShortArrayRegion;
    b'I' Int GetIntField GetStaticIntField GetIntArrayRegion;
    b'J' Long GetLongField GetStaticLongField GetLongArrayRegion;
    b'F' Float GetFloatField GetStaticFloatField GetFloatArrayRegion;
    b'D' Double GetDoubleField GetStaticDoubleField GetDoubleArrayRegion;
}
