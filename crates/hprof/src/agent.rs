//! The agent: its handler for each event.

use crate::cpu_state::Cpu;
use crate::dumps::Dumps;
use crate::events::events;
use crate::message::{error, warning};
use crate::mutex::lock;
use crate::objects::Object;
use crate::orders::Orders;
use crate::output::Output;
use crate::per_thread::{InUse, Own, Slot};
use crate::session::Session;
use crate::shared::{Heap, Live, Shared, new_class, text};
use crate::symbols::{NO_TRACE, NewThread};
use crate::weights::{Tally, Weights};
use crate::{listener, locks, sampler};
use jvm::platform::os_thread;
use jvmpi::{
    Agent, ArenaId, ClassId, ClassLoad, Context, Frames, GcDisabled, GlobalrefAlloc, HeapUse,
    LoadError, MethodId, MonitorWait, MultiThreaded, ObjectAlloc, ObjectId, ObjectMove, OnLoad,
    Priority, RawMonitor, RawMonitorContended, ReferenceId, Stopped, ThreadId, ThreadLocal,
    ThreadStart, mode,
};
use jvmpi_formats::hprof::options::{HELP, Options};
use jvmpi_formats::profile::{self, Format, Monitor, TraceSerial};
use std::cell::RefCell;
use std::sync::atomic::AtomicU32;
use std::sync::{Arc, LazyLock, Mutex};
use std::time::{Duration, Instant};

/// HPROF.
#[derive(Debug)]
pub struct Hprof {
    shared: Arc<Shared>,
    dumps: Arc<Dumps>,
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
            _ => NO_TRACE,
        }
    }

    /// Notes the time at which the thread begins to wait for a monitor.
    fn waits<M: mode::Loaded + mode::MayLock>(&self, jvmpi: &Context<'_, M>, monitor: usize) {
        if let Some(mut own) = self.own(jvmpi) {
            own.waits = Some((monitor, Instant::now()));
        }
    }

    /// Returns the time that the thread has waited for the monitor.
    fn waited<M: mode::Loaded + mode::MayLock>(
        &self,
        jvmpi: &Context<'_, M>,
        monitor: usize,
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
        let work = move |jvmpi: &mut MultiThreaded<'_>| {
            lock(&shared.own).insert(jvmpi.thread());
            work(&shared, jvmpi);
            lock(&shared.own).remove(&jvmpi.thread());
        };
        if let Err(why) = jvmpi.create_system_thread(name, priority, work) {
            error(&format_args!("{why}: {} does not run", name.to_string_lossy()));
        }
    }
}

/// Returns true if a running VM is loading the agent. A bad option, or help, may end the process only while
/// the process is starting. JVMPI does not report this, but HotSpot loads agents on a thread of this name.
fn is_attached() -> bool {
    os_thread::name_of(os_thread::ask()) == "Attach Listener"
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
    let options = match Options::parse(options, process) {
        Ok(Some(options)) => options,
        Ok(None) => return Err(help(jvmpi)),
        Err(why) => return Err(refuse(jvmpi, &why)),
    };
    if let Some(other) = options.other_cpu {
        warning(&format_args!("cpu={other} is ignored: one kind of CPU time can be recorded"));
    }
    let output = Output::open(&options, process).map_err(|why| refuse(jvmpi, &why))?;
    jvmpi.enable_all(events(&options));
    if let Some(interval) = options.sample {
        jvmpi.sample_allocations(interval);
    }
    Ok((options, output))
}

