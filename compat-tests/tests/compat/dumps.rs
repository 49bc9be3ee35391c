//! Dumps: what comes back of a known heap and of known monitors, and when they can be asked for.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs;
use std::path::PathBuf;

use jvmpi_formats::dump::{
    Class, Classes, Id, Kind, Level, Monitor, Record, Root, Shape, Type, Value, read_monitors,
    read_records,
};

use crate::prelude::*;

cases![
    dump_has_the_objects_that_the_vm_counts
        .on(&[Gc::G1, Gc::Serial, Gc::Parallel, Gc::Z])
        .on_every_jdk(),
    monitors_of_compiled_code,
    monitors_of_virtual_threads.since(21),
    contexts.on(&[Gc::G1, Gc::Z]),
    disabled,
    in_gc_finish,
    after_moves,
    in_data_dump_request,
    without_memory,
    without_a_standstill,
    beside_critical_sections.on(&[Gc::G1, Gc::Serial, Gc::Parallel]),
    beside_virtual_threads_that_start.since(21).slow(),
    beside_unfinished_virtual_thread.since(21),
];

/// The contents of a class's CLASS_LOAD.
struct Known {
    name: String,
    interfaces: usize,
    statics: Vec<Type>,
    instances: Vec<Type>,
}

/// The files that the agent left in the folder of a run.
struct Files {
    directory: PathBuf,
    classes: HashMap<Id, Known>,
}

impl Classes for Files {
    fn shape(&self, class: Id) -> Option<Shape<'_>> {
        let Known { interfaces, statics, .. } = self.classes.get(&class)?;
        Some(Shape { interfaces: *interfaces, statics })
    }
}

fn id(text: &str) -> Result<Id, String> {
    Id::from_str_radix(text.trim_start_matches("0x"), 16).map_err(|e| format!("{text}: {e}"))
}

fn types(letters: &str) -> Result<Vec<Type>, String> {
    let letters = letters.trim_start_matches('-').bytes();
    letters.map(|c| Type::of_descriptor(c).ok_or_else(|| format!("no type: {c}"))).collect()
}

impl Files {
    fn of(vm: &Vm<'_>) -> Result<Self, String> {
        Self::of_run(vm, 0)
    }

    /// Returns the files of the run with this number.
    fn of_run(vm: &Vm<'_>, run: usize) -> Result<Self, String> {
        let mut files = Self { directory: vm.file(&run.to_string()), classes: HashMap::new() };
        for line in files.text("classes")?.lines() {
            let [class, interfaces, statics, instances, name] =
                line.splitn(5, ' ').collect::<Vec<_>>()[..]
            else {
                return Err(format!("malformed: {line}"));
            };
            let known = Known {
                name: name.to_owned(),
                interfaces: interfaces.parse().map_err(|e| format!("{line}: {e}"))?,
                statics: types(statics)?,
                instances: types(instances)?,
            };
            let old = files.classes.insert(id(class)?, known);
            ensure!(old.is_none(), "told twice: {line}");
        }
        Ok(files)
    }

    fn bytes(&self, name: &str) -> Result<Vec<u8>, String> {
        fs::read(self.directory.join(name)).map_err(|e| format!("{name}: {e}"))
    }

    fn text(&self, name: &str) -> Result<String, String> {
        Ok(String::from_utf8_lossy(&self.bytes(name)?).into_owned())
    }

    /// Returns the monitors of a dump, their threads in order.
    fn monitors(&self, name: &str) -> Result<Vec<Monitor>, String> {
        let dump = self.bytes(name)?;
        let sorted = |mut monitor: Monitor| {
            monitor.waiting_to_enter.sort_unstable();
            monitor.waiting_to_be_notified.sort_unstable();
            monitor
        };
        let monitors = read_monitors(&dump).map(|monitor| monitor.map(sorted));
        monitors.collect::<Result<_, _>>().map_err(|e| format!("{name}: {e}"))
    }
}

/// A dump of level 2: the record of each object, and the roots.
struct Heap<'a> {
    files: &'a Files,
    objects: HashMap<Id, Record<'a>>,
    roots: Vec<Root>,
}

