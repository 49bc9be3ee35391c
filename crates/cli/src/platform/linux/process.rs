//! A running process, by its number.

use super::directory::Directory;
use crate::jdk_version::version_in;
use rustix::io::Errno;
use rustix::param::clock_ticks_per_second;
use rustix::process::{Gid, Pid, Signal, getegid, geteuid, getgroups, kill_process};
use rustix::time::{ClockId, clock_gettime};
use std::ffi::{CStr, OsStr};
use std::fmt;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A process that is a JVM.
#[derive(Clone, Debug)]
pub struct Process {
    number: libc::pid_t,
    /// The number it has in its own namespace.
    pub own_number: libc::pid_t,
    identity: Identity,
}

/// The rights of a process: its effective user and group, and its other groups.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Identity {
    user: libc::uid_t,
    group: libc::gid_t,
    groups: Vec<libc::gid_t>,
}

/// Its number, and in a container the one that it has there.
impl fmt::Display for Process {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.number)?;
        if self.own_number == self.number { Ok(()) } else { write!(f, " ({})", self.own_number) }
    }
}

impl Process {
    /// Returns the running JVMs whose files this user may read.
    pub fn jvms() -> impl Iterator<Item = Self> {
        processes().into_iter().filter_map(|number| Self::jvm(number).ok())
    }

    /// Returns the JVM with this process ID.
    ///
    /// # Errors
    /// Returns an error if there is no such process, if it is no JVM, or, with its user, if it is not accessible.
    pub fn jvm(number: libc::pid_t) -> Result<Self, String> {
        let directory = format!("/proc/{number}");
        let status = fs::read_to_string(format!("{directory}/status"))
            .map_err(|_| format!("there is no process {number}: list the JVMs with jvmpi list"))?;
        let field = |name: &str| {
            let values = status.lines().find_map(|line| line.strip_prefix(name))?;
            Some(values.split_whitespace().collect::<Vec<_>>())
        };
        let process = || {
            // Real, effective, saved, and of the file system.
            let effective = |name| field(name)?.get(1)?.parse().ok();
            Some(Self {
                number,
                own_number: field("NSpid:")?.last()?.parse().ok()?,
                identity: Identity {
                    user: effective("Uid:")?,
                    group: effective("Gid:")?,
                    groups: field("Groups:")?.iter().filter_map(|g| g.parse().ok()).collect(),
                },
            })
        };
        let process = process().ok_or_else(|| format!("cannot parse {directory}/status"))?;
        process.is_a_jvm()?;
        Ok(process)
    }

    fn is_a_jvm(&self) -> Result<(), String> {
        let maps = fs::read_to_string(self.directory().join("maps")).map_err(|error| {
            if error.kind() == io::ErrorKind::PermissionDenied {
                let user = self.user_name();
                if geteuid().is_root() {
                    return format!(
                        "jvmpi may not examine process {self} of {user}, although it runs as root: give it \
                         CAP_SYS_PTRACE, which containers lack by default"
                    );
                }
                format!(
                    "process {self} belongs to {user}: run jvmpi as {user} (sudo -u {user} jvmpi …)"
                )
            } else {
                format!("there is no process {self} any more")
            }
        })?;
        // A zombie has none.
        if maps.is_empty() {
            return Err(format!("process {self} has ended"));
        }
        let has_libjvm = mapped_files(&maps).any(|path| path.ends_with("/libjvm.so"));
        let executable = fs::read_link(self.directory().join("exe")).unwrap_or_default();
        if has_libjvm {
            return Ok(());
        }
        Err(format!("process {self} is not a JVM, or not yet: it runs {}", executable.display()))
    }

    /// Returns the system's directory about the process.
    pub fn directory(&self) -> PathBuf {
        PathBuf::from(format!("/proc/{}", self.number))
    }

    /// Returns the process ID.
    pub fn number(&self) -> libc::pid_t {
        self.number
    }

    /// Returns the user whose rights the process has.
    pub fn user(&self) -> libc::uid_t {
        self.identity.user
    }

    /// Checks that the process still exists.
    ///
    /// # Errors
    /// Returns an error if it has exited.
    pub fn is_alive(&self) -> Result<(), String> {
        // A zombie has ended.
        match self.state() {
            None | Some('Z' | 'X') => Err(format!("process {self} has ended")),
            Some(_) => Ok(()),
        }
    }

