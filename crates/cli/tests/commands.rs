//! The command as a process, where it needs no JVM.

use jvmpi_settings::library::testing::{AGENT, Directory};
use std::env;
use std::ffi::OsStr;
use std::io::Write;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn jvmpi(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_jvmpi"));
    command.args(arguments).env_remove("JVMPI_LIBRARY").output().unwrap()
}

fn text(bytes: &[u8]) -> &str {
    str::from_utf8(bytes).unwrap()
}

/// Ends with this status, and says this on standard error and nothing else.
fn fails(arguments: &[&str], status: i32, line: &str) {
    let output = jvmpi(arguments);
    assert_eq!((text(&output.stderr), text(&output.stdout)), (line, ""), "{arguments:?}");
    assert_eq!(output.status.code(), Some(status), "{arguments:?}");
}

#[test]
fn wrong_usage_is_status_2() {
    for arguments in [&[][..], &["nonsense"], &["check"], &["run", "foo"], &["run", "foo", "--"]] {
        let output = jvmpi(arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(text(&output.stderr).contains("Usage: jvmpi"), "{arguments:?}");
    }
}

#[test]
fn version_says_what_the_command_was_built_from() {
    let version = concat!("jvmpi ", env!("CARGO_PKG_VERSION"), "\n");
    assert_eq!(text(&jvmpi(&["-V"]).stdout), version);
    let whole =
        |jvmpi: &mut Command| text(&jvmpi.arg("--version").output().unwrap().stdout).to_owned();
    let said = whole(&mut Command::new(env!("CARGO_BIN_EXE_jvmpi")));
    let lines = ["commit: ", "target: ", "libraries: in files of their own\n"];
    let rest = said.strip_prefix(version).unwrap();
    assert!(
        rest.lines().zip(lines).all(|(line, begin)| line.starts_with(begin.trim_end())),
        "{said}"
    );
    assert_eq!(rest.lines().count(), lines.len(), "{said}");
    let single = SingleFile::new("version");
    let said = whole(&mut Command::new(single.path("bin/jvmpi")));
    assert!(said.ends_with("libraries: inside\n"), "{said}");
}

#[test]
#[cfg(not(any(
    feature = "conformance",
    feature = "generated",
    feature = "parquet",
    feature = "push",
    feature = "top"
)))]
fn command_without_features_names_the_missing_one() {
    for (feature, arguments) in [
        ("conformance", &["conformance"][..]),
        ("conformance", &["doctor"]),
        ("generated", &["completions", "bash"]),
        ("generated", &["man", "man1"]),
        ("parquet", &["convert", "java.hprof", "--to", "parquet", "tables"]),
        ("push", &["push", "java.hprof", "http://localhost:4040/ingest"]),
        ("push", &["record", "--push", "http://localhost:4040/ingest", "--", "java"]),
        ("top", &["top", "4711"]),
    ] {
        let line = format!(
            "jvmpi: error: this jvmpi was built without the feature {feature}: build jvmpi-cli with its default \
             features\n"
        );
        fails(arguments, 1, &line);
    }
    // No feature gives other commands this option.
    let output = jvmpi(&["report", "--push", "http://localhost:4040/ingest"]);
    assert!(!text(&output.stderr).contains("feature"), "{}", text(&output.stderr));
}

#[test]
#[cfg(feature = "generated")]
fn every_command_has_an_example_in_its_help_and_a_page() {
    let directory = Directory::new("man");
    assert!(jvmpi(&["man", directory.0.to_str().unwrap()]).status.success());
    let help = jvmpi(&["help"]);
    let commands = text(&help.stdout).split_once("Commands:\n").unwrap().1;
    let commands = commands.lines().take_while(|line| line.starts_with("  "));
    let names: Vec<_> = commands.filter_map(|line| line.split_whitespace().next()).collect();
    assert!(names.contains(&"check"), "{names:?}");
    for name in names.into_iter().filter(|name| *name != "help") {
        let output = jvmpi(&[name, "--help"]);
        let help = text(&output.stdout);
        let has_example = help.contains("Example: jvmpi ") || help.contains("Examples:\n  jvmpi ");
        assert!(has_example, "{name}");
        let page = std::fs::read_to_string(directory.0.join(format!("jvmpi-{name}.1"))).unwrap();
        assert!(page.contains("jvmpi"), "{name}");
    }
    let completions = jvmpi(&["completions", "bash"]);
    assert!(text(&completions.stdout).contains("complete -F _jvmpi"));
}

