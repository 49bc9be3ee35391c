//! The agent: the events that it enables, and its handler for each of them.

use crate::known::{Known, NewClass, NewThread};
use crate::message::error;
use crate::objects::{Object, Objects};
use crate::output::Output;
use crate::per_thread::{InUse, Own, Slot, Waited, pass_barrier};
use crate::sampler::{self, Orders, Sampled};
use crate::session::Session;
use crate::sites::SiteKey;
use crate::{dumps, listener, locks};
use jvmpi::{
    Agent, ArenaId, ClassId, ClassLoad, Context, EventType, Field, Frame, Frames, GcDisabled,
    GlobalrefAlloc, HeapUse, LoadError, MethodId, ModifiedUtf8, MonitorWait, MultiThreaded,
    ObjectAlloc, ObjectId, ObjectMove, OnLoad, Priority, RawMonitor, RawMonitorContended,
    ReferenceId, Stopped, ThreadId, ThreadLocal, ThreadStart, mode,
};
use jvmpi_formats::hprof::options::{Cpu, HELP, Options, Request};
use jvmpi_formats::profile::{
    self, Amount, ClassSerial, Format, Line, Monitor, NameId, ThreadSerial, TraceSerial, Type,
};
use rustc_hash::FxHashMap;
use std::cell::RefCell;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// HPROF.
#[derive(Debug)]
pub struct Hprof {
    shared: Arc<Shared>,
}

/// The data that all threads share.
#[derive(Debug)]
pub struct Shared {
    of_thread: ThreadLocal<Slot>,
    /// Classes, methods, threads.
    pub known: Mutex<Known>,
    /// The heap; entered from GC_START to GC_FINISH.
    pub heap: RawMonitor<RefCell<Heap>>,
    /// The instructions to the sampler.
    pub sampler: RawMonitor<Orders>,
    /// The monitor under which one thread at a time makes dumps or ends the profiling.
    pub dumps: dumps::Dumps,
    session: Mutex<Arc<Session>>,
    /// A counter that changes with anything that threads have cached: the session, its depth, the method of a
    /// `jmethodID`, and the number of a thread.
    epoch: AtomicU32,
    live: Mutex<FxHashMap<ThreadId, Live>>,
    references: Mutex<FxHashMap<usize, (u64, TraceSerial)>>,
}

/// The data on the heap.
#[derive(Debug, Default)]
pub struct Heap {
    /// The objects.
    pub objects: Objects,
    /// The objects that have died, by the numbers of their sites.
    pub freed: Vec<Amount>,
    /// The classes that the collection has unloaded.
    unloaded: Vec<u64>,
}

/// A live thread.
#[derive(Clone, Copy, Debug)]
struct Live {
    serial: ThreadSerial,
    object: u64,
}

/// Locks a mutex, even if a thread has panicked while it held it.
pub fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Heap {
    /// Counts an object that has died.
    fn free(&mut self, id: u64) {
        if let Some(object) = self.objects.remove(id) {
            Self::count_freed(&mut self.freed, object);
        }
    }

    fn count_freed(freed: &mut Vec<Amount>, object: Object) {
        let site = object.site as usize;
        // GC_START has made room for all existing sites.
        if freed.len() <= site {
            freed.resize(site + 1, Amount::default());
        }
        freed[site].instances += 1;
        freed[site].bytes += object.size;
    }
}

impl Shared {
    /// Returns the current session, which may be over.
    pub fn session(&self) -> Arc<Session> {
        Arc::clone(&lock(&self.session))
    }

    fn epoch(&self) -> u32 {
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
        let line = match frame.line() {
            _ if !session.options.lines => Line::Unknown,
            jvmpi::Line::Number(line) => Line::Number(line),
            jvmpi::Line::Unknown => Line::Unknown,
            jvmpi::Line::Compiled => Line::Compiled,
            jvmpi::Line::Native => Line::Native,
        };
        (frame.method().as_usize(), line)
    }

    /// Returns the number of the trace with these frames in this thread.
    pub fn trace(&self, session: &Session, thread: ThreadSerial, frames: &[Frame]) -> TraceSerial {
        let thread = if session.options.threads { thread } else { ThreadSerial(0) };
        lock(&self.known).trace(thread, frames.iter().map(|frame| self.raw_frame(session, frame)))
    }