    /// Returns true if the process is stopped by a signal, such as SIGSTOP.
    pub fn is_stopped(&self) -> bool {
        matches!(self.state(), Some('T' | 't'))
    }

    /// Returns the letter of its state. None if there is no such process.
    fn state(&self) -> Option<char> {
        self.stat(0)?.chars().next()
    }

    /// Returns the time since its start.
    pub fn age(&self) -> Option<Duration> {
        const START_TIME: usize = 19;
        let start: u64 = self.stat(START_TIME)?.parse().ok()?;
        let start = start / clock_ticks_per_second();
        let now = u64::try_from(clock_gettime(ClockId::Boottime).tv_sec).ok()?;
        Some(Duration::from_secs(now.saturating_sub(start)))
    }

    /// Returns a field of `/proc/PID/stat`; 0 is the state.
    fn stat(&self, field: usize) -> Option<String> {
        let stat = fs::read_to_string(self.directory().join("stat")).ok()?;
        fields(&stat)?.nth(field).map(str::to_owned)
    }

    /// Returns the CPU time of the process, and that of its live threads that collect garbage, in seconds.
    pub fn cpu_times(&self) -> (f64, f64) {
        /// The beginnings of the names: those of all collectors, G1, ZGC, and Shenandoah. Serial collects in the VM thread.
        const COLLECTORS: [&str; 7] =
            ["GC Thread", "G1 ", "ZDriver", "ZWorker", "XWorker", "Shenandoah", "VM Thread"];
        let all = fs::read_to_string(self.directory().join("stat")).unwrap_or_default();
        let threads = fs::read_dir(self.directory().join("task")).into_iter().flatten().flatten();
        let stats = threads.filter_map(|it| fs::read_to_string(it.path().join("stat")).ok());
        let collects = |stat: &String| {
            let name = stat.split_once('(').map_or("", |(_, name)| name);
            COLLECTORS.iter().any(|collector| name.starts_with(collector))
        };
        (seconds_of(&all), stats.filter(collects).map(|stat| seconds_of(&stat)).sum())
    }

    /// Returns the bytes of memory that the process has had at most, with those that are swapped out.
    pub fn memory(&self) -> u64 {
        const FIELDS: [&str; 3] = ["VmHWM:", "VmSwap:", "HugetlbPages:"];
        let status = fs::read_to_string(self.directory().join("status")).unwrap_or_default();
        let kilobytes = |line: &str| {
            let values = FIELDS.iter().find_map(|field| line.strip_prefix(field))?;
            values.split_whitespace().next()?.parse::<u64>().ok()
        };
        status.lines().filter_map(kilobytes).sum::<u64>() << 10
    }

    /// Checks that the JVM speaks HotSpot's attach protocol.
    ///
    /// # Errors
    /// Returns an error if it is OpenJ9.
    pub fn is_hotspot(&self) -> Result<(), String> {
        let maps = fs::read_to_string(self.directory().join("maps")).unwrap_or_default();
        if !mapped_files(&maps).any(is_of_openj9) {
            return Ok(());
        }
        Err(format!(
            "the JVM {self} is OpenJ9, which jvmpi cannot attach to: start the program with the agent; for a heap \
             dump use jcmd {self} Dump.heap"
        ))
    }

    /// Checks that SIGQUIT reaches the JVM instead of ending it.
    ///
    /// # Errors
    /// Returns an error if it does not.
    pub fn takes_signals(&self) -> Result<(), String> {
        let status = fs::read_to_string(self.directory().join("status")).unwrap_or_default();
        let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:"));
        let caught = caught.and_then(|set| u64::from_str_radix(set.trim(), 16).ok()).unwrap_or(0);
        if caught & 1 << (Signal::QUIT.as_raw() - 1) != 0 {
            return Ok(());
        }
        Err(format!(
            "the JVM {self} does not handle SIGQUIT, which attaching needs: it is still starting, or was \
             started with -Xrs; restart it without -Xrs"
        ))
    }

    /// Checks that no option of the JVM forbids to attach to it. Options that it reads from files are not known.
    ///
    /// # Errors
    /// Returns an error that names the option.
    pub fn may_be_attached_to(&self) -> Result<(), String> {
        let environment = fs::read(self.directory().join("environ")).unwrap_or_default();
        match forbidding(&environment, &self.arguments()) {
            None => Ok(()),
            Some(option) => Err(format!(
                "the JVM {self} was started with {option}, which forbids to attach to it: restart it without that \
                 option, or with the agent"
            )),
        }
    }

