//! The options of `jvmpi record`, and those of HPROF that follow from them.

use super::pushes::PushOptions;
use crate::output;
use crate::units;
use clap::value_parser;
use jvmpi_formats::hprof::options::sample;
use jvmpi_formats::profile::{Format, Weight};
use std::ffi::OsString;
use std::num::NonZeroU32;
use std::path::PathBuf;
use std::time::Duration;

/// The headings of the options in the help.
const WHAT: &str = "What to record";
const HOW: &str = "How to record";
const OUTPUT: &str = "Output";

/// Profile a Java program, from its start or while it runs
///
/// The name of the file selects the format: .html (a report), .svg (a flame graph), .txt (HPROF text),
/// .hprof (HPROF binary), .collapsed (one stack per line), .pb.gz (for pprof), .json (for speedscope) or .jfr (for
/// JDK Mission Control and others).
///
/// A program that jvmpi starts is profiled until it ends. Each of its JVMs gets a file of its own. The exit
/// status is the program's, or 125 if there is no complete profile. With --pid, a running JVM is profiled
/// until --duration is over or you press Ctrl-C. The JVM continues. With -o -, the profile goes to standard output,
/// and the output of a started program to standard error.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    jvmpi record --open -- java -jar app.jar\n  \
    jvmpi record --alloc -o profile.svg --pid Tomcat --duration 30s\n  \
    jvmpi record -o - --format collapsed --pid 4711 -d 1m\n  \
    jvmpi record --heap -o profile.html -- java -jar app.jar\n  \
    jvmpi record --push pyroscope+http://localhost:4040 -- java -jar app.jar\n  \
    jvmpi record --calls --over 10ms --include 'com.example.*' --pid Tomcat -d 1m\n  \
    jvmpi record --calls --setting 'exclude=java.*' -o calls.html -- ./gradlew run")]
#[command(override_usage = "jvmpi record [OPTIONS] -- PROGRAM...\n       \
                            jvmpi record [OPTIONS] --pid PID")]
pub struct Arguments {
    /// Sample the stacks of threads that use the CPU (the default)
    #[arg(long, conflicts_with = "calls", help_heading = WHAT)]
    pub cpu: bool,
    /// Sample the stacks of all threads, also of waiting ones, with their states: shows the elapsed time
    #[arg(long, conflicts_with_all = ["cpu", "calls"], help_heading = WHAT)]
    pub wall: bool,
    /// Record where objects are allocated, and how many of them are alive: an estimate from samples
    #[arg(long, help_heading = WHAT)]
    pub alloc: bool,
    /// Record only objects that survive a collection at the end, with --alloc
    #[arg(long, requires = "alloc", help_heading = WHAT)]
    pub live: bool,
    /// Count the calls of each method and measure their time; slows the program down
    #[arg(long, help_heading = WHAT)]
    pub calls: bool,
    /// Keep only the calls that took at least this elapsed time, each with its stack and thread
    #[arg(long, value_name = "TIME", requires = "calls", value_parser = units::milliseconds, help_heading = WHAT)]
    pub over: Option<u32>,
    /// Count and measure only the calls of these classes, such as com.example.*; the others stay fast
    #[arg(long, value_name = "CLASSES", requires = "calls", help_heading = WHAT)]
    pub include: Option<String>,
    /// Record where threads wait for monitors and locks; with --pid, only for monitors
    #[arg(long, help_heading = WHAT)]
    pub locks: bool,
    /// Also dump the heap at the end: into an .html report, or into NAME-heap.hprof next to other files
    #[arg(long, help_heading = WHAT)]
    pub heap: bool,
    /// Output file, - for standard output; by default profile.html, or another name if there is a file of this name
    #[arg(short, long, value_name = "FILE", help_heading = OUTPUT)]
    output: Option<PathBuf>,
    /// Format of the output, whatever its name is: the ending of a name, such as collapsed
    #[arg(long, help_heading = OUTPUT)]
    pub format: Option<String>,
    /// Show the file when it is written
    #[arg(long, help_heading = OUTPUT)]
    pub open: bool,
    /// Stop after this time, such as 30s or 5m; the program continues
    #[arg(short, long, value_name = "TIME", value_parser = units::seconds)]
    pub duration: Option<Duration>,
    /// Save a snapshot each time this is over, so that a killed JVM still leaves a profile; 0 for never
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = units::seconds_or_never, help_heading = OUTPUT)]
    pub every: Duration,
    /// Time between samples
    #[arg(long, value_name = "TIME", default_value = "10ms", value_parser = units::milliseconds, help_heading = HOW)]
    pub interval: u32,
    /// Mean number of allocated bytes between two samples of --alloc, such as 64k or 1m
    #[arg(long, value_name = "SIZE", requires = "alloc", default_value = "512k", value_parser = sample, help_heading = HOW)]
    pub alloc_interval: NonZeroU32,
    /// Record every allocated object; slows the program down
    #[arg(long, requires = "alloc", conflicts_with = "alloc_interval", help_heading = HOW)]
    pub exact: bool,
    /// Maximum stack depth: by default 512, for --alloc 128, for --exact 16, for --calls in .txt and .hprof files 4
    #[arg(long, value_name = "FRAMES", value_parser = value_parser!(u16).range(1..), help_heading = HOW)]
    pub depth: Option<u16>,
    /// Keep a separate stack per thread (always in an .html report)
    #[arg(long, help_heading = HOW)]
    pub threads: bool,
    /// Smallest share of the time that a stack of --calls needs for a row of its own in a .txt file; 0 for none
    #[arg(long, value_name = "SHARE", requires = "calls", default_value = "0.0001", value_parser = share, help_heading = OUTPUT)]
    pub cutoff: f32,
    /// Weight of the stacks in the file, if several things were recorded
    #[arg(long, value_parser = Weight::ALL.map(Weight::name), help_heading = OUTPUT)]
    pub weight: Option<String>,
    /// Setting of jvmpi, for example exclude=java.*; can be given several times
    #[arg(long = "setting", value_name = "KEY=VALUE", help_heading = HOW)]
    pub settings: Vec<String>,
    /// Profile this running JVM: its process ID, or a part of its main class or JAR file
    #[arg(short, long)]
    pub pid: Option<String>,
    #[command(flatten)]
    pub push: PushOptions,
    /// The program and its arguments
    #[arg(last = true, required_unless_present = "pid", conflicts_with = "pid")]
    pub program: Vec<OsString>,
}