impl<'a> Heap<'a> {
    /// Reads a dump, in which no object may come twice.
    fn read(files: &'a Files, dump: &'a [u8]) -> Result<Self, String> {
        let mut heap = Self { files, objects: HashMap::new(), roots: Vec::new() };
        for record in read_records(dump, Level::Values, files) {
            let record = record.map_err(|e| e.to_string())?;
            let id = match &record {
                Record::Root(root) => {
                    heap.roots.push(*root);
                    continue;
                }
                Record::Class(class) => class.id,
                Record::Instance { id, .. }
                | Record::Objects { id, .. }
                | Record::Primitives { id, .. } => *id,
            };
            ensure!(id != 0, "an object without an ID");
            ensure!(heap.objects.insert(id, record).is_none(), "{id:#x} comes twice");
        }
        Ok(heap)
    }

    fn class(&self, id: Id) -> Result<&Class<'a>, String> {
        match self.objects.get(&id) {
            Some(Record::Class(class)) => Ok(class),
            other => Err(format!("no class {id:#x}: {other:x?}")),
        }
    }

    fn known(&self, class: Id) -> Result<&'a Known, String> {
        self.files.classes.get(&class).ok_or_else(|| format!("no CLASS_LOAD of {class:#x}"))
    }

    /// Returns the references in an instance of this class.
    fn fields(&self, mut class: Id, values: &[u8]) -> Result<Vec<Id>, String> {
        let mut types = Vec::new();
        while class != 0 {
            types.extend(&self.known(class)?.instances);
            class = self.class(class)?.superclass;
        }
        references(types, values)
    }

    /// Every reference leads to an object of the dump.
    fn resolves(&self) -> Result<(), String> {
        for root in &self.roots {
            let (Root::Unknown(object)
            | Root::JniGlobal { object, .. }
            | Root::JniLocal(object, _)
            | Root::JavaFrame(object, _)
            | Root::NativeStack { object, .. }
            | Root::StickyClass(object)
            | Root::ThreadBlock { object, .. }
            | Root::MonitorUsed(object)) = root;
            ensure!(self.objects.contains_key(object), "{object:#x} is missing; {root:x?}");
        }
        for record in self.objects.values() {
            let (classes, objects) = match record {
                Record::Root(_) | Record::Primitives { .. } => continue,
                Record::Class(class) => {
                    let Class { superclass, loader, signers, protection_domain, .. } = *class;
                    let mut objects = references(&self.known(class.id)?.statics, class.statics)?;
                    objects.extend([loader, signers, protection_domain]);
                    (class.interfaces.iter().copied().chain([superclass]).collect(), objects)
                }
                // An agent that gets no events of a class any more may ask for it.
                Record::Instance { class, .. } if !self.files.classes.contains_key(class) => {
                    (Vec::new(), vec![*class])
                }
                Record::Instance { class, values, .. } => {
                    (vec![*class], self.fields(*class, values)?)
                }
                Record::Objects { class, elements, .. } => {
                    ensure!(*class != 0, "an array of nothing: {record:x?}");
                    (Vec::new(), elements.iter().chain([*class]).collect())
                }
            };
            let is_missing = |id: &Id| *id != 0 && !self.objects.contains_key(id);
            let missing = objects.into_iter().find(is_missing);
            ensure!(missing.is_none(), "{missing:x?} is missing; {record:x?}");
            let other = classes.into_iter().find(|id| *id != 0 && self.class(*id).is_err());
            ensure!(other.is_none(), "{other:x?} is no class; {record:x?}");
        }
        Ok(())
    }
}

/// Returns the references among values of these types.
fn references<'a>(
    types: impl IntoIterator<Item = &'a Type>,
    values: &[u8],
) -> Result<Vec<Id>, String> {
    let values = Value::read_all(types.into_iter().copied(), values);
    let values = values.ok_or("values do not have the length of their types")?.into_iter();
    let reference = |value| if let Value::Reference(to) = value { Some(to) } else { None };
    Ok(values.filter_map(reference).collect())
}

fn number(line: &Line, key: &str) -> Result<Id, String> {
    Id::try_from(line.int(key)?).map_err(|e| format!("{line}: {e}"))
}

/// Returns the VM's number of objects of each class.
fn histogram(text: &str) -> BTreeMap<String, i64> {
    let line = |line: &str| {
        let mut words = line.split_whitespace();
        words.next()?.strip_suffix(':')?.parse::<u32>().ok()?;
        let count = words.next()?.parse().ok()?;
        Some((words.nth(1)?.to_owned(), count))
    };
    text.lines().filter_map(line).collect()
}