impl Agent for Hprof {
    fn load(jvmpi: &mut OnLoad, options: &str) -> Result<Self, LoadError> {
        let (options, output) = start(jvmpi, options)?;
        let dumps = Dumps::new(jvmpi, &options, output);
        let shared = Shared {
            known: Mutex::default(),
            heap: RawMonitor::new(
                jvmpi,
                c"_hprof heap",
                RefCell::new(Heap::new(Weights::new(options.sample))),
            ),
            sampler: RawMonitor::new(jvmpi, c"_hprof sampler", RefCell::new(Orders::of(&options))),
            cpu: Mutex::new(Cpu::begin(is_attached())),
            session: Mutex::new(Arc::new(Session::new(options))),
            // The data of a new thread has epoch 0, so this one must differ.
            epoch: AtomicU32::new(1),
            of_thread: ThreadLocal::new(jvmpi)?,
            live: Mutex::default(),
            own: Mutex::default(),
            references: Mutex::default(),
        };
        Ok(Self { shared: Arc::new(shared), dumps: Arc::new(dumps) })
    }

    /// Keeps the known classes and threads, because their events stay enabled between recordings.
    fn load_again(&self, jvmpi: &mut OnLoad, options: &str) -> Result<(), LoadError> {
        let shared = &self.shared;
        if !self.dumps.have_ended(jvmpi) {
            return Err("HPROF already runs in this VM: end it, or load a copy of the \
                        library under another name"
                .into());
        }
        let (options, output) = start(jvmpi, options)?;
        shared.heap.enter(jvmpi).replace(Heap::new(Weights::new(options.sample)));
        lock(&shared.references).clear();
        let orders = shared.sampler.enter(jvmpi);
        orders.replace(Orders::of(&options));
        let session = Arc::new(Session::new(options));
        lock(&shared.known).begin();
        *lock(&shared.session) = Arc::clone(&session);
        *lock(&shared.cpu) = Cpu::begin(is_attached());
        shared.next_epoch();
        // An earlier sampler that has not ended yet detects that the session has changed.
        orders.notify_all(jvmpi);
        drop(orders);
        self.dumps.begin_again(jvmpi, &session.options, output);
        Ok(())
    }

