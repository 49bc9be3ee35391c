//! Profiles with known numbers.

use std::time::Duration;

use jvmpi_formats::profile::heap::{self, Elements, Instance, Record, RootKind};
use jvmpi_formats::profile::{
    self, Amount, BucketSamples, ClassSerial, CpuSample, CpuSamples, CpuTime, CpuTimes, Frame,
    FrameId, HeapDump, Line, Monitor, MonitorTime, MonitorTimes, NameId, ObjectId, Profile,
    Section, Site, Sites, Thread, ThreadSerial, Time, Timeline, TraceSerial, Value, WallState,
};
use jvmpi_report::heap::{Collector, Graph};

/// Text that would run if it were interpreted as markup.
pub const HOSTILE: &str =
    "<img src=x onerror=console.error(1)></script><script>console.error(2)</script>";

/// Returns a profile with a lambda expression whose class has this address in its name.
pub fn lambda(address: &str, samples: u64) -> Profile {
    let mut made = Made::default();
    let frame = made.frame(&format!("app.Main$$Lambda/0x{address}"), "run", Line::Unknown);
    let trace = made.profile.traces.intern(ThreadSerial(0), &[frame]);
    let rows = vec![CpuSample::new(trace, samples)];
    made.section(CpuSamples { total: samples, rows, ..CpuSamples::default() });
    made.profile
}

/// Returns a profile with wall-clock samples: three seconds in `start`, then a thread that is parked in `serve`.
pub fn over_time() -> Profile {
    let mut made = Made::default();
    let frames = ["start", "serve"].map(|name| made.frame("app.Main", name, Line::Number(7)));
    let states = [WallState::Running, WallState::Parked];
    let mut traces = [TraceSerial(0); 2];
    for ((trace, frame), state) in traces.iter_mut().zip(frames).zip(states) {
        let state = made.profile.state_frame(state);
        *trace = made.profile.traces.intern(ThreadSerial(0), &[state, frame]);
    }
    let at = |bucket, of: usize, samples| BucketSamples { bucket, trace: traces[of], samples };
    let rows = vec![at(0, 0, 100), at(1, 0, 90), at(1, 1, 10), at(2, 1, 100), at(3, 1, 50)];
    let of = |trace| rows.iter().filter(|row| row.trace == trace).map(|row| row.samples).sum();
    let samples = traces.map(|trace| CpuSample::new(trace, of(trace))).to_vec();
    let timeline = Timeline { bucket: Duration::from_secs(1), rows };
    made.section(CpuSamples { total: 350, rows: samples, timeline, ..CpuSamples::default() });
    made.profile
}

/// Returns a profile of 20 s with a sample each 20 ms.
pub fn fine_times() -> Profile {
    let mut made = Made::default();
    let work = made.frame("app.Main", "work", Line::Number(7));
    let trace = made.profile.traces.intern(ThreadSerial(0), &[work]);
    let rows = (0..1000).map(|bucket| BucketSamples { bucket, trace, samples: 1 }).collect();
    let timeline = Timeline { bucket: Duration::from_millis(20), rows };
    let rows = vec![CpuSample::new(trace, 1000)];
    made.section(CpuSamples { total: 1000, rows, timeline, ..CpuSamples::default() });
    made.profile
}

/// Returns wall-clock samples of a thread that works and sleeps, and of one of the JVM that always waits.
pub fn idle() -> Profile {
    let mut made = Made::default();
    made.thread(1, "main");
    made.thread(2, "Finalizer");
    let system = made.name("system");
    made.profile.threads.get_mut(&ThreadSerial(2)).expect("it is there").group = system;
    let work = made.frame("app.Main", "work", Line::Number(7));
    let sleep = made.frame("java.lang.Thread", "sleep", Line::Native);
    let wait = made.frame("java.lang.Object", "wait", Line::Native);
    let [running, sleeping, waiting] =
        [WallState::Running, WallState::Sleeping, WallState::Waiting]
            .map(|state| made.profile.state_frame(state));
    let [one, two] = [1, 2].map(ThreadSerial);
    let traces = &mut made.profile.traces;
    let sample = CpuSample::new;
    let rows = vec![
        sample(traces.intern(one, &[running, work]), 30),
        sample(traces.intern(one, &[sleeping, sleep, work]), 10),
        sample(traces.intern(two, &[waiting, wait]), 100),
    ];
    made.section(CpuSamples { total: 140, rows, ..CpuSamples::default() });
    made.profile
}