/// The dump has as many objects of each class as the VM counts.
fn totals_agree(vm: &Vm<'_>, heap: &Heap<'_>) -> Result<(), String> {
    let path = vm.file("0").join("jcmd/stdout");
    let counted = histogram(&contents(&path)?);
    let mut dumped: BTreeMap<String, i64> = BTreeMap::new();
    for record in heap.objects.values() {
        let name = match record {
            Record::Instance { class, .. } => heap.known(*class)?.name.clone(),
            Record::Class(_) => "java.lang.Class".to_owned(),
            Record::Objects { class, .. } => match heap.known(*class).map(|k| k.name.as_str()) {
                Ok(array) if array.starts_with('[') => format!("[{array}"),
                Ok(class) => format!("[L{class};"),
                // CLASS_LOAD comes when a class is linked, and arrays of it may be there before.
                Err(_) => continue,
            },
            Record::Primitives { of_type, .. } => {
                let letter = b"ZCFDBSIJ"[*of_type as usize - Type::Boolean as usize];
                format!("[{}", char::from(letter))
            }
            Record::Root(_) => continue,
        };
        *dumped.entry(name).or_default() += 1;
    }
    // The VM's own: what it fills gaps with. Lambdas have other names there on JDK 11.
    let is_exempt =
        |name: &str| name == "[I" || name.contains("Filler") || name.contains("$$Lambda");
    let mut others = Vec::new();
    for name in counted.keys().chain(dumped.keys()).collect::<BTreeSet<_>>() {
        let of = |all: &BTreeMap<String, i64>| all.get(name).copied().unwrap_or(0);
        if is_exempt(name) || of(&counted) == of(&dumped) {
            continue;
        }
        ensure!(
            !name.contains("Graph"),
            "{name}: {} there, {} in the dump",
            of(&counted),
            of(&dumped)
        );
        others.push((name, of(&counted), of(&dumped)));
    }
    // jcmd makes some, and its collection ends some.
    let difference: i64 = others.iter().map(|(_, counted, dumped)| (counted - dumped).abs()).sum();
    ensure!(difference < 400, "{difference} of {} differ: {others:?}", heap.objects.len());
    Ok(())
}

/// References and roots lead to objects of the dump.
fn dump_has_the_objects_that_the_vm_counts(vm: &Vm<'_>) -> Result<(), String> {
    let mut running = vm.java("Graph")?.agent("dumps", "")?.start()?;
    running.wait_for("dumped")?;
    // ZGC does not collect for the histogram, which then counts what only weak references lead to.
    running.jcmd(vm.jdk, &["GC.run"])?;
    running.jcmd(vm.jdk, &["GC.class_histogram"])?;
    running.finish(0)?;
    let files = Files::of(vm)?;
    let dump = files.bytes("heap")?;
    let heap = Heap::read(&files, &dump)?;
    heap.resolves()?;
    // There the VM counts archived objects that nothing refers to.
    if vm.jdk.feature == 11 && vm.gc == Gc::G1 {
        return Ok(());
    }
    totals_agree(vm, &heap)
}

/// The VM keeps neither dead variables of compiled code nor the objects of native methods' frames.
fn monitors_of_compiled_code(vm: &Vm<'_>) -> Result<(), String> {
    let java = vm.java("Deadlock")?.agent("dumps", "")?.flag("-Xcomp");
    let java = java.flag("-XX:CompileCommand=quiet");
    let only = ["Deadlock*", "Agent", "Await"];
    let only = only.map(|class| format!("-XX:CompileCommand=compileonly,{class}::*"));
    let outcome = java.flags(only.iter().map(String::as_str)).run()?;
    let report = outcome.report();
    let all = Files::of(vm)?.monitors("monitors")?;
    let thread = |name: &str| -> Result<Id, String> {
        Ok(report.find("thread", "name", name)?.id("env")? as Id)
    };
    let objects = outcome.expects.one("expect")?;
    let expected = |name, owner: Id, entry_count, enter: &[Id], wait: &[Id]| {
        let kind = Kind::Java { object: number(objects, name)? };
        let [mut waiting_to_enter, mut waiting_to_be_notified] = [enter, wait].map(<[Id]>::to_vec);
        waiting_to_enter.sort_unstable();
        waiting_to_be_notified.sort_unstable();
        let monitor =
            Monitor { kind, owner, entry_count, waiting_to_enter, waiting_to_be_notified };
        let found: Vec<_> = all.iter().filter(|found| found.kind == monitor.kind).collect();
        equal(name, found, vec![&monitor])
    };
    let deadlocked = [thread("deadlock 0")?, thread("deadlock 1")?];
    expected("left", deadlocked[0], 1, &[deadlocked[1]], &[])?;
    expected("right", deadlocked[1], 1, &[deadlocked[0]], &[])?;
    expected("waited", 0, 0, &[], &[thread("waits 0")?, thread("waits 1")?])?;
    expected("thrice", thread("main")?, 3, &[thread("wants")?], &[])?;
    let waiting = [thread("notified 1")?, thread("notified 2")?];
    expected("notified", thread("main")?, 1, &[thread("notified 0")?], &waiting)?;
    expected("all_notified", thread("main")?, 1, &[thread("all notified")?], &[])?;
    for monitor in &all {
        if let Kind::Java { .. } = monitor.kind {
            let used = monitor.owner != 0
                || !monitor.waiting_to_enter.is_empty()
                || !monitor.waiting_to_be_notified.is_empty();
            ensure!(used, "nobody uses {monitor:x?}");
            equal("owned", monitor.entry_count > 0, monitor.owner != 0)?;
        }
    }
    Ok(())
}