    /// Returns true if a thread of the process has this name.
    pub fn has_thread(&self, name: &str) -> bool {
        let tasks = fs::read_dir(self.directory().join("task")).into_iter().flatten().flatten();
        let mut names = tasks.filter_map(|task| fs::read_to_string(task.path().join("comm")).ok());
        names.any(|found| found.trim_end() == name)
    }

    /// Sends a signal to the process.
    ///
    /// # Errors
    /// Returns the error of the system.
    pub fn signal(&self, signal: Signal) -> Result<(), String> {
        let process = Pid::from_raw(self.number).ok_or(Errno::SRCH);
        let sent = process.and_then(|process| kill_process(process, signal));
        sent.map_err(|error| format!("process {self}: {error}"))
    }

    /// Returns true if the process has the user and the group of this one.
    pub fn is_of_this_user(&self) -> bool {
        Identity::of_this_process().has_the_user_of(&self.identity)
    }

    /// Acts as the process's user while it lives: JVMs trust nobody else, older ones not even root.
    ///
    /// # Errors
    /// Returns the user that the process belongs to.
    pub fn as_its_user(&self) -> Result<AsUser, String> {
        let own = Identity::of_this_process();
        let is_its_user = own.has_the_user_of(&self.identity);
        let user = AsUser { own };
        if !is_its_user && !self.identity.adopt() {
            let user = self.user_name();
            return Err(format!("process {self} belongs to {user}: run jvmpi as {user} or root"));
        }
        Ok(user)
    }

    /// Returns true if its environment has this variable with this value.
    pub fn has_variable(&self, name: &str, value: &str) -> bool {
        let environment = fs::read(self.directory().join("environ")).unwrap_or_default();
        let variable = format!("{name}={value}");
        environment.split(|byte| *byte == 0).any(|entry| entry == variable.as_bytes())
    }

    /// Returns its command line, with spaces between the arguments.
    pub fn command_line(&self) -> String {
        self.arguments().join(" ")
    }

    /// Returns its arguments; the first is the program.
    pub fn arguments(&self) -> Vec<String> {
        let bytes = fs::read(self.directory().join("cmdline")).unwrap_or_default();
        let text = String::from_utf8_lossy(&bytes);
        text.trim_end_matches('\0').split('\0').map(str::to_owned).collect()
    }

    /// Returns the main class that it runs, or the name of the JAR file.
    pub fn program(&self) -> Option<String> {
        program_of(&self.arguments()).map(str::to_owned)
    }

    /// Returns the name of the user whose rights the process has.
    pub fn user_name(&self) -> String {
        name_of(self.user())
    }

    /// Returns the version of its JDK, such as `Java 17.0.9`.
    pub fn java(&self) -> Option<String> {
        let libjvm = self.loaded(OsStr::new("libjvm.so"))?;
        // lib/server/libjvm.so
        let release = libjvm.ancestors().nth(3)?.join("release");
        let root = Directory::open(&self.directory().join("root")).ok()?;
        version_in(root.file_in_root(&release).ok()?)
    }

    /// Returns a remark if the JVM runs with another C library than this command, so that it needs other libraries.
    pub fn other_libc(&self) -> Option<&'static str> {
        let maps = fs::read_to_string(self.directory().join("maps")).ok()?;
        match (mapped_files(&maps).any(is_musl), cfg!(target_env = "musl")) {
            (true, false) => Some("; it runs with musl: use the jvmpi that is built for musl"),
            (false, true) => Some("; it runs with glibc: use the jvmpi that is built for glibc"),
            _ => None,
        }
    }

    /// Returns the path of a library of this name, of any version, that the process has loaded. The dynamic
    /// loader knows the library by this path, also if the file has been replaced or removed.
    pub fn loaded(&self, name: &OsStr) -> Option<PathBuf> {
        let maps = fs::read_to_string(self.directory().join("maps")).ok()?;
        let is_named_so = |path: &&str| {
            let found = Path::new(path).file_name();
            found.is_some_and(|found| without_version(found) == without_version(name))
        };
        let path = mapped_files(&maps).find(is_named_so)?;
        let root = fs::read_link(self.directory().join("root")).unwrap_or_default();
        Some(as_seen_in(&root, Path::new(path)))
    }
}

