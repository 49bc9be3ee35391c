//! The options behind `hprof:`.

use crate::profile::Format;
use std::fmt::{self, Display};
use std::num::NonZeroU32;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The options of the user.
#[derive(Clone, PartialEq, Debug)]
pub struct Options {
    /// `heap=sites`, `heap=all`
    pub sites: bool,
    /// `heap=dump`, `heap=all`
    pub heap_dump: bool,
    /// `cpu=`
    pub cpu: Option<Cpu>,
    /// An earlier, different value of `cpu=`. JDK 8 records both.
    pub other_cpu: Option<Cpu>,
    /// `monitor=y`
    pub monitor: bool,
    /// `format=`, or what the name of the file says.
    pub format: Format,
    /// `file=`, `net=`
    pub output: Output,
    /// `depth=`: how many frames a trace has at most.
    pub depth: u16,
    /// `allocdepth=`: how many frames the traces of allocations have, if not `depth`.
    pub alloc_depth: Option<u16>,
    /// `sample=`: the mean number of allocated bytes per reported object, if not every object is reported.
    pub sample: Option<NonZeroU32>,
    /// `live=y`: the sites have only the objects that survive a collection at the end.
    pub live: bool,
    /// `contexts=`: the maximum number of stacks that `cpu=times` distinguishes.
    pub contexts: u32,
    /// `over=`: the elapsed time that a call must take to count in `cpu=times`; None if all calls count, by CPU time.
    pub over: Option<Duration>,
    /// `interval=`: how long the sampler waits from one look to the next.
    pub interval: Duration,
    /// `cutoff=`: what has a smaller share is left out.
    pub cutoff: f64,
    /// `lineno=y`
    pub lines: bool,
    /// `thread=y`: each thread has traces of its own.
    pub threads: bool,
    /// `doe=y`: there is a dump when the program ends.
    pub dump_on_exit: bool,
    /// `force=y`: a file of that name is replaced.
    pub force: bool,
    /// `verbose=y`: dumps are reported on stderr.
    pub verbose: bool,
    /// `duration=`: the time after which profiling ends, with a dump, before the program does.
    pub duration: Option<Duration>,
    /// `hold=y`: the program ends only after the command has closed the connection of `channel=`.
    pub hold: bool,
}

impl Options {
    /// Parses the string behind `hprof:`. `process` replaces `%p` in a file's name. Returns None if the user asks for
    /// [`HELP`].
    ///
    /// # Errors
    /// Returns why the first invalid option is refused: one line, in the words of JDK 8 where it has any.
    pub fn parse(text: &str, process: u32) -> Result<Option<Self>, String> {
        if text == "help" {
            return Ok(None);
        }
        let refuse = |why: String| {
            // Everybody can read the messages of a program.
            let shown = text.split("secret=").next().unwrap_or_default();
            let shown: String = shown.chars().flat_map(char::escape_debug).take(200).collect();
            format!("hprof option error: {why} ({shown})")
        };
        let mut given = Given::default();
        let mut rest = text;
        while !rest.is_empty() {
            // As in JDK 8, a name ends only at `=`, and a comma may end the string.
            let (name, value);
            (name, rest) = rest.split_once('=').unwrap_or((rest, ""));
            (value, rest) = rest.split_once(',').unwrap_or((rest, ""));
            given.take(name, value).map_err(refuse)?;
        }
        given.complete(process).map(Some).map_err(refuse)
    }

    /// Returns true if threads are sampled from the start.
    pub fn samples(&self) -> bool {
        matches!(self.cpu, Some(Cpu::Samples | Cpu::Wall))
    }

    /// Returns true if the output can show samples over time: the command `jvmpi`.
    pub fn shows_timeline(&self) -> bool {
        matches!(self.output, Output::Channel { .. })
    }

    /// Returns true if the output needs no classes but the names of sampled methods. These are requested when
    /// they are met, because reporting all classes is most of the cost of sampling at the start. A front end can
    /// ask for more at any time; the command `jvmpi` only asks for what the options name.
    pub fn names_methods_only(&self) -> bool {
        let Self { sites, heap_dump, monitor, format, sample, cpu, .. } = self;
        let reports_all = *sites && sample.is_none() || *heap_dump || *monitor;
        let may_be_asked = matches!(self.output, Output::Net { .. });
        let samples = self.samples() || cpu.is_none() && sample.is_some();
        samples && !(reports_all || may_be_asked || *format == Format::Binary)
    }
}