#[test]
fn example_writes_its_files_and_keeps_those_that_exist() {
    let directory = Directory::new("example");
    directory.write("count.c", b"mine");
    let output = jvmpi(&["example", directory.0.to_str().unwrap()]);
    assert_eq!((output.status.code(), text(&output.stderr)), (Some(0), ""));
    assert!(text(&output.stdout).contains("count.c exists, and stays as it is\n"));
    let read = |name: &str| std::fs::read_to_string(directory.0.join(name)).unwrap();
    assert!(read("Invoices.java").contains("class Invoices"));
    assert!(read("sampler.c").contains("#include <jvmpi.h>"));
    assert!(read("jvmpi.h").contains("JVMPI_Event"));
    assert_eq!(read("count.c"), "mine");
}

/// Returns what `jvmpi check` prints about a file, and what it prints as JSON.
fn check(file: &Path) -> (String, serde_json::Value) {
    let file = file.to_str().unwrap();
    let (text, json) = (jvmpi(&["check", file]), jvmpi(&["check", "--json", file]));
    let value: serde_json::Value = serde_json::from_slice(&json.stdout).unwrap();
    let status = if value["fit"] == true { 0 } else { 1 };
    assert_eq!([&text, &json].map(|output| output.status.code()), [Some(status); 2], "{text:?}");
    (self::text(&text.stdout).to_owned(), value)
}

#[test]
fn check_describes_an_agent() {
    let directory = Directory::new("check");
    let agent = directory.library("libhprof.so", AGENT);
    let (said, json) = check(&agent);
    let path = agent.display();
    assert!(said.starts_with(&format!("{path}\n")), "{said}");
    for row in [
        "entry points  JVM_OnLoad, JVM_OnUnload",
        "missing       none",
        "quirks        cputime=wall with monitor=y, unload=off with monitor=y",
    ] {
        assert!(said.contains(&format!("\n  {row}\n")), "{said}");
    }
    assert!(said.ends_with(&format!("yes: jvmpi run {path} -- java …\n")), "{said}");
    assert_eq!(json["fit"], true);
    let quirks = ["cputime=wall with monitor=y", "unload=off with monitor=y"];
    assert_eq!(json["quirks"], serde_json::json!(quirks));
    assert_eq!(json["entry_points"], serde_json::json!(["JVM_OnLoad", "JVM_OnUnload"]));

    // A library can say that it needs none.
    let agent = directory.library("libhprof.so", &format!("{AGENT}char jvmpi_no_quirks;\n"));
    assert!(check(&agent).0.contains("\n  quirks        none\n"));
    let agent = directory.compile("libfoo.so", AGENT, &["-shared", "-fPIC", "-Wl,-z,execstack"]);
    let row = "\n  quirks        execstack=copy with glibc 2.41 or later\n";
    assert!(check(&agent).0.contains(row));
}

#[test]
fn check_refuses_with_the_line_of_the_shim() {
    let directory = Directory::new("refusals");
    let no_library = directory.write("libtext.so", b"text");
    for (file, line) in [
        (&no_library, "no: PATH is not an ELF file: give the agent's shared library for Linux"),
        (&directory.0.join("none"), "no: PATH does not exist: check the path of the agent"),
    ] {
        let (said, json) = check(file);
        let line = line.replace("PATH", file.to_str().unwrap());
        assert!(said.lines().any(|said| said == line), "{said}");
        assert_eq!(json["fit"], false);
    }
}

#[test]
fn replay_blames_the_recording_for_its_word_size() {
    let directory = Directory::new("word-size");
    let agent = directory.library("libagent.so", AGENT);
    let text = if cfg!(target_pointer_width = "64") { b"word=4\n" } else { b"word=8\n" };
    let mut checksum = flate2::Crc::new();
    checksum.update(text);
    let numbers = [3, 7, checksum.sum()].map(u32::to_le_bytes);
    let head = [&b"JVMPITRC"[..], numbers.as_flattened(), text].concat();
    let trace = directory.write("app.trace", &head);
    let output = jvmpi(&["replay", trace.to_str().unwrap(), agent.to_str().unwrap()]);
    let line = format!("jvmpi: error: {}: was recorded in a JVM of ", trace.display());
    assert!(self::text(&output.stderr).starts_with(&line), "{output:?}");
}

