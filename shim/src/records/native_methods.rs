//! The native methods that the VM has bound to their functions.
//!
//! Each has a slot, whose stub the VM uses as the function. The stub jumps to the real function or to code that
//! reports the call.

use jni_sys::jmethodID;
use jvm::lock::Lock;
use rustc_hash::FxHashMap;
use std::ffi::c_void;
use std::ptr;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering};

/// The number of slots. The JDK has about 3,000 native methods, and few of them are ever bound.
pub const SLOTS: usize = 1 << 14;

/// The address to which the stub of each slot jumps.
pub static TARGETS: [AtomicPtr<c_void>; SLOTS] = [const { AtomicPtr::new(ptr::null_mut()) }; SLOTS];

static METHODS: [NativeMethod; SLOTS] = [const { NativeMethod::new() }; SLOTS];

/// A native method with a slot.
pub struct NativeMethod {
    function: AtomicPtr<c_void>,
    /// A [`Shape`], 0 while it is unknown.
    shape: AtomicU64,
}

/// The properties of a native method that calling and reporting need.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Shape {
    /// The number with which its calls are reported; None if they are not reported.
    pub number: Option<u32>,
    /// The number of words of its arguments on the stack.
    pub stack_words: u16,
    pub is_static: bool,
    pub is_synchronized: bool,
    /// True if the VM may take its callers' frames off the stack, because a virtual thread waits in it.
    pub can_be_left_behind: bool,
}

impl Shape {
    /// The shape of a method that is not reported.
    pub const SILENT: Self = Self {
        number: None,
        stack_words: 0,
        is_static: false,
        is_synchronized: false,
        can_be_left_behind: false,
    };

    const KNOWN: u32 = 63;
    const REPORTED: u32 = 62;
    const STATIC: u32 = 61;
    const LEFT_BEHIND: u32 = 60;
    const SYNCHRONIZED: u32 = 59;
    const WORDS: u32 = 32;

    fn bits(self) -> u64 {
        1 << Self::KNOWN
            | u64::from(self.number.is_some()) << Self::REPORTED
            | u64::from(self.is_static) << Self::STATIC
            | u64::from(self.is_synchronized) << Self::SYNCHRONIZED
            | u64::from(self.can_be_left_behind) << Self::LEFT_BEHIND
            | u64::from(self.stack_words) << Self::WORDS
            | u64::from(self.number.unwrap_or(0))
    }

    #[inline]
    fn from_bits(bits: u64) -> Option<Self> {
        let has = |bit: u32| bits >> bit & 1 != 0;
        has(Self::KNOWN).then(|| Self {
            number: has(Self::REPORTED).then_some(bits as u32),
            stack_words: (bits >> Self::WORDS) as u16,
            is_static: has(Self::STATIC),
            is_synchronized: has(Self::SYNCHRONIZED),
            can_be_left_behind: has(Self::LEFT_BEHIND),
        })
    }
}

#[derive(Default)]
struct Slots {
    by_method: FxHashMap<usize, usize>,
    /// Slots whose method was unloaded.
    free: Vec<usize>,
    /// The number of slots that were ever in use.
    count: usize,
}

static IN_USE: LazyLock<Lock<Slots>> = LazyLock::new(Lock::default);

/// Returns the slot of a method that the VM binds to this function; None if none is left.
pub fn bind(method: jmethodID, function: *mut c_void) -> Option<usize> {
    bind_in(&mut IN_USE.lock(), method, function)
}

/// Returns the slot of a method that was bound to this function before. None also if it has a slot.
pub fn adopt(method: jmethodID, function: *mut c_void) -> Option<usize> {
    let mut slots = IN_USE.lock();
    if slots.by_method.contains_key(&method.addr()) {
        return None;
    }
    bind_in(&mut slots, method, function)
}