/// The way to measure processor time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Cpu {
    /// By looking at what the threads do, every [`Options::interval`].
    Samples,
    /// Likewise, but all threads whatever they do, so that the samples show the elapsed time.
    Wall,
    /// By the times at which methods are entered and left.
    Times,
    /// Likewise, written as `java -prof` did: calls, callee, caller, time.
    Old,
}

impl Display for Cpu {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Samples => "samples",
            Self::Wall => "wall",
            Self::Times => "times",
            Self::Old => "old",
        })
    }
}

/// The destination of the profile.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Output {
    /// Into this file.
    File(PathBuf),
    /// To a front end that listens there, which sends commands in turn.
    Net {
        /// Its host.
        host: String,
        /// Its port.
        port: u16,
    },
    /// To the command `jvmpi`, which recognizes its JVMs by a secret that they send first.
    Channel {
        /// Its host.
        host: String,
        /// Its port.
        port: u16,
        /// The secret, which is sent first.
        secret: String,
    },
}

/// The variable with the secret of a program that the command has started: everybody can see the options of
/// such a program.
pub const SECRET: &str = "JVMPI_CHANNEL";

/// The length of a secret, in characters.
pub const SECRET_LENGTH: usize = 32;

/// Default of `contexts=`. A stack takes about 70 bytes in each thread.
const CONTEXTS: u32 = 1_000_000;

/// The text for a user who asks for help.
pub const HELP: &str = include_str!("help.txt");

impl Default for Options {
    fn default() -> Self {
        Self {
            sites: false,
            heap_dump: false,
            cpu: None,
            other_cpu: None,
            monitor: false,
            format: Format::Text,
            output: Output::File("java.hprof.txt".into()),
            depth: 4,
            alloc_depth: None,
            sample: None,
            live: false,
            contexts: CONTEXTS,
            over: None,
            interval: Duration::from_millis(10),
            cutoff: 0.0001,
            lines: true,
            threads: false,
            dump_on_exit: true,
            force: true,
            verbose: true,
            duration: None,
            hold: false,
        }
    }
}

/// The options as they were given.
#[derive(Default)]
struct Given {
    /// Those that do not depend on others.
    options: Options,
    format: Option<Format>,
    file: Option<String>,
    net: Option<(String, u16)>,
    channel: Option<(String, u16)>,
    secret: Option<String>,
    depth: Option<u16>,
    cutoff: Option<f64>,
}