    /// Returns the number of the current trace of a thread.
    fn trace_of<M: mode::Loaded + mode::MayLock>(
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
    fn trace_of_locking<M: mode::Loaded + mode::MayLock>(
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
            |frame: &&Frame| locks::are_machinery(known.class_of(frame.method().as_usize()));
        let machinery = frames.iter().take_while(is_machinery).count();
        let serial = known.thread(thread.as_usize());
        drop(known);
        let wanting = &frames[machinery..];
        self.trace(session, serial, &wanting[..wanting.len().min(depth)])
    }

    /// Returns the site of an object that was allocated at this trace.
    fn site(&self, session: &Session, alloc: &ObjectAlloc, trace: TraceSerial) -> u32 {
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
                let add = |_: &mut GcDisabled<'_>, class: ClassLoad<'_>| {
                    lock(&self.known).class_load(new_class(&class), TraceSerial(0));
                };
                // A class that the VM does not report now remains unknown.
                let _ = jvmpi.class_load(class, add);
            }
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
            site: self.site(&session, alloc, TraceSerial(0)),
            size: alloc.size().into(),
            arena: alloc.arena().0 as u8,
        };
        let number = alloc.object().as_usize() as u64;
        let heap = self.heap.enter(jvmpi);
        let is_new = heap.borrow_mut().objects.insert(number, object).is_none();
        drop(heap);
        if is_new {
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
        // SAFETY: the function has no precondition.
        unsafe { libc::malloc_trim(0) };
    }

    /// Returns the object of a JNI global reference and the trace that created the reference.
    pub fn reference(&self, reference: usize) -> Option<(u64, TraceSerial)> {
        lock(&self.references).get(&reference).copied()
    }
}

impl Hprof {
    /// Returns the current thread's own data. Returns None if the thread is already using it, and in events
    /// that belong to no thread.
    #[inline]
    fn own<'e, M: mode::Loaded + mode::MayLock>(
        &self,
        jvmpi: &Context<'e, M>,
    ) -> Option<InUse<'e>> {
        let slot = self.shared.of_thread.get_or_init(jvmpi, Slot::default)?;
        slot.own(|| self.shared.epoch(), |own| self.look_again(jvmpi.thread(), own))
    }

    #[cold]
    fn look_again(&self, thread: ThreadId, own: &mut Option<Box<Own>>) {
        let session = self.shared.session();
        let serial = lock(&self.shared.known).thread(thread.as_usize());
        match own.as_deref_mut().filter(|own| Arc::ptr_eq(&own.session, &session)) {
            Some(own) => {
                own.serial = serial;
                own.allocations.forget_methods();
                own.calls.forget_methods();
                own.frames = Frames::with_depth(session.alloc_depth());
            }
            None => *own = Some(Box::new(Own::new(session, thread.as_usize(), serial))),
        }
    }

    /// Returns the trace at which a thread was started or a class was loaded. Only the binary format contains
    /// it.
    fn trace_for_binary(
        &self,
        jvmpi: &GcDisabled<'_>,
        session: &Session,
        thread: ThreadId,
    ) -> TraceSerial {
        match session.options.format {
            Format::Binary => self.shared.trace_of(jvmpi, session, thread),
            _ => TraceSerial(0),
        }
    }

    /// Notes the time at which the thread begins to wait for a monitor.
    fn waits<M: mode::Loaded + mode::MayLock>(&self, jvmpi: &Context<'_, M>, monitor: Waited) {
        if let Some(mut own) = self.own(jvmpi) {
            own.waits = Some((monitor, Instant::now()));
        }
    }

    /// Returns the time that the thread has waited for the monitor.
    fn waited<M: mode::Loaded + mode::MayLock>(
        &self,
        jvmpi: &Context<'_, M>,
        monitor: Waited,
    ) -> Option<Duration> {
        let (waited, since) = self.own(jvmpi)?.waits.take()?;
        (waited == monitor).then(|| since.elapsed())
    }

    /// Starts a thread of the agent. A failure is logged as one line.
    fn start(
        &self,
        jvmpi: &mut MultiThreaded<'_>,
        name: &std::ffi::CStr,
        priority: Priority,
        work: impl FnOnce(&Arc<Shared>, &mut MultiThreaded<'_>) + Send + 'static,
    ) {
        let shared = Arc::clone(&self.shared);
        let work = move |jvmpi: &mut MultiThreaded<'_>| work(&shared, jvmpi);
        if let Err(why) = jvmpi.create_system_thread(name, priority, work) {
            error(&format_args!("{why}: {} does not run", name.to_string_lossy()));
        }
    }
}