/// Returns the numbers of all processes.
fn processes() -> Vec<libc::pid_t> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let mut numbers: Vec<_> =
        entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect();
    numbers.sort_unstable();
    numbers
}

/// Returns the fields in the text of a `stat` behind the name, which may contain anything.
fn fields(stat: &str) -> Option<impl Iterator<Item = &str>> {
    Some(stat.rsplit_once(") ")?.1.split(' '))
}

/// Returns the CPU time in the text of a `stat`, user and system.
fn seconds_of(stat: &str) -> f64 {
    const USER_TIME: usize = 11;
    let times = fields(stat).into_iter().flatten().skip(USER_TIME).take(2);
    let ticks: f64 = times.filter_map(|time| time.parse::<f64>().ok()).sum();
    ticks / clock_ticks_per_second() as f64
}

/// Returns the index of the argument of `java` that ends its options: `-jar`, `-m` or the main class.
fn end_of_options(arguments: &[String]) -> usize {
    /// The options whose value is an argument of its own.
    const WITH_VALUE: [&str; 12] = [
        "-cp",
        "-classpath",
        "--class-path",
        "-p",
        "--module-path",
        "--upgrade-module-path",
        "--add-modules",
        "--add-reads",
        "--add-exports",
        "--add-opens",
        "--enable-native-access",
        "--limit-modules",
    ];
    let mut at = 1;
    while let Some(argument) = arguments.get(at) {
        match argument.as_str() {
            "-jar" | "-m" | "--module" => break,
            option if WITH_VALUE.contains(&option) => at += 2,
            option if option.starts_with(['-', '@']) => at += 1,
            _ => break,
        }
    }
    at.min(arguments.len())
}

/// Returns the program of a command line of `java`: the main class, or the name of the JAR file.
fn program_of(arguments: &[String]) -> Option<&str> {
    let mut rest = arguments[end_of_options(arguments)..].iter().map(String::as_str);
    let (first, second) = (rest.next()?, rest.next());
    match first {
        "-jar" => Path::new(second?).file_name()?.to_str(),
        "-m" | "--module" => second?.rsplit('/').next(),
        main => Some(main).filter(|main| !main.is_empty()),
    }
}

/// Returns the option of a JVM that forbids to attach to it, from its environment and its arguments. The last one counts.
fn forbidding(environment: &[u8], arguments: &[String]) -> Option<&'static str> {
    const DISABLE: &str = "-XX:+DisableAttachMechanism";
    let words = |name: &str| -> Vec<String> {
        let mut variables = environment.split(|byte| *byte == 0);
        let value = variables.find_map(|it| it.strip_prefix(name.as_bytes())?.strip_prefix(b"="));
        let value = String::from_utf8_lossy(value.unwrap_or_default());
        value.split_whitespace().map(str::to_owned).collect()
    };
    let given = &arguments[..end_of_options(arguments)];
    let mut options = words("JAVA_TOOL_OPTIONS");
    options.extend(words("JDK_JAVA_OPTIONS"));
    options.extend_from_slice(given);
    options.extend(words("_JAVA_OPTIONS"));
    let last = options.iter().rfind(|it| it.ends_with(&DISABLE[5..]) && it.starts_with("-XX:"));
    if last.is_some_and(|option| option == DISABLE) {
        return Some(DISABLE);
    }
    let without_signals = options.iter().any(|it| it == "-Xrs" || it == "-XX:+ReduceSignalUsage");
    without_signals.then_some("-Xrs")
}

#[cfg(test)]
impl Process {
    /// Returns this process, for tests that need no JVM.
    pub fn this() -> Self {
        let number = libc::pid_t::try_from(std::process::id()).unwrap();
        let identity = Identity::of_this_process();
        Self { number, own_number: number, identity }
    }
}

/// Returns the paths in the text of `/proc/PID/maps`. An upgrade of a package replaces files that are mapped.
fn mapped_files(maps: &str) -> impl Iterator<Item = &str> {
    // Addresses, permissions, offset, device, inode and path, which may have blanks in it.
    let paths = maps.lines().filter_map(|line| line.find('/').map(|at| &line[at..]));
    paths.map(|path| path.strip_suffix(" (deleted)").unwrap_or(path))
}

/// Returns the path of a mapped file as a process with this root sees it. After `chroot`, the system shows paths as they
/// are outside of the root.
fn as_seen_in(root: &Path, path: &Path) -> PathBuf {
    path.strip_prefix(root).map_or_else(|_| path.to_owned(), |rest| Path::new("/").join(rest))
}