#[test]
fn wrong_usage_gets_the_prefix_and_a_tip() {
    for (arguments, tip) in [
        (
            &["record", "-o", "x.svg", "java", "-version"][..],
            "put `--` before the program, as in `-- java`",
        ),
        (&["record", "--cpu", "--calls", "--", "java"], "one kind of time"),
        (&["record", "--wall", "--cpu", "--", "java"], "one kind of time"),
        (&["record", "--pid", "1", "--", "java"], "leave one out"),
        (
            &["record", "--alloc", "--exact", "--alloc-interval", "64k", "--", "java"],
            "no interval between samples",
        ),
    ] {
        let output = jvmpi(arguments);
        assert_eq!(output.status.code(), Some(2));
        let said = text(&output.stderr);
        assert!(said.starts_with("jvmpi: error: ") && said.contains("tip: "), "{said}");
        assert!(said.contains(tip), "{said}");
    }
    assert!(
        text(&jvmpi(&["record", "-V"]).stderr).starts_with("jvmpi: error: unexpected argument")
    );
}

#[test]
fn file_that_is_not_named_replaces_no_other() {
    let directory = Directory::new("unnamed");
    let report = || {
        let mut jvmpi = Command::new(env!("CARGO_BIN_EXE_jvmpi"));
        let output = jvmpi.args(["report", FILE]).current_dir(&directory.0).output().unwrap();
        text(&output.stderr).to_owned()
    };
    assert_eq!(report(), "jvmpi: report.html\n");
    assert_eq!(report(), "jvmpi: report.2.html\n");
    directory.write("report.3-2.html", b"");
    assert_eq!(report(), "jvmpi: report.4.html\n");
}

/// An empty LD_LIBRARY_PATH names no directory: not the working directory, in which anybody may have put a library.
#[test]
fn run_takes_no_library_from_the_working_directory() {
    let directory = Directory::new("library-path");
    directory.library("libfrob.so", AGENT);
    let elsewhere = Directory::new("elsewhere");
    let libjvmpi = elsewhere.write("libjvmpi.so", b"");
    for path in [None, Some(""), Some(":/no/such/directory:")] {
        let mut jvmpi = Command::new(env!("CARGO_BIN_EXE_jvmpi"));
        jvmpi.args(["run", "frob:x", "--", "sh", "-c", "echo $JAVA_TOOL_OPTIONS"]);
        jvmpi.env("JVMPI_LIBRARY", &libjvmpi).env_remove("LD_LIBRARY_PATH");
        jvmpi.envs(path.map(|path| ("LD_LIBRARY_PATH", path))).current_dir(&directory.0);
        let output = jvmpi.env_remove("JAVA_TOOL_OPTIONS").output().unwrap();
        // The JVM looks for it as it would without the command.
        let said = text(&output.stdout);
        assert!(said.trim_end().ends_with("libjvmpi.so=frob:x"), "{path:?}: {output:?}");
    }
}

#[test]
fn run_says_what_keeps_it_from_starting() {
    let directory = Directory::new("run");
    let agent = directory.library("libfoo.so", AGENT);
    let agent = agent.to_str().unwrap();
    fails(
        &["run", "/no/such.so", "--", "true"],
        125,
        "jvmpi: error: /no/such.so does not exist: check the path of the agent\n",
    );
    let output = jvmpi(&["run", "--setting", "nmes=slash", agent, "--", "true"]);
    assert_eq!(output.status.code(), Some(125));
    // Also found where the tests are built without libjvmpi.so.
    let jvmpi_to_load = directory.write("libjvmpi.so", b"");
    let run = |program: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_jvmpi"));
        command.args(["run", agent, "--", program]).env("JVMPI_LIBRARY", &jvmpi_to_load);
        command.output().unwrap()
    };
    for (program, status) in [("/no/such/program", 127), ("/", 126), ("true", 0), ("false", 1)] {
        assert_eq!(run(program).status.code(), Some(status), "{program}");
    }
}

