//! `cargo xtask hprof8`: compares HPROF's files with those of JDK 8, which comes from Debian's unstable distribution and
//! runs in a root of its own.

use compat_tests::build;
use compat_tests::debian::{self, Distribution};
use compat_tests::machine::Machine;
use compat_tests::{jdk, text, workspace_root};
use jvmpi_formats::profile::heap::{Elements, Record, Root};
use jvmpi_formats::profile::{
    Error, File, Monitor, ObjectId, Profile, ThreadSerial, TraceSerial, Value,
};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output};

use crate::cross;

/// The programs of `Hprof8.java`.
const PROGRAMS: &str =
    "arrays objects strings garbage list calls recursion exceptions threads monitors contention";

/// The figures of a program in a file, by what they are figures of.
type Figures = BTreeMap<String, String>;

/// The options, what is compared, and the function that returns the figures.
type Check = (&'static str, &'static str, fn(&Seen) -> Figures);

const CHECKS: [Check; 13] = [
    (
        "heap=sites,cutoff=0,depth=10",
        "objects per trace, without constructors on top of it, which JDK 8 has as it counts in that of Object, and \
         without the strings and arrays that the JVM makes for constants",
        sites,
    ),
    ("heap=sites,cutoff=0,depth=10,lineno=y", "the same with lines", sites),
    ("heap=sites,cutoff=0,depth=10,lineno=n", "the same without lines", sites),
    ("heap=sites,cutoff=0,depth=10,thread=y", "the same per thread", sites),
    ("heap=sites,cutoff=0,doe=y,verbose=n", "records of threads of the program", threads),
    (
        "cpu=times,cutoff=0",
        "calls per trace with a millisecond of its own, which JDK 8 needs",
        times,
    ),
    ("cpu=times,cutoff=0,thread=y,depth=2", "the same per thread", times),
    ("cpu=old", "calls per callee and caller", old),
    (
        "monitor=y",
        "number, state and place of threads of the program that have not ended (JDK 8 lists the others as ZO); owners \
         and waiters of its monitors that a thread owns",
        monitors,
    ),
    ("heap=dump", "objects of the program, and references; char[] is byte[] in strings", heap),
    ("heap=dump,format=b", "the same with values and roots", heap),
    (
        "heap=all,cpu=samples,format=b",
        "CONTROL SETTINGS; kinds of records in the order in which they begin, without the empty trace; in the heap \
         dump the groups roots of threads, other roots, objects, classes",
        records,
    ),
    ("heap=all,cpu=samples,monitor=y", "order of sections without MONITOR TIME", sections),
];

const CLASSES: &str = "JDK 8 counts a class that is loaded as an object of it";
const STRINGS_OF_NAMES: &str = "strings that the JVM makes for names count here";

/// Tags of records in binary files, and the length of a record.
const TRACE: u8 = 5;
const CONTROL_SETTINGS: u8 = 14;
const EMPTY_TRACE: usize = 12;

/// Known differences: the start of the figure's name, and the reason.
const DIFFERENCES: [(&str, &str); 7] = [
    ("int[] @", "JDK 8 counts only the outer array of `new int[2][3]`"),
    ("int[][] @", CLASSES),
    ("Hprof8$Small[][] @", CLASSES),
    ("java.util.concurrent.", CLASSES),
    ("byte[] @", STRINGS_OF_NAMES),
    ("java.lang.String @", STRINGS_OF_NAMES),
    ("root", "JVMPI reports stacks and monitors as JVMTI of JDK 11 and later does"),
];

/// A file and its bytes.
struct Seen {
    file: File,
    bytes: Vec<u8>,
}

