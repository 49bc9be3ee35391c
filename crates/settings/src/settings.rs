//! The one table of the settings (`settings!` below), and the types that it makes of it.

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

            /// `key=value` of every setting that differs from `other`.
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

/// The name of a field without the mark that a keyword of Rust needs.
const fn plain(name: &str) -> &str {
    match name.as_bytes() {
        [b'r', b'#', ..] => name.split_at(2).1,
        _ => name,
    }
}

settings! {
    /// Settings that hold for the whole shim, and through [`Options::agent`] those of each agent.
    struct Options with agents: Agents {
        /// Which messages go to stderr.
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

        /// How a running thread is stopped to take its call trace.
        suspend: Suspend {
            /// By a signal; the trace is taken in its handler.
            Auto = "auto",
            /// By the JVMTI function `SuspendThread` only.
            Jvmti = "jvmti",
        } = Suspend::Auto;

        /// Where the shim learns of allocations.
        alloc: Alloc {
            /// By `sampled` from JDK 17 on, by `bytecode` before.
            Auto = "auto",
            /// From the VM, which reports every object.
            Sampled = "sampled",
            /// From rewritten code.
            Bytecode = "bytecode",
        } = Alloc::Auto;

        /// The arenas that agents see objects in, and how survivors of a collection move.
        arenas: Arenas {
            /// Everything is in arena 1.
            Single = "single",
            /// Survivors move from arena 1 to arena 2.
            Generational = "generational",
            /// Survivors move to a new arena and get new IDs; the old arena is deleted.
            Copying = "copying",
        } = Arenas::Single;

        /// When the IDs of dead objects are given to others.
        ids: Ids {
            /// Never.
            Unique = "unique",
            /// Only when no unused IDs are left that fit into 32 bits.
            Bits32 = "32bit",
            /// At the earliest time.
            Reused = "reused",
        } = Ids::Unique;

        /// Which classes report calls and instructions, unless `exclude` names them.
        include: Patterns = Patterns::all();

        /// Which classes do not report calls and instructions.
        exclude: Patterns = Patterns::none();

        /// Whose instructions are reported.
        instructions: Instructions {
            /// Instructions of classes that do not belong to the boot loader.
            Program = "program",
            /// Instructions of all classes.
            All = "all",
        } = Instructions::Program;

        /// Whether calls of native methods are reported.
        natives: Natives {
            /// By machine code between the VM and their functions.
            Stub = "stub",
            /// Not at all.
            Off = "off",
        } = Natives::Stub;

        /// Which threads what virtual threads do belongs to.
        r#virtual: Virtual {
            /// To the carriers that they run on.
            Carrier = "carrier",
            /// To themselves: each is a thread of its own.
            Own = "own",
        } = Virtual::Carrier;

        /// Whether a thread that parks is reported as one that waits.
        park: Park {
            /// It is not.
            Off = "off",
            /// At the object that blocks it.
            Monitor = "monitor",
        } = Park::Off;
    }

    /// Settings that can differ from agent to agent.
    struct AgentOptions {
        /// How class names are written in events.
        names: Names {
            /// `java.lang.String`, as since JDK 1.3.
            Dot = "dot",
            /// `java/lang/String`, as in JDK 1.2.
            Slash = "slash",
        } = Names::Dot;

        /// Which time `GetCurrentThreadCpuTime` returns.
        cputime: CpuTime {
            /// The CPU time that the thread consumed.
            Cpu = "cpu",
            /// The time of day, as VMs without a thread clock did.
            Wall = "wall",
        } = CpuTime::Cpu;

        /// Whether `CLASS_UNLOAD` is sent.
        unload: Unload {
            /// According to the specification.
            On = "on",
            /// Not to agents that cannot deal with it.
            Off = "off",
        } = Unload::On;

        /// Of which classes `CLASS_LOAD_HOOK` shows the class files.
        hook: Hook {
            /// Also of classes that are loaded when the agent first enables the event.
            Replay = "replay",
            /// Only of classes that are loaded later.
            Late = "late",
        } = Hook::Replay;

        /// Which thread the `env_id` of `CLASS_LOAD` names.
        classload: ClassLoad {
            /// The thread that sends it, which has linked the class or names it.
            Link = "link",
            /// The thread that has loaded the class, as long as it exists.
            Load = "load",
        } = ClassLoad::Link;

        /// When `JVM_OnLoad` is called.
        onload: OnLoad {
            /// At the time when JNI becomes available.
            Start = "start",
            /// At the time when the VM is ready to run the program.
            Init = "init",
        } = OnLoad::Start;

        /// When `DATA_RESET_REQUEST` is sent, unless the user asks for it.
        reset: Reset {
            /// Only if the user asks for it.
            Off = "off",
            /// After each `DATA_DUMP_REQUEST`: the specification has one trigger for both.
            AfterDump = "after-dump",
        } = Reset::Off;

        /// Whether the agent is watched for keeping the rules of JVMPI.
        check: Check {
            /// It is not.
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

    /// The one value of `key` that changes nothing.
    fn default_value(key: &Key) -> &'static str {
        let is_default = |value: &&&str| {
            let (mut options, mut agent) = (Options::default(), AgentOptions::default());
            options.set(key, value).and_then(|()| agent.set(key, value)).unwrap();
            options == Options::default() && agent == AgentOptions::default()
        };
        key.valid.iter().find(is_default).unwrap()
    }
}
