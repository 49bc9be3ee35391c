//! The types of JFR, under the names and with the fields that they have in the JDK and in async-profiler. Some readers
//! depend on the order of the fields, too.

use std::sync::LazyLock;

/// The types, one in a line: the sample that an event is, the name, and the fields with their types. `*` is the number
/// of a constant. The word for a field with a [`Role`] is short, and that of the amount has a `!`.
const LINES: &str = "\
Cpu jdk.ExecutionSample: time startTime, thread sampledThread, stack stackTrace, state state
Native jdk.NativeMethodSample: time startTime, thread sampledThread, stack stackTrace, state state
CpuTime jdk.CPUTimeSample: time startTime, stack stackTrace, thread eventThread, boolean failed, ticks! samplingPeriod, boolean biased
Wall profiler.WallClockSample: time startTime, thread sampledThread, stack stackTrace, state state, int! samples, ticks timeSpan
Allocated jdk.ObjectAllocationSample: time startTime, thread eventThread, stack stackTrace, class objectClass, bytes! weight
Allocated jdk.ObjectAllocationInNewTLAB: time startTime, thread eventThread, stack stackTrace, class objectClass, bytes allocationSize, bytes! tlabSize
Allocated jdk.ObjectAllocationOutsideTLAB: time startTime, thread eventThread, stack stackTrace, class objectClass, bytes! allocationSize
Live profiler.LiveObject: time startTime, thread eventThread, stack stackTrace, class objectClass, bytes! allocationSize, then allocationTime
Monitor jdk.JavaMonitorEnter: time startTime, ticks! duration, thread eventThread, stack stackTrace, class monitorClass, *java.lang.Thread previousOwner, long address
Park jdk.ThreadPark: time startTime, ticks! duration, thread eventThread, stack stackTrace, class parkedClass, nanoseconds timeout, milliseconds until, long address
Setting jdk.ActiveSetting: time startTime, long id, java.lang.String name, java.lang.String value
Jvm jdk.JVMInformation: time startTime, java.lang.String jvmName, java.lang.String jvmVersion, java.lang.String jvmArguments, java.lang.String jvmFlags, java.lang.String javaArguments, milliseconds jvmStartTime, long pid
- java.lang.Thread: java.lang.String osName, long osThreadId, java.lang.String javaName, long javaThreadId, *jdk.types.ThreadGroup group
- jdk.types.ThreadGroup: *jdk.types.ThreadGroup parent, java.lang.String name
- java.lang.Class: *jdk.types.ClassLoader classLoader, *jdk.types.Symbol name, *jdk.types.Package package, int modifiers
- jdk.types.ClassLoader: *java.lang.Class type, *jdk.types.Symbol name
- jdk.types.Package: *jdk.types.Symbol name
- jdk.types.Method: *java.lang.Class type, *jdk.types.Symbol name, *jdk.types.Symbol descriptor, int modifiers, boolean hidden
- jdk.types.Symbol: java.lang.String string
- jdk.types.StackTrace: boolean truncated, []jdk.types.StackFrame frames
- jdk.types.StackFrame: *jdk.types.Method method, int lineNumber, int bytecodeIndex, *jdk.types.FrameType type
- jdk.types.FrameType: java.lang.String description
- jdk.types.ThreadState: java.lang.String name
- jdk.jfr.Timestamp: java.lang.String value
- jdk.jfr.Timespan: java.lang.String value
- jdk.jfr.DataAmount: java.lang.String value
- java.lang.String:
- boolean:
- int:
- long:";

/// A type: an event, a constant, a part of these, or an annotation.
pub struct Type {
    pub name: &'static str,
    pub event: Option<Event>,
    pub fields: Vec<Field>,
}

/// The events. All but the last two are samples.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Event {
    /// A thread that runs Java code.
    Cpu,
    /// A thread in native code, which may also wait there.
    Native,
    /// A period of CPU time.
    CpuTime,
    /// A thread in any state.
    Wall,
    Allocated,
    Live,
    Monitor,
    Park,
    /// A setting of another event.
    Setting,
    Jvm,
}