/// Returns a profile of a program that waits for a ReentrantLock.
pub fn locks() -> Profile {
    let mut made = Made::default();
    let frames = [
        made.frame("jdk.internal.misc.Unsafe", "park", Line::Native),
        made.frame("java.util.concurrent.locks.LockSupport", "park", Line::Number(211)),
        made.frame("java.util.concurrent.locks.ReentrantLock", "lock", Line::Number(322)),
        made.frame("app.Main", "enter", Line::Number(7)),
    ];
    let trace = made.profile.traces.intern(ThreadSerial(0), &frames);
    let class = made.name("java.util.concurrent.locks.ReentrantLock$NonfairSync");
    let monitor = Monitor::Java { object: ObjectId(9), class };
    let time = Duration::from_millis(30);
    let rows = vec![MonitorTime { monitor, trace, hits: 2, time }];
    made.section(MonitorTimes { total: time, rows, at: None });
    made.profile
}

/// Returns a profile with data for every view, with `times` as many samples of `app.Main.work`.
pub fn profile(times: u64) -> Profile {
    let mut made = Made::default();
    made.thread(1, "main");
    made.thread(2, HOSTILE);
    let run = made.frame("java.lang.Thread", "run", Line::Number(840));
    let main = made.frame("app.Main", "main", Line::Number(10));
    let work = made.frame("app.Main", "work", Line::Number(20));
    let more_work = made.frame("app.Main", "work", Line::Number(21));
    let recursive = made.frame("app.Tree", "walk", Line::Number(30));
    let hash = made.frame("java.util.HashMap", "hash", Line::Native);
    let hostile = made.frame(HOSTILE, "run", Line::Unknown);
    let [one, two] = [1, 2].map(ThreadSerial);
    let traces = [
        made.profile.traces.intern(one, &[work, main]),
        made.profile.traces.intern(one, &[more_work, main]),
        made.profile.traces.intern(one, &[hash, recursive, recursive, main]),
        made.profile.traces.intern(two, &[hostile, run]),
        made.profile.traces.intern(two, &[]),
    ];
    let [at_work, at_more_work, at_hash, at_hostile, nowhere] = traces;

    let sample = CpuSample::new;
    let rows = vec![
        sample(at_work, 50 * times),
        sample(at_more_work, 10 * times),
        sample(at_hash, 25),
        sample(at_hostile, 14),
        sample(nowhere, 1),
    ];
    let total = rows.iter().map(|row| row.samples).sum();
    made.section(CpuSamples { total, rows, ..CpuSamples::default() });

    let time = |trace, own, calls| CpuTime { trace, own: Duration::from_millis(own), calls };
    let rows = vec![time(at_work, 3000, 7), time(at_hash, 1500, 12_345)];
    made.section(CpuTimes { total: Duration::from_millis(5000), rows, ..CpuTimes::default() });

    let order = made.class("app.Order");
    let strings = made.class("java.lang.String");
    let site =
        |class, array_of, trace, live, allocated| Site { class, array_of, trace, live, allocated };
    let amount = |instances, bytes| Amount { bytes, instances };
    let rows = vec![
        site(order, None, at_work, amount(10, 320), amount(1000 * times, 32_000 * times)),
        site(strings, Some(profile::Type::Reference), at_hash, amount(2, 80), amount(3, 120)),
        site(ClassSerial(0), Some(profile::Type::Int), at_hash, amount(1, 4000), amount(1, 4000)),
    ];
    let live = amount(13, 4400);
    let allocated = amount(1004, 36_120);
    made.section(Sites { live, allocated, rows, ..Sites::default() });

    let lock = Monitor::Java { object: ObjectId(0xabc), class: made.name("app.Lock") };
    let raw = Monitor::Raw { id: ObjectId(0x77), name: made.name("raw one") };
    let wait = |monitor, trace, time, hits| MonitorTime {
        monitor,
        trace,
        hits,
        time: Duration::from_millis(time),
    };
    // The page hides the profiler's own monitor.
    let own = Monitor::Raw { id: ObjectId(8), name: made.name("_hprof heap") };
    let rows = vec![
        wait(lock, at_work, 750, 3),
        wait(raw, at_hostile, 250, 9),
        wait(own, at_work, 5000, 7),
    ];
    made.section(MonitorTimes { total: Duration::from_millis(6000), rows, at: None });

    made.section(HeapDump::default());
    made.profile
}