/// Returns true for a library of OpenJ9, such as `libj9vm29.so`.
fn is_of_openj9(path: &str) -> bool {
    path.rsplit('/').next().is_some_and(|name| name.starts_with("libj9vm"))
}

/// Returns true for musl, which is loader and C library in one: `ld-musl-x86_64.so.1`, or `libc.so` on Debian.
fn is_musl(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or_default();
    name == "libc.so" || name.starts_with("ld-musl-")
}

/// Returns the name without the version: `libfoo.so` for `libfoo.so.1`.
pub fn without_version(library: &OsStr) -> &[u8] {
    const END: &[u8] = b".so";
    let name = library.as_bytes();
    let end = name.windows(END.len()).position(|bytes| bytes == END);
    end.map_or(name, |end| &name[..end + END.len()])
}

/// See [`Process::as_its_user`].
pub struct AsUser {
    own: Identity,
}

impl Drop for AsUser {
    fn drop(&mut self) {
        self.own.adopt();
    }
}

impl Identity {
    fn of_this_process() -> Self {
        let groups = getgroups().unwrap_or_default().into_iter().map(Gid::as_raw).collect();
        Self { user: geteuid().as_raw(), group: getegid().as_raw(), groups }
    }

    fn has_the_user_of(&self, other: &Self) -> bool {
        (self.user, self.group) == (other.user, other.group)
    }

    /// Gives this process these rights and no others, which root can. False if that fails.
    fn adopt(&self) -> bool {
        if Self::of_this_process() == *self {
            return true;
        }
        // Only root may change groups, so before it becomes another user or after it is root again.
        for _ in 0..2 {
            // SAFETY: there are as many groups as the call gets as their number.
            unsafe {
                libc::setgroups(self.groups.len(), self.groups.as_ptr());
                libc::setegid(self.group);
                libc::seteuid(self.user);
            }
        }
        Self::of_this_process() == *self
    }
}

