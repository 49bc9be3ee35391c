//! Tries what the crate `jvmpi` can do, and reports what came of it, under the workload `Points`.
//!
//! Options: the word that says what is tried, and out=PATH; else the report's path is in the environment.

use jvmpi::dump::{Classes, Id, Kind, Record, Shape, Value};
use jvmpi::*;
use std::cell::{Cell, RefCell};
use std::collections::{HashMap, HashSet};
use std::ffi::CString;
use std::fmt::Arguments;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

export_agent!(Probe);

struct Probe {
    what: What,
    report: Report,
    known: Mutex<Known>,
    own: ThreadLocal<Own>,
    sampler: &'static RawMonitor<Sampler>,
    heap: RawMonitor<RefCell<Heap>>,
    entries: AtomicU64,
    exits: AtomicU64,
    hooked: AtomicU64,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum What {
    Requests,
    Threads,
    Collections,
    Panic,
}

struct Report(File);

impl Report {
    /// One line: one write to a file open for appending.
    fn line(&self, line: Arguments<'_>) {
        (&self.0).write_all(format!("{line}\n").as_bytes()).expect("the report is written");
    }

    fn check(&self, name: &str, ok: bool) {
        self.line(format_args!("check name=\"{name}\" ok={} line=0", u8::from(ok)));
    }
}

/// The contents of CLASS_LOAD.
#[derive(Default)]
struct Known {
    classes: HashMap<Id, Class>,
    methods: HashMap<MethodId, String>,
    /// The threads that live, and their names.
    threads: HashMap<ThreadId, String>,
}

struct Class {
    id: ClassId,
    name: String,
    interfaces: usize,
    statics: Vec<Type>,
    instances: Vec<Type>,
}

impl Classes for Known {
    fn shape(&self, class: Id) -> Option<Shape<'_>> {
        let Class { interfaces, statics, .. } = self.classes.get(&class)?;
        Some(Shape { interfaces: *interfaces, statics })
    }
}

impl Known {
    fn class(&self, name: &str) -> &Class {
        self.classes.values().find(|class| class.name == name).expect("the class is loaded")
    }
}

/// The data of a thread.
struct Own {
    /// `ALIVE` until it is dropped.
    state: AtomicU64,
    touches: AtomicU64,
}

const ALIVE: u64 = 0xa11e;
static MADE: AtomicU64 = AtomicU64::new(0);
static DROPPED: AtomicU64 = AtomicU64::new(0);

impl Own {
    fn new() -> Self {
        MADE.fetch_add(1, Ordering::Relaxed);
        Self { state: AtomicU64::new(ALIVE), touches: AtomicU64::new(0) }
    }
}

impl Drop for Own {
    fn drop(&mut self) {
        DROPPED.fetch_add(1, Ordering::Relaxed);
        self.state.store(0, Ordering::Relaxed);
    }
}

/// The stacks that the sampling thread has seen, and the signal for its end.
#[derive(Default)]
struct Sampler {
    end: Cell<bool>,
    ended: Cell<bool>,
    looks: Cell<u64>,
    frames: Cell<u64>,
    dead: Cell<u64>,
}

/// The state of the heap according to events.
#[derive(Default)]
struct Heap {
    points: HashSet<ObjectId>,
    freed: u64,
    collections: u64,
}

static UNLOCKED: AtomicU64 = AtomicU64::new(0);

impl Agent for Probe {
    fn load(jvmpi: &mut OnLoad, options: &str) -> Result<Self, LoadError> {
        use EventType::*;
        let (what, out) = options.split_once(",out=").unwrap_or((options, ""));
        let variable = std::env::var("JVMPI_TEST_REPORT").unwrap_or_default();
        let path = if out.is_empty() { &variable } else { out };
        let report = OpenOptions::new().create(true).append(true).open(path);
        let report = report.map_err(|e| format!("{path}: {e}"))?;
        jvmpi.enable_all([ClassLoad, JvmShutDown]);
        let what = match what {
            "requests" => {
                jvmpi.enable(ClassLoadHook);
                What::Requests
            }
            "threads" => {
                jvmpi.enable_all([ThreadStart, MethodEntry, JvmInitDone]);
                What::Threads
            }
            "collections" => {
                jvmpi.enable_all([ObjectAlloc, ObjectFree, GcStart, GcFinish, MethodEntry]);
                What::Collections
            }
            "panic" => {
                jvmpi.enable_all([MethodEntry, MethodExit]);
                What::Panic
            }
            "panic-in-load" => panic!("expected"),
            _ => return Err(format!("there is nothing to try: {what}").into()),
        };
        Ok(Self {
            what,
            report: Report(report),
            known: Mutex::default(),
            own: ThreadLocal::new(jvmpi)?,
            sampler: Box::leak(Box::new(RawMonitor::new(jvmpi, c"_sampler", Sampler::default()))),
            heap: RawMonitor::new(jvmpi, c"_heap", RefCell::default()),
            entries: AtomicU64::new(0),
            exits: AtomicU64::new(0),
            hooked: AtomicU64::new(0),
        })
    }

