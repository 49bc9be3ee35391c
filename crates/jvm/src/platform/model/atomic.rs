//! Atomics whose stores are late.

#![allow(dead_code, reason = "each type has all operations")]

use super::machine::{self, Store};
use std::sync::atomic as memory;

pub use std::sync::atomic::Ordering;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release, SeqCst};

/// Orders the stores of the current thread before its later accesses.
pub fn fence(order: Ordering) {
    machine::step();
    if order != Acquire {
        machine::commit_all();
    }
}

/// Keeps the compiler from moving the stores of the current thread behind its later accesses.
pub fn compiler_fence(order: Ordering) {
    if order != Acquire {
        machine::execute_all();
    }
}

/// Begins an operation that loads and stores, and makes the stores reach memory that it orders before itself.
fn begin_update(place: usize, order: Ordering) {
    machine::step();
    match order {
        Release | AcqRel | SeqCst => machine::commit_all(),
        _ => machine::commit_to(place),
    }
}

macro_rules! atomics {
    ($($(#[$about:meta])* $name:ident $(<$parameter:ident>)?: $value:ty, $to_bits:expr, $from_bits:expr;)*) => {
        $(
            $(#[$about])*
            pub struct $name $(<$parameter>)? (memory::$name $(<$parameter>)?);

            impl $(<$parameter>)? $name $(<$parameter>)? {
                pub const fn new(value: $value) -> Self {
                    Self(memory::$name::new(value))
                }

                fn place(&self) -> usize {
                    (&raw const self.0).expose_provenance()
                }

                fn write(place: usize, bits: u64) {
                    let place = std::ptr::with_exposed_provenance::<memory::$name $(<$parameter>)?>(place);
                    // SAFETY: the place is that of an atomic of this type, which forgets its stores when it is dropped.
                    unsafe { &*place }.store($from_bits(bits), SeqCst);
                }

                pub fn into_inner(self) -> $value {
                    self.load(SeqCst)
                }

                pub fn load(&self, _: Ordering) -> $value {
                    machine::step();
                    machine::own_store(self.place()).map_or_else(|| self.0.load(SeqCst), $from_bits)
                }

                pub fn store(&self, value: $value, order: Ordering) {
                    machine::step();
                    machine::store(Store {
                        place: self.place(),
                        bits: $to_bits(value),
                        write: Self::write,
                        is_release: order != Relaxed,
                        is_executed: false,
                    });
                    if order == SeqCst {
                        machine::commit_all();
                    }
                }

                pub fn swap(&self, value: $value, order: Ordering) -> $value {
                    begin_update(self.place(), order);
                    self.0.swap(value, SeqCst)
                }

                pub fn compare_exchange(
                    &self,
                    current: $value,
                    new: $value,
                    success: Ordering,
                    _: Ordering,
                ) -> Result<$value, $value> {
                    begin_update(self.place(), success);
                    self.0.compare_exchange(current, new, SeqCst, SeqCst)
                }

                pub fn fetch_update(
                    &self,
                    success: Ordering,
                    _: Ordering,
                    change: impl FnMut($value) -> Option<$value>,
                ) -> Result<$value, $value> {
                    begin_update(self.place(), success);
                    self.0.fetch_update(SeqCst, SeqCst, change)
                }
            }

            impl $(<$parameter>)? Drop for $name $(<$parameter>)? {
                fn drop(&mut self) {
                    machine::forget(self.place());
                }
            }
        )*
    };
}

atomics! {
    #[derive(Default, Debug)]
    AtomicBool: bool, |value| value as u64, |bits| bits != 0;
    #[derive(Default, Debug)]
    AtomicU8: u8, |value| value as u64, |bits| bits as u8;
    #[derive(Default, Debug)]
    AtomicI32: i32, |value| value as u64, |bits| bits as i32;
    #[derive(Default, Debug)]
    AtomicU32: u32, |value| value as u64, |bits| bits as u32;
    #[derive(Default, Debug)]
    AtomicU64: u64, |value| value, |bits| bits;
    #[derive(Default, Debug)]
    AtomicUsize: usize, |value| value as u64, |bits| bits as usize;
    #[derive(Debug)]
    AtomicPtr<T>: *mut T, |value: *mut T| value.expose_provenance() as u64,
        |bits| std::ptr::with_exposed_provenance_mut(bits as usize);
}

impl<T> Default for AtomicPtr<T> {
    fn default() -> Self {
        Self::new(std::ptr::null_mut())
    }
}

/// The operations of numbers.
macro_rules! numbers {
    ($($name:ident: $value:ty { $($operation:ident)* })*) => {
        $(
            impl $name {
                $(
                    pub fn $operation(&self, value: $value, order: Ordering) -> $value {
                        begin_update(self.place(), order);
                        self.0.$operation(value, SeqCst)
                    }
                )*
            }
        )*
    };
}

numbers! {
    AtomicU8: u8 { fetch_or fetch_and }
    AtomicI32: i32 { fetch_add fetch_sub }
    AtomicU32: u32 { fetch_add fetch_sub }
    AtomicU64: u64 { fetch_add fetch_sub }
    AtomicUsize: usize { fetch_add fetch_sub }
}
