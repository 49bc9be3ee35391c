//! The one table of the settings (`settings!` below), and the types that it makes of it.

use super::alloc::Alloc;
use super::patterns::Patterns;
use super::section::Agents;
use super::setting::{Key, Value};
use super::trace_file::TraceFile;
use std::fmt;

/// Turns a table of settings into typed structs. A line `key: Type { Variant = "word", … } =
/// default;` becomes a field, a [`Key`] and the enum `Type`; without the words in braces, `Type`
/// is one that implements [`Value`] already. A struct can have one more field, after `with`.
macro_rules! settings {
    ($(
        $(#[$about:meta])+
        struct $settings:ident $(with $more:ident: $more_type:ty)? {
            $(
                #[doc = $help:literal]
                $key:ident: $type:ident
                    $({ $($(#[$meaning:meta])+ $variant:ident = $word:literal,)+ })?
                    = $default:expr;
            )+
        }
    )+) => {$(
        $(#[$about])+
        #[derive(Clone, Debug, PartialEq)]
        pub struct $settings {
            $(#[doc = $help] pub $key: $type,)+
            $(pub(crate) $more: $more_type,)?
        }

        impl $settings {
            /// The settings of this table, in its order.
            pub const KEYS: &[Key] = &[$(Key {
                name: plain(stringify!($key)),
                valid: <$type as Value>::VALID,
                help: $help.trim_ascii(),
            },)+];

            /// Sets `key`; `None` if the value is not one of its valid ones.
            pub fn set(&mut self, key: &Key, value: &str) -> Option<()> {
                $(if key.name == plain(stringify!($key)) {
                    self.$key = <$type>::parse(value)?;
                })+
                Some(())
            }

            /// Returns `key=value` of every setting that differs from `other`.
            pub fn differences(&self, other: &Self) -> Vec<String> {
                let mut differences = Vec::new();
                $(if self.$key != other.$key {
                    differences.push(format!("{}={}", plain(stringify!($key)), self.$key));
                })+
                differences
            }
        }

        impl Default for $settings {
            fn default() -> Self {
                Self { $($key: $default,)+ $($more: <$more_type>::default(),)? }
            }
        }

        $($(
            #[doc = $help]
            #[derive(Clone, Copy, Debug, Eq, PartialEq)]
            pub enum $type { $($(#[$meaning])+ $variant,)+ }

            impl Value for $type {
                const VALID: &'static [&'static str] = &[$($word),+];

                fn parse(text: &str) -> Option<Self> {
                    match text { $($word => Some(Self::$variant),)+ _ => None }
                }
            }

            impl fmt::Display for $type {
                fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                    f.write_str(match self { $(Self::$variant => $word,)+ })
                }
            }
        )?)+
    )+};
}

/// Returns the name of a field without the prefix `r#`.
const fn plain(name: &str) -> &str {
    match name.as_bytes() {
        [b'r', b'#', ..] => name.split_at(2).1,
        _ => name,
    }
}

settings! {
    /// Settings that hold for the whole shim, and through [`Options::agent`] those of each agent.
    struct Options with agents: Agents {
        /// The messages that go to stderr.
        log: Log {
            /// Only failures that stop the JVM from starting or an agent from working.
            Error = "error",
            /// Also messages that an agent or its user should know.
            Warn = "warn",
            /// Also one line at the start of the JVM.
            Info = "info",
            /// Also the actions of the shim for the agents.
            Debug = "debug",
        } = Log::Warn;

        /// The means of stopping a running thread to take its call trace.
        suspend: Suspend {
            /// A signal; the trace is taken in its handler.
            Auto = "auto",
            /// Only the JVMTI function `SuspendThread`.
            Jvmti = "jvmti",
        } = Suspend::Auto;

        /// The source of allocation reports.
        alloc: Alloc = Alloc::Auto;

        /// The arenas that agents see objects in, and how survivors of a collection move.
        arenas: Arenas {
            /// Everything is in arena 1.
            Single = "single",
            /// Survivors move from arena 1 to arena 2.
            Generational = "generational",
            /// Survivors move to a new arena and get new IDs; the old arena is deleted.
            Copying = "copying",
        } = Arenas::Single;

        /// The reuse of the IDs of dead objects.
        ids: Ids {
            /// No ID is reused.
            Unique = "unique",
            /// An ID is reused only when no unused ID that fits into 32 bits is left.
            Bits32 = "32bit",
            /// Each ID is reused at the earliest time.
            Reused = "reused",
        } = Ids::Unique;

        /// The classes that report calls and instructions, unless `exclude` names them.
        include: Patterns = Patterns::all();

        /// The classes that do not report calls and instructions.
        exclude: Patterns = Patterns::none();

        /// The reporting of calls of getters and setters.
        getters: Getters {
            /// Like those of other methods.
            Report = "report",
            /// Not at all: a method that only reads or writes fields reports no call.
            Skip = "skip",
        } = Getters::Report;

        /// The classes whose instructions are reported.
        instructions: Instructions {
            /// Classes that do not belong to the boot loader.
            Program = "program",
            /// All classes.
            All = "all",
        } = Instructions::Program;

        /// The reporting of calls of native methods.
        natives: Natives {
            /// By machine code between the VM and the function of each method.
            Stub = "stub",
            /// Not at all.
            Off = "off",
        } = Natives::Stub;

        /// The thread to which the events of a virtual thread belong.
        r#virtual: Virtual {
            /// The carrier on which the virtual thread runs.
            Carrier = "carrier",
            /// The virtual thread itself, which is a JVMPI thread of its own.
            Own = "own",
        } = Virtual::Carrier;

        /// Monitor-wait events for a thread that parks.
        park: Park {
            /// None are sent.
            Off = "off",
            /// They name the object that blocks the thread.
            Monitor = "monitor",
        } = Park::Off;

        /// The loading of an agent that wants an executable stack, where the C library refuses it.
        execstack: ExecStack {
            /// A copy in memory that wants none is loaded.
            Copy = "copy",
            /// The JVM does not start.
            Refuse = "refuse",
        } = ExecStack::Copy;

        /// A test of the JVM's internals that the shim relies on.
        selftest: SelfTest {
            /// Each is looked up when an agent needs it.
            Off = "off",
            /// All are looked up at the start, and a line at the end reports each.
            On = "on",
        } = SelfTest::Off;
    }

    /// Settings that can differ from agent to agent.
    struct AgentOptions {
        /// The form of class names in events.
        names: Names {
            /// `java.lang.String`, as since JDK 1.3.
            Dot = "dot",
            /// `java/lang/String`, as in JDK 1.2.
            Slash = "slash",
        } = Names::Dot;

        /// The time that `GetCurrentThreadCpuTime` returns.
        cputime: CpuTime {
            /// The CPU time that the thread consumed.
            Cpu = "cpu",
            /// The time of day, as VMs without a thread clock did.
            Wall = "wall",
        } = CpuTime::Cpu;

        /// The sending of `CLASS_UNLOAD`.
        unload: Unload {
            /// It is sent according to the specification.
            On = "on",
            /// It is not sent, for agents that cannot deal with it.
            Off = "off",
        } = Unload::On;

        /// The classes whose class files `CLASS_LOAD_HOOK` shows.
        hook: Hook {
            /// Also classes that were loaded before the agent first enabled the event.
            Replay = "replay",
            /// Only classes that are loaded later.
            Late = "late",
        } = Hook::Replay;

        /// The thread that the `env_id` of `CLASS_LOAD` names.
        classload: ClassLoad {
            /// The thread that sends it, which has linked the class or names it.
            Link = "link",
            /// The thread that has loaded the class, as long as it exists.
            Load = "load",
        } = ClassLoad::Link;

        /// The time at which `JVM_OnLoad` is called.
        onload: OnLoad {
            /// At the time when JNI becomes available.
            Start = "start",
            /// At the time when the VM is ready to run the program.
            Init = "init",
        } = OnLoad::Start;

        /// The trigger of `DATA_RESET_REQUEST`, besides the user's request.
        reset: Reset {
            /// None.
            Off = "off",
            /// Each `DATA_DUMP_REQUEST`: the specification has one trigger for both.
            AfterDump = "after-dump",
        } = Reset::Off;

        /// Checks that the agent keeps the rules of JVMPI.
        check: Check {
            /// No checks.
            Off = "off",
            /// Each place that breaks a rule is reported once.
            On = "on",
            /// The first report ends the process.
            Abort = "abort",
        } = Check::Off;

        /// The file in which all events and calls of the agent are recorded.
        trace: TraceFile = TraceFile::off();
    }
}

impl From<Log> for log::LevelFilter {
    fn from(log: Log) -> Self {
        match log {
            Log::Error => Self::Error,
            Log::Warn => Self::Warn,
            Log::Info => Self::Info,
            Log::Debug => Self::Debug,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_valid_value_of_every_key_is_accepted() {
        for key in Options::KEYS.iter().chain(AgentOptions::KEYS) {
            for value in key.valid {
                let setting = format!("{}={value}", key.name);
                let described = Options::parse(&setting, None).unwrap().describe();
                let default = default_value(key) == *value;
                assert_eq!(described, if default { "" } else { &setting });
            }
        }
    }

    #[test]
    fn levels_are_those_of_the_log_crate() {
        for value in Options::KEYS[0].valid {
            let level = log::LevelFilter::from(Log::parse(value).unwrap());
            assert_eq!(level.as_str().to_lowercase(), *value);
        }
    }

    #[test]
    fn the_documentation_lists_exactly_these_keys() {
        let documented = include_str!("../../../docs/reference/options.md");
        let (settings, _) = documented.split_once("\n## Quirks\n").unwrap();
        let rows = settings.lines().filter(|line| line.starts_with("| `")).collect::<Vec<_>>();
        let whole = Options::KEYS.iter().map(|key| (key, "no"));
        let per_agent = AgentOptions::KEYS.iter().map(|key| (key, "yes"));
        let expected = whole.chain(per_agent).map(|(key, per_agent)| {
            let Key { name, valid, help } = key;
            let (valid, default) = (valid.join("`, `"), default_value(key));
            format!("| `{name}` | `{valid}` | `{default}` | {per_agent} | {help} |")
        });
        assert_eq!(rows, expected.collect::<Vec<_>>());
    }

    /// Returns the default value of `key`, the only one that changes nothing.
    fn default_value(key: &Key) -> &'static str {
        let is_default = |value: &&&str| {
            let (mut options, mut agent) = (Options::default(), AgentOptions::default());
            options.set(key, value).and_then(|()| agent.set(key, value)).unwrap();
            options == Options::default() && agent == AgentOptions::default()
        };
        key.valid.iter().find(is_default).unwrap()
    }
}