fn bind_in(slots: &mut Slots, method: jmethodID, function: *mut c_void) -> Option<usize> {
    let slot = match slots.by_method.get(&method.addr()) {
        Some(slot) => *slot,
        None => {
            let slot = slots.free.pop().or_else(|| {
                let next = slots.count;
                slots.count += usize::from(next < SLOTS);
                (next < SLOTS).then_some(next)
            })?;
            METHODS[slot].shape.store(0, Ordering::Relaxed);
            slots.by_method.insert(method.expose_provenance(), slot);
            slot
        }
    };
    let before = METHODS[slot].function.swap(function, Ordering::Relaxed);
    let target = &TARGETS[slot];
    // Reporting code finds the new function itself.
    if [ptr::null_mut(), before].contains(&target.load(Ordering::Relaxed)) {
        target.store(function, Ordering::Release);
    }
    Some(slot)
}

/// Returns the slots in use, with their methods.
pub fn all() -> Vec<(usize, jmethodID)> {
    let slots = IN_USE.lock();
    let method = |address: &usize| ptr::with_exposed_provenance_mut(*address);
    slots.by_method.iter().map(|(address, slot)| (*slot, method(address))).collect()
}

#[inline]
pub fn at(slot: usize) -> &'static NativeMethod {
    &METHODS[slot % SLOTS]
}

impl NativeMethod {
    const fn new() -> Self {
        Self { function: AtomicPtr::new(ptr::null_mut()), shape: AtomicU64::new(0) }
    }

    /// Returns the function to which the VM, or an earlier interceptor, has bound it.
    #[inline]
    pub fn function(&self) -> *mut c_void {
        self.function.load(Ordering::Relaxed)
    }

    /// Returns the shape; None if it is not known yet.
    #[inline]
    pub fn shape(&self) -> Option<Shape> {
        Shape::from_bits(self.shape.load(Ordering::Relaxed))
    }

    pub fn set_shape(&self, shape: Shape) {
        self.shape.store(shape.bits(), Ordering::Relaxed);
    }
}

/// Lets the slot's stub jump to `reporting` if `is_reported` holds for its shape, else to the function.
pub fn lead(slot: usize, reporting: *mut c_void, is_reported: impl FnOnce(Shape) -> bool) {
    // The lock makes threads that decide differently do so one after the other.
    let _slots = IN_USE.lock();
    let method = at(slot);
    let is_reported = method.shape().is_some_and(is_reported);
    let target = if is_reported { reporting } else { method.function() };
    TARGETS[slot].store(target, Ordering::Release);
}

/// Frees the slot of a method whose class was unloaded.
pub fn forget(method: usize) {
    let mut slots = IN_USE.lock();
    if let Some(slot) = slots.by_method.remove(&method) {
        TARGETS[slot].store(ptr::null_mut(), Ordering::Relaxed);
        slots.free.push(slot);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes_are_kept() {
        for shape in [
            Shape::SILENT,
            Shape { number: Some(0), stack_words: 1, is_static: true, ..Shape::SILENT },
            Shape { stack_words: 2, is_synchronized: true, ..Shape::SILENT },
            Shape {
                number: Some(u32::MAX),
                stack_words: 255,
                can_be_left_behind: true,
                ..Shape::SILENT
            },
        ] {
            assert_eq!(Shape::from_bits(shape.bits()), Some(shape));
        }
        assert_eq!(Shape::from_bits(0), None);
    }

    #[test]
    fn a_method_keeps_its_slot_until_its_class_is_unloaded() {
        let address = |number: usize| ptr::without_provenance_mut::<c_void>(number);
        let (method, other) = (address(1 << 20).cast(), address(2 << 20).cast());
        let slot = bind(method, address(10)).unwrap();
        let target = || TARGETS[slot].load(Ordering::Relaxed).addr();
        assert_eq!((target(), at(slot).shape()), (10, None));
        assert!(bind(other, address(11)) != Some(slot) && bind(method, address(12)) == Some(slot));
        assert_eq!(target(), 12);
        at(slot).set_shape(Shape { number: Some(7), ..Shape::SILENT });
        lead(slot, address(99), |shape| shape.number == Some(7));
        assert_eq!((bind(method, address(13)), target()), (Some(slot), 99));
        lead(slot, address(99), |_| false);
        assert_eq!(target(), 13);
        assert_eq!(adopt(method, address(15)), None);
        forget(1 << 20);
        assert!(all().iter().all(|(_, known)| *known != method));
        assert_eq!(bind(address(3 << 20).cast(), address(14)), Some(slot));
        assert_eq!((target(), at(slot).shape()), (14, None));
    }
}