/// A virtual thread that is no thread of its own and owns a monitor or waits for one counts as its carrier. From JDK 24
/// on, one that does not run may have no carrier, and is not reported.
/// Interpreted and compiled, and each as a thread of its own.
fn monitors_of_virtual_threads(vm: &Vm<'_>) -> Result<(), String> {
    let runs =
        [("-Xint", "virtual=carrier"), ("-Xcomp", "virtual=carrier"), ("-Xint", "virtual=own")];
    for (run, (flag, settings)) in runs.into_iter().enumerate() {
        monitors_of_virtual_threads_with(vm, run, flag, settings)
            .map_err(|error| format!("{flag} {settings}: {error}"))?;
    }
    Ok(())
}

fn monitors_of_virtual_threads_with(
    vm: &Vm<'_>,
    run: usize,
    flag: &str,
    settings: &str,
) -> Result<(), String> {
    let java = vm.java_for(21, "VirtualOwners")?.agent("dumps", "")?.flag(flag);
    let are_threads = settings == "virtual=own";
    let java = java.settings(settings);
    let outcome = java.property("jdk.virtualThreadScheduler.parallelism", "8").run()?;
    let report = outcome.report();
    let carrier = |who: &str| {
        let of_its_own = || report.find("thread", "name", who);
        let line = if are_threads { of_its_own() } else { report.find("here", "who", who) };
        Ok::<_, String>(line?.id("env")? as Id)
    };
    let platform = report.find("thread", "name", "platform")?.id("env")? as Id;
    let asks = report.find("asked", "file", "virtual")?.id("self")? as Id;
    let keeps_its_carrier = are_threads || vm.jdk.feature < 24;
    let if_kept = |who: &str| if keeps_its_carrier { carrier(who).map(Some) } else { Ok(None) };
    let parked = if_kept("parked")?;
    let waits: Vec<_> = if_kept("waits")?.into_iter().collect();
    let wants: BTreeSet<_> = if_kept("wants")?.into_iter().chain([platform]).collect();
    for (file, own) in [("platform", None), ("virtual", Some(asks))] {
        let monitors = Files::of_run(vm, run)?.monitors(file)?;
        let of = |name: &str| {
            let object = number(outcome.expects.one("expect")?, name)?;
            Ok::<_, String>(monitors.iter().find(|m| m.kind == Kind::Java { object }))
        };
        let owners = [
            ("own", own),
            ("runs", Some(carrier("runs")?)),
            ("pinned", Some(carrier("pinned")?)),
            ("parked", parked),
        ];
        for (name, owner) in owners {
            let found = of(name)?.map_or((0, 0), |m| (m.owner, m.entry_count));
            let expected = owner.map_or((0, 0), |owner| (owner, 3));
            equal(&format!("{file}: {name}"), found, expected)?;
        }
        let entering = of("parked")?.map(|m| m.waiting_to_enter.iter().copied().collect());
        equal("who wants to enter", entering, Some(wants.clone()))?;
        let waiting = of("waited")?.map_or(Vec::new(), |m| m.waiting_to_be_notified.clone());
        equal("who waits to be notified", &waiting, &waits)?;
    }
    Ok(())
}

/// Returns the trace of a thread in a dump.
fn traced<'a>(report: &'a Report, file: &str, env: Id) -> Result<&'a Line, String> {
    let is_it = |line: &&Line| line.text("file") == Ok(file) && line.id("env") == Ok(env as u64);
    report.lines("trace").find(is_it).ok_or_else(|| format!("no trace of {env:#x} in {file}"))
}

