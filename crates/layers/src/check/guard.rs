//! Copies of the memory that events point to, readable only while the event is handled.
//!
//! The agent gets a copy in pages of its own. The processor stops a thread that touches them when it must
//! not. A handler reports the access and lets it continue with the old contents.

use crate::layer::Neighbours;
use crate::trace::{Fields, fields};
use jni_sys::jint;
use jvm::platform::guard_pages::{Access, page_size, protect, reserve};
use jvmpi_sys::*;
use std::ffi::{CStr, c_char};
use std::ptr;
use std::sync::atomic::{AtomicU8, AtomicU16, AtomicUsize, Ordering};

/// The number of pages in all; once they are used up, events go to the agent without a copy.
const PAGES: usize = 1 << 16;
/// The number of events of each type that are guarded although they point to nothing.
const PLAIN: u8 = 4;

/// The states of a page, besides 0 for unused.
pub const NOW: u8 = 1;
pub const OVER: u8 = 2;

/// The pages of one agent.
pub struct Guard {
    /// The bytes of a page.
    page: usize,
    /// NULL if there is no memory.
    pages: *mut u8,
    used: AtomicUsize,
    /// The state of each page, above the type of the event that it belongs to.
    uses: Box<[AtomicU16]>,
    /// The number of events that point to nothing and were guarded, by type.
    plain: [AtomicU8; 64],
}

// SAFETY: each page is given out once.
unsafe impl Send for Guard {}
// SAFETY: as above.
unsafe impl Sync for Guard {}

impl Guard {
    pub fn new() -> Self {
        let page = page_size();
        Self {
            page,
            pages: reserve(PAGES * page).unwrap_or(ptr::null_mut()),
            used: AtomicUsize::new(0),
            uses: (0..PAGES).map(|_| AtomicU16::new(0)).collect(),
            plain: [const { AtomicU8::new(0) }; 64],
        }
    }

    /// Returns pages for this many bytes, which can be written; `None` if there are no more.
    fn take(&self, event_type: jint, bytes: usize) -> Option<Pages<'_>> {
        let count = bytes.div_ceil(self.page);
        let enough = !self.pages.is_null() && self.used.load(Ordering::Relaxed) + count <= PAGES;
        let first = enough.then(|| self.used.fetch_add(count, Ordering::Relaxed))?;
        let pages = Pages { guard: self, first, count, event_type: event_type as u8 };
        let pages = (first + count <= PAGES).then_some(pages)?;
        pages.protect(Access::Write, NOW).then_some(pages)
    }

    /// Returns the page that an address lies in.
    fn page_of(&self, address: usize) -> Option<usize> {
        let page = address.checked_sub(self.pages.addr())? / self.page;
        (page < PAGES && !self.pages.is_null()).then_some(page)
    }

    /// Handles an access to a protected page. Makes the page accessible and returns its state with the type of its
    /// event. `None` if it is not a page of this agent.
    pub fn touched(&self, address: usize) -> Option<(u8, jint)> {
        let page = self.page_of(address)?;
        let [event_type, state] = self.uses[page].load(Ordering::Acquire).to_le_bytes();
        if state != NOW && state != OVER {
            return None;
        }
        // SAFETY: the page is within the mapping.
        unsafe {
            protect(self.pages.add(page * self.page), self.page, Access::Write);
        }
        Some((state, jint::from(event_type)))
    }

    /// Hands the event to the agent, guarded if it points to something, or is one of the first.
    ///
    /// # Safety
    /// The same as for [`Layer::NotifyEvent`](crate::layer::Layer::NotifyEvent).
    pub unsafe fn pass(&self, next: &Neighbours, event: *mut JVMPI_Event) {
        // SAFETY: as the caller promises.
        unsafe {
            let event_type = (*event).event_type & !JVMPI_REQUESTED_EVENT;
            // Dumps may be as large as the heap.
            if event_type == JVMPI_EVENT_HEAP_DUMP {
                return next.NotifyEvent(event);
            }
            let mut counter = Copier { to: None, bytes: size_of::<JVMPI_Event>() };
            fields(&mut counter, event_type, &mut { (*event).u });
            let points = counter.bytes > size_of::<JVMPI_Event>();
            let plain = &self.plain[event_type as usize & 63];
            if !points && plain.load(Ordering::Relaxed) == PLAIN {
                return next.NotifyEvent(event);
            }
            plain.fetch_add(u8::from(!points), Ordering::Relaxed);
            let pages = self.take(event_type, counter.bytes);
            let Some(pages) = pages else { return next.NotifyEvent(event) };
            let copy = pages.start().cast::<JVMPI_Event>();
            copy.copy_from_nonoverlapping(event, 1);
            let bytes = size_of::<JVMPI_Event>();
            let mut copier = Copier { to: Some(pages.start()), bytes };
            fields(&mut copier, event_type, &mut (*copy).u);
            pages.protect(Access::Read, NOW);
            next.NotifyEvent(copy);
            pages.protect(Access::None, OVER);
        }
    }
}

/// The pages of one event.
struct Pages<'a> {
    guard: &'a Guard,
    first: usize,
    count: usize,
    event_type: u8,
}

impl Pages<'_> {
    fn start(&self) -> *mut u8 {
        // SAFETY: the page is within the mapping.
        unsafe { self.guard.pages.add(self.first * self.guard.page) }
    }

    fn protect(&self, access: Access, usage: u8) -> bool {
        for page in &self.guard.uses[self.first..self.first + self.count] {
            page.store(u16::from_le_bytes([self.event_type, usage]), Ordering::Release);
        }
        // SAFETY: the pages are within the mapping, and belong to this event.
        unsafe { protect(self.start(), self.count * self.guard.page, access) }
    }
}

/// Copies what an event points to behind it, or only counts how much that would be.
struct Copier {
    to: Option<*mut u8>,
    bytes: usize,
}

impl Copier {
    /// Copies an array of values and returns its new place. When only counting, returns the place of the
    /// original.
    ///
    /// # Safety
    /// `from` is NULL or has `number` values; the memory copied to is large enough.
    unsafe fn values<T>(&mut self, from: *mut T, number: usize) -> *mut T {
        if from.is_null() || number == 0 {
            return from;
        }
        let offset = self.bytes.next_multiple_of(align_of::<T>());
        self.bytes = offset + number * size_of::<T>();
        let Some(to) = self.to else { return from };
        // SAFETY: as the caller promises.
        unsafe {
            let to = to.add(offset).cast::<T>();
            ptr::copy_nonoverlapping(from, to, number);
            to
        }
    }
}

impl Fields for Copier {
    unsafe fn text(&mut self, value: *mut c_char) -> *mut c_char {
        if value.is_null() {
            return value;
        }
        // SAFETY: as the caller promises.
        unsafe {
            let length = CStr::from_ptr(value).to_bytes_with_nul().len();
            self.values(value, length)
        }
    }

    unsafe fn bytes(&mut self, start: *mut u8, count: usize) -> (*mut u8, usize) {
        // SAFETY: as the caller promises.
        (unsafe { self.values(start, count) }, count)
    }

    unsafe fn list<T: Copy>(
        &mut self,
        items: *mut T,
        count: usize,
        mut each: impl FnMut(&mut Self, &mut T),
    ) -> (*mut T, usize) {
        // SAFETY: as the caller promises. The items of the original are not written to.
        unsafe {
            let copies = self.values(items, count);
            for i in 0..count {
                let mut item = *copies.add(i);
                each(self, &mut item);
                if self.to.is_some() {
                    *copies.add(i) = item;
                }
            }
            (copies, count)
        }
    }
}