#[test]
fn command_without_libraries_says_where_they_belong() {
    let directory = Directory::new("alone");
    let bin = directory.0.join("bin");
    std::fs::create_dir_all(&bin).unwrap();
    // A copy made here would be open for writing in processes that other tests fork meanwhile: "Text file busy".
    let mut cp = Command::new("cp");
    assert!(cp.arg(env!("CARGO_BIN_EXE_jvmpi")).arg(&bin).status().unwrap().success());
    let mut alone = Command::new(bin.join("jvmpi"));
    let output = alone.args(["record", "--", "true"]).env_remove("JVMPI_LIBRARY").output().unwrap();
    let said = text(&output.stderr);
    assert_eq!((output.status.code(), said.lines().count()), (Some(125), 1), "{said}");
    assert!(said.contains(": put it beside jvmpi, "), "{said}");
}

/// A copy of the command with libraries inside, and a place for them.
struct SingleFile {
    directory: Directory,
}

impl SingleFile {
    const LIBRARIES: [&str; 2] = ["libjvmpi.so", "libhprof.so"];

    fn new(name: &str) -> Self {
        let directory = Directory::new(name);
        let mut objcopy = Command::new("objcopy");
        for name in Self::LIBRARIES {
            let content = directory.write(name, name.as_bytes());
            objcopy.arg(format!("--add-section=.jvmpi.{name}={}", content.display()));
        }
        std::fs::create_dir(directory.0.join("bin")).unwrap();
        let command = objcopy.arg(env!("CARGO_BIN_EXE_jvmpi")).arg(directory.0.join("bin/jvmpi"));
        assert!(command.status().unwrap().success());
        directory.library("libfoo.so", AGENT);
        // The command does not need it.
        std::fs::write(directory.0.join("bin/libjvmpi.so"), "planted").unwrap();
        Self { directory }
    }

    /// Runs it with these directories for its libraries. Returns the directory that it has taken, or its error.
    fn run(&self, [cache, runtime, tmp]: [&Path; 3]) -> Result<PathBuf, String> {
        let mut jvmpi = Command::new(self.directory.0.join("bin/jvmpi"));
        jvmpi.args(["run", "./libfoo.so", "--", "sh", "-c", "echo $JAVA_TOOL_OPTIONS"]);
        jvmpi.env_remove("JVMPI_LIBRARY").env_remove("JAVA_TOOL_OPTIONS");
        jvmpi.env("XDG_CACHE_HOME", cache).env("XDG_RUNTIME_DIR", runtime).env("TMPDIR", tmp);
        let output = jvmpi.current_dir(&self.directory.0).output().unwrap();
        let option = text(&output.stdout).trim_end().strip_prefix("-agentpath:");
        let library = option.and_then(|option| option.split('=').next()).map(PathBuf::from);
        library
            .and_then(|library| Some(library.parent()?.to_owned()))
            .ok_or_else(|| text(&output.stderr).to_owned())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.0.join(name)
    }
}

fn mode(path: &Path) -> u32 {
    std::fs::metadata(path).unwrap().permissions().mode() & 0o7777
}

#[test]
fn single_file_unpacks_its_libraries_once() {
    let jvmpi = SingleFile::new("single");
    let (cache, nowhere) = (jvmpi.path("cache"), Path::new("/dev/null/nowhere"));
    let directory = jvmpi.run([&cache, nowhere, nowhere]).unwrap();
    assert_eq!(directory.parent(), Some(&*cache.join("jvmpi").canonicalize().unwrap()));
    // From sha256sum.
    let checksum = "a2779e2de92832a77fc1098467d46982264184ee521b26b14a8f39786334c5f7";
    let name = format!("{}-{checksum}", env!("CARGO_PKG_VERSION"));
    assert_eq!((directory.file_name(), mode(&directory)), (Some(OsStr::new(&name)), 0o700));
    let there = || {
        let files = SingleFile::LIBRARIES.map(|name| directory.join(name));
        for (name, file) in SingleFile::LIBRARIES.iter().zip(&files) {
            assert_eq!(std::fs::read_to_string(file).unwrap(), *name);
        }
        assert_eq!(std::fs::read_dir(&directory).unwrap().count(), files.len());
        files.map(|file| std::fs::metadata(file).unwrap().ino())
    };
    let first = there();
    assert_eq!(jvmpi.run([&cache, nowhere, nowhere]).as_deref(), Ok(&*directory));
    assert_eq!(there(), first);
    // A JVM may have mapped the file, so it is not overwritten.
    let damaged = directory.join(SingleFile::LIBRARIES[0]);
    let mapped = std::fs::File::open(&damaged).unwrap();
    std::fs::write(&damaged, "damaged").unwrap();
    assert_eq!(jvmpi.run([&cache, nowhere, nowhere]).as_deref(), Ok(&*directory));
    assert_ne!(there()[0], first[0]);
    assert_eq!(mapped.metadata().unwrap().len(), "damaged".len() as u64);
}

