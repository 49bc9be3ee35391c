//! The fields of a record, described once for writing, reading and changing.

use crate::trace::coding::{In, Out, State, slot_of};
use jni_sys::{JNIEnv, jboolean, jint, jlong, jmethodID};
use std::any::Any;
use std::ffi::{CStr, c_char, c_void};
use std::ptr;
use std::slice;

/// The function of a thread.
pub type ThreadFunction = Option<unsafe extern "C" fn(*mut c_void)>;

/// A field, an argument or a result, as a number.
pub trait Word: Copy {
    fn word(self) -> u64;

    /// Returns the result that this number stands for. No such number is a function.
    fn of(word: u64) -> Self;
}

macro_rules! words {
    ($($type:ty: $value:pat => $word:expr, $number:pat => $of:expr;)*) => {$(
        impl Word for $type {
            #[inline]
            fn word(self) -> u64 {
                let $value = self;
                $word
            }

            fn of($number: u64) -> Self {
                $of
            }
        }
    )*};
}

words! {
    jint: value => i64::from(value) as u64, word => word as jint;
    jlong: value => value as u64, word => word as jlong;
    jboolean: value => u64::from(value), word => word != 0;
    (): () => 0, _ => ();
    ThreadFunction: value => value.map_or(0, |function| function as usize as u64), _ => None;
}

impl<T> Word for *mut T {
    #[inline]
    fn word(self) -> u64 {
        self.expose_provenance() as u64
    }

    fn of(word: u64) -> Self {
        ptr::with_exposed_provenance_mut(word as usize)
    }
}

/// Goes through the fields of a structure, in their order.
///
/// # Safety of implementations
/// They may write to a field only what may stand there: a pointer to memory that lives as long as the
/// structure is used.
pub trait Fields {
    /// A number that is none of the following.
    fn number(&mut self, value: u64) -> u64 {
        value
    }

    fn method(&mut self, value: u64) -> u64 {
        self.number(value)
    }

    /// The environment of a thread.
    fn env(&mut self, value: u64) -> u64 {
        self.number(value)
    }

    /// A raw monitor.
    fn monitor(&mut self, value: u64) -> u64 {
        self.number(value)
    }

    /// A string, which may be NULL.
    ///
    /// # Safety
    /// It is NUL-terminated.
    unsafe fn text(&mut self, value: *mut c_char) -> *mut c_char {
        value
    }

    /// Bytes.
    ///
    /// # Safety
    /// There are `count` bytes at `start`.
    unsafe fn bytes(&mut self, start: *mut u8, count: usize) -> (*mut u8, usize) {
        (start, count)
    }

    /// The machine code at an address that is itself a field.
    ///
    /// # Safety
    /// There are this many bytes.
    unsafe fn code(&mut self, _: *mut u8, _: usize) {}

    /// A list; `each` goes through the fields of an item.
    ///
    /// # Safety
    /// There are this many items, and zeros make a valid one.
    unsafe fn list<T: Copy>(
        &mut self,
        items: *mut T,
        count: usize,
        mut each: impl FnMut(&mut Self, &mut T),
    ) -> (*mut T, usize) {
        for i in 0..count {
            // SAFETY: the caller promises this many items, which nobody else uses meanwhile.
            each(self, unsafe { &mut *items.add(i) });
        }
        (items, count)
    }

    // The fields as they stand in C's structures.

    /// A number or an ID.
    fn field<W: Word>(&mut self, value: &mut W) {
        *value = Word::of(self.number(value.word()));
    }

    fn method_id(&mut self, value: &mut jmethodID) {
        *value = Word::of(self.method(value.word()));
    }

    fn thread(&mut self, value: &mut *mut JNIEnv) {
        *value = Word::of(self.env(value.word()));
    }

    /// # Safety
    /// The same as for [`Fields::text`].
    unsafe fn string(&mut self, value: &mut *mut c_char) {
        // SAFETY: as the caller promises.
        *value = unsafe { self.text(*value) };
    }

    /// Bytes between two pointers.
    ///
    /// # Safety
    /// They are there.
    unsafe fn range(&mut self, begin: &mut *mut c_char, end: &mut *mut c_char) {
        let count = end.word().saturating_sub(begin.word()) as usize;
        // SAFETY: as the caller promises.
        let (start, count) = unsafe { self.bytes(begin.cast(), count) };
        *begin = start.cast();
        *end = begin.wrapping_add(count);
    }

    /// Bytes whose number is a field too.
    ///
    /// # Safety
    /// They are there.
    unsafe fn sized<T>(&mut self, data: &mut *mut T, size: &mut jint) {
        // SAFETY: as the caller promises.
        let (start, count) =
            unsafe { self.bytes(data.cast(), usize::try_from(*size).unwrap_or(0)) };
        *data = start.cast();
        *size = jint::try_from(count).unwrap_or(jint::MAX);
    }

    /// # Safety
    /// The same as for [`Fields::list`].
    unsafe fn counted<T: Copy>(
        &mut self,
        count: &mut jint,
        items: &mut *mut T,
        each: impl FnMut(&mut Self, &mut T),
    ) {
        let there = if items.is_null() { 0 } else { usize::try_from(*count).unwrap_or(0) };
        // SAFETY: as the caller promises.
        let (new, there) = unsafe { self.list(*items, there, each) };
        *items = new;
        *count = jint::try_from(there).unwrap_or(jint::MAX);
    }
}

/// Writes the fields.
pub struct Write<'a, 'b> {
    pub state: &'a mut State,
    pub out: &'a mut Out<'b>,
}

impl Fields for Write<'_, '_> {
    fn number(&mut self, value: u64) -> u64 {
        let predecessor = self.state.predecessor();
        self.out.difference(*predecessor, value);
        *predecessor = value;
        value
    }