/// Returns true if a running VM is loading the agent. A bad option, or help, may end the process only while
/// the process is starting. JVMPI does not report this, but HotSpot loads agents on a thread of this name.
fn is_attached() -> bool {
    std::fs::read_to_string("/proc/thread-self/comm")
        .is_ok_and(|name| name.trim() == "Attach Listener")
}

/// Ends the process because of an error, as HPROF always did, unless the agent is attached to a running
/// process.
fn refuse(jvmpi: &OnLoad, why: &str) -> LoadError {
    if !is_attached() {
        error(&why);
        jvmpi.profiler_exit(1);
    }
    LoadError::new(why)
}

fn help(jvmpi: &OnLoad) -> LoadError {
    print!("{HELP}");
    if !is_attached() {
        jvmpi.profiler_exit(0);
    }
    LoadError::new("the options are listed above")
}

/// Reads the options, opens the output that they name and enables the events that they need.
fn start(jvmpi: &mut OnLoad, options: &str) -> Result<(Options, Output), LoadError> {
    let process = std::process::id();
    let options = match Request::parse(options, process) {
        Ok(Request::Run(options)) => options,
        Ok(Request::Help) => return Err(help(jvmpi)),
        Err(refusal) => return Err(refuse(jvmpi, &refusal.to_string())),
    };
    let output = Output::open(&options, process).map_err(|why| refuse(jvmpi, &why))?;
    jvmpi.enable_all(events(&options));
    Ok((options, output))
}

/// Returns the events that the options need.
fn events(options: &Options) -> Vec<EventType> {
    use EventType::*;
    let mut events = vec![
        ClassUnload,
        ThreadStart,
        ThreadEnd,
        DataDumpRequest,
        DataResetRequest,
        JvmInitDone,
        JvmShutDown,
        GcStart,
        GcFinish,
    ];
    if !options.names_methods_only() {
        events.push(ClassLoad);
    }
    events.extend(costly_events(options));
    events
}

/// Returns the costly ones of these events. They are disabled when the profiling ends.
pub fn costly_events(options: &Options) -> Vec<EventType> {
    use EventType::*;
    let mut events = Vec::new();
    if matches!(options.cpu, Some(Cpu::Times | Cpu::Old)) {
        events.extend([MethodEntry, MethodExit]);
    }
    if options.monitor {
        events.extend([
            RawMonitorContendedEnter,
            RawMonitorContendedEntered,
            MonitorContendedEnter,
            MonitorContendedEntered,
            MonitorWait,
            MonitorWaited,
        ]);
    }
    if options.sites || options.heap_dump {
        events.push(ObjectAlloc);
    }
    if options.sites || options.heap_dump || options.monitor {
        events.extend([ObjectFree, ObjectMove, ArenaDelete]);
    }
    if options.heap_dump {
        events.extend([JniGlobalrefAlloc, JniGlobalrefFree]);
    }
    events
}

fn text(text: ModifiedUtf8<'_>) -> String {
    text.to_str().into_owned()
}