    fn jvm_init_done(&self, jvmpi: &mut MultiThreaded<'_>) {
        let options = &self.shared.session().options;
        let commands = self.dumps.connection(jvmpi);
        if options.samples() || commands.is_some() {
            self.start(jvmpi, c"HPROF CPU profiler", Priority::Maximum, sampler::run);
        }
        if let Some(commands) = commands {
            let dumps = Arc::clone(&self.dumps);
            let listen = move |shared: &Arc<Shared>, jvmpi: &mut MultiThreaded<'_>| {
                listener::run(&dumps, shared, jvmpi, commands);
            };
            self.start(jvmpi, c"HPROF listener", Priority::Normal, listen);
        }
        if let Some(duration) = options.duration {
            let dumps = Arc::clone(&self.dumps);
            let end = move |shared: &Arc<Shared>, jvmpi: &mut MultiThreaded<'_>| {
                dumps.end_after(shared, jvmpi, duration);
            };
            self.start(jvmpi, c"HPROF timer", Priority::Normal, end);
        }
    }

    fn jvm_shut_down(&self, jvmpi: &mut MultiThreaded<'_>) {
        let dump = self.shared.session().options.dump_on_exit;
        self.dumps.end(&self.shared, jvmpi, dump);
    }

    fn data_dump_request(&self, jvmpi: &mut MultiThreaded<'_>) {
        self.dumps.dump(&self.shared, jvmpi);
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
        if (session.options.sites || session.options.heap_dump) && session.options.sample.is_none()
        {
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
            heap.freed.resize(sites, Tally::default());
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
        let taken = self.own(jvmpi).map(|mut own| {
            let frames = std::mem::replace(&mut own.frames, Frames::with_depth(0));
            (frames, own.session.options.names_methods_only())
        });
        let Some((mut frames, names_methods_only)) = taken else { return };
        let trace = jvmpi.call_trace(jvmpi.thread(), &mut frames);
        if names_methods_only {
            shared.learn_methods(jvmpi, trace);
            alloc.class().into_iter().for_each(|class| shared.learn_class(jvmpi, class));
        }
        let Some(mut own) = self.own(jvmpi) else { return };
        let Own { session, serial, allocations, cursor, .. } = &mut *own;
        let class = alloc.class().map_or(0, ClassId::as_usize);
        let array_of = alloc.elements().map_or(0, |elements| elements as u8);
        let size = u64::from(alloc.size());
        let tally = session.weights().of(size);
        let site = allocations.count(class, array_of, trace, tally, || {
            shared.site(session, &alloc, shared.trace(session, *serial, trace))
        });
        let object = Object { site, size, arena: alloc.arena().0 as u8, is_extra: false };
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
            let Heap { objects, freed, weights, .. } = &mut *heap.borrow_mut();
            let mut dead = |object| Heap::count_freed(freed, *weights, object);
            objects.remove_arena(arena.0 as u8, &mut dead);
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
            let ask = || time_of_calls(jvmpi, session.options.over);
            calls.enter(method.as_usize(), || clock.now(ask), resolve);
        }
    }

    #[inline]
    fn method_exit(&self, jvmpi: &mut MultiThreaded<'_>, method: MethodId) {
        if let Some(mut own) = self.own(jvmpi) {
            let Own { calls, clock, session, .. } = &mut *own;
            let now = clock.now(|| time_of_calls(jvmpi, session.options.over));
            calls.leave(method.as_usize(), now);
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
        self.waits(jvmpi, object.as_usize());
    }

    fn monitor_contended_entered(&self, jvmpi: &mut GcDisabled<'_>, object: ObjectId) {
        let id = object.as_usize();
        let Some(time) = self.waited(jvmpi, id) else { return };
        let session = self.shared.session();
        let trace = self.shared.trace_of(jvmpi, &session, jvmpi.thread());
        let class = self.shared.class_name(jvmpi, object);
        let monitor = Monitor::Java { object: profile::ObjectId(id as u64), class };
        lock(&session.waits).add(monitor, trace, time);
    }

    fn monitor_wait(&self, jvmpi: &mut GcDisabled<'_>, wait: MonitorWait) {
        if let Some(object) = wait.object {
            self.waits(jvmpi, object.as_usize());
        }
    }

    fn monitor_waited(&self, jvmpi: &mut GcDisabled<'_>, wait: MonitorWait) {
        let Some(object) = wait.object else { return };
        let id = object.as_usize();
        let Some(time) = self.waited(jvmpi, id) else { return };
        let class = self.shared.class_name(jvmpi, object);
        if !locks::are_locks(lock(&self.shared.known).profile.names.get(class)) {
            return;
        }
        let session = self.shared.session();
        let trace = self.shared.trace_of_locking(jvmpi, &session, jvmpi.thread());
        let monitor = Monitor::Java { object: profile::ObjectId(id as u64), class };
        lock(&session.waits).add(monitor, trace, time);
    }

    fn raw_monitor_contended_enter(
        &self,
        jvmpi: &mut MultiThreaded<'_>,
        contended: RawMonitorContended<'_>,
    ) {
        self.waits(jvmpi, contended.monitor.as_usize());
    }

    fn raw_monitor_contended_entered(
        &self,
        jvmpi: &mut MultiThreaded<'_>,
        contended: RawMonitorContended<'_>,
    ) {
        let id = contended.monitor.as_usize();
        let Some(time) = self.waited(jvmpi, id) else { return };
        let session = self.shared.session();
        let trace = self.shared.trace_of(jvmpi, &session, jvmpi.thread());
        let name = lock(&self.shared.known).profile.names.intern(&contended.name.to_str());
        let monitor = Monitor::Raw { id: profile::ObjectId(id as u64), name };
        lock(&session.waits).add(monitor, trace, time);
    }
}

/// Returns the CPU time of the current thread in nanoseconds; with `over=`, the time that has passed.
fn time_of_calls(jvmpi: &MultiThreaded<'_>, over: Option<Duration>) -> u64 {
    static START: LazyLock<Instant> = LazyLock::new(Instant::now);
    match over {
        Some(_) => u64::try_from(START.elapsed().as_nanos()).unwrap_or(u64::MAX),
        None => u64::try_from(jvmpi.current_thread_cpu_time()).unwrap_or(0),
    }
}