pub fn run(arguments: &[String]) -> Result<(), String> {
    let mut arguments = arguments.to_vec();
    let records = cross::take_flag(&mut arguments, "--record");
    let is_named = |name: &&str| arguments.is_empty() || arguments.iter().any(|n| n == name);
    let pair = Pair::new()?;
    let mut table = String::from("| options | compared | equal | different |\n|---|---|---|---|\n");
    let (mut unknown, mut sums, mut above) = (0, [0; 2], String::new());
    for (options, what, figures) in CHECKS {
        let (mut counts, mut different) = ([0; 2], BTreeMap::<&str, usize>::new());
        for program in PROGRAMS.split(' ').filter(is_named) {
            let [theirs, ours] = pair.run(&format!("{options},file=out.hprof"), program)?;
            let (theirs, mut ours) = (figures(&theirs.read()?), figures(&ours.read()?));
            if options.starts_with("cpu=times") {
                ours.retain(|name, _| theirs.contains_key(name));
            }
            let names: BTreeSet<_> = theirs.keys().chain(ours.keys()).collect();
            let mut reasons = BTreeSet::new();
            for name in names.into_iter().filter(|name| theirs.get(*name) != ours.get(*name)) {
                let reason = DIFFERENCES.iter().find(|(start, _)| name.starts_with(start));
                reasons.insert(reason.map_or("unknown", |(_, reason)| reason));
                if reason.is_none() {
                    unknown += 1;
                    let (theirs, ours) = (theirs.get(name), ours.get(name));
                    println!("{options} {program}: {name}: {theirs:?} in JDK 8, {ours:?} here");
                }
            }
            if !theirs.is_empty() {
                counts[usize::from(!reasons.is_empty())] += 1;
            }
            reasons.into_iter().for_each(|reason| *different.entry(reason).or_default() += 1);
        }
        let different: Vec<_> = different.iter().map(|(why, n)| format!("{n}: {why}")).collect();
        let mut different = different.join("; ");
        if different == above && !above.is_empty() {
            different = "as above".to_owned();
        } else {
            above.clone_from(&different);
        }
        let _ = writeln!(table, "| `{options}` | {what} | {} | {different} |", counts[0]);
        sums.iter_mut().zip(counts).for_each(|(sum, count)| *sum += count);
    }
    if arguments.is_empty() {
        unknown += strings(&pair, &mut table, &mut sums)?;
    }
    let [equal, different] = sums;
    let _ = writeln!(table, "| all | | {equal} | {different} |");
    print!("{table}");
    if unknown > 0 {
        return Err(format!("{unknown} differences have no reason in hprof8.rs"));
    }
    if records {
        let page = workspace_root().join("docs/reference/hprof.md");
        let error = |e: std::io::Error| format!("{}: {e}", page.display());
        let old = fs::read_to_string(&page).map_err(error)?;
        let (before, rest) =
            old.split_once("| options | compared |").ok_or("no table in hprof.md")?;
        let after = rest.split_once("\n\n").map_or("", |(_, after)| after);
        fs::write(&page, format!("{before}{table}\n{after}")).map_err(error)?;
    }
    Ok(())
}

/// Strings of options, which both JVMs get.
const STRINGS: &str = "
    help,cpu=samples heap=sites heap=dump heap=none heap= heap cpu=samples cpu=n cpu=times cpu=old
    cpu=sample cpu monitor=y monitor=yes monitor= format=b format=c format=b,monitor=y format=b,cpu=times
    format=b,cpu=old format=b,cpu=samples heap=sites,file=x.hprof cpu=times,file=q.hprof file=
    file=/nonexistent/x.txt file=a.txt,file=b.txt net=localhost:1 net=localhost net=:80 net=localhost:0
    net=localhost:99999 net=localhost:1,file=x depth=0 depth=-1 depth=100000 depth=x depth= depth=4x
    interval=0 interval=1 interval=-5 interval=x cutoff=0.5 cutoff=1 cutoff=2 cutoff=-1 cutoff=x
    cutoff=0.01,cpu=times lineno=n lineno=Y thread=y doe=n msa=y force=n verbose=n gc_okay=y unknown=1
    heap=sites,,cpu=samples heap=sites, ,heap=sites Heap=sites cpu=samples,cpu=times heap=sites,heap=dump
    cpu=samples,heap=all,monitor=y,thread=y,depth=8 cpu=times,monitor=y cpu=old,heap=sites cpu=old,depth=6
    cpu=times,thread=y,lineno=n heap=dump,format=b,thread=y heap=all,format=b logflags=1 debug=y coredump=y
    errorexit=y pause=n X=0 primfields=n primarrays=n tempfile=y net= format= interval= cutoff= lineno foo
    net=localhost: depth=0x10 cutoff=.5 debug=x file
";

/// The strings with which something else is done here, and the reason.
const OTHER_STRINGS: [(&str, &str); 9] = [
    ("cpu=n", "`wall` is a value more"),
    ("cpu=sample", "`wall` is a value more"),
    ("file=/nonexistent/x.txt", "another message"),
    ("net=localhost:1", "another message"),
    ("net=localhost:0", "another message"),
    ("net=localhost:99999", "another message"),
    ("format=b,cpu=samples", "version 1.0.2 only if there may be heap dumps"),
    ("doe=n", "a file without a dump is removed"),
    ("cpu=samples,cpu=times", "only one kind of CPU time, with a warning"),
];