#[test]
fn single_file_unpacks_nothing_where_others_can_write() {
    let jvmpi = SingleFile::new("shared");
    let [cache, runtime, tmp] = ["cache", "runtime", "tmp"].map(|name| jvmpi.path(name));
    for directory in [&cache, &runtime, &tmp] {
        std::fs::create_dir(directory).unwrap();
    }
    let allow = |path: &Path, mode| {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    };
    let all: [&Path; 3] = [&cache, &runtime, &tmp];
    let taken = |parent: &Path| {
        let directory = jvmpi.run(all).unwrap();
        directory.starts_with(parent.canonicalize().unwrap())
    };
    // Others can replace what is in the first, as they cannot in a sticky directory.
    allow(&cache, 0o777);
    assert!(taken(&runtime));
    allow(&cache, 0o1777);
    assert!(taken(&cache));
    // The directory itself has been planted.
    for entry in std::fs::read_dir(cache.join("jvmpi")).unwrap() {
        allow(&entry.unwrap().path(), 0o770);
    }
    assert!(taken(&runtime));
    // A link does not lead to a checked directory.
    std::fs::remove_dir_all(runtime.join("jvmpi")).unwrap();
    std::fs::create_dir(jvmpi.path("open")).unwrap();
    allow(&jvmpi.path("open"), 0o777);
    std::os::unix::fs::symlink(jvmpi.path("open"), runtime.join("jvmpi")).unwrap();
    assert!(taken(&tmp));
    // SAFETY: the call has no conditions.
    let user = unsafe { libc::geteuid() };
    allow(&tmp.join(format!("jvmpi-{user}")), 0o777);
    let error = jvmpi.run(all).unwrap_err();
    assert!(
        error.contains("cannot unpack the libraries (") && error.lines().count() == 1,
        "{error}"
    );
    assert_eq!(error.matches("other users can change ").count(), 2, "{error}");
    assert_eq!(error.matches("is not a directory for this user alone").count(), 1, "{error}");
}

/// A file of HPROF with everything that one can have.
const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../formats/tests/expected.txt");

#[test]
fn histogram_counts_the_objects_of_each_class() {
    let directory = Directory::new("histogram");
    let histogram = |file: &Path| jvmpi(&["histogram", file.to_str().unwrap()]);
    let output = histogram(Path::new(FILE));
    assert!(output.status.success(), "{output:?}");
    let said = text(&output.stdout);
    assert!(said.contains("\n           1              28  Main\n"), "{said}");
    assert!(said.ends_with("\n           4              64  in all\n"), "{said}");

    let whole = std::fs::read(FILE).unwrap();
    let end = whole.windows(4).position(|word| word == b"ARR ").unwrap();
    for (content, shown, line) in
        [(&b"nonsense"[..], "", "byte 0: this is no profile"), (&whole[..end], "  Main\n", "")]
    {
        let file = directory.write("file", content);
        let output = histogram(&file);
        assert!(text(&output.stdout).contains(shown), "{output:?}");
        let start = format!("jvmpi: error: {}: {line}", file.display());
        assert!(text(&output.stderr).starts_with(&start), "{output:?}");
        assert_eq!(output.status.code(), Some(1));
    }
}

