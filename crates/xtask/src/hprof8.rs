//! `cargo xtask hprof8`: compares HPROF's files with those of JDK 8, which comes from Debian's unstable distribution and
//! runs in a root of its own.

use compat_tests::build;
use compat_tests::debian::{self, Distribution};
use compat_tests::machine::Machine;
use compat_tests::tool::tool;
use compat_tests::{jdk, text, workspace_root};
use jvmpi_formats::profile::heap::{Elements, Record, RootKind};
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
const PROGRAMS: [&str; 12] = [
    "arrays",
    "objects",
    "strings",
    "garbage",
    "list",
    "calls",
    "recursion",
    "exceptions",
    "shares",
    "threads",
    "monitors",
    "contention",
];

/// The figures of a program in a file, by what they are figures of.
type Figures = BTreeMap<String, String>;

/// A comparison.
struct Check {
    options: &'static str,
    what: &'static str,
    /// Returns the figures as they are, or with `true` after the normalization.
    figures: fn(&Seen, bool) -> Figures,
    normalization: &'static str,
    /// True if only figures that JDK 8 has are compared after the normalization.
    only_theirs: bool,
}

const INIT: &str = "without constructors on top of a trace, which JDK 8 has as it counts in that of Object, and \
                    without the strings and arrays that the JVM makes for constants";

const CHECKS: [Check; 13] = [
    check("heap=sites,cutoff=0,depth=10", "objects per class", sites, INIT, false),
    check("heap=sites,cutoff=0,depth=10,lineno=y", "traces with lines", site_lines, INIT, false),
    check("heap=sites,cutoff=0,depth=10,lineno=n", "traces without lines", site_lines, INIT, false),
    check("heap=sites,cutoff=0,depth=10,thread=y", "objects per thread", site_threads, INIT, false),
    check(
        "heap=sites,cutoff=0,doe=y,verbose=n",
        "thread records",
        threads,
        "threads of the program only",
        false,
    ),
    check(
        "cpu=times,cutoff=0",
        "calls per trace",
        times,
        "traces with a millisecond of their own, which JDK 8 needs",
        true,
    ),
    check("cpu=times,cutoff=0,thread=y,depth=2", "calls per trace", times, "as above", true),
    check("cpu=old", "calls per callee and caller", old, "", false),
    check(
        "cpu=samples,interval=1,depth=10,cutoff=0",
        "share of samples",
        shares,
        "within 8 points of the program's own shares",
        true,
    ),
    check(
        "monitor=y",
        "threads and monitors",
        monitors,
        "monitors and threads of the program only",
        false,
    ),
    check(
        "heap=dump",
        "objects and references",
        heap,
        "objects of the program only; char[] is byte[] in strings",
        false,
    ),
    check("heap=dump,format=b", "objects, values, roots", heap, "as above", false),
    check(
        "heap=all,cpu=samples,monitor=y",
        "order of sections",
        sections,
        "MONITOR TIME is left out",
        false,
    ),
];

const fn check(
    options: &'static str,
    what: &'static str,
    figures: fn(&Seen, bool) -> Figures,
    normalization: &'static str,
    only_theirs: bool,
) -> Check {
    Check { options, what, figures, normalization, only_theirs }
}

const CLASSES: &str = "JDK 8 counts a class that is loaded as an object of it";

/// Known differences: the start of the figure's name, and the reason.
const DIFFERENCES: [(&str, &str); 9] = [
    ("int[] @", "JDK 8 counts only the outer array of `new int[2][3]`"),
    ("int[][] @", CLASSES),
    ("Hprof8$Small[][] @", CLASSES),
    ("java.util.concurrent.", CLASSES),
    ("byte[] @", "strings that the JVM makes for names count here"),
    ("java.lang.String @", "strings that the JVM makes for names count here"),
    ("status", "JDK 8 also lists threads that have ended (ZO)"),
    ("monitor", "JDK 8 lists only monitors that a thread owns"),
    ("root", "JVMPI reports stacks and monitors as JVMTI of JDK 11 and later does"),
];

/// A file and its text.
struct Seen {
    file: File,
    text: String,
}