/// The three dumps that were asked for at this point can be read and are whole.
fn whole(files: &Files, outcome: &Outcome, point: &str) -> Result<(), String> {
    outcome.checks(&[point])?;
    let dump = files.bytes(&format!("heap-{point}"))?;
    let heap = Heap::read(files, &dump)?;
    heap.resolves().map_err(|why| format!("{point}: {why}"))?;
    ensure!(heap.objects.len() > 3000, "{point}: only {} objects", heap.objects.len());
    let object = files.bytes(&format!("object-{point}"))?;
    ensure!(read_records(&object, Level::Values, files).count() == 1, "{point}: no object dump");
    files.monitors(&format!("monitors-{point}")).map(drop)
}

/// Under the agent's own lock, from a system thread, while the VM ends, and in handlers of METHOD_ENTRY, METHOD_EXIT,
/// OBJECT_ALLOC, THREAD_END and METHOD_ENTRY2.
fn contexts(vm: &Vm<'_>) -> Result<(), String> {
    let java = vm.java("DumpContexts")?.agent("dumps", "shutdown=1,in=1+3+4+34+2")?;
    let outcome = java.arguments(["all lock", "system", "arm"]).run()?;
    let files = Files::of(vm)?;
    let points = ["lock", "system", "1", "3", "4", "34", "2", "shutdown"];
    points.iter().try_for_each(|point| whole(&files, &outcome, point))
}

/// Another agent can have `can_suspend` after the dump.
fn in_data_dump_request(vm: &Vm<'_>) -> Result<(), String> {
    let java = vm.java("DumpContexts")?.agent("dumps", "")?.argument("read");
    let mut running = java.ready()?;
    running.signal(libc::SIGQUIT)?;
    running.wait_for_report("data_dumped")?;
    let holder = build::agent("holder")?;
    running.jcmd(vm.jdk, &["JVMTI.agent_load", text(&holder)?, "suspend"])?;
    running.wait_for("holder: error=0")?;
    let outcome = running.finish(0)?;
    whole(&Files::of(vm)?, &outcome, "request")
}

/// Every event was just disabled. A thread that has begun since is in the dumps, and reported before them.
fn disabled(vm: &Vm<'_>) -> Result<(), String> {
    let java = vm.java("DumpContexts")?.agent("dumps", "")?;
    let outcome = java.argument("disabled").run()?;
    whole(&Files::of(vm)?, &outcome, "disabled")?;
    let report = outcome.report();
    let env = report.one("late")?.id("env")?;
    let told = report.find("unasked", "name", "late")?;
    equal("told", told.id("env")?, env)?;
    for file in ["heap-disabled", "monitors-disabled"] {
        let trace = traced(report, file, env as Id)?;
        let at = |wanted: &Line| report.position(|line| line == wanted);
        ensure!(at(told) < at(trace), "{file} came before THREAD_START");
    }
    Ok(())
}

/// The dump is requested on the thread that delivers GC events, which agents do not know.
fn in_gc_finish(vm: &Vm<'_>) -> Result<(), String> {
    let java = vm.java("DumpContexts")?.agent("dumps", "gc=1")?;
    let outcome = java.argument("collect").run()?;
    outcome.checks(&["in GC_FINISH", "collected"])?;
    let report = outcome.report();
    let finish = report.one("gc_finish")?;
    let env = finish.id("env")?;
    let known = report.lines("thread").any(|line| line.id("env") == Ok(env));
    ensure!(known, "GC_FINISH is of a thread that was not told");
    equal("whose OBJECT_ALLOC", report.one("object_alloc")?.id("env")?, env)?;
    let dump = report.find("monitor_dump", "file", "monitors-gc")?;
    equal("whose MONITOR_DUMP", dump.id("env")?, env)?;
    let handle = finish.id("lock")? as Id;
    let monitors = Files::of(vm)?.monitors("monitors-gc")?;
    let is_it =
        |found: &Monitor| matches!(found.kind, Kind::Raw { monitor, .. } if monitor == handle);
    let own = monitors.iter().find(|found| is_it(found)).ok_or("no monitor of the agent's")?;
    equal("the agent's monitor", (own.owner, own.entry_count), (0, 1))
}

