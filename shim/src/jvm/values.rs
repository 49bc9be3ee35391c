//! Values of fields and of arrays' elements.

use super::jni::{FieldId, Jni};
use super::jvmti::heap::Primitive;
use jni_sys::{jclass, jint, jobject};

/// Where a field's value is.
#[derive(Clone, Copy)]
pub enum Holder {
    /// An instance field's in an object.
    Object(jobject),
    /// A static field's in its class.
    Class(jclass),
}

/// For the first character of a descriptor the functions that get a value of the type.
macro_rules! getters {
    ($($descriptor:literal $variant:ident $instance:ident $statics:ident $region:ident;)*) => {
        impl Jni {
            /// The value of a field of the primitive type with this descriptor.
            pub fn primitive_field(
                self,
                holder: Holder,
                field: FieldId,
                descriptor: u8,
            ) -> Option<Primitive> {
                let env = self.env();
                // SAFETY: the slots exist since JNI 1.2, the environment is that of this thread, and
                // the callers pass a live object or class and a field that it has, of this type.
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

            /// Copies elements of an array of the primitive type with this descriptor, from `first` on
            /// at most one for each place of `to`, in the host's byte order; how many.
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
                // SAFETY: as above, with an array that has the elements; no type is wider than a
                // place, nor has to be aligned better.
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
    /// The value of a reference field, in the current frame.
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