fn new_class(class: &ClassLoad<'_>) -> NewClass {
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

impl Agent for Hprof {
    fn load(jvmpi: &mut OnLoad, options: &str) -> Result<Self, LoadError> {
        let (options, output) = start(jvmpi, options)?;
        let shared = Shared {
            known: Mutex::default(),
            heap: RawMonitor::new(jvmpi, c"_hprof heap", RefCell::default()),
            sampler: RawMonitor::new(jvmpi, c"_hprof sampler", Orders::of(&options)),
            dumps: dumps::Dumps::new(jvmpi, &options, output),
            session: Mutex::new(Arc::new(Session::new(options))),
            // The data of a new thread has epoch 0, so this one must differ.
            epoch: AtomicU32::new(1),
            of_thread: ThreadLocal::new(jvmpi)?,
            live: Mutex::default(),
            references: Mutex::default(),
        };
        Ok(Self { shared: Arc::new(shared) })
    }

    /// Keeps the known classes and threads, because their events stay enabled between recordings.
    fn load_again(&self, jvmpi: &mut OnLoad, options: &str) -> Result<(), LoadError> {
        let shared = &self.shared;
        if !shared.dumps.have_ended(jvmpi) {
            return Err("HPROF is at work in this VM already: end that, or load a copy of the \
                        library under another name"
                .into());
        }
        let (options, output) = start(jvmpi, options)?;
        shared.heap.enter(jvmpi).replace(Heap::default());
        lock(&shared.references).clear();
        let orders = shared.sampler.enter(jvmpi);
        let Orders { sampled, end } = Orders::of(&options);
        orders.sampled.replace(sampled.into_inner());
        orders.end.set(end.get());
        let session = Arc::new(Session::new(options));
        lock(&shared.known).begin();
        *lock(&shared.session) = Arc::clone(&session);
        shared.next_epoch();
        // An earlier sampler that has not ended yet detects that the session has changed.
        orders.notify_all(jvmpi);
        drop(orders);
        shared.dumps.begin_again(jvmpi, &session.options, output);
        Ok(())
    }

    fn jvm_init_done(&self, jvmpi: &mut MultiThreaded<'_>) {
        let options = &self.shared.session().options;
        let commands = self.shared.dumps.connection(jvmpi);
        if options.cpu == Some(Cpu::Samples) || commands.is_some() {
            self.start(jvmpi, c"HPROF CPU profiler", Priority::Maximum, sampler::run);
        }
        if let Some(commands) = commands {
            let listen = |shared: &Arc<Shared>, jvmpi: &mut MultiThreaded<'_>| {
                listener::run(shared, jvmpi, commands);
            };
            self.start(jvmpi, c"HPROF listener", Priority::Normal, listen);
        }
        if let Some(duration) = options.duration {
            let end = move |shared: &Arc<Shared>, jvmpi: &mut MultiThreaded<'_>| {
                shared.dumps.end_after(shared, jvmpi, duration);
            };
            self.start(jvmpi, c"HPROF timer", Priority::Normal, end);
        }
    }

    fn jvm_shut_down(&self, jvmpi: &mut MultiThreaded<'_>) {
        let dump = self.shared.session().options.dump_on_exit;
        self.shared.dumps.end(&self.shared, jvmpi, dump);
    }

    fn data_dump_request(&self, jvmpi: &mut MultiThreaded<'_>) {
        self.shared.dumps.dump(&self.shared, jvmpi);
    }

    fn data_reset_request(&self, _: &mut MultiThreaded<'_>) {
        self.shared.session().clear_costs();
    }

    fn thread_start(&self, jvmpi: &mut GcDisabled<'_>, thread: ThreadStart<'_>) {
        let session = self.shared.session();
        let (env, object) = (thread.thread(), thread.object().map_or(0, |o| o.as_usize() as u64));
        let started = NewThread {
            env: env.as_usize(),
            object,
            name: text(thread.name()),
            group: text(thread.group_name()),
            parent_group: text(thread.parent_name()),
        };
        let trace = self.trace_for_binary(jvmpi, &session, env);
        let serial = lock(&self.shared.known).thread_start(&started, trace);
        if session.name_thread(env.as_usize(), serial) {
            self.shared.next_epoch();
        }
        lock(&self.shared.live).insert(env, Live { serial, object });
    }

    fn thread_end(&self, jvmpi: &mut MultiThreaded<'_>) {
        let thread = jvmpi.thread();
        lock(&self.shared.live).remove(&thread);
        lock(&self.shared.known).thread_end(thread.as_usize());
        self.shared.session().end_thread(thread.as_usize());
    }

    fn class_load(&self, jvmpi: &mut GcDisabled<'_>, class: ClassLoad<'_>) {
        let session = self.shared.session();
        let trace = self.trace_for_binary(jvmpi, &session, jvmpi.thread());
        lock(&self.shared.known).class_load(new_class(&class), trace);
        if session.options.sites || session.options.heap_dump {
            // No other event reports the Class object.
            self.shared.object(jvmpi, class.class().into());
        }
    }

    fn class_unload(&self, jvmpi: &mut Stopped<'_>, class: ClassId) {
        // GC_FINISH removes the data of the class, because locks may be taken there.
        if let Some(heap) = self.shared.heap.kept(jvmpi) {
            heap.borrow_mut().unloaded.push(class.as_usize() as u64);
        }
    }

    fn gc_start(&self, jvmpi: &mut MultiThreaded<'_>) {
        let sites = self.shared.session().sites.count();
        let classes = lock(&self.shared.known).profile.classes.iter().len();
        let heap = self.shared.heap.enter(jvmpi);
        {
            // No memory may be allocated from here to GC_FINISH.
            let mut heap = heap.borrow_mut();
            let sites = sites.max(heap.freed.len());
            heap.freed.resize(sites, Amount::default());
            heap.unloaded.reserve(classes);
        }
        heap.keep();
    }

    fn gc_finish(&self, jvmpi: &mut MultiThreaded<'_>, _: HeapUse) {
        if !self.shared.heap.exit_kept(jvmpi) {
            return;
        }
        let unloaded = {
            let heap = self.shared.heap.enter(jvmpi);
            let mut heap = heap.borrow_mut();
            heap.objects.shrink();
            std::mem::take(&mut heap.unloaded)
        };
        if !unloaded.is_empty() {
            let mut known = lock(&self.shared.known);
            unloaded.iter().for_each(|class| known.class_unload(*class));
            self.shared.next_epoch();
        }
    }

    fn object_alloc(&self, jvmpi: &mut GcDisabled<'_>, alloc: ObjectAlloc) {
        let shared = &self.shared;
        // Other events may occur while the trace is taken, so it is taken before the data is used.
        let Some(mut frames) = self
            .own(jvmpi)
            .map(|mut own| std::mem::replace(&mut own.frames, Frames::with_depth(0)))
        else {
            return;
        };
        let trace = jvmpi.call_trace(jvmpi.thread(), &mut frames);
        let Some(mut own) = self.own(jvmpi) else { return };
        let Own { session, serial, allocations, cursor, .. } = &mut *own;
        let class = alloc.class().map_or(0, ClassId::as_usize);
        let array_of = alloc.elements().map_or(0, |elements| elements as u8);
        let size = u64::from(alloc.size());
        let site = allocations.count(class, array_of, trace, size, || {
            shared.site(session, &alloc, shared.trace(session, *serial, trace))
        });
        let object = Object { site, size, arena: alloc.arena().0 as u8 };
        let page = |number| shared.heap.enter(jvmpi).borrow_mut().objects.page(number);
        cursor.insert(alloc.object().as_usize() as u64, object, page);
        if frames.depth() == session.alloc_depth() {
            own.frames = frames;
        }
    }

    fn object_free(&self, jvmpi: &mut Stopped<'_>, object: ObjectId) {
        if let Some(heap) = self.shared.heap.kept(jvmpi) {
            heap.borrow_mut().free(object.as_usize() as u64);
        }
    }

    fn object_move(&self, jvmpi: &mut Stopped<'_>, moved: ObjectMove) {
        if let Some(heap) = self.shared.heap.kept(jvmpi) {
            let objects = &mut heap.borrow_mut().objects;
            if let Some(object) = objects.remove(moved.object.as_usize() as u64) {
                let object = Object { arena: moved.new_arena.0 as u8, ..object };
                objects.insert(moved.new_object.as_usize() as u64, object);
            }
        }
    }

    fn arena_delete(&self, jvmpi: &mut Stopped<'_>, arena: ArenaId) {
        if let Some(heap) = self.shared.heap.kept(jvmpi) {
            let Heap { objects, freed, .. } = &mut *heap.borrow_mut();
            objects.remove_arena(arena.0 as u8, |object| Heap::count_freed(freed, object));
        }
    }

    #[inline]
    fn method_entry(&self, jvmpi: &mut MultiThreaded<'_>, method: MethodId) {
        if let Some(mut own) = self.own(jvmpi) {
            let Own { calls, clock, session, .. } = &mut *own;
            let Options { depth, contexts, .. } = session.options;
            let resolve = |call| {
                lock(&self.shared.known).stack_of_call(call, depth.into(), contexts as usize)
            };
            calls.enter(method.as_usize(), || clock.now(|| cpu_time(jvmpi)), resolve);
        }
    }

    #[inline]
    fn method_exit(&self, jvmpi: &mut MultiThreaded<'_>, method: MethodId) {
        if let Some(mut own) = self.own(jvmpi) {
            let now = own.clock.now(|| cpu_time(jvmpi));
            own.calls.leave(method.as_usize(), now);
        }
    }

    fn jni_globalref_alloc(&self, jvmpi: &mut GcDisabled<'_>, alloc: GlobalrefAlloc) {
        let trace = self.shared.trace_of(jvmpi, &self.shared.session(), jvmpi.thread());
        let object = alloc.object.map_or(0, |object| object.as_usize() as u64);
        lock(&self.shared.references).insert(alloc.reference.as_usize(), (object, trace));
    }

    fn jni_globalref_free(&self, _: &mut MultiThreaded<'_>, reference: ReferenceId) {
        lock(&self.shared.references).remove(&reference.as_usize());
    }

    fn monitor_contended_enter(&self, jvmpi: &mut GcDisabled<'_>, object: ObjectId) {
        self.waits(jvmpi, Waited::Java(object.as_usize() as u64));
    }

    fn monitor_contended_entered(&self, jvmpi: &mut GcDisabled<'_>, object: ObjectId) {
        let id = object.as_usize() as u64;
        let Some(time) = self.waited(jvmpi, Waited::Java(id)) else { return };
        let session = self.shared.session();
        let trace = self.shared.trace_of(jvmpi, &session, jvmpi.thread());
        let class = self.shared.class_name(jvmpi, object);
        lock(&session.waits).add(
            Monitor::Java { object: profile::ObjectId(id), class },
            trace,
            time,
        );
    }

    fn monitor_wait(&self, jvmpi: &mut GcDisabled<'_>, wait: MonitorWait) {
        if let Some(object) = wait.object {
            self.waits(jvmpi, Waited::Java(object.as_usize() as u64));
        }
    }

    fn monitor_waited(&self, jvmpi: &mut GcDisabled<'_>, wait: MonitorWait) {
        let Some(object) = wait.object else { return };
        let id = object.as_usize() as u64;
        let Some(time) = self.waited(jvmpi, Waited::Java(id)) else { return };
        let class = self.shared.class_name(jvmpi, object);
        if !locks::are_locks(lock(&self.shared.known).profile.names.get(class)) {
            return;
        }
        let session = self.shared.session();
        let trace = self.shared.trace_of_locking(jvmpi, &session, jvmpi.thread());
        lock(&session.waits).add(
            Monitor::Java { object: profile::ObjectId(id), class },
            trace,
            time,
        );
    }

    fn raw_monitor_contended_enter(
        &self,
        jvmpi: &mut MultiThreaded<'_>,
        contended: RawMonitorContended<'_>,
    ) {
        self.waits(jvmpi, Waited::Raw(contended.monitor.as_usize() as u64));
    }

    fn raw_monitor_contended_entered(
        &self,
        jvmpi: &mut MultiThreaded<'_>,
        contended: RawMonitorContended<'_>,
    ) {
        let id = contended.monitor.as_usize() as u64;
        let Some(time) = self.waited(jvmpi, Waited::Raw(id)) else { return };
        let session = self.shared.session();
        let trace = self.shared.trace_of(jvmpi, &session, jvmpi.thread());
        let name = lock(&self.shared.known).profile.names.intern(&contended.name.to_str());
        lock(&session.waits).add(Monitor::Raw { id: profile::ObjectId(id), name }, trace, time);
    }
}

fn cpu_time(jvmpi: &MultiThreaded<'_>) -> u64 {
    u64::try_from(jvmpi.current_thread_cpu_time()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_are_told_of_where_more_is_wanted_than_names_of_methods() {
        for (options, told) in [
            ("cpu=samples", false),
            ("cpu=samples,file=x.svg,thread=y", false),
            ("cpu=samples,file=x.hprof", true),
            ("cpu=samples,monitor=y", true),
            ("cpu=samples,heap=sites", true),
            ("cpu=samples,net=localhost:1", true),
            ("cpu=times", true),
            ("", true),
        ] {
            let Ok(Request::Run(parsed)) = Request::parse(options, 1) else {
                panic!("{options} is refused")
            };
            assert_eq!(events(&parsed).contains(&EventType::ClassLoad), told, "{options}");
        }
    }
}