/// If objects get new IDs, a dump has no outdated ones.
fn after_moves(vm: &Vm<'_>) -> Result<(), String> {
    let java = vm.java("DumpContexts")?.agent("dumps", "")?.settings("arenas=copying");
    java.arguments(["heap first", "run_gc", "heap moved"]).run()?;
    let files = Files::of(vm)?;
    let loader = |name: &str| {
        let dump = files.bytes(name)?;
        let heap = Heap::read(&files, &dump)?;
        heap.resolves().map_err(|why| format!("{name}: {why}"))?;
        let (class, _) = files
            .classes
            .iter()
            .find(|(_, known)| known.name == "DumpContexts")
            .ok_or("no CLASS_LOAD of DumpContexts")?;
        Ok::<_, String>(heap.class(*class)?.loader)
    };
    ensure!(loader("first")? != loader("moved")?, "the loader has not moved");
    Ok(())
}

/// With another agent that has `can_suspend`, dumps that need all threads stopped are refused with one line each, and
/// the program continues.
fn without_a_standstill(vm: &Vm<'_>) -> Result<(), String> {
    let java = vm.java("DumpContexts")?.jvmti_agent("holder", "suspend")?;
    let outcome = java.agent("dumps", "")?.argument("all refused").run()?;
    let result = |kind: &str| outcome.report().find("asked", "type", kind)?.int("result");
    for (kind, name) in [("37", "heap"), ("59", "monitor")] {
        equal(name, result(kind)?, -1)?;
        let line = format!(
            "[jvmpi] warning: no {name} dump: the program cannot be brought to a standstill"
        );
        equal(name, outcome.stderr.lines().filter(|found| found.starts_with(&line)).count(), 1)?;
    }
    equal("object", result("50")?, 0)
}

/// A dump without enough memory is refused in one line, and the program continues.
fn without_memory(vm: &Vm<'_>) -> Result<(), String> {
    let java = vm.java("DumpContexts")?.agent("dumps", "")?;
    let outcome = java.arguments(["large", "all before", "no_memory", "all after"]).run()?;
    outcome.checks(&["no memory"])?;
    let lines: Vec<_> = outcome.stderr.lines().filter(|line| line.contains("heap dump")).collect();
    equal("lines", &lines, &vec!["[jvmpi] warning: no heap dump: there is not enough memory"])?;
    let files = Files::of(vm)?;
    whole(&files, &outcome, "before")?;
    whole(&files, &outcome, "after")
}

/// Threads are suspended in JNI critical sections, where the VM cannot collect, and the heap is nearly full. So
/// nothing can be allocated in the heap until they are resumed.
fn beside_critical_sections(vm: &Vm<'_>) -> Result<(), String> {
    let java = vm.java("CriticalSections")?.agent("dump_requests", "")?;
    let outcome = java.flags(["-Xmx24m", "-Xmn1m"]).argument("15").run()?;
    let dumps = outcome.expects.one("expect")?.int("dumps")?;
    equal("dumps", outcome.report().count("requested") as i64, 2 * dumps)
}

/// HotSpot crashes if the heap is walked while another thread is in the constructor of a virtual thread.
fn beside_virtual_threads_that_start(vm: &Vm<'_>) -> Result<(), String> {
    for settings in ["virtual=carrier", "virtual=own"] {
        let java = vm.java_for(21, "VirtualStarts")?.agent("dump_requests", "")?;
        let outcome = java.settings(settings).argument("5").run()?;
        equal("requested", outcome.report().count("requested"), 10)?;
    }
    // Also if so many objects are requested that a table of all is created by a walk. With `-Xcheck:jni` the table
    // takes time in proportion to the square of the objects.
    let java = vm.java_for(21, "VirtualStarts")?.agent("dump_requests", "")?.flag("-Xmx24m");
    let outcome = java.arguments(["3", "objects,requests"]).run()?;
    let found: Vec<_> = outcome.report().lines("found").map(|line| line.int("objects")).collect();
    ensure!(found.iter().any(|found| found.as_ref().is_ok_and(|found| *found > 0)), "{found:?}");
    Ok(())
}

/// A dump waits for a virtual thread to be created, but not for long.
fn beside_unfinished_virtual_thread(vm: &Vm<'_>) -> Result<(), String> {
    let outcome = vm.java_for(21, "VirtualMaking")?.agent("dump_requests", "")?.run()?;
    let results = outcome.expects.one("expect")?;
    equal("result during the creation", results.int("during")?, -1)?;
    equal("result afterwards", results.int("after")?, 0)?;
    ensure!(results.int("cpu")? < 1_500, "the request took {} ms of CPU time", results.int("cpu")?);
    let line = "[jvmpi] warning: no heap dump: a thread is always creating a virtual thread";
    equal("lines", outcome.stderr.lines().filter(|found| *found == line).count(), 1)
}
