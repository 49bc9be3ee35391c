//! The data that all threads share.

use crate::cpu_state::Cpu;
use crate::locks;
use crate::mutex::lock;
use crate::objects::{Object, Objects};
use crate::orders::{Orders, Sampled};
use crate::per_thread::{Slot, pass_barrier};
use crate::session::Session;
use crate::sites::SiteKey;
use crate::symbols::{NO_TRACE, NewClass, Symbols};
use crate::weights::{Tally, Weights};
use jvm::platform::anonymous_memory::trim_heap;
use jvmpi::{
    ClassId, ClassLoad, Context, Field, Frame, Frames, GcDisabled, ModifiedUtf8, MultiThreaded,
    ObjectAlloc, ObjectId, RawMonitor, ThreadId, ThreadLocal, mode,
};
use jvmpi_formats::profile::{ClassSerial, Line, NameId, ThreadSerial, TraceSerial, Type};
use rustc_hash::{FxHashMap, FxHashSet};
use std::cell::RefCell;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

/// The data that all threads share.
#[derive(Debug)]
pub struct Shared {
    pub of_thread: ThreadLocal<Slot>,
    /// Classes, methods, threads.
    pub known: Mutex<Symbols>,
    /// The heap; entered from GC_START to GC_FINISH.
    pub heap: RawMonitor<RefCell<Heap>>,
    /// The instructions to the sampler.
    pub sampler: RawMonitor<RefCell<Orders>>,
    /// The sampling of CPU time. Locked while the VM is called, but by nobody who holds another lock.
    pub cpu: Mutex<Cpu>,
    pub session: Mutex<Arc<Session>>,
    /// A counter that changes with anything that threads have cached: the session, its depth, the method of a
    /// `jmethodID`, and the number of a thread.
    pub epoch: AtomicU32,
    pub live: Mutex<FxHashMap<ThreadId, Live>>,
    /// The agent's own threads.
    pub own: Mutex<FxHashSet<ThreadId>>,
    pub references: Mutex<FxHashMap<usize, (u64, TraceSerial)>>,
}

/// The data on the heap.
#[derive(Debug, Default)]
pub struct Heap {
    /// The objects.
    pub objects: Objects,
    /// The objects that have died, by the numbers of their sites.
    pub freed: Vec<Tally>,
    /// The weights of the objects.
    pub weights: Weights,
    /// The classes that the collection has unloaded.
    pub unloaded: Vec<u64>,
}

/// A live thread.
#[derive(Clone, Copy, Debug)]
pub struct Live {
    pub serial: ThreadSerial,
    pub object: u64,
}

impl Heap {
    /// Creates the data of a recording.
    pub fn new(weights: Weights) -> Self {
        Self { weights, ..Self::default() }
    }

    /// Counts an object that has died.
    pub fn free(&mut self, id: u64) {
        if let Some(object) = self.objects.remove(id) {
            Self::count_freed(&mut self.freed, self.weights, object);
        }
    }

    pub fn count_freed(freed: &mut Vec<Tally>, weights: Weights, object: Object) {
        if object.is_extra {
            return;
        }
        let site = object.site as usize;
        // GC_START has made room for all existing sites.
        if freed.len() <= site {
            freed.resize(site + 1, Tally::default());
        }
        freed[site].add(weights.of(object.size));
    }
}

impl Shared {
    /// Returns the current session, which may be over.
    pub fn session(&self) -> Arc<Session> {
        Arc::clone(&lock(&self.session))
    }

    pub fn epoch(&self) -> u32 {
        self.epoch.load(Ordering::Relaxed)
    }

    /// Makes all threads renew what they have cached. Returns the new epoch.
    pub fn next_epoch(&self) -> u32 {
        self.epoch.fetch_add(1, Ordering::Relaxed).wrapping_add(1)
    }