#[test]
fn profiles_are_converted_to_what_the_name_says() {
    let directory = Directory::new("convert");
    let to = |name: &str| {
        let path = directory.0.join(name);
        let output = jvmpi(&["convert", FILE, path.to_str().unwrap()]);
        assert!(output.status.success(), "{output:?}");
        (std::fs::read(path).unwrap(), text(&output.stderr).to_owned())
    };
    for (name, start) in [
        ("x.txt", &b"JAVA PROFILE 1.0.1"[..]),
        ("x.hprof", b"JAVA PROFILE 1.0."),
        ("x.svg", b"<?xml"),
        ("x.pb.gz", b"\x1f\x8b"),
        ("x.json", b"{"),
        ("x.jfr", b"FLR\0"),
        ("x.html", b"<!doctype html>"),
    ] {
        let (content, warning) = to(name);
        assert!(content.starts_with(start), "{name}");
        // The binary format has no monitors.
        assert_eq!(warning.starts_with("jvmpi: warning: "), name == "x.hprof", "{warning}");
    }
    let again = jvmpi(&["convert", FILE, "-", "--format", "collapsed"]);
    assert_eq!(again.stdout, to("x.collapsed").0);
    // A file of JFR has the same samples. Pictures show threads only if they are asked for.
    let recording = directory.0.join("x.jfr");
    let of_jfr = |more: &[&str]| {
        let arguments = ["convert", recording.to_str().unwrap(), "-", "--format", "collapsed"];
        text(&jvmpi(&[&arguments, more].concat()).stdout).to_owned()
    };
    let sum = |stacks: &str| -> u64 {
        stacks.lines().map(|line| line.rsplit(' ').next().unwrap().parse::<u64>().unwrap()).sum()
    };
    assert_eq!(sum(&of_jfr(&[])), sum(text(&again.stdout)));
    assert!(!of_jfr(&[]).contains("[say") && of_jfr(&["--threads"]).contains("[say"));
    // The output is a pipe here, which has no name.
    let piped = jvmpi(&["convert", FILE, "/dev/stdout", "--format", "collapsed"]);
    assert!(piped.status.success() && piped.stdout == again.stdout, "{piped:?}");
    let other = jvmpi(&["convert", FILE, "-", "--format", "collapsed", "--weight", "live-bytes"]);
    assert!(other.status.success() && other.stdout != again.stdout, "{other:?}");
    let difference = directory.0.join("d.svg");
    let output = jvmpi(&["convert", "--base", FILE, FILE, difference.to_str().unwrap()]);
    assert!(output.status.success() && difference.is_file(), "{output:?}");
    let left: Vec<_> = std::fs::read_dir(&directory.0).unwrap().flatten().collect();
    assert_eq!(left.len(), 9, "{left:?}");
}

#[test]
fn compressed_heap_dumps_are_read() {
    let directory = Directory::new("compressed");
    let dump = directory.0.join("heap.hprof");
    let output = jvmpi(&["convert", FILE, dump.to_str().unwrap()]);
    assert!(output.status.success(), "{output:?}");
    let bytes = std::fs::read(&dump).unwrap();
    // The JVM writes blocks that are compressed on their own.
    let packed = bytes.chunks(bytes.len() / 2).flat_map(|block| {
        let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        packed.write_all(block).unwrap();
        packed.finish().unwrap()
    });
    let path = directory.0.join("heap.hprof.gz");
    let packed: Vec<u8> = packed.collect();
    std::fs::write(&path, &packed).unwrap();
    let collapsed =
        |path: &Path| jvmpi(&["convert", path.to_str().unwrap(), "-", "--format", "collapsed"]);
    let (plain, unpacked) = (collapsed(&dump), collapsed(&path));
    assert!(unpacked.status.success() && !plain.stdout.is_empty(), "{unpacked:?}");
    assert_eq!(unpacked.stdout, plain.stdout);
    std::fs::write(&path, &packed[..packed.len() - 20]).unwrap();
    assert_eq!(collapsed(&path).status.code(), Some(1));
}

#[cfg(feature = "parquet")]
#[test]
fn full_disk_leaves_no_directory_of_tables() {
    let directory = Directory::new("full");
    let out = directory.0.join("tables");
    let limited = "trap '' XFSZ; ulimit -f 0; exec \"$0\" \"$@\"";
    let output = Command::new("sh")
        .args(["-c", limited, env!("CARGO_BIN_EXE_jvmpi"), "convert", FILE])
        .args([out.to_str().unwrap(), "--to", "parquet"])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    assert!(text(&output.stderr).contains("cannot write "), "{output:?}");
    assert!(!out.exists(), "{output:?}");
}