impl Given {
    fn take(&mut self, name: &str, value: &str) -> Result<(), String> {
        let words = |words: &str| match value {
            "" => format!("syntax error parsing {name}={words}"),
            _ => format!("{name} option value must be {words}"),
        };
        let yes = || match value {
            "y" => Ok(true),
            "n" => Ok(false),
            _ => Err(format!("{name} option value must be y|n")),
        };
        let depth = || Ok::<_, String>(decimal(name, value, 0)?.min(u16::MAX.into()) as u16);
        let options = &mut self.options;
        match name {
            "heap" => match value {
                "sites" => options.sites = true,
                "dump" => options.heap_dump = true,
                "all" => (options.sites, options.heap_dump) = (true, true),
                _ => return Err(words("dump|sites|all")),
            },
            "cpu" => {
                let cpu = match value {
                    "samples" | "y" => Cpu::Samples,
                    "wall" => Cpu::Wall,
                    "times" => Cpu::Times,
                    "old" => Cpu::Old,
                    "" => return Err(words("y|samples|times|old")),
                    _ => return Err(words("y|samples|wall|times|old")),
                };
                let before = options.cpu.replace(cpu).filter(|before| *before != cpu);
                options.other_cpu = before.or(options.other_cpu);
            }
            "monitor" => options.monitor = yes()?,
            "format" => {
                self.format = Some(match value {
                    "a" => Format::Text,
                    "b" => Format::Binary,
                    _ => return Err(words("a|b")),
                });
            }
            "file" | "net" if self.file.is_some() || self.net.is_some() => {
                return Err("file or net options should only appear once".to_owned());
            }
            "file" if value.is_empty() => return Err(words("filename")),
            "file" => self.file = Some(value.to_owned()),
            "net" => self.net = Some(address(value)?),
            "channel" => self.channel = Some(address(value)?),
            "secret" => self.secret = Some(value.to_owned()),
            "depth" => self.depth = Some(depth()?),
            "allocdepth" => options.alloc_depth = Some(depth()?),
            "sample" => options.sample = Some(sample(value)?),
            "live" => options.live = yes()?,
            "contexts" => options.contexts = decimal(name, value, 0)?.min(CONTEXTS * 100),
            "over" => options.over = Some(Duration::from_millis(decimal(name, value, 1)?.into())),
            "interval" => {
                options.interval = Duration::from_millis(decimal(name, value, 1)?.into());
            }
            "cutoff" => {
                let share = value.parse().ok().filter(|share: &f64| *share >= 0.0);
                self.cutoff = Some(share.ok_or_else(|| match value {
                    "" => words("DOUBLE"),
                    _ => words("floating point and >= 0"),
                })?);
            }
            "lineno" => options.lines = yes()?,
            "thread" => options.threads = yes()?,
            "doe" => options.dump_on_exit = yes()?,
            "force" => options.force = yes()?,
            "verbose" => options.verbose = yes()?,
            "duration" => {
                let seconds = value.parse().ok().filter(|seconds| *seconds > 0.0);
                let duration = seconds.and_then(|s| Duration::try_from_secs_f64(s).ok());
                options.duration = Some(duration.ok_or_else(|| words("a number of seconds"))?);
            }
            "hold" => options.hold = yes()?,
            "gc_okay" | "msa" | "debug" | "coredump" | "errorexit" | "pause" | "primfields"
            | "primarrays" => _ = yes()?,
            "logflags" | "X" => {}
            _ => return Err(format!("Unknown option: {name}")),
        }
        Ok(())
    }

    fn complete(self, process: u32) -> Result<Options, String> {
        let by_name = self.file.as_deref().and_then(|name| Format::of_path(Path::new(name)).ok());
        // Only `format=b` is binary, as in JDK 8: there a file of any name is text.
        let by_name = by_name.filter(|format| *format != Format::Binary);
        let format = self.format.or(by_name).unwrap_or(Format::Text);
        if format == Format::Jfr && self.channel.is_none() {
            return Err("HPROF writes no .jfr: use jvmpi record, or jvmpi convert".to_owned());
        }
        if format == Format::Html {
            return Err("file=x.html is made by 'jvmpi report FILE'".to_owned());
        }
        let of_stacks = format.is_of_stacks();
        let Options { mut sites, mut heap_dump, cpu, monitor, sample, live, .. } = self.options;
        if !sites && !heap_dump && cpu.is_none() && !monitor {
            (sites, heap_dump) = (true, !of_stacks);
        }
        for (option, asked) in [("sample=", sample.is_some()), ("live=y", live)] {
            if asked && (heap_dump || !sites) {
                return Err(format!("{option} needs heap=sites"));
            }
        }
        if self.options.over.is_some() && cpu != Some(Cpu::Times) {
            return Err("over= needs cpu=times".to_owned());
        }
        let is_binary = format == Format::Binary;
        if is_binary && monitor {
            return Err("monitor=y is not supported with format=b".to_owned());
        }
        if is_binary && matches!(cpu, Some(Cpu::Times | Cpu::Old)) {
            return Err("cpu=times|old is not supported with format=b".to_owned());
        }
        for (option, asked, possible) in [
            ("cpu=old", cpu == Some(Cpu::Old), format == Format::Text),
            ("a heap dump", heap_dump, !of_stacks && self.channel.is_none()),
        ] {
            if asked && !possible {
                let name = format.extension();
                return Err(format!("{option} cannot be written in {name}: choose text"));
            }
        }
        let output = match (self.channel, self.net) {
            (Some((host, port)), _) => {
                let secret = self.secret.or_else(|| std::env::var(SECRET).ok());
                let secret = secret.filter(|secret| secret.len() == SECRET_LENGTH);
                let why = || format!("channel= needs secret=, or the variable {SECRET}");
                Output::Channel { host, port, secret: secret.ok_or_else(why)? }
            }
            (None, Some((host, port))) => Output::Net { host, port },
            (None, None) => {
                let usual = if is_binary { "java.hprof" } else { "java.hprof.txt" };
                let name = self.file.as_deref().unwrap_or(usual);
                Output::File(name.replace("%p", &process.to_string()).into())
            }
        };
        let depth = match self.depth {
            // A call in the format of java -prof is the callee and its caller.
            _ if cpu == Some(Cpu::Old) => 2,
            Some(depth) => depth,
            None if of_stacks => 512,
            None => self.options.depth,
        };
        let cutoff = self.cutoff.unwrap_or(if of_stacks { 0.0 } else { self.options.cutoff });
        Ok(Options { sites, heap_dump, format, output, depth, cutoff, ..self.options })
    }
}