    /// Lists the live threads that are to be sampled. None of them ends until the caller drops the returned
    /// value: THREAD_END waits for it.
    pub fn live_threads(
        &self,
        sampled: &Sampled,
        to: &mut Vec<(ThreadId, ThreadSerial)>,
    ) -> impl Drop + '_ {
        to.clear();
        let live = lock(&self.live);
        let wanted = live.iter().filter(|(_, live)| sampled.has(live.object));
        to.extend(wanted.map(|(thread, live)| (*thread, live.serial)));
        live
    }

    /// Converts a frame to the form that the tables use.
    pub fn raw_frame(&self, session: &Session, frame: &Frame) -> (usize, Line) {
        let line = if session.options.lines { frame.line() } else { Line::Unknown };
        (frame.method().as_usize(), line)
    }

    /// Returns the number of the trace with these frames in this thread.
    pub fn trace(&self, session: &Session, thread: ThreadSerial, frames: &[Frame]) -> TraceSerial {
        let thread = if session.options.threads { thread } else { ThreadSerial(0) };
        let frames = frames.iter().map(|frame| self.raw_frame(session, frame));
        lock(&self.known).trace(thread, None, frames, false)
    }

    /// Returns the number of the current trace of a thread.
    pub fn trace_of<M: mode::Loaded + mode::MayLock>(
        &self,
        jvmpi: &Context<'_, M>,
        session: &Session,
        thread: ThreadId,
    ) -> TraceSerial {
        let mut frames = Frames::with_depth(session.depth());
        let frames = jvmpi.call_trace(thread, &mut frames);
        let serial = lock(&self.known).thread(thread.as_usize());
        self.trace(session, serial, frames)
    }

    /// Returns the number of a thread's trace after it has waited for a lock. The trace begins at the method
    /// that locked it.
    pub fn trace_of_locking<M: mode::Loaded + mode::MayLock>(
        &self,
        jvmpi: &Context<'_, M>,
        session: &Session,
        thread: ThreadId,
    ) -> TraceSerial {
        let depth = session.depth();
        let mut frames = Frames::with_depth(depth + locks::MACHINERY);
        let frames = jvmpi.call_trace(thread, &mut frames);
        let known = lock(&self.known);
        let is_machinery =
            |frame: &&Frame| locks::are_machinery(known.name_of(frame.method().as_usize()).0);
        let machinery = frames.iter().take_while(is_machinery).count();
        let serial = known.thread(thread.as_usize());
        drop(known);
        let wanting = &frames[machinery..];
        self.trace(session, serial, &wanting[..wanting.len().min(depth)])
    }

    /// Returns the site of an object that was allocated at this trace.
    pub fn site(&self, session: &Session, alloc: &ObjectAlloc, trace: TraceSerial) -> u32 {
        let class = alloc.class().map(|class| class.as_usize() as u64);
        let known = lock(&self.known);
        let class = match class {
            Some(class) => known.class(class).map_or(ClassSerial(0), |class| class.serial),
            // Besides arrays, only the Class object of Class itself has no class.
            None => ClassSerial(0),
        };
        drop(known);
        let array_of = alloc.elements().and_then(|elements| Type::from_code(elements as u8));
        session.sites.number(SiteKey { class, array_of, trace })
    }

    /// Requests the classes of methods that no event has reported. If the class was unloaded in the meantime,
    /// its methods have no names.
    pub fn learn_methods(&self, jvmpi: &mut GcDisabled<'_>, frames: &[Frame]) {
        for frame in frames {
            let method = frame.method();
            if lock(&self.known).is_known(method.as_usize()) {
                continue;
            }
            if let Some(class) = jvmpi.method_class(method) {
                self.learn_class(jvmpi, class);
            }
        }
    }

    /// Requests an allocated class that no event has reported.
    pub fn learn_class(&self, jvmpi: &mut GcDisabled<'_>, class: ClassId) {
        if lock(&self.known).class(class.as_usize() as u64).is_none() {
            let add = |_: &mut GcDisabled<'_>, class: ClassLoad<'_>| {
                lock(&self.known).class_load(new_class(&class), NO_TRACE);
            };
            // A class that the VM does not report now remains unknown.
            let _ = jvmpi.class_load(class, add);
        }
    }

    /// Returns the record of an object. If no event has reported the object, it is requested from the VM; its
    /// trace is then unknown.
    pub fn object(&self, jvmpi: &mut GcDisabled<'_>, id: ObjectId) -> Option<Object> {
        let number = id.as_usize() as u64;
        let known = self.heap.enter(jvmpi).borrow().objects.get(number);
        if known.is_some() {
            return known;
        }
        let alloc = jvmpi.object_alloc(id).ok()?;
        Some(self.add_without_trace(jvmpi, &alloc))
    }

    fn add_without_trace(&self, jvmpi: &GcDisabled<'_>, alloc: &ObjectAlloc) -> Object {
        let session = self.session();
        let object = Object {
            site: self.site(&session, alloc, NO_TRACE),
            size: alloc.size().into(),
            arena: alloc.arena().0 as u8,
            // The program does not allocate it now.
            is_extra: session.weights().are_estimates(),
        };
        let number = alloc.object().as_usize() as u64;
        let heap = self.heap.enter(jvmpi);
        let is_new = heap.borrow_mut().objects.insert(number, object).is_none();
        drop(heap);
        if is_new && !object.is_extra {
            session.add_without_trace(object.site, object.size);
        }
        object
    }

    /// Returns the name of an object's class, in the form used for monitors.
    pub fn class_name(&self, jvmpi: &mut GcDisabled<'_>, id: ObjectId) -> NameId {
        let session = self.session();
        let object = self.object(jvmpi, id);
        let key = object.and_then(|object| session.sites.key(object.site));
        let mut known = lock(&self.known);
        let profile = &mut known.profile;
        let name = match key {
            None => "<Unknown>",
            Some(SiteKey { class, array_of, .. }) => match (profile.classes.get(class), array_of) {
                (Some(class), _) => return class.name,
                (None, Some(elements)) => elements.array_name(),
                (None, None) => "<Unknown>",
            },
        };
        profile.names.intern(name)
    }

    /// Frees the recorded data after the profiling has ended and while the program continues.
    pub fn forget_recorded(&self, jvmpi: &MultiThreaded<'_>) {
        self.heap.enter(jvmpi).replace(Heap::default());
        lock(&self.references).clear();
        let epoch = self.next_epoch();
        if pass_barrier() {
            let mut threads = Vec::new();
            drop(self.live_threads(&Sampled::ALL, &mut threads));
            for (thread, _) in threads {
                drop(self.of_thread.of(jvmpi, thread).and_then(|slot| slot.take(epoch)));
            }
        }
        self.session().forget();
        lock(&self.known).end();
        trim_heap();
    }
}

/// Decodes a name.
pub fn text(text: ModifiedUtf8<'_>) -> String {
    text.to_str().into_owned()
}

/// Returns the record of a class.
pub fn new_class(class: &ClassLoad<'_>) -> NewClass {
    let field = |field: Field<'_>| {
        let descriptor = field.signature().as_bytes().first().copied();
        (text(field.name()), descriptor.unwrap_or(b'L'))
    };
    let method = |method: jvmpi::Method<'_>| {
        (method.id().as_usize(), text(method.name()), text(method.signature()))
    };
    NewClass {
        object: class.class().as_usize() as u64,
        name: text(class.name()),
        source: text(class.source_name()),
        interfaces: class.num_interfaces(),
        methods: class.methods().map(method).collect(),
        statics: class.static_fields().map(field).collect(),
        fields: class.instance_fields().map(field).collect(),
    }
}
