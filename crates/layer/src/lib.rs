//! Layers between an agent and JVMPI.
//!
//! A layer sees every call of an agent on its way down and every event on its way up, and may answer,
//! change or drop it. It needs nothing but the interface, so it works on every implementation of JVMPI,
//! and one layer on another.
//!
//! ```
//! use jni_sys::jint;
//! use jvmpi_sys::*;
//! use layer::{Layer, Neighbours, Slots};
//! use std::ffi::c_void;
//!
//! /// Prints what the agent enables, and keeps the ends of methods from it.
//! struct NoExits;
//!
//! impl Layer for NoExits {
//!     fn slots() -> &'static Slots<Self> {
//!         static SLOTS: Slots<NoExits> = Slots::new();
//!         &SLOTS
//!     }
//!
//!     unsafe fn EnableEvent(&self, next: &Neighbours, event_type: jint, arg: *mut c_void) -> jint {
//!         println!("enables {event_type}");
//!         // SAFETY: as the caller promises.
//!         unsafe { next.EnableEvent(event_type, arg) }
//!     }
//!
//!     unsafe fn NotifyEvent(&self, next: &Neighbours, event: *mut JVMPI_Event) {
//!         // SAFETY: as the caller promises.
//!         unsafe {
//!             if (*event).event_type != JVMPI_EVENT_METHOD_EXIT {
//!                 next.NotifyEvent(event);
//!             }
//!         }
//!     }
//! }
//! ```
//!
//! The interface passes no context. So the functions of a layer's table are compiled for the type of the
//! layer and the number of its [slot](Slots), which is all that they add to those that do the work; an event
//! costs one call more for each layer.

#![allow(non_snake_case, reason = "the names are the specification's")]

use jni_sys::{JNI_ERR, JNIEnv, jboolean, jint, jlong, jmethodID, jobject};
use jvmpi_sys::*;
use std::cell::UnsafeCell;
use std::ffi::{c_char, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

/// How many layers of one type there can be at a time: as many as a VM has agents.
pub const SLOTS: usize = 8;

/// The layers of one type, by the numbers of their slots.
pub struct Slots<L>([AtomicPtr<Put<L>>; SLOTS]);

impl<L> Slots<L> {
    /// Slots without layers.
    #[must_use]
    #[expect(clippy::new_without_default, reason = "it is for statics only")]
    pub const fn new() -> Self {
        Self([const { AtomicPtr::new(ptr::null_mut()) }; SLOTS])
    }

    /// The layer in a slot.
    #[must_use]
    pub fn get(&self, slot: usize) -> Option<&'static L> {
        self.put(slot).map(|put| &put.layer)
    }

    fn put(&self, slot: usize) -> Option<&'static Put<L>> {
        // SAFETY: what is stored is never freed.
        unsafe { self.0[slot].load(Ordering::Acquire).as_ref() }
    }
}

/// A layer that was put on a table.
struct Put<L> {
    layer: L,
    next: Neighbours,
}

/// What is next to a layer: its methods of the table's names call the table below, [`Self::NotifyEvent`]
/// the handler above.
pub struct Neighbours {
    /// The functions of the table below.
    below: JVMPI_Interface,
    /// The table that the agent, or the layer above, has got. It writes its handler there.
    table: UnsafeCell<JVMPI_Interface>,
    /// What `NotifyEvent` was in it.
    no_handler: Option<unsafe extern "C" fn(*mut JVMPI_Event)>,
}

// SAFETY: only the agent writes to the table, and only a pointer, which is read as a whole.
unsafe impl Sync for Neighbours {}

impl Neighbours {
    /// Calls the handler above, if there is one.
    ///
    /// # Safety
    /// The event is as the specification has it, and lives until the handler has returned.
    #[inline]
    pub unsafe fn NotifyEvent(&self, event: *mut JVMPI_Event) {
        if let Some(notify_event) = self.handler() {
            // SAFETY: as the caller promises.
            unsafe { notify_event(event) };
        }
    }

    /// Whether a handler was written into the table.
    #[must_use]
    pub fn has_handler(&self) -> bool {
        match (self.handler(), self.no_handler) {
            (Some(handler), Some(none)) => !ptr::fn_addr_eq(handler, none),
            (handler, _) => handler.is_some(),
        }
    }

    /// The handler above, or what stands in the table in its place.
    #[inline]
    #[must_use]
    pub fn handler(&self) -> Option<unsafe extern "C" fn(*mut JVMPI_Event)> {
        // SAFETY: the table lives as long as `self`; the agent may write the pointer at any time, as a
        // whole.
        unsafe { ptr::addr_of!((*self.table.get()).NotifyEvent).read_volatile() }
    }
}

/// Runs the body of a function that C calls. A panic does not unwind into C.
#[inline]
fn guard<R>(otherwise: R, body: impl FnOnce() -> R) -> R {
    catch_unwind(AssertUnwindSafe(body)).unwrap_or(otherwise)
}

/// The handler that a layer writes into the table below.
unsafe extern "C" fn notify_event<L: Layer, const SLOT: usize>(event: *mut JVMPI_Event) {
    // SAFETY: as the VM promises.
    unsafe { notify_event_of::<L>(event, SLOT) }
}

/// What the handlers of all slots do, once for all of them.
#[inline(never)]
unsafe extern "C" fn notify_event_of<L: Layer>(event: *mut JVMPI_Event, slot: usize) {
    guard((), || {
        if let Some(put) = L::slots().put(slot) {
            // SAFETY: as the VM promises.
            unsafe { put.layer.NotifyEvent(&put.next, event) };
        }
    });
}

