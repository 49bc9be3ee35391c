//! The trait of all layers, and what puts them on a table.
//!
//! A layer intercepts every call from an agent and every event to it, and may answer, change or drop them. It only
//! uses the JVMPI interface, so it works on every implementation of JVMPI and on top of other layers.
//!
//! The interface passes no context to its functions. Therefore each layer type has one set of functions per
//! [slot](Slots), compiled for the slot's number; these only pass the number on to shared functions. An event costs
//! one more call per layer.

#![allow(non_snake_case, reason = "the names are the specification's")]

use jni_sys::{JNI_ERR, JNIEnv, jboolean, jint, jlong, jmethodID, jobject};
use jvm::boundary::guard;
use jvmpi_sys::*;
use std::cell::UnsafeCell;
use std::ffi::{c_char, c_void};
use std::mem;
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

/// The maximum number of layers of one type, which is the maximum number of agents in a VM.
pub const SLOTS: usize = 8;

/// The layers of one type, by slot number.
pub struct Slots<L>([AtomicPtr<Put<L>>; SLOTS]);

impl<L> Slots<L> {
    /// Creates empty slots.
    #[must_use]
    #[expect(clippy::new_without_default, reason = "it is for statics only")]
    pub const fn new() -> Self {
        Self([const { AtomicPtr::new(ptr::null_mut()) }; SLOTS])
    }

    /// Returns the layer in a slot.
    #[must_use]
    pub fn get(&self, slot: usize) -> Option<&'static L> {
        self.put(slot).map(|put| &put.layer)
    }

    fn put(&self, slot: usize) -> Option<&'static Put<L>> {
        // SAFETY: a stored layer is never freed.
        unsafe { self.0[slot].load(Ordering::Acquire).as_ref() }
    }
}

/// A layer that was put on a table.
struct Put<L> {
    layer: L,
    next: Neighbours,
}

/// The neighbors of a layer. The methods named after table functions call the table below;
/// [`Self::NotifyEvent`] calls the handler above.
pub struct Neighbours {
    /// The functions of the table below.
    below: JVMPI_Interface,
    /// The table that the agent, or the layer above, received. Its owner writes its handler there.
    table: UnsafeCell<JVMPI_Interface>,
    /// The initial value of `NotifyEvent` in that table.
    no_handler: Option<unsafe extern "C" fn(*mut JVMPI_Event)>,
}

// SAFETY: only the agent writes to the table, and only one pointer, which is read as a whole.
unsafe impl Sync for Neighbours {}

impl Neighbours {
    /// Calls the handler above, if there is one.
    ///
    /// # Safety
    /// The event conforms to the specification and lives until the handler returns.
    #[inline]
    pub unsafe fn NotifyEvent(&self, event: *mut JVMPI_Event) {
        if let Some(notify_event) = self.handler() {
            // SAFETY: as the caller promises.
            unsafe { notify_event(event) };
        }
    }

    /// Returns true if a handler was written into the table.
    #[must_use]
    pub fn has_handler(&self) -> bool {
        match (self.handler(), self.no_handler) {
            (Some(handler), Some(none)) => !ptr::fn_addr_eq(handler, none),
            (handler, _) => handler.is_some(),
        }
    }

    /// Returns the handler above, or the initial value of the table's entry.
    #[inline]
    #[must_use]
    pub fn handler(&self) -> Option<unsafe extern "C" fn(*mut JVMPI_Event)> {
        // SAFETY: the table lives as long as `self`. The agent may write the pointer at any time, but always
        // as a whole.
        unsafe { ptr::addr_of!((*self.table.get()).NotifyEvent).read_volatile() }
    }
}

/// The handler that a layer writes into the table below it.
unsafe extern "C" fn notify_event<L: Layer, const SLOT: usize>(event: *mut JVMPI_Event) {
    // SAFETY: the VM calls this function with a valid event.
    unsafe { notify_event_of::<L>(event, SLOT) }
}

/// The body of the handlers of all slots.
#[inline(never)]
unsafe extern "C" fn notify_event_of<L: Layer>(event: *mut JVMPI_Event, slot: usize) {
    guard((), || {
        if let Some(put) = L::slots().put(slot) {
            // SAFETY: the VM calls the handler with a valid event.
            unsafe { put.layer.NotifyEvent(&put.next, event) };
        }
    });
}