/// Returns a heap: a table that keeps `orders` orders of 32 bytes in an array of 1,000, and a weak reference to
/// another.
pub fn heap(orders: u32) -> Graph {
    let mut collector = Collector::default();
    let mut record = |record: Record<'_>| collector.record(&record);
    record(Record::Root(heap::Root {
        object: ObjectId(1),
        kind: RootKind::JavaFrame(heap::Place { thread: ThreadSerial(1), frame: Some(0) }),
    }));
    record(Record::Root(heap::Root {
        object: ObjectId(0x300),
        kind: RootKind::StickyClass { name: "java.lang.ref.WeakReference" },
    }));
    record(Record::Root(heap::Root { object: ObjectId(3), kind: RootKind::Unknown }));
    for (id, name, superclass) in [
        (0x100, "app.Order", 0),
        (0x110, "app.Table", 0),
        (0x300, "java.lang.ref.WeakReference", 0),
        (0x310, "app.Weak", 0x300),
    ] {
        let superclass = ObjectId(superclass);
        record(Record::Class(heap::Class {
            id: ObjectId(id),
            name,
            superclass,
            ..heap::Class::default()
        }));
    }
    let field = |name, to| heap::Field { name, value: Value::Reference(ObjectId(to)) };
    let instance = |id, class, class_name, size, fields| {
        Record::Instance(Instance {
            id: ObjectId(id),
            class: ObjectId(class),
            class_name,
            size,
            fields,
            ..Instance::default()
        })
    };
    let (rows, referent) = ([field("rows", 2)], [field("referent", 4)]);
    record(instance(1, 0x110, "app.Table", 24, &rows));
    let elements: Vec<ObjectId> =
        (0..orders).map(|order| ObjectId(0x1000 + u64::from(order))).collect();
    record(Record::Objects(heap::Objects {
        id: ObjectId(2),
        trace: TraceSerial(0),
        class: ObjectId(0x100),
        class_name: "app.Order",
        array_class: ObjectId(0),
        size: 1000,
        elements: Elements::All(&elements),
    }));
    for order in &elements {
        record(instance(order.0, 0x100, "app.Order", 32, &[]));
    }
    record(instance(3, 0x310, "app.Weak", 16, &referent));
    record(instance(4, 0x100, "app.Order", 32, &[]));
    collector.finish().expect("a small heap")
}

/// Returns a heap with a list of `length` objects of 16 bytes each.
pub fn list(length: u64) -> Graph {
    let mut collector = Collector::default();
    let root = heap::Root { object: ObjectId(1), kind: RootKind::Unknown };
    collector.record(&Record::Root(root));
    for id in 1..=length {
        let next = if id < length { id + 1 } else { 0 };
        collector.record(&Record::Instance(Instance {
            id: ObjectId(id),
            class_name: "app.Link",
            size: 16,
            fields: &[heap::Field { name: "next", value: Value::Reference(ObjectId(next)) }],
            ..Instance::default()
        }));
    }
    collector.finish().expect("a small heap")
}

#[derive(Default)]
struct Made {
    profile: Profile,
}

impl Made {
    fn name(&mut self, name: &str) -> NameId {
        self.profile.names.intern(name)
    }

    fn frame(&mut self, class: &str, name: &str, line: Line) -> FrameId {
        let method = self.profile.intern_method([class, name, "", "Source.java"]);
        self.profile.frames.intern(Frame { method, line })
    }

    fn thread(&mut self, serial: u32, name: &str) {
        let [name, group] = [name, "workers"].map(|name| self.name(name));
        let serial = ThreadSerial(serial);
        let thread = Thread {
            serial,
            name,
            group,
            started: Some(Time(1_700_000_000_000)),
            ended: serial.0 == 2,
            ..Thread::default()
        };
        self.profile.threads.insert(serial, thread);
    }

    fn class(&mut self, name: &str) -> ClassSerial {
        let name = self.name(name);
        self.profile.classes.named(name)
    }

    fn section(&mut self, section: impl Into<Section>) {
        self.profile.sections.push(section.into());
    }
}