    fn method(&mut self, value: u64) -> u64 {
        let slot = slot_of(value);
        if value != 0 && self.state.methods[slot] == value {
            self.out.number((slot as u64) << 1 | 1);
        } else {
            self.out.byte(0);
            self.number(value);
            self.state.methods[slot] = value;
        }
        value
    }

    unsafe fn text(&mut self, value: *mut c_char) -> *mut c_char {
        // The length behind NULL has no place of its own.
        if value.is_null() {
            self.out.byte(0);
        } else {
            self.out.byte(1);
            // SAFETY: as the caller promises.
            let text = unsafe { CStr::from_ptr(value) }.to_bytes();
            // SAFETY: the text has this many bytes, which are only read.
            unsafe { self.bytes(text.as_ptr().cast_mut(), text.len()) };
        }
        value
    }

    unsafe fn bytes(&mut self, start: *mut u8, count: usize) -> (*mut u8, usize) {
        self.out.number(count as u64);
        if count > 0 {
            // SAFETY: as the caller promises.
            self.out.bytes(unsafe { slice::from_raw_parts(start, count) });
        }
        (start, count)
    }

    unsafe fn code(&mut self, start: *mut u8, count: usize) {
        // SAFETY: as the caller promises.
        unsafe { self.bytes(start, count) };
    }

    unsafe fn list<T: Copy>(
        &mut self,
        items: *mut T,
        count: usize,
        mut each: impl FnMut(&mut Self, &mut T),
    ) -> (*mut T, usize) {
        self.out.number(count as u64);
        let column = self.state.column();
        for i in 0..count {
            self.state.go_to(column);
            // SAFETY: the caller promises this many items, which writing does not change.
            each(self, unsafe { &mut *items.add(i) });
        }
        (items, count)
    }
}

/// The memory that a record points to. Each piece is allocated separately, so that memory checkers
/// notice reads beyond it, or after it was freed.
#[derive(Default)]
pub struct Memory {
    pieces: Vec<Box<dyn Any + Send + Sync>>,
    /// The bytes of [`Fields::code`].
    pub code: Box<[u8]>,
}

impl Memory {
    pub fn bytes(&mut self, mut bytes: Box<[u8]>) -> *mut u8 {
        let start = bytes.as_mut_ptr();
        self.pieces.push(Box::new(bytes));
        start
    }

    /// Keeps memory that others may use too.
    pub fn share(&mut self, shared: impl Any + Send + Sync) {
        self.pieces.push(Box::new(shared));
    }

    /// Puts other bytes in the place of those between two pointers, if there are any.
    pub fn replace(
        &mut self,
        new: Option<Box<[u8]>>,
        begin: &mut *mut c_char,
        end: &mut *mut c_char,
    ) {
        if let Some(new) = new {
            let count = new.len();
            *begin = self.bytes(new).cast();
            *end = begin.wrapping_add(count);
        }
    }

    /// Returns memory for this many items, of zeros.
    pub fn zeros<T>(&mut self, count: usize) -> *mut T {
        const { assert!(align_of::<T>() <= align_of::<u64>()) }
        let mut words =
            vec![0_u64; (count * size_of::<T>()).div_ceil(size_of::<u64>())].into_boxed_slice();
        let start = words.as_mut_ptr();
        self.pieces.push(Box::new(words));
        start.cast()
    }
}

/// Reads the fields. Damaged fields read as zeros.
pub struct Read<'a, 'b> {
    pub state: &'a mut State,
    pub input: &'a mut In<'b>,
    pub memory: &'a mut Memory,
}

impl Fields for Read<'_, '_> {
    #[inline]
    fn number(&mut self, _: u64) -> u64 {
        let predecessor = self.state.predecessor();
        *predecessor = self.input.difference(*predecessor);
        *predecessor
    }

    fn method(&mut self, _: u64) -> u64 {
        match self.input.number() {
            0 => {
                let method = self.number(0);
                self.state.methods[slot_of(method)] = method;
                method
            }
            hit => {
                let known = usize::try_from(hit >> 1).ok();
                let known = known.and_then(|slot| self.state.methods.get(slot)).copied();
                self.input.damaged |= known.is_none();
                known.unwrap_or(0)
            }
        }
    }

    unsafe fn text(&mut self, _: *mut c_char) -> *mut c_char {
        if self.input.byte() == 0 {
            return ptr::null_mut();
        }
        let count = self.input.number();
        let text = self.input.take(count);
        self.memory.bytes([text, &[0]].concat().into_boxed_slice()).cast()
    }

    unsafe fn bytes(&mut self, _: *mut u8, _: usize) -> (*mut u8, usize) {
        let count = self.input.number();
        let bytes = self.input.take(count);
        (self.memory.bytes(bytes.into()), bytes.len())
    }

    unsafe fn code(&mut self, _: *mut u8, _: usize) {
        let count = self.input.number();
        self.memory.code = self.input.take(count).into();
    }

    unsafe fn list<T: Copy>(
        &mut self,
        _: *mut T,
        _: usize,
        mut each: impl FnMut(&mut Self, &mut T),
    ) -> (*mut T, usize) {
        let count = self.input.number();
        // Each item has a byte at least.
        let Some(count) = usize::try_from(count).ok().filter(|count| *count <= self.input.rest())
        else {
            self.input.damaged = true;
            return (ptr::null_mut(), 0);
        };
        if count == 0 {
            return (ptr::null_mut(), 0);
        }
        let items = self.memory.zeros::<T>(count);
        let column = self.state.column();
        for i in 0..count {
            self.state.go_to(column);
            // SAFETY: the memory has this many items, and the caller promises that zeros are a valid
            // one.
            each(self, unsafe { &mut *items.add(i) });
        }
        (items, count)
    }
}