    fn class_load(&self, _: &mut GcDisabled<'_>, class: ClassLoad<'_>) {
        let types = |fields: &mut dyn Iterator<Item = Field<'_>>| {
            fields.map(|field| field.of_type().expect("a field has a type")).collect()
        };
        let mut known = self.known.lock().unwrap();
        let name = class.name().to_string();
        let named = |method: Method<'_>| (method.id(), format!("{name}.{}", method.name()));
        known.methods.extend(class.methods().map(named));
        let class = Class {
            id: class.class(),
            interfaces: class.num_interfaces(),
            statics: types(&mut class.static_fields()),
            instances: types(&mut class.instance_fields()),
            name,
        };
        known.classes.insert(class.id.as_usize(), class);
    }

    /// Has the VM parse a copy.
    fn class_load_hook(&self, _: &mut MultiThreaded<'_>, class_file: &mut ClassFile<'_>) {
        if class_file.bytes().starts_with(b"\xca\xfe\xba\xbe") {
            let copy = class_file.bytes().to_vec();
            class_file.replace(&copy).expect("there is memory");
            self.hooked.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn thread_start(&self, _: &mut GcDisabled<'_>, thread: ThreadStart<'_>) {
        let mut known = self.known.lock().unwrap();
        known.threads.insert(thread.thread(), thread.name().to_string());
    }

    fn thread_end(&self, jvmpi: &mut MultiThreaded<'_>) {
        if self.what != What::Threads {
            return;
        }
        let name = self.known.lock().unwrap().threads.remove(&jvmpi.thread());
        let touches = self.own.get(jvmpi).map_or(0, |own| own.touches.load(Ordering::Relaxed));
        let name = name.unwrap_or_default();
        self.report.line(format_args!("ended thread={name:?} touches={touches}"));
    }

    fn jvm_init_done(&self, jvmpi: &mut MultiThreaded<'_>) {
        self.sample(jvmpi);
        for number in 0..5 {
            let name = CString::new(format!("probe-{number}")).expect("there is no NUL");
            let report = Report(self.report.0.try_clone().expect("there is a file"));
            let expected = name.to_str().expect("it is ASCII").to_owned();
            let work = move |jvmpi: &mut MultiThreaded<'_>| {
                let thread = jvmpi.thread();
                let mut gc_off = jvmpi.disable_gc();
                let object = gc_off.thread_object(thread).expect("the thread has an object");
                let name = gc_off.thread_start(object, |_, start| {
                    assert_eq!(start.thread(), thread);
                    start.name().to_string()
                });
                report.check(&expected, name.as_ref() == Ok(&expected));
            };
            jvmpi.create_system_thread(&name, Priority::Normal, work).expect("there are threads");
        }
    }

    fn method_entry(&self, jvmpi: &mut MultiThreaded<'_>, method: MethodId) {
        let name = self.known.lock().unwrap().methods.get(&method).cloned().unwrap_or_default();
        match (self.what, name.as_str()) {
            (What::Threads, "Points.touch") => {
                let own = self.own.get_or_init(jvmpi, Own::new).expect("the thread lives");
                own.touches.fetch_add(1, Ordering::Relaxed);
            }
            // Earlier objects that are not kept are garbage now.
            (What::Collections, "Points.slow") => {
                jvmpi.run_gc();
                let heap = self.heap.enter(jvmpi);
                let Heap { points, freed, collections } = &*heap.borrow();
                let left = points.len();
                self.report
                    .line(format_args!("heap left={left} freed={freed} collections={collections}"));
            }
            (What::Panic, "Points.slow") => {
                self.entries.fetch_add(1, Ordering::Relaxed);
                panic!("expected");
            }
            _ => {}
        }
    }

    fn method_exit(&self, _: &mut MultiThreaded<'_>, method: MethodId) {
        let known = self.known.lock().unwrap();
        if known.methods.get(&method).is_some_and(|name| name == "Points.slow") {
            self.exits.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn object_alloc(&self, jvmpi: &mut GcDisabled<'_>, alloc: ObjectAlloc) {
        let class = alloc.class().filter(|_| alloc.elements().is_none());
        let Some(class) = class.map(ClassId::as_usize) else { return };
        let known = self.known.lock().unwrap();
        if known.classes.get(&class).is_some_and(|class| class.name == "Points$Point") {
            let is_new = self.heap.enter(jvmpi).borrow_mut().points.insert(alloc.object());
            assert!(is_new, "{alloc:?} is allocated twice");
        }
    }

    fn gc_start(&self, jvmpi: &mut MultiThreaded<'_>) {
        assert!(self.own.get_or_init(jvmpi, Own::new).is_none(), "a collection is of no thread");
        let heap = self.heap.enter(jvmpi);
        heap.borrow_mut().collections += 1;
        heap.keep();
    }

    fn object_free(&self, jvmpi: &mut Stopped<'_>, object: ObjectId) {
        match self.heap.kept(jvmpi) {
            Some(heap) => {
                let mut heap = heap.borrow_mut();
                heap.freed += u64::from(heap.points.remove(&object));
            }
            None => _ = UNLOCKED.fetch_add(1, Ordering::Relaxed),
        }
    }

    fn gc_finish(&self, jvmpi: &mut MultiThreaded<'_>, heap: HeapUse) {
        let kept = self.heap.exit_kept(jvmpi);
        let again = self.heap.exit_kept(jvmpi);
        assert!(kept && !again && heap.used_object_space > 0);
    }

    fn jvm_shut_down(&self, jvmpi: &mut MultiThreaded<'_>) {
        match self.what {
            What::Requests => self.request(jvmpi),
            What::Threads => self.end_sampling(jvmpi),
            What::Collections => {
                let unlocked = UNLOCKED.load(Ordering::Relaxed);
                self.report.line(format_args!("frees unlocked={unlocked}"));
            }
            What::Panic => {
                let [entries, exits] =
                    [&self.entries, &self.exits].map(|count| count.load(Ordering::Relaxed));
                self.report.line(format_args!("slow entries={entries} exits={exits}"));
            }
        }
    }
}

impl Probe {
    /// Looks at all threads again and again: their stacks, and what they have of their own.
    fn sample(&self, jvmpi: &mut MultiThreaded<'_>) {
        let (sampler, own) = (self.sampler, self.own);
        let run = move |jvmpi: &mut MultiThreaded<'_>| {
            let mut frames = Frames::with_depth(8);
            let mut list = ThreadList::new();
            let mut dump = Vec::new();
            while !sampler.enter(jvmpi).end.get() {
                dump.clear();
                let told = jvmpi.monitor_dump(|_, dump_of| {
                    dump.extend(dump_of.threads().filter_map(|(trace, _)| trace.thread));
                });
                told.expect("the VM tells of its threads");
                list.clear();
                list.extend(dump.iter().copied());
                let (mut seen, mut dead) = (0, 0);
                {
                    let mut gc_off = jvmpi.disable_gc();
                    let stopped = gc_off.suspend(&mut list);
                    for thread in stopped.threads() {
                        seen += stopped.call_trace(thread, &mut frames).len();
                    }
                }
                // Also where threads end meanwhile.
                for thread in &dump {
                    if let Some(own) = own.of(jvmpi, *thread) {
                        dead += u64::from(own.state.load(Ordering::Relaxed) != ALIVE);
                    }
                }
                let mut sampler = sampler.enter(jvmpi);
                sampler.looks.set(sampler.looks.get() + 1);
                sampler.frames.set(sampler.frames.get() + seen as u64);
                sampler.dead.set(sampler.dead.get() + dead);
                // It only has to let others in.
                sampler.wait(jvmpi, Some(Duration::from_millis(1)));
            }
            let sampler = sampler.enter(jvmpi);
            sampler.ended.set(true);
            sampler.notify_all(jvmpi);
        };
        jvmpi.create_system_thread(c"sampler", Priority::Maximum, run).expect("there are threads");
    }

    fn end_sampling(&self, jvmpi: &mut MultiThreaded<'_>) {
        let mut sampler = self.sampler.enter(jvmpi);
        sampler.end.set(true);
        sampler.notify_all(jvmpi);
        while !sampler.ended.get() {
            sampler.wait(jvmpi, None);
        }
        let Sampler { looks, frames, dead, .. } = &*sampler;
        let [looks, frames, dead] = [looks, frames, dead].map(Cell::get);
        let [made, dropped] = [&MADE, &DROPPED].map(|count| count.load(Ordering::Relaxed));
        self.report.line(format_args!(
            "sampled looks={looks} frames={frames} dead={dead} made={made} dropped={dropped}"
        ));
    }

    fn request(&self, jvmpi: &mut MultiThreaded<'_>) {
        let check = |name: &str, ok: bool| self.report.check(name, ok);
        check("class files were replaced", self.hooked.load(Ordering::Relaxed) > 2);
        let known = self.known.lock().unwrap();
        let point = known.class("Points$Point");
        let raw = RawMonitor::new(jvmpi, c"probe", ());
        let (_once, _twice) = (raw.enter(jvmpi), raw.enter(jvmpi));
        let thread = jvmpi.thread();

        let listed = jvmpi.heap_dump(Level::Objects, |_, dump| {
            let objects = dump.objects().map(|listed| listed.expect("the dump is whole").id);
            objects.collect::<HashSet<_>>()
        });
        let listed = listed.expect("the VM dumps");
        let mut points = Vec::new();
        let dumped = jvmpi.heap_dump(Level::Values, |gc_off, dump| {
            for record in dump.records(&*known) {
                match record.expect("the dump is whole") {
                    Record::Instance { id, class, values } if class == point.id.as_usize() => {
                        let values = Value::read_all(point.instances.clone(), values);
                        points.push((id, values.expect("it has these fields")));
                    }
                    _ => {}
                }
            }
            // Inside of one request.
            let first = ObjectId::from_usize(points[0].0).expect("no ID is 0");
            let alloc = gc_off.object_alloc(first).expect("the object lives");
            alloc.class() == Some(point.id) && alloc.elements().is_none() && alloc.object() == first
        });
        check("an object is that of its dump", dumped == Ok(true));
        check("all objects are listed", points.iter().all(|(id, _)| listed.contains(id)));
        self.report.line(format_args!("points dumped={}", points.len()));
        let is_point = |values: &[Value]| match values {
            [Value::Int(x), Value::Long(y)] | [Value::Long(y), Value::Int(x)] => {
                i64::from(*x) == -*y
            }
            _ => false,
        };
        check("points are what they were made", points.iter().all(|(_, v)| is_point(v)));

        let mut gc_off = jvmpi.disable_gc();
        let loaded = gc_off.class_load(point.id, |_, class| {
            let names: Vec<_> = class.methods().map(|m| m.name().to_string()).collect();
            let method = class.methods().next().expect("it has a constructor");
            (class.name().to_string(), class.class(), names, method.id())
        });
        let (name, class, names, constructor) = loaded.expect("the class is loaded");
        check("a class is told", name == "Points$Point" && class == point.id);
        check("its methods are told", names == ["<init>"]);
        check("a method is of its class", gc_off.method_class(constructor) == Some(point.id));
        let (first, values) = &points[0];
        let first = ObjectId::from_usize(*first).expect("no ID is 0");
        let told = gc_off.object_dump(first, |_, dump| {
            let record = dump.records(&*known).next().expect("there is one").expect("it is whole");
            match record {
                Record::Instance { id, values, .. } => {
                    let values = Value::read_all(point.instances.clone(), values);
                    (id, values.expect("it has these fields"))
                }
                other => panic!("{other:?}"),
            }
        });
        check("an object is dumped", told.as_ref() == Ok(&points[0]) && is_point(values));
        let none = ObjectId::from_usize(8).expect("it is not 0");
        check("there is no such object", gc_off.object_alloc(none).is_err());
        let panics =
            catch_unwind(AssertUnwindSafe(|| gc_off.object_dump(first, |_, _| panic!("expected"))));
        let why = panics.err().and_then(|why| why.downcast_ref::<&str>().copied());
        check("a panic goes on in the caller", why == Some("expected"));
        let reference = gc_off.jobject(first);
        // SAFETY: it is a local reference of this thread.
        let back = unsafe { gc_off.object(reference) };
        check("a reference is of its object", !reference.is_null() && back == Some(first));
        drop(gc_off);

        let told = jvmpi.monitor_dump(|_, dump| {
            let monitors: Vec<_> =
                dump.monitors().map(|monitor| monitor.expect("the dump is whole")).collect();
            let mine = monitors.iter().find(|(monitor, _)| {
                matches!(monitor.kind, Kind::Raw { monitor, .. } if monitor == raw.id().as_usize())
            });
            let (monitor, name) = mine.expect("the monitor is in use");
            let is_mine = (monitor.owner, monitor.entry_count) == (thread.as_usize(), 2)
                && name.is_some_and(|name| name.as_c_str() == c"probe");
            (is_mine, dump.threads().filter(|(_, status)| status.is_some()).count())
        });
        let (is_mine, threads) = told.expect("the VM dumps");
        check("a raw monitor is dumped", is_mine);
        check("threads are dumped", threads > 3);
    }
}