const EVENTS: [Event; 10] = {
    use Event::*;
    [Cpu, Native, CpuTime, Wall, Allocated, Live, Monitor, Park, Setting, Jvm]
};

/// A field of a type.
#[derive(Default)]
pub struct Field {
    pub name: &'static str,
    /// The name of its type.
    pub of: &'static str,
    /// True if it is the number of a constant.
    pub is_pooled: bool,
    pub is_array: bool,
    /// The name and the value of its annotation.
    pub annotation: Option<[&'static str; 2]>,
    pub role: Option<Role>,
}

/// The part of a field in a sample.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Role {
    Start,
    Thread,
    Stack,
    State,
    /// The class of the object that was allocated, or that is waited for.
    Class,
    /// The samples, bytes or ticks that the event stands for.
    Amount,
}

/// The number of roles.
pub const ROLES: usize = 6;

/// All types.
pub static TYPES: LazyLock<Vec<Type>> =
    LazyLock::new(|| LINES.lines().filter_map(Type::parse).collect());

impl Type {
    fn parse(line: &'static str) -> Option<Self> {
        let (head, fields) = line.split_once(':')?;
        let (event, name) = head.split_once(' ')?;
        let event = EVENTS.into_iter().find(|it| format!("{it:?}") == event);
        let fields = fields.split(',').filter_map(|field| Field::parse(field.trim())).collect();
        Some(Self { name, event, fields })
    }

    /// Returns the type of this name.
    pub fn of_name(name: &str) -> Option<&'static Self> {
        TYPES.iter().find(|it| it.name == name)
    }

    /// Returns the type of events of a kind: of several, the one that is written.
    pub fn of_event(event: Event) -> Option<&'static Self> {
        TYPES.iter().find(|it| it.event == Some(event))
    }

    /// Returns the number under which a type is written. 0 and 1 are the metadata and the constants.
    pub fn number(name: &str) -> u64 {
        TYPES.iter().position(|it| it.name == name).map_or(0, |place| place as u64 + 2)
    }

    /// Returns true if readers show its only field in its place.
    pub fn is_simple(&self) -> bool {
        self.name.starts_with("jdk.types.")
            && matches!(&self.fields[..], [field] if !field.is_pooled)
    }
}

impl Field {
    fn parse(text: &'static str) -> Option<Self> {
        let (of, name) = text.split_once(' ')?;
        let plain = Self { name, ..Self::default() };
        let pooled =
            |of, role| Self { of, is_pooled: true, role, ..Self { name, ..Self::default() } };
        let long = |annotation, value, role| Self {
            of: "long",
            annotation: Some([annotation, value]),
            role,
            ..Self { name, ..Self::default() }
        };
        let (word, amount) = match of.strip_suffix('!') {
            Some(of) => (of, Some(Role::Amount)),
            None => (of, None),
        };
        Some(match word {
            "time" => long("jdk.jfr.Timestamp", "TICKS", Some(Role::Start)),
            "then" => long("jdk.jfr.Timestamp", "TICKS", None),
            "milliseconds" => long("jdk.jfr.Timestamp", "MILLISECONDS_SINCE_EPOCH", None),
            "ticks" => long("jdk.jfr.Timespan", "TICKS", amount),
            "nanoseconds" => long("jdk.jfr.Timespan", "NANOSECONDS", None),
            "bytes" => long("jdk.jfr.DataAmount", "BYTES", amount),
            "thread" => pooled("java.lang.Thread", Some(Role::Thread)),
            "stack" => pooled("jdk.types.StackTrace", Some(Role::Stack)),
            "state" => pooled("jdk.types.ThreadState", Some(Role::State)),
            "class" => pooled("java.lang.Class", Some(Role::Class)),
            _ => match (word.strip_prefix('*'), word.strip_prefix("[]")) {
                (Some(of), _) => pooled(of, None),
                (_, Some(of)) => Self { of, is_array: true, ..plain },
                _ => Self { of: word, role: amount, ..plain },
            },
        })
    }
}