/// Parses a number of at least `least`, 0 or 1. One that is too large becomes the largest.
fn decimal(name: &str, value: &str, least: u32) -> Result<u32, String> {
    let sign = if least == 0 { ">=" } else { ">" };
    let number = value.parse::<u64>().ok().map(|number| number.min(u32::MAX.into()) as u32);
    number.filter(|number| *number >= least).ok_or_else(|| match value {
        "" => format!("syntax error parsing {name}=DECIMAL"),
        _ => format!("{name} option value must be decimal and {sign} 0"),
    })
}

/// The sampling intervals that an agent can pass to EnableEvent, in bytes.
const INTERVALS: RangeInclusive<u32> = 1 << 10..=1 << 30;

/// Parses a sampling interval: a number of bytes, or with `k` or `m` of units of 1024 or 1024² bytes.
///
/// # Errors
/// Returns a line that says what an interval is.
pub fn sample(value: &str) -> Result<NonZeroU32, String> {
    let units = [("k", 1 << 10), ("m", 1 << 20)];
    let unit = units.iter().find_map(|(unit, bytes)| Some((value.strip_suffix(unit)?, *bytes)));
    let (digits, unit) = unit.unwrap_or((value, 1));
    let is_number = !digits.is_empty() && digits.bytes().all(|digit| digit.is_ascii_digit());
    let bytes = is_number.then(|| digits.parse::<u32>().ok()?.checked_mul(unit)).flatten();
    let bytes = bytes.filter(|bytes| INTERVALS.contains(bytes)).and_then(NonZeroU32::new);
    bytes.ok_or_else(|| {
        "a sampling interval is a number of bytes from 1k to 1024m, such as 512k".into()
    })
}