fn share(text: &str) -> Result<f32, String> {
    let share = text.parse().ok().filter(|share| (0.0..=1.0).contains(share));
    share.ok_or_else(|| "give a share from 0 to 1".into())
}

/// Default stack depth.
const DEPTH: u16 = 512;

/// Default stack depth of sampled allocations.
const ALLOC_DEPTH: u16 = 128;

/// Default stack depth of allocations if all are recorded. The JVM walks the stack for each object, which is most of
/// the cost.
const EXACT_DEPTH: u16 = 16;

/// Default stack depth of calls in HPROF's own formats, that of HPROF. They have no tree: each stack repeats its frames.
const LISTED_DEPTH: u16 = 4;

impl Arguments {
    /// Returns the output file, whose format is the named one if there is no other.
    pub fn output(&self) -> PathBuf {
        let extension = self.format.as_ref().map_or(".html".into(), |format| format!(".{format}"));
        output::named(&self.output, "profile", &extension)
    }

    /// Returns true if HPROF makes an attached JVM rewrite its classes.
    pub fn rewrites(&self) -> bool {
        self.calls || self.exact
    }

    /// Returns the mean number of bytes between two samples, if allocations are sampled.
    pub fn alloc_interval(&self) -> Option<NonZeroU32> {
        (self.alloc && !self.exact).then_some(self.alloc_interval)
    }

    /// Returns the format of the output, if it is known.
    fn format(&self) -> Option<Format> {
        output::format_of(&self.output(), self.format.as_deref()).ok()
    }

    /// Returns the weight of the stacks. None for the first one with data.
    pub fn weight(&self) -> Result<Option<Weight>, String> {
        let usual = self.live.then_some(Weight::LiveBytes);
        Ok(self.weight.as_deref().map(str::parse).transpose()?.or(usual))
    }

    /// Returns the settings of jvmpi. The user's settings override the others. A running JVM may have loaded it
    /// with others, and gets the user's alone.
    pub fn settings(&self) -> Vec<String> {
        let of_locks = (self.locks && self.pid.is_none()).then(|| "park=monitor".to_owned());
        let of_calls = self.include.as_ref().map(|classes| format!("include={classes}"));
        of_locks.into_iter().chain(of_calls).chain(self.settings.iter().cloned()).collect()
    }

