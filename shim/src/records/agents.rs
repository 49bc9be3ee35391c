//! The agents: up to eight, each with its own function table and its own set of enabled events; and the sampling interval
//! of OBJECT_ALLOC, which all of them share.

use super::{announced_methods, phase};
use jni_sys::jint;
use jvm::lock::Lock;
use jvmpi_settings::{AgentOptions, Alloc};
use jvmpi_sys::*;
use std::num::NonZeroU32;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::ptr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Ordering};

/// The number of agents that may be loaded at once.
pub const MAX_AGENTS: usize = 8;

/// The function that an agent gets its events by.
pub type Handler = unsafe extern "C" fn(*mut JVMPI_Event);

/// One agent: a library that asked for the JVMPI interface.
pub struct Agent {
    /// Its number, which is the index of its state in other records.
    pub index: usize,
    interface: AtomicPtr<JVMPI_Interface>,
    enabled: AtomicU64,
    /// The event types that it has enabled at any time.
    ever_enabled: AtomicU64,
    /// True if it has asked for the interface.
    pub asked: AtomicBool,
    /// True while its JVM_OnLoad runs, called by the shim.
    pub beginning: AtomicBool,
    /// True if each entry that it gets now has an exit that it gets.
    gets_exits: AtomicBool,
    library: OnceLock<Library>,
}

/// A set of agents: one bit for each number of an agent.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct AgentSet(pub u8);

impl AgentSet {
    pub fn includes(self, agent: &Agent) -> bool {
        self.0 & Self::bit(agent) != 0
    }

    pub fn of(agent: &Agent) -> Self {
        Self(Self::bit(agent))
    }

    /// Returns the set of all agents that can be loaded.
    pub fn of_all() -> Self {
        Self(u8::MAX)
    }

    pub fn add(&mut self, agent: &Agent) {
        self.0 |= Self::bit(agent);
    }

    pub fn retain(&mut self, mut keep: impl FnMut(&'static Agent) -> bool) {
        for agent in self.iter() {
            if !keep(agent) {
                self.0 &= !Self::bit(agent);
            }
        }
    }

    /// Returns the agents of the set, in the order of their numbers.
    pub fn iter(self) -> impl Iterator<Item = &'static Agent> {
        let mut left = self.0;
        std::iter::from_fn(move || {
            let first = AGENTS.get(left.trailing_zeros() as usize)?;
            left &= left - 1;
            Some(first)
        })
    }

    fn bit(agent: &Agent) -> u8 {
        1 << agent.index
    }
}

const _: () = assert!(MAX_AGENTS == u8::BITS as usize, "an agent is a bit of a u8");

struct Library {
    base: usize,
    path: PathBuf,
    options: AgentOptions,
}

static AGENTS: [Agent; MAX_AGENTS] = {
    let mut agents = [const { Agent::new(0) }; MAX_AGENTS];
    let mut index = 0;
    while index < MAX_AGENTS {
        agents[index].index = index;
        index += 1;
    }
    agents
};
static COUNT: AtomicUsize = AtomicUsize::new(0);
static ENABLED_BY_ANYONE: AtomicU64 = AtomicU64::new(0);
/// True if all code that reports entries reports exits too.
static EXITS_FOLLOW: AtomicBool = AtomicBool::new(false);
/// Serializes the registration of agents and changes of enabled events.
static CHANGE: Lock<()> = Lock::new(());

const fn bit(event_type: jint) -> u64 {
    1 << event_type
}

const _: () = assert!(JVMPI_MAX_EVENT_TYPE_VAL < 64, "an event type is a bit of a u64");

impl Agent {
    const fn new(index: usize) -> Self {
        Self {
            index,
            interface: AtomicPtr::new(ptr::null_mut()),
            enabled: AtomicU64::new(0),
            ever_enabled: AtomicU64::new(0),
            asked: AtomicBool::new(false),
            beginning: AtomicBool::new(false),
            gets_exits: AtomicBool::new(false),
            library: OnceLock::new(),
        }
    }

    /// Returns true if the agent has enabled the event type, which must be 0 to 63.
    pub fn wants(&self, event_type: jint) -> bool {
        self.enabled.load(Ordering::Relaxed) & bit(event_type) != 0
    }

    /// Returns true if the agent has enabled the event type at any time. It then keeps records of the things that
    /// the events define. An agent that only requests such events looks up only what it has requested.
    pub fn has_wanted(&self, event_type: jint) -> bool {
        self.ever_enabled.load(Ordering::Relaxed) & bit(event_type) != 0
    }

    /// Returns true if the agent gets entries. Then it gets only the exits that belong to them.
    pub fn hears_of_entries(&self) -> bool {
        self.wants(JVMPI_EVENT_METHOD_ENTRY) || self.wants(JVMPI_EVENT_METHOD_ENTRY2)
    }

    /// Enables or disables an event type, 0 to 63.
    pub fn set_wants(&self, event_type: jint, wants: bool) {
        let _change = CHANGE.lock();
        self.set(event_type, wants);
    }