fn address(value: &str) -> Result<(String, u16), String> {
    let (host, port) = value.rsplit_once(':').unwrap_or((value, ""));
    if host.is_empty() {
        return Err("net option missing ':'".to_owned());
    }
    if port.is_empty() {
        return Err("net option missing port".to_owned());
    }
    let port = port.parse().ok().filter(|port| *port != 0);
    Ok((host.to_owned(), port.ok_or("the port of net is a number from 1 to 65535")?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(text: &str) -> Options {
        Options::parse(text, 77).unwrap().expect(text)
    }

    fn refusal(text: &str) -> String {
        Options::parse(text, 77).unwrap_err()
    }

    #[test]
    fn without_options_the_heap_is_profiled() {
        let options = run("");
        assert_eq!(options, Options { sites: true, heap_dump: true, ..Options::default() });
        assert_eq!(run("monitor=n,format=a"), options);
    }

    #[test]
    fn each_option_has_its_effect() {
        let options = run(
            "heap=sites,cpu=samples,monitor=y,net=localhost:65535,depth=0,allocdepth=7,sample=3k,live=y,\
                           contexts=1,interval=1,\
                           cutoff=0,lineno=n,thread=y,doe=n,force=n,verbose=n,duration=1.5,\
                           gc_okay=y,msa=n,hold=y",
        );
        assert_eq!(
            options,
            Options {
                sites: true,
                cpu: Some(Cpu::Samples),
                monitor: true,
                output: Output::Net { host: "localhost".to_owned(), port: 65535 },
                depth: 0,
                alloc_depth: Some(7),
                sample: NonZeroU32::new(3 << 10),
                live: true,
                contexts: 1,
                interval: Duration::from_millis(1),
                cutoff: 0.0,
                lines: false,
                threads: true,
                dump_on_exit: false,
                force: false,
                verbose: false,
                duration: Some(Duration::from_millis(1500)),
                hold: true,
                ..Options::default()
            }
        );
        for (text, sites, dump) in
            [("heap=dump", false, true), ("heap=all", true, true), ("cpu=y", false, false)]
        {
            let options = run(text);
            assert_eq!((options.sites, options.heap_dump), (sites, dump), "{text}");
        }
        assert_eq!(run("cpu=times,over=10").over, Some(Duration::from_millis(10)));
        for (text, bytes) in [("1024", 1024), ("512k", 512 << 10), ("1024m", 1 << 30)] {
            let options = run(&format!("heap=sites,sample={text}"));
            assert_eq!(options.sample, NonZeroU32::new(bytes), "{text}");
        }
        assert_eq!(run("cpu=y").cpu, Some(Cpu::Samples));
        assert_eq!(run("cpu=times,depth=9").depth, 9);
        assert_eq!(run("cpu=old,depth=9").depth, 2);
        assert_eq!(run("net=::1:80").output, Output::Net { host: "::1".to_owned(), port: 80 });
    }

    #[test]
    fn the_format_is_asked_for_or_follows_the_name() {
        let format = |text| {
            let options = run(text);
            (options.format, options.output)
        };
        let file = |name: &str| Output::File(name.into());
        assert_eq!(format("format=b"), (Format::Binary, file("java.hprof")));
        assert_eq!(format("file=a/b-%p.hprof"), (Format::Text, file("a/b-77.hprof")));
        assert_eq!(format("file=x.hprof,format=b"), (Format::Binary, file("x.hprof")));
        assert_eq!(format("file=x.txt,format=b"), (Format::Binary, file("x.txt")));
        assert_eq!(format("file=x.log"), (Format::Text, file("x.log")));
        assert_eq!(format("file=x"), (Format::Text, file("x")));
        assert_eq!(format("file=x.PB.gz,cpu=times"), (Format::Pprof, file("x.PB.gz")));
        assert!(refusal("file=x.jfr").contains("use jvmpi record"));
        let picture = run("file=x.svg");
        assert_eq!((picture.sites, picture.heap_dump, picture.depth), (true, false, 512));
        assert_eq!(run("file=x.json,cpu=y,depth=7").depth, 7);
    }

    #[test]
    fn help_is_the_whole_string() {
        assert_eq!(Options::parse("help", 1), Ok(None));
        let listed = |name: &str| HELP.contains(&format!("{name}="));
        for name in [
            "heap", "cpu", "monitor", "file", "format", "net", "depth", "interval", "cutoff",
            "lineno", "thread", "sample", "live", "doe", "duration", "force", "verbose", "gc_okay",
            "msa",
        ] {
            assert!(listed(name), "{name}");
        }
    }

    #[test]
    fn option_strings_that_jdk_8_runs_are_accepted() {
        for text in [
            "heap=sites,",
            "depth=100000,interval=100000000",
            "cutoff=2,heap=sites",
            "cutoff=.5,cutoff=1e-2",
            "file=q.hprof,cpu=times",
            "msa=y,gc_okay=y,debug=n,coredump=n,errorexit=y,pause=n,primfields=n,primarrays=n",
            "logflags=1,X=0",
        ] {
            run(text);
        }
        assert_eq!(run("depth=100000").depth, u16::MAX);
        let both = run("heap=sites,heap=dump");
        assert_eq!((both.sites, both.heap_dump), (true, true));
        let both = run("cpu=samples,cpu=times");
        assert_eq!((both.cpu, both.other_cpu), (Some(Cpu::Times), Some(Cpu::Samples)));
    }

    #[test]
    fn mistake_is_reported_in_the_words_of_jdk_8() {
        const SAMPLE: &str =
            "a sampling interval is a number of bytes from 1k to 1024m, such as 512k";
        for (option, why) in [
            ("cpu", "syntax error parsing cpu=y|samples|times|old"),
            ("cpu=", "syntax error parsing cpu=y|samples|times|old"),
            ("cpu=sample", "cpu option value must be y|samples|wall|times|old"),
            ("heap", "syntax error parsing heap=dump|sites|all"),
            ("heap=none", "heap option value must be dump|sites|all"),
            ("heap=sites cpu=samples", "heap option value must be dump|sites|all"),
            ("monitor=yes", "monitor option value must be y|n"),
            ("monitor=", "monitor option value must be y|n"),
            ("lineno=Y", "lineno option value must be y|n"),
            ("gc_okay=1", "gc_okay option value must be y|n"),
            ("format=c", "format option value must be a|b"),
            ("format=", "syntax error parsing format=a|b"),
            ("file=", "syntax error parsing file=filename"),
            ("net=localhost", "net option missing port"),
            ("net=:80", "net option missing ':'"),
            ("net=localhost:0", "the port of net is a number from 1 to 65535"),
            ("net=localhost:65536", "the port of net is a number from 1 to 65535"),
            ("depth=-1", "depth option value must be decimal and >= 0"),
            ("depth=4x", "depth option value must be decimal and >= 0"),
            ("depth=", "syntax error parsing depth=DECIMAL"),
            ("interval=0", "interval option value must be decimal and > 0"),
            ("cutoff=-1", "cutoff option value must be floating point and >= 0"),
            ("cutoff=", "syntax error parsing cutoff=DOUBLE"),
            ("cutoff=NaN", "cutoff option value must be floating point and >= 0"),
            ("duration=0", "duration option value must be a number of seconds"),
            ("duration=inf", "duration option value must be a number of seconds"),
            ("sample=0", SAMPLE),
            ("sample=0m", SAMPLE),
            ("sample=k", SAMPLE),
            ("sample=1g", SAMPLE),
            ("sample=2048m", SAMPLE),
            ("sample=-1", SAMPLE),
            ("live=1", "live option value must be y|n"),
            ("Cpu=samples", "Unknown option: Cpu"),
            (",cpu=samples", "Unknown option: ,cpu"),
            ("help,cpu=samples", "Unknown option: help,cpu"),
            ("format=b,monitor=y", "monitor=y is not supported with format=b"),
            ("format=b,cpu=times", "cpu=times|old is not supported with format=b"),
            ("format=b,cpu=old", "cpu=times|old is not supported with format=b"),
            ("file=a,file=b", "file or net options should only appear once"),
            ("net=a:1,file=b", "file or net options should only appear once"),
            ("heap=all,file=x.svg", "a heap dump cannot be written in .svg: choose text"),
            ("heap=all,sample=1m", "sample= needs heap=sites"),
            ("cpu=samples,over=10", "over= needs cpu=times"),
            ("cpu=samples,sample=1m", "sample= needs heap=sites"),
            ("heap=dump,live=y", "live=y needs heap=sites"),
            ("file=x.html", "file=x.html is made by 'jvmpi report FILE'"),
            ("cpu=old,file=x.svg", "cpu=old cannot be written in .svg: choose text"),
        ] {
            assert_eq!(refusal(option), format!("hprof option error: {why} ({option})"));
        }
        assert_eq!(refusal("a\nb"), "hprof option error: Unknown option: a\nb (a\\nb)");
        let refused = refusal("secret=0123,bad=1");
        assert!(!refused.contains("0123"), "{refused}");
    }

    #[test]
    fn channel_needs_a_secret() {
        let secret = "0123456789abcdef0123456789abcdef";
        let options = run(&format!("cpu=times,channel=127.0.0.1:80,secret={secret}"));
        let (host, port) = ("127.0.0.1".to_owned(), 80);
        assert_eq!(options.output, Output::Channel { host, port, secret: secret.to_owned() });
        for wrong in ["cpu=y,channel=127.0.0.1:80,secret=short", "cpu=y,channel=127.0.0.1:80"] {
            assert!(refusal(wrong).contains("needs secret="));
        }
        let heap = format!("heap=dump,channel=127.0.0.1:80,secret={secret}");
        assert!(refusal(&heap).contains("a heap dump"));
    }
}