/// Compares what is done with strings of options, and adds a row. Returns the number of unknown differences.
fn strings(pair: &Pair, table: &mut String, sums: &mut [usize; 2]) -> Result<usize, String> {
    let (mut equal, mut unknown, mut different) = (0, 0, Vec::new());
    for options in STRINGS.split_whitespace() {
        let [theirs, ours] = pair.run(options, "hello")?.map(|run| run.summary());
        println!("{options:?}\n  JDK 8: {theirs}\n  here:  {ours}");
        if theirs == ours {
            equal += 1;
        } else {
            match OTHER_STRINGS.iter().find(|(other, _)| *other == options) {
                Some((_, reason)) => different.push(format!("`{options}`: {reason}")),
                None => unknown += 1,
            }
        }
    }
    sums[0] += equal;
    sums[1] += different.len();
    let _ = writeln!(
        table,
        "| {} strings | status, message, file and its sections | {equal} | {} |",
        STRINGS.split_whitespace().count(),
        different.join("; ")
    );
    Ok(unknown)
}

/// Both JVMs.
struct Pair {
    root: PathBuf,
    own: PathBuf,
    java: PathBuf,
    hprof: PathBuf,
    classes: String,
}

/// The end of a JVM, and the folder with the files that it has written.
struct Ended {
    output: Output,
    folder: PathBuf,
}

impl Pair {
    fn new() -> Result<Self, String> {
        let root = root()?;
        let (hprof, _) = (build::hprof()?, build::shim()?);
        let classes = build::classes(8)?;
        let java = jdk::usual().ok_or("no JDK 17 or newer")?.java();
        for class in fs::read_dir(&classes).map_err(|e| format!("{classes}: {e}"))?.flatten() {
            if class.file_name().to_string_lossy().starts_with("Hprof8") {
                let copy = root.join("w").join(class.file_name());
                fs::copy(class.path(), copy).map_err(|e| e.to_string())?;
            }
        }
        Ok(Self { root, own: build::output_dir().join("hprof8"), java, hprof, classes })
    }

    fn run(&self, options: &str, program: &str) -> Result<[Ended; 2], String> {
        let mut theirs = Command::new("unshare");
        theirs.args(["-r", "-m", "-p", "-f", "--mount-proc", "--wd=/w/files"]);
        theirs.arg(format!("--root={}", self.root.display()));
        theirs.arg("/usr/lib/jvm/java-8-openjdk-amd64/jre/bin/java");
        theirs.arg(format!("-agentlib:hprof={options}")).args(["-cp", "/w", "Hprof8", program]);
        let mut ours = Command::new(&self.java);
        ours.arg(format!("-agentpath:{}={options}", text(&self.hprof)?));
        ours.args(["-cp", &self.classes, "Hprof8", program]);
        let run = |mut java: Command, folder: PathBuf| {
            let _ = fs::remove_dir_all(&folder);
            fs::create_dir_all(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
            let output =
                java.current_dir(&folder).output().map_err(|e| format!("{java:?}: {e}"))?;
            Ok::<_, String>(Ended { output, folder })
        };
        Ok([run(theirs, self.root.join("w/files"))?, run(ours, self.own.clone())?])
    }
}

impl Ended {
    /// Reads the file of a program that has ended as it should.
    fn read(&self) -> Result<Seen, String> {
        if self.output.stdout != b"done\n" {
            return Err(String::from_utf8_lossy(&self.output.stderr).into_owned());
        }
        let path = self.folder.join("out.hprof");
        let error = |e: std::io::Error| format!("{}: {e}", path.display());
        let bytes = fs::read(&path).map_err(error)?;
        let file = File::open(&path).map_err(error)?;
        match file.problem() {
            Some(problem) => Err(format!("{}: {problem}", path.display())),
            None => Ok(Seen { file, bytes }),
        }
    }