    /// Disables an event type unless `is_served` returns true. Returns true if it was disabled. `is_served` must
    /// not enable or disable anything.
    pub fn take_back(&self, event_type: jint, is_served: impl FnOnce() -> bool) -> bool {
        let _change = CHANGE.lock();
        let refused = !is_served();
        if refused {
            self.set(event_type, false);
        }
        refused
    }

    /// Enables or disables an event type. The caller holds [`CHANGE`].
    fn set(&self, event_type: jint, wants: bool) {
        if wants {
            self.ever_enabled.fetch_or(bit(event_type), Ordering::Relaxed);
            self.enabled.fetch_or(bit(event_type), Ordering::Relaxed);
        } else {
            self.enabled.fetch_and(!bit(event_type), Ordering::Relaxed);
        }
        let all = all().iter().fold(0, |all, a| all | a.enabled.load(Ordering::Relaxed));
        ENABLED_BY_ANYONE.store(all, Ordering::Relaxed);
        self.find_out_about_exits();
        if wants && event_type == JVMPI_EVENT_CLASS_LOAD {
            announced_methods::clear();
        }
        phase::end_epoch();
    }

    /// Returns true if each entry that the agent gets now has an exit that it gets. Otherwise entries are not
    /// recorded, because nothing would remove them: the agent has not enabled METHOD_EXIT, or code is still being
    /// rewritten.
    #[inline]
    pub fn gets_exits(&self) -> bool {
        self.gets_exits.load(Ordering::Relaxed)
    }

    fn find_out_about_exits(&self) {
        let gets = EXITS_FOLLOW.load(Ordering::Relaxed) && self.wants(JVMPI_EVENT_METHOD_EXIT);
        self.gets_exits.store(gets, Ordering::Relaxed);
    }

    /// Returns where the agent has its handler: in its table, which is static.
    pub fn handler(&self) -> *const Option<Handler> {
        let interface = self.interface.load(Ordering::Acquire);
        // SAFETY: the table of a registered agent is static memory.
        unsafe { ptr::addr_of!((*interface).NotifyEvent) }
    }

    /// Returns the agent's handler. It is read from the table each time, because agents may replace it.
    pub fn notify_event(&self) -> Option<Handler> {
        // SAFETY: the table is static memory. The agent may write this slot at any time, but writes a whole pointer at
        // once.
        unsafe { self.handler().read_volatile() }
    }

    pub fn path(&self) -> &Path {
        self.library.get().map_or(Path::new(""), |library| &library.path)
    }

    /// Returns the settings that apply to this agent.
    pub fn options(&self) -> &AgentOptions {
        &self.library.get().expect("an agent is registered with its library").options
    }

    /// Returns the function table that [`claim`] got. The agent gets it, or that of the topmost layer.
    pub fn interface(&self) -> *mut JVMPI_Interface {
        self.interface.load(Ordering::Acquire)
    }
}

/// Sets whether all code that reports entries reports exits too.
pub fn expect_exits(follow: bool) {
    let _change = CHANGE.lock();
    EXITS_FOLLOW.store(follow, Ordering::Relaxed);
    AGENTS.iter().for_each(Agent::find_out_about_exits);
    phase::end_epoch();
}

pub fn all() -> &'static [Agent] {
    &AGENTS[..COUNT.load(Ordering::Acquire)]
}

/// Returns the agent with this number, for which its function table was compiled.
pub fn get(index: usize) -> &'static Agent {
    &AGENTS[index]
}

/// Returns the agents that have enabled the event type.
pub fn wanting(event_type: jint) -> impl Iterator<Item = &'static Agent> {
    let agents = if anyone_wants(event_type) { all() } else { &[] };
    agents.iter().filter(move |agent| agent.wants(event_type))
}

/// Returns the set of agents that have enabled the event type.
pub fn all_wanting(event_type: jint) -> AgentSet {
    let mut set = AgentSet::default();
    wanting(event_type).for_each(|agent| set.add(agent));
    set
}

/// Returns the agent for which this is true if it is the only one.
fn only(is_one: impl Fn(&Agent) -> bool) -> Option<&'static Agent> {
    let mut those = all().iter().filter(|agent| is_one(agent));
    those.next().filter(|_| those.next().is_none())
}

/// An event of rewritten code that perhaps only one agent has enabled.
#[derive(Clone, Copy)]
pub enum OnlyListener {
    /// METHOD_ENTRY, if no agent has enabled METHOD_ENTRY2.
    Entry,
    /// METHOD_EXIT, for an agent that gets entries too.
    Exit,
    /// METHOD_ENTRY2, and METHOD_ENTRY if the same agent has enabled both.
    Entry2,
    /// INSTRUCTION_START.
    Instruction,
}

impl OnlyListener {
    pub const ALL: [Self; 4] = [Self::Entry, Self::Exit, Self::Entry2, Self::Instruction];