#[test]
fn convert_says_what_is_wrong() {
    let directory = Directory::new("unconverted");
    let endings = "it must end in .txt .hprof .collapsed .svg .pb.gz .json .jfr .html";
    let line = format!("jvmpi: error: x.foo: the name selects no format; {endings}\n");
    fails(&["convert", FILE, "x.foo"], 1, &line);
    let nowhere = directory.0.join("none/x.svg");
    let line = format!(
        "jvmpi: error: cannot write {}: No such file or directory (os error 2)\n",
        nowhere.display()
    );
    fails(&["convert", FILE, nowhere.to_str().unwrap()], 1, &line);
    let line = "jvmpi: error: - selects no format: add --format, as in --format collapsed\n";
    fails(&["convert", FILE, "-"], 1, line);
    let output = jvmpi(&["convert", FILE, "-", "--format", "svg", "--weight", "nonsense"]);
    assert_eq!(output.status.code(), Some(2));
    for label in ["", "a", "=b", "a=", " =b"] {
        let output = jvmpi(&["convert", FILE, "x.parquet", "--label", label]);
        assert_eq!(output.status.code(), Some(2), "{label:?}");
    }
}

#[test]
fn signal_leaves_no_unfinished_file() {
    let directory = Directory::new("signal");
    let [pipe, page] = ["pipe", "page.html"].map(|name| directory.0.join(name));
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let names = || std::fs::read_dir(&directory.0).unwrap().count();
    let (pipe, page) = (pipe.to_str().unwrap(), page.to_str().unwrap());
    for arguments in [&["report", pipe, "-o", page][..], &["report", FILE, pipe, "-o", page]] {
        let mut child = Command::new(env!("CARGO_BIN_EXE_jvmpi"))
            .args(arguments)
            .process_group(0)
            .spawn()
            .unwrap();
        // It waits for a writer of the pipe.
        while names() < 2 {
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        let number = libc::pid_t::try_from(child.id()).unwrap();
        // SAFETY: kill has no precondition, and the child was not waited for.
        assert_eq!(unsafe { libc::kill(number, libc::SIGTERM) }, 0);
        let status = child.wait().unwrap();
        assert_eq!((status.signal(), names()), (Some(libc::SIGTERM), 1), "{arguments:?}");
    }
}

#[test]
fn file_without_data_is_status_1() {
    let directory = Directory::new("nothing");
    let text = std::fs::read_to_string(FILE).unwrap();
    let head: Vec<_> = text.split_inclusive('\n').take(22).collect();
    let [from, page, tables] = ["x.txt", "x.html", "x.parquet"].map(|name| directory.0.join(name));
    std::fs::write(&from, head.concat()).unwrap();
    let [from, page, tables] = [&from, &page, &tables].map(|path| path.to_str().unwrap());
    let mut commands = vec![vec!["report", from, "-o", page], vec!["convert", from, page]];
    if cfg!(feature = "parquet") {
        commands.push(vec!["convert", from, tables]);
    }
    for arguments in commands {
        let output = jvmpi(&arguments);
        assert_eq!(output.status.code(), Some(1), "{output:?}");
        let warning = "the file ends before its first section";
        assert!(String::from_utf8_lossy(&output.stderr).contains(warning), "{output:?}");
    }
}

#[test]
fn a_report_is_one_page_of_one_profile_or_two() {
    let directory = Directory::new("report");
    let page = directory.0.join("page.html");
    for files in [&[FILE][..], &[FILE, FILE]] {
        let output = jvmpi(&[&["report", "-o", page.to_str().unwrap()], files].concat());
        assert!(output.status.success(), "{output:?}");
        assert_eq!(text(&output.stderr), format!("jvmpi: {}\n", page.display()));
        let content = std::fs::read_to_string(&page).unwrap();
        assert!(content.contains("expected.txt"), "the file is not named");
    }
    fails(
        &["report", "/no/such", "-o", page.to_str().unwrap()],
        1,
        "jvmpi: error: /no/such: No such file or directory (os error 2)\n",
    );
}