    /// Returns the interval between two samples, if threads are sampled.
    pub fn sampling_interval(&self) -> Option<Duration> {
        let options = self.hprof_options();
        let samples = ["cpu=samples", "cpu=wall"].iter().any(|cpu| options.starts_with(cpu));
        samples.then(|| Duration::from_millis(self.interval.into()))
    }

    /// Returns the options of HPROF, without the address of the connection.
    pub fn hprof_options(&self) -> String {
        let cpu = match (self.cpu, self.calls, self.alloc || self.locks) {
            _ if self.wall => Some("cpu=wall"),
            (_, true, _) => Some("cpu=times"),
            (true, _, _) | (_, _, false) => Some("cpu=samples"),
            _ => None,
        };
        let heap = self.alloc.then_some("heap=sites");
        let live = self.live.then_some("live=y");
        let monitor = self.locks.then_some("monitor=y");
        let format = self.format();
        // A page shows all threads together, and each.
        let by_thread = self.threads || self.over.is_some();
        let threads = if by_thread || matches!(format, Some(Format::Html)) { "y" } else { "n" };
        let mut options: Vec<String> =
            [cpu, heap, live, monitor].into_iter().flatten().map(str::to_owned).collect();
        let lists_calls = self.calls && matches!(format, Some(Format::Text | Format::Binary));
        let depth = self.depth.unwrap_or(if lists_calls { LISTED_DEPTH } else { DEPTH });
        if let Some(bytes) = self.alloc_interval() {
            options.push(format!("sample={bytes}"));
        }
        let alloc_depth = if self.exact { EXACT_DEPTH } else { ALLOC_DEPTH };
        let alloc_depth = self.depth.unwrap_or(alloc_depth);
        options.push(format!("interval={},depth={depth},allocdepth={alloc_depth}", self.interval));
        options.push(format!("thread={threads},cutoff=0,verbose=n"));
        options.extend(self.over.map(|milliseconds| format!("over={milliseconds}")));
        options.extend(self.heap.then(|| "hold=y".into()));
        options.join(",")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser as _;

    #[derive(clap::Parser)]
    struct Cli {
        #[command(flatten)]
        arguments: Arguments,
    }

    #[test]
    fn options_select_interval_and_depth() {
        for (given, expected) in [
            (&["--alloc", "--exact"][..], "heap=sites,interval=10,depth=512,allocdepth=16,"),
            (
                &["--cpu", "--alloc"],
                "cpu=samples,heap=sites,sample=524288,interval=10,depth=512,allocdepth=128,",
            ),
            (
                &["--alloc", "--live", "--alloc-interval", "1m"],
                "heap=sites,live=y,sample=1048576,interval=10,depth=512,allocdepth=128,",
            ),
            (&["--calls"], "cpu=times,interval=10,depth=512,allocdepth=128,"),
            (&["--calls", "-o", "a.html"], "cpu=times,interval=10,depth=512,allocdepth=128,"),
            (&["--calls", "-o", "a.txt"], "cpu=times,interval=10,depth=4,allocdepth=128,"),
            (
                &["--calls", "--depth=9", "-o", "a.hprof"],
                "cpu=times,interval=10,depth=9,allocdepth=9,",
            ),
            (&["--wall", "--locks"], "cpu=wall,monitor=y,interval=10,depth=512,allocdepth=128,"),
            (
                &["--alloc", "--exact", "--depth", "4"],
                "heap=sites,interval=10,depth=4,allocdepth=4,",
            ),
        ] {
            let all = [&["record", "--pid", "1"][..], given].concat();
            let options = Cli::parse_from(&all).arguments.hprof_options();
            assert!(options.starts_with(expected), "{options}");
        }
    }

    #[test]
    fn parking_counts_as_waiting_for_a_lock_unless_the_user_says_otherwise() {
        let settings = |given: &[&str]| {
            Cli::parse_from([&["record"], given, &["--", "true"]].concat()).arguments.settings()
        };
        assert_eq!(settings(&["--cpu"]), [""; 0]);
        assert_eq!(settings(&["--locks"]), ["park=monitor"]);
        let last = settings(&["--locks", "--setting", "park=off"]);
        assert_eq!(last, ["park=monitor", "park=off"], "the last one counts");
    }
}
