//! Constructors that a thread has entered and whose METHOD_ENTRY2 is deferred ("held").
//!
//! A constructor cannot pass its object on before the superclass's constructor has run, but the object
//! must be announced before METHOD_ENTRY2 names it. The constructor of `Object` can pass it on, and most
//! constructors call it first, through those of the superclasses. So their entries are deferred until it
//! runs. Any other event must come after these entries: then the object is searched.
//!
//! Objects that were allocated without a constructor are counted here too.

use super::class::Class;
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicPtr, AtomicU32, Ordering};

/// A hash of a constructor's class and descriptor; 0 for none.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Signature(u32);

impl Signature {
    pub const NONE: Self = Self(0);
    /// The constructor of `Object`.
    pub const OBJECT: Self = Self(1);

    pub fn of(class: &[u8], descriptor: &[u8]) -> Self {
        if class == b"java/lang/Object" {
            return Self::OBJECT;
        }
        // FNV-1a.
        let byte = |hash: u32, byte: &u8| (hash ^ u32::from(*byte)).wrapping_mul(0x0100_0193);
        Self(class.iter().chain(descriptor).fold(0x811c_9dc5, byte) | 2)
    }
}

/// The beginning of a constructor, found in its code.
#[derive(Clone, Copy)]
pub struct Beginning {
    /// The constructor itself.
    pub own: Signature,
    /// The constructor that it calls for the same object, if it calls no other method before.
    pub next: Signature,
}

impl Beginning {
    pub fn bits(self) -> u64 {
        u64::from(self.own.0) << 32 | u64::from(self.next.0)
    }

    pub fn from_bits(bits: u64) -> Self {
        Self { own: Signature((bits >> 32) as u32), next: Signature(bits as u32) }
    }
}

/// The largest number of deferred constructors of an object.
const MOST: usize = 16;

/// The deferred constructors of one object, each called by the one before, as the numbers that rewritten
/// code passes. Only the thread itself uses them.
pub struct Held<C = Class> {
    numbers: [AtomicU32; MOST],
    count: AtomicU32,
    /// The constructor that the last one calls.
    next: AtomicU32,
    /// The class of the first one, an `Arc` that this owns.
    class: AtomicPtr<C>,
}

/// Constructors that were deferred.
pub struct Chain<C = Class> {
    numbers: [u32; MOST],
    count: usize,
    class: Option<Arc<C>>,
}

impl<C> Default for Held<C> {
    fn default() -> Self {
        let numbers = [const { AtomicU32::new(0) }; MOST];
        let [count, next] = [const { AtomicU32::new(0) }; 2];
        Self { numbers, count, next, class: AtomicPtr::default() }
    }
}

impl<C> Default for Chain<C> {
    fn default() -> Self {
        Self { numbers: [0; MOST], count: 0, class: None }
    }
}

impl<C> Held<C> {
    #[inline]
    pub fn any(&self) -> bool {
        self.count.load(Ordering::Relaxed) > 0
    }

    /// Returns true if this is the constructor that the last one calls for its object.
    pub fn awaits(&self, constructor: Signature) -> bool {
        self.any() && self.next.load(Ordering::Relaxed) == constructor.0
    }

    /// Adds a constructor of this class. Returns true if its entry can be deferred: it calls another
    /// constructor first, and there is room for that one.
    pub fn push(&self, number: u32, class: &Arc<C>, next: Signature) -> bool {
        let count = self.count.load(Ordering::Relaxed) as usize;
        let Some(place) = self.numbers.get(count) else { return false };
        if count == 0 {
            let class = Arc::into_raw(Arc::clone(class)).cast_mut();
            self.class.store(class, Ordering::Relaxed);
        }
        place.store(number, Ordering::Relaxed);
        self.count.store(count as u32 + 1, Ordering::Relaxed);
        self.next.store(next.0, Ordering::Relaxed);
        next != Signature::NONE && count + 1 < MOST
    }

    /// Takes all deferred constructors.
    pub fn take(&self) -> Chain<C> {
        let count = self.count.swap(0, Ordering::Relaxed) as usize;
        if count == 0 {
            return Chain::default();
        }
        let class = self.class.swap(ptr::null_mut(), Ordering::Relaxed);
        // SAFETY: `push` stored the pointer, which came from `Arc::into_raw`; it is used only once.
        let class = (!class.is_null()).then(|| unsafe { Arc::from_raw(class) });
        let mut chain = Chain { numbers: [0; MOST], count, class };
        for (number, held) in chain.numbers[..count].iter_mut().zip(&self.numbers) {
            *number = held.load(Ordering::Relaxed);
        }
        chain
    }
}

impl<C> Drop for Held<C> {
    fn drop(&mut self) {
        self.take();
    }
}

impl<C> Chain<C> {
    /// Returns the numbers, that of the outermost constructor first.
    pub fn numbers(&self) -> &[u32] {
        &self.numbers[..self.count]
    }

    /// Returns the class of the outermost constructor.
    pub fn class(&self) -> Option<&C> {
        self.class.as_deref()
    }
}

/// The number of objects that a thread has allocated and reported without running a constructor. A
/// constructor that runs later must not report them again. Only the thread itself uses this.
#[derive(Default)]
pub struct Unconstructed(AtomicU32);

impl Unconstructed {
    pub fn add(&self) {
        self.0.store(self.0.load(Ordering::Relaxed).saturating_add(1), Ordering::Relaxed);
    }

    /// Returns true if the object that is being constructed is one of them. `is_reported` returns
    /// whether it was reported before; it is called only if there are any.
    pub fn is_one(&self, is_reported: impl FnOnce() -> bool) -> bool {
        let count = self.0.load(Ordering::Relaxed);
        let is_one = count > 0 && is_reported();
        if is_one {
            self.0.store(count - 1, Ordering::Relaxed);
        }
        is_one
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn not_too_many_are_held() {
        let (held, class) = (Held::default(), Arc::new(()));
        assert!(!held.push(1, &class, Signature::NONE));
        held.take();
        let can_be_held = |number| held.push(number, &class, Signature::OBJECT);
        assert!((1..MOST as u32).all(can_be_held) && !can_be_held(MOST as u32));
        assert_eq!(held.take().numbers().len(), MOST);
    }

    #[test]
    fn the_class_is_kept_as_long_as_it_is_held() {
        let (held, class) = (Held::default(), Arc::new(()));
        held.push(1, &class, Signature::OBJECT);
        held.push(2, &class, Signature::OBJECT);
        assert_eq!(Arc::strong_count(&class), 2);
        drop(held.take());
        held.push(3, &class, Signature::OBJECT);
        drop(held);
        assert_eq!(Arc::strong_count(&class), 1);
    }
}