macro_rules! layer {
    ($(
        $(#[doc = $what:literal])*
        fn $name:ident($($argument:ident: $type:ty),*) $(-> $result:ty)?, else $otherwise:expr;
    )*) => {
    /// A layer between an agent and JVMPI. A method that is not overridden passes the call or the event on.
    ///
    /// Methods run on all threads at the same time, in every mode, for every event. The restrictions that
    /// the specification imposes on agents apply to layers too.
        pub trait Layer: Sized + Send + Sync + 'static {
        /// Returns the static with all layers of this type.
            fn slots() -> &'static Slots<Self>;

            /// Called by [`begin`], when the layer lies on its table.
            fn begin(&self, _: &Neighbours) {}

        /// Handles an event.
        ///
        /// # Safety
        /// The event conforms to the specification and lives until the method returns.
            #[inline]
            unsafe fn NotifyEvent(&self, next: &Neighbours, event: *mut JVMPI_Event) {
                // SAFETY: as the caller promises.
                unsafe { next.NotifyEvent(event) }
            }

            $(
                $(#[doc = $what])*
                ///
                /// # Safety
            /// The arguments are those that an agent passed.
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
            /// The arguments conform to the specification of the function.
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

    /// The functions in the tables that layers of a type hand out.
        mod functions {
            use super::*;

            $(
                pub unsafe extern "C" fn $name<L: Layer, const SLOT: usize>(
                    $($argument: $type),*
                ) $(-> $result)? {
                // SAFETY: the agent calls this function with valid arguments.
                    unsafe { functions_of::$name::<L>($($argument,)* SLOT) }
                }
            )*
        }

    /// The bodies of the functions of all slots. The slot number is the last argument, so that all others stay
    /// in their registers.
        mod functions_of {
            use super::*;

            $(
                #[inline(never)]
                pub unsafe extern "C" fn $name<L: Layer>(
                    $($argument: $type,)* slot: usize
                ) $(-> $result)? {
                    guard($otherwise, || match L::slots().put(slot) {
                    // SAFETY: the agent called the function with valid arguments.
                        Some(put) => unsafe { put.layer.$name(&put.next $(, $argument)*) },
                        None => $otherwise,
                    })
                }
            )*
        }

    /// Returns the functions of a layer in the given slot.
        fn functions<L: Layer, const SLOT: usize>() -> JVMPI_Interface {
            JVMPI_Interface {
                version: 0,
                NotifyEvent: Some(notify_event::<L, SLOT>),
                $($name: Some(functions::$name::<L, SLOT>),)*
            }
        }

    /// Returns the table that a layer with these functions hands out, on top of the table `below`.
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

/// Returns the functions of a layer in this slot.
///
/// # Panics
/// Panics if `slot` is not below [`SLOTS`].
fn functions_in<L: Layer>(slot: usize) -> JVMPI_Interface {
    let of_slots: [fn() -> JVMPI_Interface; SLOTS] = [
        functions::<L, 0>,
        functions::<L, 1>,
        functions::<L, 2>,
        functions::<L, 3>,
        functions::<L, 4>,
        functions::<L, 5>,
        functions::<L, 6>,
        functions::<L, 7>,
    ];
    of_slots[slot]()
}

/// Puts a layer into a slot. Returns its table, or `None` if the slot already has a layer of this type.
fn put<L: Layer>(layer: L, slot: usize, next: Neighbours) -> Option<*mut JVMPI_Interface> {
    let put = Box::into_raw(Box::new(Put { layer, next }));
    let place = &L::slots().0[slot];
    if place.compare_exchange(ptr::null_mut(), put, Ordering::Release, Ordering::Relaxed).is_err() {
        // SAFETY: no other thread has seen the pointer.
        drop(unsafe { Box::from_raw(put) });
        return None;
    }
    // SAFETY: `put` is never freed from here on.
    Some(unsafe { (*put).next.table.get() })
}

/// Puts a layer into a slot that answers all calls itself: there is no table below. Returns the table for the agent, or
/// `None` if the slot already has a layer of this type.
///
/// # Panics
/// Panics if `slot` is not below [`SLOTS`].
pub fn put_alone<L: Layer>(layer: L, slot: usize) -> Option<*mut JVMPI_Interface> {
    let version = JVMPI_VERSION_1_2;
    let table = JVMPI_Interface { version, NotifyEvent: None, ..functions_in::<L>(slot) };
    // SAFETY: zeros are a table without functions.
    let below = unsafe { mem::zeroed() };
    put(layer, slot, Neighbours { below, table: UnsafeCell::new(table), no_handler: None })
}

/// Puts a layer on a table. Returns the table for the agent or the layer above, or `None` if the slot already has a
/// layer of this type.
///
/// # Safety
/// The table has version 1.2, is never freed, and has no handler yet.
///
/// # Panics
/// Panics if `slot` is not below [`SLOTS`].
pub unsafe fn put_on<L: Layer>(
    layer: L,
    slot: usize,
    table_below: *mut JVMPI_Interface,
) -> Option<*mut JVMPI_Interface> {
    let functions = functions_in::<L>(slot);
    // SAFETY: as the caller promises.
    let below = unsafe { *table_below };
    let next = Neighbours {
        below,
        table: UnsafeCell::new(table(&functions, &below)),
        no_handler: below.NotifyEvent,
    };
    let table = put(layer, slot, next)?;
    // SAFETY: as the caller promises. The handler is written the way the specification lets agents do it.
    unsafe { ptr::addr_of_mut!((*table_below).NotifyEvent).write_volatile(functions.NotifyEvent) };
    Some(table)
}

/// Calls [`Layer::begin`] of the layer in this slot, if there is one. Unlike [`put_on`], this calls functions of
/// the table below.
pub fn begin<L: Layer>(slot: usize) {
    if let Some(put) = L::slots().put(slot) {
        put.layer.begin(&put.next);
    }
}

#[cfg(test)]
mod tests;