/// Returns the user's name, or the user ID if there is none.
fn name_of(user: libc::uid_t) -> String {
    // SAFETY: no other thread of this command asks for users, so that nothing overwrites the entry.
    let entry = unsafe { libc::getpwuid(user) };
    if entry.is_null() {
        return format!("user {user}");
    }
    // SAFETY: an entry has a name, which ends with NUL.
    unsafe { CStr::from_ptr((*entry).pw_name) }.to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_do_not_count() {
        for name in ["libfoo.so", "libfoo.so.1", "libfoo.so.1.2.3"] {
            assert_eq!(without_version(OsStr::new(name)), b"libfoo.so");
        }
        assert_eq!(without_version(OsStr::new("libsomething.a")), b"libsomething.a");
    }

    /// Rights are the whole process's, so that the test has one of its own.
    #[test]
    fn root_drops_all_groups() {
        if !geteuid().is_root() {
            println!("skipped: only root can become another user");
            return;
        }
        const VARIABLE: &str = "JVMPI_TEST_RIGHTS";
        if std::env::var_os(VARIABLE).is_none() {
            let mut again = std::process::Command::new(std::env::current_exe().unwrap());
            let name = "platform::linux::process::tests::root_drops_all_groups";
            let output = again.args(["--exact", name]).env(VARIABLE, "1").output().unwrap();
            assert!(String::from_utf8_lossy(&output.stdout).contains("1 passed"), "{output:?}");
            return;
        }
        let root = Identity { user: 0, group: 0, groups: vec![0, 7, 42] };
        assert!(root.adopt());
        let other = Identity { user: 65534, group: 65534, groups: vec![1234] };
        assert!(other.adopt());
        let status = fs::read_to_string("/proc/thread-self/status").unwrap();
        assert!(status.lines().any(|line| line.trim_end() == "Groups:\t1234"), "{status}");
        assert!(root.adopt());
    }

    #[test]
    fn replaced_files_keep_their_paths() {
        let maps = "7f00-7f01 r-xp 00000000 08:01 42   /opt/my jdk/lib/server/libjvm.so (deleted)\n\
                    7f02-7f03 rw-p 00000000 00:00 0 \n\
                    7f04-7f05 r--p 00000000 08:01 43   /opt/jvmpi/lib/libjvmpi.so\n";
        let files: Vec<_> = mapped_files(maps).collect();
        assert_eq!(files, ["/opt/my jdk/lib/server/libjvm.so", "/opt/jvmpi/lib/libjvmpi.so"]);
    }

    #[test]
    fn options_that_forbid_attaching_are_found() {
        const DISABLE: &str = "-XX:+DisableAttachMechanism";
        const ENABLE: &str = "-XX:-DisableAttachMechanism";
        let line = |options: &str| {
            format!("java {options}").split(' ').map(str::to_owned).collect::<Vec<_>>()
        };
        for (environment, options, found) in [
            ("", format!("-cp x {DISABLE} Main"), Some(DISABLE)),
            ("", format!("{DISABLE} {ENABLE} Main"), None),
            ("", format!("-cp x Main {DISABLE}"), None),
            ("", format!("-jar x.jar {DISABLE}"), None),
            ("", "-Xrs Main".into(), Some("-Xrs")),
            (
                "A=b\0JAVA_TOOL_OPTIONS=-ea -XX:+DisableAttachMechanism\0",
                "Main".into(),
                Some(DISABLE),
            ),
            ("JAVA_TOOL_OPTIONS=-XX:+DisableAttachMechanism", format!("{ENABLE} Main"), None),
            ("_JAVA_OPTIONS=-XX:+DisableAttachMechanism", format!("{ENABLE} Main"), Some(DISABLE)),
        ] {
            let line = line(&options);
            assert_eq!(forbidding(environment.as_bytes(), &line), found, "{environment} {line:?}");
        }
    }

    #[test]
    fn command_line_names_the_program() {
        for (line, name) in [
            ("java -Xmx1g -jar /srv/shop-1.2.jar --port 80", Some("shop-1.2.jar")),
            ("java -cp a.jar:b.jar -Dx=y clojure.main script.clj", Some("clojure.main")),
            ("java --module-path m --module app/org.app.Main", Some("org.app.Main")),
            ("java @options -ea Main", Some("Main")),
            ("java -version", None),
            ("java -jar", None),
            ("", None),
        ] {
            let arguments: Vec<_> = line.split(' ').map(str::to_owned).collect();
            assert_eq!(program_of(&arguments), name, "{line}");
        }
    }

    #[test]
    fn cpu_time_is_that_of_user_and_system() {
        let stat = "42 (a) b) S 1 42 42 0 -1 0 0 0 0 0 150 50 0 0 20 0 1 0 7";
        let per_second = clock_ticks_per_second() as f64;
        assert!((seconds_of(stat) * per_second - 200.0).abs() < 1e-6);
        assert!(Process::this().cpu_times().1 == 0.0);
    }

    #[test]
    fn openj9_is_recognized_by_its_library() {
        assert!(is_of_openj9("/opt/jdk/lib/default/libj9vm29.so"));
        assert!(!is_of_openj9("/opt/libj9vm29.so/lib/server/libjvm.so"));
    }

    #[test]
    fn mapped_files_have_the_paths_of_the_root_of_their_process() {
        for (root, path, seen) in [
            ("/", "/opt/libfoo.so", "/opt/libfoo.so"),
            ("/srv/app", "/srv/app/opt/libfoo.so", "/opt/libfoo.so"),
            ("/srv/app", "/srv/application/libfoo.so", "/srv/application/libfoo.so"),
        ] {
            assert_eq!(as_seen_in(Path::new(root), Path::new(path)), Path::new(seen));
        }
    }

    #[test]
    fn musl_is_recognized_by_its_loader() {
        for path in ["/lib/ld-musl-x86_64.so.1", "/usr/lib/x86_64-linux-musl/libc.so"] {
            assert!(is_musl(path));
        }
        assert!(!is_musl("/lib/x86_64-linux-gnu/libc.so.6"));
        assert_eq!(Process::this().other_libc(), None);
    }

    #[test]
    fn process_that_is_no_jvm_is_reported_in_one_line() {
        let number = i32::try_from(std::process::id()).unwrap();
        let line = Process::jvm(number).unwrap_err();
        let start = format!("process {number} is not a JVM, or not yet: it runs /");
        assert!(line.starts_with(&start), "{line}");
        // Greater than any that the kernel gives.
        assert_eq!(
            Process::jvm(i32::MAX).unwrap_err(),
            "there is no process 2147483647: list the JVMs with jvmpi list"
        );
    }
}