    /// Returns the status, the first line on stderr, and the files with their sections.
    fn summary(&self) -> String {
        let said = String::from_utf8_lossy(&self.output.stderr);
        // JDK 8 names the place in its source.
        let said = said.lines().next().unwrap_or_default();
        let said = said.split_once(" [hprof_").map_or(said, |(said, _)| said);
        let mut files: Vec<_> =
            fs::read_dir(&self.folder).into_iter().flatten().flatten().collect();
        files.sort_by_key(fs::DirEntry::file_name);
        let files = files.into_iter().map(|entry| {
            let bytes = fs::read(entry.path()).unwrap_or_default();
            let text = String::from_utf8_lossy(&bytes);
            let begun = text.lines().filter_map(|line| Some(line.split_once(" BEGIN")?.0));
            let begun = begun.filter(|name| *name != "MONITOR TIME").collect::<Vec<_>>();
            format!("{} {:?} {begun:?}", entry.file_name().display(), text.get(..18))
        });
        let files: Vec<_> = files.collect();
        format!("{:?}, {said:?}, {}", self.output.status.code(), files.join(", "))
    }
}

/// Returns the root with JDK 8, which is downloaded once.
fn root() -> Result<PathBuf, String> {
    let root = jdk::cache().with_file_name("hprof8");
    let error = |e: std::io::Error| format!("{}: {e}", root.display());
    if !root.join("w").is_dir() {
        let part = root.with_extension("part");
        let _ = fs::remove_dir_all(&part);
        fs::create_dir_all(&part).map_err(error)?;
        println!("downloading JDK 8");
        let packages = [&["openjdk-8-jre-headless"], &debian::LIBRARIES[..]].concat();
        debian::unpack(Machine::this(), Distribution::Unstable, &packages, &part)?;
        for link in ["lib", "lib64"] {
            let _ = std::os::unix::fs::symlink(format!("usr/{link}"), part.join(link));
        }
        for folder in ["proc", "tmp", "w"] {
            fs::create_dir_all(part.join(folder)).map_err(error)?;
        }
        fs::rename(&part, &root).map_err(error)?;
    }
    Ok(root)
}

/// Returns the methods of a trace with their lines if the program's code is on top, or constructors that it has called.
fn frames(profile: &Profile, trace: TraceSerial) -> Option<Vec<(String, String)>> {
    let name = |id| profile.names.get(id);
    let frames = profile.traces.frames_of(trace);
    let frames = frames.iter().filter_map(|id| profile.frame(id)).map(|(frame, method)| {
        (format!("{}.{}", name(method.class), name(method.name)), format!("{:?}", frame.line))
    });
    let mut frames: Vec<_> = frames.collect();
    let first = frames.iter().find(|(method, _)| !method.ends_with(".<init>"))?;
    if !first.0.starts_with("Hprof8") {
        return None;
    }
    // The launcher's frames differ.
    let end = frames.iter().rposition(|(method, _)| method.starts_with("Hprof8"))?;
    frames.truncate(end + 1);
    Some(frames)
}

fn summed(rows: impl Iterator<Item = (String, u64)>) -> Figures {
    let mut sums = BTreeMap::<_, u64>::new();
    rows.for_each(|(name, count)| *sums.entry(name).or_default() += count);
    sums.into_iter().map(|(name, sum)| (name, sum.to_string())).collect()
}

/// The objects that the program has allocated, by class, trace and thread.
fn sites(seen: &Seen) -> Figures {
    let profile = seen.file.profile();
    let of_constants = ["java.lang.String", "byte[]", "char[]", "java.lang.Object[]"];
    let rows = profile.sites().next_back().into_iter().flat_map(|sites| &sites.rows);
    summed(rows.filter_map(|row| {
        let frames = frames(profile, row.trace)?;
        let mut frames =
            frames.iter().skip_while(|(method, _)| method.ends_with(".<init>")).peekable();
        let made = frames.peek()?.0.as_str();
        let class = profile.site_type(row);
        if of_constants.contains(&&*class) && !["Hprof8.arrays", "Hprof8.strings"].contains(&made) {
            return None;
        }
        let class = if class == "char[]" { "byte[]" } else { &class };
        let frames: Vec<_> = frames.map(|(method, line)| format!("{method} {line}")).collect();
        let thread = thread_of(profile, row.trace);
        Some((format!("{class} @ {} {thread}", frames.join(" < ")), row.allocated.instances))
    }))
}

fn thread_name(profile: &Profile, thread: ThreadSerial) -> &str {
    profile.threads.get(&thread).map_or("", |thread| profile.names.get(thread.name))
}

fn thread_of(profile: &Profile, trace: TraceSerial) -> &str {
    profile.traces.get(trace).map_or("", |trace| thread_name(profile, trace.thread))
}

/// True for threads that the program has started, and for those that the launcher has.
fn is_own(name: &str) -> bool {
    let own =
        ["main", "DestroyJavaVM", "holder", "waiter", "enterer", "thread ", "grouped", "contender"];
    own.iter().any(|own| name.starts_with(own))
}

fn threads(seen: &Seen) -> Figures {
    let profile = seen.file.profile();
    let shown = profile.threads.values().map(|thread| {
        let [name, group] = [thread.name, thread.group].map(|id| profile.names.get(id));
        (name, format!("group {group}, ended: {}", thread.ended))
    });
    let own = shown.filter(|(name, _)| is_own(name));
    own.map(|(name, what)| (format!("thread {name}"), what)).collect()
}

fn times(seen: &Seen) -> Figures {
    let profile = seen.file.profile();
    let rows = profile.cpu_times().flat_map(|times| &times.rows).filter_map(|row| {
        let frames = frames(profile, row.trace)?;
        let methods: Vec<_> = frames.into_iter().map(|(method, _)| method).collect();
        let thread = thread_of(profile, row.trace);
        Some((format!("{} {thread}", methods.join(" < ")), row.calls))
    });
    summed(rows)
}

fn old(seen: &Seen) -> Figures {
    let profile = seen.file.profile();
    let name = |id: Option<_>| {
        let method = id.and_then(|id| profile.methods.get(id)).unwrap_or_default();
        [method.class, method.name, method.signature].map(|id| profile.names.get(id)).join(" ")
    };
    let calls = profile.cpu_old().flat_map(|old| &old.rows);
    let calls = calls.map(|call| (name(call.callee), name(call.caller), call.count));
    let calls = calls
        .filter(|(callee, caller, _)| callee.starts_with("Hprof8") && caller.starts_with("Hprof8"));
    summed(calls.map(|(callee, caller, count)| (format!("{callee} of {caller}"), count)))
}

fn monitors(seen: &Seen) -> Figures {
    let profile = seen.file.profile();
    let Some(dump) = profile.monitor_dumps().next_back() else { return Figures::new() };
    let name = |thread: &ThreadSerial| thread_name(profile, *thread).to_owned();
    // What the launcher does at the end of the program is a matter of chance.
    let is_launcher = |name: &str| ["main", "DestroyJavaVM"].contains(&name);
    let mut figures = Vec::new();
    for status in &dump.threads {
        let (name, thread) = (name(&status.thread), profile.threads.get(&status.thread));
        let lives = thread.is_some_and(|thread| !thread.ended);
        if is_own(&name) && !is_launcher(&name) && lives {
            let frames = profile.traces.frames_of(status.trace);
            let place =
                frames.iter().filter_map(|id| profile.frame(id)).find_map(|(frame, method)| {
                    let class = profile.names.get(method.class);
                    class.starts_with("Hprof8").then(|| format!("{class} {:?}", frame.line))
                });
            figures.push((format!("{:?} of {name} at {place:?}", status.state), 1));
            figures.push(("threads".to_owned(), 1));
        }
    }
    for monitor in &dump.monitors {
        let Monitor::Java { class, .. } = monitor.monitor else { continue };
        let class = profile.names.get(class);
        let names = |threads: &[ThreadSerial]| threads.iter().map(name).collect::<Vec<_>>();
        let (enter, notify) = (&monitor.waiting_to_enter, &monitor.waiting_to_be_notified);
        let owner = monitor.owner.as_ref().map(name);
        if class.starts_with("Hprof8") && owner.is_some() {
            let (count, enter, notify) = (monitor.entry_count, names(enter), names(notify));
            let what =
                format!("{owner:?} {count} times, to enter {enter:?}, to be notified {notify:?}");
            figures.push((format!("monitor {class}: {what}"), 1));
        }
    }
    figures.push(("dumps".to_owned(), profile.monitor_dumps().count() as u64));
    summed(figures.into_iter())
}

/// The settings, and the tags of records in their order, with the groups in heap dumps.
fn records(seen: &Seen) -> Figures {
    let (mut figures, mut kinds) = (Figures::new(), Vec::new());
    let mut add = |kind: String| {
        if !kinds.contains(&kind) {
            kinds.push(kind);
        }
    };
    let start = seen.bytes.iter().position(|byte| *byte == 0).unwrap_or_default() + 13;
    let mut left = seen.bytes.get(start..).unwrap_or_default();
    while let Some((head, rest)) = left.split_first_chunk::<9>() {
        let length = u32::from_be_bytes([head[5], head[6], head[7], head[8]]) as usize;
        let (body, rest) = rest.split_at(length.min(rest.len()));
        left = rest;
        match head[0] {
            CONTROL_SETTINGS => drop(figures.insert("settings".to_owned(), format!("{body:?}"))),
            TRACE if body.len() == EMPTY_TRACE => continue,
            _ => {}
        }
        add(format!("{:#04x}", head[0]));
    }
    for dump in seen.file.profile().heap_dumps() {
        let read = seen.file.heap(dump).records::<Error>(|record| {
            let group = match record {
                Record::Root(root) => match kind(root).as_str() {
                    "ThreadObject" | "ThreadBlock" | "JniLocal" | "JavaFrame" | "NativeStack" => {
                        "roots of threads"
                    }
                    _ => "other roots",
                },
                Record::Class(_) => "classes",
                _ => "objects",
            };
            add(group.to_owned());
            Ok(())
        });
        add(format!("{read:?}"));
    }
    figures.insert("order".to_owned(), kinds.join(", "));
    figures
}

/// An object in a dump.
#[derive(Default)]
struct Object {
    class: String,
    fields: Vec<(String, Value)>,
    elements: Vec<ObjectId>,
}

/// The objects that the program's static fields refer to, the list of nodes with their values, and the roots.
fn heap(seen: &Seen) -> Figures {
    let Some(dump) = seen.file.profile().heap_dumps().next_back() else { return Figures::new() };
    let mut objects = HashMap::<ObjectId, Object>::new();
    let (mut statics, mut roots) = (HashMap::new(), Vec::new());
    let fields = |fields: &[jvmpi_formats::profile::heap::Field<'_>]| -> Vec<_> {
        fields.iter().map(|field| (field.name.to_owned(), field.value)).collect()
    };
    let read = seen.file.heap(dump).records::<Error>(&mut |record: &Record<'_>| {
        match record {
            Record::Root(root) => roots.push((root.object, kind(root))),
            Record::Class(class) => {
                if class.name.starts_with("Hprof8") {
                    statics.extend(fields(class.statics));
                }
            }
            Record::Instance(instance) => {
                let (class, fields) = (instance.class_name.to_owned(), fields(instance.fields));
                objects.insert(instance.id, Object { class, fields, ..Object::default() });
            }
            Record::Objects(array) => {
                let class = array.type_name();
                let elements = match array.elements {
                    Elements::All(ids) => ids.to_vec(),
                    other => other.iter().map(|(_, id)| id).collect(),
                };
                objects.insert(array.id, Object { class, elements, ..Object::default() });
            }
            Record::Primitives(array) => {
                let class = format!("{}[]", array.of_type.name());
                objects.insert(array.id, Object { class, ..Object::default() });
            }
        }
        Ok(())
    });
    if let Err(why) = read {
        return Figures::from([("heap dump".to_owned(), why.to_string())]);
    }
    let class = |id: &ObjectId| {
        let class = objects.get(id).map_or("", |object| &object.class);
        if class == "char[]" { "byte[]" } else { class }
    };
    let mut figures = Vec::new();
    let target = |name: &str| match statics.get(name) {
        Some(Value::Reference(id)) => Some(*id),
        _ => None,
    };
    let all = target("all").and_then(|id| objects.get(&id));
    for element in all.iter().flat_map(|all| &all.elements).filter(|id| **id != ObjectId(0)) {
        figures.push((format!("element {}", class(element)), 1));
    }
    let mut next = target("first");
    let mut number = 0;
    while let Some(node) = next.and_then(|id| objects.get(&id)) {
        next = None;
        for (name, value) in &node.fields {
            let shown = match value {
                Value::Reference(id) if *id == ObjectId(0) => "null".to_owned(),
                Value::Reference(id) => class(id).to_owned(),
                value => format!("{value:?}"),
            };
            if let ("next", Value::Reference(id)) = (name.as_str(), value) {
                next = Some(*id);
            }
            if shown != "null" {
                figures.push((format!("node {number} {name} = {shown}"), 1));
            }
        }
        number += 1;
    }
    for (object, kind) in roots {
        let class = class(&object);
        if class.starts_with("Hprof8") {
            figures.push((format!("root {kind} {class}"), 1));
        }
    }
    summed(figures.into_iter())
}

fn kind(root: &Root<'_>) -> String {
    let shown = format!("{:?}", root.kind);
    shown.chars().take_while(char::is_ascii_alphabetic).collect()
}

fn sections(seen: &Seen) -> Figures {
    let text = String::from_utf8_lossy(&seen.bytes);
    let begun = text.lines().filter_map(|line| Some(line.split_once(" BEGIN")?.0));
    let begun = begun.filter(|name| *name != "MONITOR TIME");
    begun.enumerate().map(|(n, name)| (n.to_string(), name.to_owned())).collect()
}