macro_rules! layer {
    ($(
        $(#[doc = $what:literal])*
        fn $name:ident($($argument:ident: $type:ty),*) $(-> $result:ty)?, else $otherwise:expr;
    )*) => {
        /// What stands between an agent and JVMPI. Each method that is not overridden passes the call or
        /// the event on.
        ///
        /// Methods run on all threads at the same time, in every mode, and on the way of every event: what
        /// the specification forbids agents there is forbidden to layers too.
        pub trait Layer: Sized + Send + Sync + 'static {
            /// A static of the type's own: all layers of the type.
            fn slots() -> &'static Slots<Self>;

            /// An event.
            ///
            /// # Safety
            /// The event is as the specification has it, and lives until the method has returned.
            #[inline]
            unsafe fn NotifyEvent(&self, next: &Neighbours, event: *mut JVMPI_Event) {
                // SAFETY: as the caller promises.
                unsafe { next.NotifyEvent(event) }
            }

            $(
                $(#[doc = $what])*
                ///
                /// # Safety
                /// The arguments are what an agent passed.
                #[inline]
                unsafe fn $name(&self, next: &Neighbours $(, $argument: $type)*) $(-> $result)? {
                    // SAFETY: as the caller promises.
                    unsafe { next.$name($($argument),*) }
                }
            )*
        }

        impl Neighbours {
            $(
                $(#[doc = $what])*
                ///
                /// # Safety
                /// The arguments are what the specification of the function asks for.
                #[inline]
                pub unsafe fn $name(&self $(, $argument: $type)*) $(-> $result)? {
                    match self.below.$name {
                        // SAFETY: as the caller promises.
                        Some(function) => unsafe { function($($argument),*) },
                        None => $otherwise,
                    }
                }
            )*
        }

        /// The functions of the tables that layers of the type give out.
        mod functions {
            use super::*;

            $(
                pub unsafe extern "C" fn $name<L: Layer, const SLOT: usize>(
                    $($argument: $type),*
                ) $(-> $result)? {
                    // SAFETY: as the agent promises.
                    unsafe { functions_of::$name::<L>($($argument,)* SLOT) }
                }
            )*
        }

        /// What the functions of all slots do, once for all of them. The number of the slot comes last: the
        /// arguments are where they have to be.
        mod functions_of {
            use super::*;

            $(
                #[inline(never)]
                pub unsafe extern "C" fn $name<L: Layer>(
                    $($argument: $type,)* slot: usize
                ) $(-> $result)? {
                    guard($otherwise, || match L::slots().put(slot) {
                        // SAFETY: as the agent promises.
                        Some(put) => unsafe { put.layer.$name(&put.next $(, $argument)*) },
                        None => $otherwise,
                    })
                }
            )*
        }

        /// The functions of the layer in the slot.
        fn functions<L: Layer, const SLOT: usize>() -> JVMPI_Interface {
            JVMPI_Interface {
                version: 0,
                NotifyEvent: Some(notify_event::<L, SLOT>),
                $($name: Some(functions::$name::<L, SLOT>),)*
            }
        }

        /// The table that a layer with these functions gives out, on this one.
        fn table(functions: &JVMPI_Interface, below: &JVMPI_Interface) -> JVMPI_Interface {
            JVMPI_Interface {
                version: below.version,
                NotifyEvent: below.NotifyEvent,
                $($name: below.$name.and(functions.$name),)*
            }
        }
    };
}

for_each_function!(layer);

/// Puts a layer on a table, and returns the table that the agent, or the layer above, is to get. None if
/// the slot has a layer of this type already.
///
/// # Safety
/// The table is a whole one of version 1.2, lives for ever, and nobody has written a handler into it yet.
///
/// # Panics
/// If there is no slot of this number.
pub unsafe fn put_on<L: Layer>(
    layer: L,
    slot: usize,
    table_below: *mut JVMPI_Interface,
) -> Option<*mut JVMPI_Interface> {
    let functions = match slot {
        0 => functions::<L, 0>(),
        1 => functions::<L, 1>(),
        2 => functions::<L, 2>(),
        3 => functions::<L, 3>(),
        4 => functions::<L, 4>(),
        5 => functions::<L, 5>(),
        6 => functions::<L, 6>(),
        7 => functions::<L, 7>(),
        _ => panic!("there are {SLOTS} slots, and no number {slot}"),
    };
    // SAFETY: as the caller promises.
    let below = unsafe { *table_below };
    let next = Neighbours {
        below,
        table: UnsafeCell::new(table(&functions, &below)),
        no_handler: below.NotifyEvent,
    };
    let put = Box::into_raw(Box::new(Put { layer, next }));
    let place = &L::slots().0[slot];
    if place.compare_exchange(ptr::null_mut(), put, Ordering::Release, Ordering::Relaxed).is_err() {
        // SAFETY: nobody else has seen it.
        drop(unsafe { Box::from_raw(put) });
        return None;
    }
    // SAFETY: as the caller promises; the table below is written as the specification has agents do it.
    // What `put` points to is not freed any more.
    unsafe {
        ptr::addr_of_mut!((*table_below).NotifyEvent).write_volatile(functions.NotifyEvent);
        Some((*put).next.table.get())
    }
}

#[cfg(test)]
mod tests;