    /// Returns the agent if exactly one has enabled the event.
    pub fn agent(self) -> Option<&'static Agent> {
        let wants_entry2 = |agent: &&Agent| agent.wants(JVMPI_EVENT_METHOD_ENTRY2);
        match self {
            Self::Entry => only(Agent::hears_of_entries).filter(|agent| !wants_entry2(agent)),
            Self::Entry2 => only(Agent::hears_of_entries).filter(wants_entry2),
            Self::Exit => only(|agent| agent.wants(JVMPI_EVENT_METHOD_EXIT))
                .filter(|agent| agent.hears_of_entries()),
            Self::Instruction => only(|agent| agent.wants(JVMPI_EVENT_INSTRUCTION_START)),
        }
    }
}

/// Returns true if any agent has enabled the event type.
pub fn anyone_wants(event_type: jint) -> bool {
    ENABLED_BY_ANYONE.load(Ordering::Relaxed) & bit(event_type) != 0
}

/// Returns the agent in the library that was loaded at `base`.
pub fn in_library(base: usize) -> Option<&'static Agent> {
    all().iter().find(|agent| agent.library.get().is_some_and(|library| library.base == base))
}

/// Returns the agent if there is only one. Once an agent has asked for the interface, only those that have asked
/// count: a library loaded as an agent may let another library ask.
pub fn the_only_one() -> Option<&'static Agent> {
    let has_asked = |agent: &Agent| agent.asked.load(Ordering::Relaxed);
    let anyone_asked = all().iter().any(has_asked);
    only(|agent| has_asked(agent) || !anyone_asked)
}

/// Returns the agent in the library that was loaded at `base`, and registers it on the first call. `table` returns
/// the function table of a number. None if there are [`MAX_AGENTS`] others.
pub fn claim(
    base: usize,
    path: &Path,
    options: AgentOptions,
    table: impl FnOnce(usize) -> *mut JVMPI_Interface,
) -> Option<&'static Agent> {
    let _change = CHANGE.lock();
    let known = in_library(base);
    if known.is_some() {
        return known;
    }
    let index = COUNT.load(Ordering::Relaxed);
    let agent = AGENTS.get(index)?;
    agent.library.get_or_init(|| Library { base, path: path.to_owned(), options });
    agent.interface.store(table(index), Ordering::Release);
    COUNT.store(index + 1, Ordering::Release);
    phase::end_epoch();
    Some(agent)
}

/// The sampling interval that an agent has requested, in bytes. 0 for none.
static REQUESTED: AtomicU32 = AtomicU32::new(0);

/// Returns the mean number of bytes between two sample points. None if every object is reported.
pub fn interval() -> Option<NonZeroU32> {
    match jvmpi_settings::get().alloc {
        Alloc::Every(bytes) => Some(bytes),
        _ => NonZeroU32::new(REQUESTED.load(Ordering::Relaxed)),
    }
}

/// Returns true if every object is announced to some agent when it is created.
pub fn are_all_announced() -> bool {
    anyone_wants(JVMPI_EVENT_OBJECT_ALLOC) && !are_sampled()
}

pub fn are_sampled() -> bool {
    interval().is_some()
}

/// The intervals that an agent may pass, in bytes. Agents of JVMPI's time may pass any value, because the argument had
/// no meaning then: other values are ignored.
const INTERVALS: RangeInclusive<usize> = 1024..=1 << 30;

/// Sets the interval for an agent that enables OBJECT_ALLOC. `argument` is that of EnableEvent: one of [`INTERVALS`],
/// or else the interval of the settings applies.
///
/// # Errors
/// Returns the reason if the settings or another agent demand another interval.
pub fn choose_interval(argument: usize) -> Result<(), String> {
    let wanted = if INTERVALS.contains(&argument) { argument as u32 } else { 0 };
    let setting = jvmpi_settings::get().alloc;
    let excludes = match setting {
        Alloc::Every(bytes) => wanted != 0 && wanted != bytes.get(),
        Alloc::Bytecode => wanted != 0,
        Alloc::Auto | Alloc::Sampled => false,
    };
    if excludes {
        return Err(format!("the interval {wanted} does not fit the setting alloc={setting}"));
    }
    let is_other =
        wanted != REQUESTED.load(Ordering::Relaxed) && !matches!(setting, Alloc::Every(_));
    if is_other && anyone_wants(JVMPI_EVENT_OBJECT_ALLOC) {
        return Err("it is enabled with another interval".into());
    }
    REQUESTED.store(wanted, Ordering::Relaxed);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn methods_take_the_long_way_once_class_load_is_enabled() {
        let id = ptr::without_provenance_mut(16);
        announced_methods::add(7, id, || true);
        assert_eq!(announced_methods::get(7), Some(id));
        let agent = get(7);
        agent.set_wants(JVMPI_EVENT_CLASS_LOAD, true);
        assert_eq!(announced_methods::get(7), None);
        agent.set_wants(JVMPI_EVENT_CLASS_LOAD, false);
        announced_methods::add(7, id, || false);
        assert_eq!(announced_methods::get(7), None);
    }
}