pub fn run(arguments: &[String]) -> Result<(), String> {
    let mut arguments = arguments.to_vec();
    let records = cross::take_flag(&mut arguments, "--record");
    let is_named = |name: &&&str| arguments.is_empty() || arguments.iter().any(|n| n == **name);
    let pair = Pair::new()?;
    let mut table = String::from(
        "| options | compared | equal | equal after the normalization | different |\n|---|---|---|---|---|\n",
    );
    let mut unknown = 0;
    for check in &CHECKS {
        let (mut equal, mut normalized, mut different) = (0, 0, BTreeMap::<&str, usize>::new());
        for program in PROGRAMS.iter().filter(is_named) {
            let [theirs, ours] = pair.run(&format!("{},file=out.hprof", check.options), program)?;
            let (theirs, ours) = (theirs.read()?, ours.read()?);
            let (a, b) = ((check.figures)(&theirs, false), (check.figures)(&ours, false));
            if a == b {
                equal += usize::from(!a.is_empty());
                continue;
            }
            let (a, mut b) = ((check.figures)(&theirs, true), (check.figures)(&ours, true));
            if check.only_theirs {
                b.retain(|name, _| a.contains_key(name));
            }
            let names: BTreeSet<_> = a.keys().chain(b.keys()).collect();
            let mut reasons = BTreeSet::new();
            for name in names.into_iter().filter(|name| a.get(*name) != b.get(*name)) {
                let reason = DIFFERENCES.iter().find(|(start, _)| name.starts_with(start));
                reasons.insert(reason.map_or("unknown", |(_, reason)| reason));
                if reason.is_none() {
                    unknown += 1;
                    let (a, b) = (a.get(name), b.get(name));
                    println!("{} {program}: {name}: {a:?} in JDK 8, {b:?} here", check.options);
                }
            }
            normalized += usize::from(reasons.is_empty() && !a.is_empty());
            reasons.into_iter().for_each(|reason| *different.entry(reason).or_default() += 1);
        }
        let Check { options, what, normalization, .. } = check;
        let note = match normalized {
            0 => String::new(),
            n => format!("{n}: {normalization}"),
        };
        let different: Vec<_> = different.iter().map(|(why, n)| format!("{n}: {why}")).collect();
        let different = different.join("; ");
        let _ = writeln!(table, "| `{options}` | {what} | {equal} | {note} | {different} |");
    }
    if arguments.is_empty() {
        unknown += strings(&pair, &mut table)?;
    }
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
fn strings(pair: &Pair, table: &mut String) -> Result<usize, String> {
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
    let _ = writeln!(
        table,
        "| {} strings | status, message, file and its sections | {equal} | | {} |",
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
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let file = File::open(&path).map_err(error)?;
        match file.problem() {
            Some(problem) => Err(format!("{}: {problem}", path.display())),
            None => Ok(Seen { file, text }),
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
        fs::create_dir_all(part.join("packages")).map_err(error)?;
        println!("downloading JDK 8");
        let packages = [&["openjdk-8-jre-headless"], &debian::LIBRARIES[..]].concat();
        let folder = part.join("packages");
        debian::download(Machine::this(), Distribution::Unstable, &packages, &folder)?;
        for package in fs::read_dir(&folder).map_err(error)?.flatten() {
            if package.path().extension().is_some_and(|end| end == "deb") {
                tool("dpkg", &["-x", text(&package.path())?, text(&part)?], &folder)?;
            }
        }
        fs::remove_dir_all(&folder).map_err(error)?;
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

/// Returns the methods of a trace with their lines if the program's code is on top. With `normal`, constructors there
/// are left out.
fn frames(profile: &Profile, trace: TraceSerial, normal: bool) -> Option<Vec<(String, String)>> {
    let name = |id| profile.names.get(id);
    let frames = profile.traces.frames_of(trace);
    let frames = frames.iter().filter_map(|id| profile.frame(id)).map(|(frame, method)| {
        (format!("{}.{}", name(method.class), name(method.name)), format!("{:?}", frame.line))
    });
    let mut frames: Vec<_> = frames.collect();
    let constructors = frames.iter().take_while(|(method, _)| method.ends_with(".<init>")).count();
    if !frames.get(constructors)?.0.starts_with("Hprof8") {
        return None;
    }
    if normal {
        frames.drain(..constructors);
    }
    // The launcher's frames differ.
    let end = frames.iter().rposition(|(method, _)| method.starts_with("Hprof8"))?;
    frames.truncate(end + 1);
    Some(frames)
}

/// Returns the objects that the program has allocated: class, trace and number.
fn allocated(seen: &Seen, normal: bool) -> Vec<(String, TraceSerial, u64)> {
    let profile = seen.file.profile();
    let rows = profile.sites().next_back().map(|sites| sites.rows.clone()).unwrap_or_default();
    let is_made = |class: &str, method: &str| {
        let is_of_constants =
            ["java.lang.String", "byte[]", "char[]", "java.lang.Object[]"].contains(&class);
        !is_of_constants || ["Hprof8.arrays", "Hprof8.strings"].contains(&method)
    };
    let rows = rows.into_iter().filter(|row| {
        let frames = frames(profile, row.trace, true);
        frames.is_some_and(|f| !normal || is_made(&profile.site_type(row), &f[0].0))
    });
    let class = |class: &str| if normal && class == "char[]" { "byte[]" } else { class }.to_owned();
    rows.map(|row| (class(&profile.site_type(&row)), row.trace, row.allocated.instances)).collect()
}

fn summed(rows: impl Iterator<Item = (String, u64)>) -> Figures {
    let mut sums = BTreeMap::<_, u64>::new();
    rows.for_each(|(name, count)| *sums.entry(name).or_default() += count);
    sums.into_iter().map(|(name, sum)| (name, sum.to_string())).collect()
}

fn sites(seen: &Seen, normal: bool) -> Figures {
    let first = |trace| frames(seen.file.profile(), trace, normal).map(|f| f[0].0.clone());
    let rows = allocated(seen, normal).into_iter();
    summed(
        rows.map(|(class, trace, n)| {
            (format!("{class} @ {}", first(trace).unwrap_or_default()), n)
        }),
    )
}

fn site_lines(seen: &Seen, normal: bool) -> Figures {
    let shown = |trace| {
        let frames = frames(seen.file.profile(), trace, normal).unwrap_or_default();
        frames
            .iter()
            .map(|(method, line)| format!("{method} {line}"))
            .collect::<Vec<_>>()
            .join(" < ")
    };
    let rows = allocated(seen, normal).into_iter();
    summed(rows.map(|(class, trace, n)| (format!("{class} @ {}", shown(trace)), n)))
}

fn thread_name(profile: &Profile, thread: ThreadSerial) -> &str {
    profile.threads.get(&thread).map_or("", |thread| profile.names.get(thread.name))
}

fn site_threads(seen: &Seen, normal: bool) -> Figures {
    let profile = seen.file.profile();
    let thread = |trace| profile.traces.get(trace).map_or(ThreadSerial(0), |trace| trace.thread);
    let rows = allocated(seen, normal).into_iter();
    summed(
        rows.map(|(class, trace, n)| {
            (format!("{class} @ {}", thread_name(profile, thread(trace))), n)
        }),
    )
}

/// True for threads that the program has started, and for those that the launcher has.
fn is_own(name: &str) -> bool {
    let own =
        ["main", "DestroyJavaVM", "holder", "waiter", "enterer", "thread ", "grouped", "contender"];
    own.iter().any(|own| name.starts_with(own))
}

fn threads(seen: &Seen, normal: bool) -> Figures {
    let profile = seen.file.profile();
    let own: Vec<_> = profile.threads.values().collect();
    let shown = own.into_iter().map(|thread| {
        let [name, group] = [thread.name, thread.group].map(|id| profile.names.get(id));
        (name, format!("group {group}, ended: {}", thread.ended))
    });
    let shown = shown.filter(|(name, _)| !normal || is_own(name));
    // Threads that are started together come in any order.
    let number = |n: usize| if normal { String::new() } else { n.to_string() };
    let shown = shown.enumerate();
    shown.map(|(n, (name, what))| (format!("thread {} {name}", number(n)), what)).collect()
}

fn times(seen: &Seen, _: bool) -> Figures {
    let profile = seen.file.profile();
    let rows = profile.cpu_times().flat_map(|times| &times.rows).filter_map(|row| {
        let frames = frames(profile, row.trace, false)?;
        let methods: Vec<_> = frames.into_iter().map(|(method, _)| method).collect();
        let thread = profile.traces.get(row.trace).map_or(ThreadSerial(0), |trace| trace.thread);
        Some((format!("{} {}", methods.join(" < "), thread_name(profile, thread)), row.calls))
    });
    summed(rows)
}

fn old(seen: &Seen, _: bool) -> Figures {
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

/// With `normal`, a share that differs by chance from that of the program is the latter.
fn shares(seen: &Seen, normal: bool) -> Figures {
    let profile = seen.file.profile();
    let rows = profile.cpu_samples().flat_map(|samples| &samples.rows).filter_map(|row| {
        let frames = frames(profile, row.trace, false)?;
        // The method that main's branch has called.
        let place = frames.len().checked_sub(3)?;
        Some((frames[place].0.clone(), row.samples))
    });
    let rows: Vec<_> = rows.collect();
    let all: u64 = rows.iter().map(|(_, n)| n).sum();
    let share = |(name, n): (String, String)| {
        let meant = match name.as_str() {
            "Hprof8.seventy" => 70,
            "Hprof8.thirty" => 30,
            // The other programs are too short.
            _ => return None,
        };
        let share = n.parse::<u64>().ok()? * 100 / all.max(1);
        let share = if normal && share.abs_diff(meant) <= 8 { meant } else { share };
        Some((name, format!("{share}%")))
    };
    summed(rows.into_iter()).into_iter().filter_map(share).collect()
}

fn monitors(seen: &Seen, normal: bool) -> Figures {
    let profile = seen.file.profile();
    let Some(dump) = profile.monitor_dumps().next_back() else { return Figures::new() };
    let name = |thread: &ThreadSerial| thread_name(profile, *thread).to_owned();
    let threads = dump.threads.iter().map(|status| {
        let state = format!("{:?}", status.state);
        (format!("status of {}", name(&status.thread)), state)
    });
    let threads = threads.filter(|(name, _)| !normal || is_own(&name["status of ".len()..]));
    let monitors = dump.monitors.iter().filter_map(|monitor| {
        let Monitor::Java { class, .. } = monitor.monitor else { return None };
        let class = profile.names.get(class);
        let names =
            |threads: &[ThreadSerial]| threads.iter().map(name).collect::<Vec<_>>().join(", ");
        let (enter, notify) = (&monitor.waiting_to_enter, &monitor.waiting_to_be_notified);
        let owner = monitor.owner.as_ref().map(name).unwrap_or_default();
        let (count, enter, notify) = (monitor.entry_count, names(enter), names(notify));
        let what = format!("{owner} {count} times, to enter: {enter}, to be notified: {notify}");
        (!normal || class.starts_with("Hprof8")).then(|| {
            let kind = if owner.is_empty() { "monitor without owner" } else { "owned monitor" };
            (format!("{kind} {class}"), what)
        })
    });
    let known = |name: &str| {
        // What the launcher does at the end of the program is a matter of chance.
        !normal || !["status of main", "status of DestroyJavaVM"].contains(&name)
    };
    threads.chain(monitors).filter(|(name, _)| known(name)).collect()
}

/// An object in a dump.
#[derive(Default)]
struct Object {
    class: String,
    fields: Vec<(String, Value)>,
    elements: Vec<ObjectId>,
}

/// The objects that the program's static fields refer to, the list of nodes with their values, and the roots.
fn heap(seen: &Seen, normal: bool) -> Figures {
    let Some(dump) = seen.file.profile().heap_dumps().next_back() else { return Figures::new() };
    let mut objects = HashMap::<ObjectId, Object>::new();
    let (mut statics, mut roots) = (HashMap::new(), Vec::new());
    let fields = |fields: &[jvmpi_formats::profile::heap::Field<'_>]| -> Vec<_> {
        fields.iter().map(|field| (field.name.to_owned(), field.value)).collect()
    };
    let read = seen.file.heap(dump).records::<Error>(&mut |record: &Record<'_>| {
        match record {
            Record::Root(root) => roots.push((root.object, kind(&root.kind))),
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
        if normal && class == "char[]" { "byte[]" } else { class }
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

fn kind(kind: &RootKind<'_>) -> &'static str {
    match kind {
        RootKind::Unknown => "unknown",
        RootKind::JniGlobal { .. } => "JNI global",
        RootKind::JniLocal(_) => "JNI local",
        RootKind::JavaFrame(_) => "Java frame",
        RootKind::NativeStack(_) => "native stack",
        RootKind::StickyClass { .. } => "system class",
        RootKind::ThreadBlock(_) => "thread block",
        RootKind::MonitorUsed => "monitor",
        RootKind::ThreadObject { .. } => "thread",
    }
}

fn sections(seen: &Seen, normal: bool) -> Figures {
    let begun = seen.text.lines().filter_map(|line| Some(line.split_once(" BEGIN")?.0));
    let begun = begun.filter(|name| !normal || *name != "MONITOR TIME");
    begun.enumerate().map(|(n, name)| (n.to_string(), name.to_owned())).collect()
}
