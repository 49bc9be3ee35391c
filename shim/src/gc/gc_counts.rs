//! The number of collections for which a collector's pauses stand.
//!
//! JVMTI's reports of pauses do not show their kind. With Serial and Parallel a pause is a collection, except if the VM
//! finds during the pause that it cannot collect (JNI pins objects) or need not. The VM's performance counters show
//! that. G1 also pauses for Remark and Cleanup, which the counters do not count. If the VM shares no counters
//! (`-XX:+PerfDisableSharedMem`, `-XX:-UsePerfData`), the structures that it publishes for debuggers have the
//! collector and a counter of collections. ZGC and Shenandoah pause several times per cycle. With them the death of a
//! sentinel shows a collection (`deaths`).

use jvm::lock::Lock;
use jvm::platform::own_memory;
use jvm::{internals, vm_structs};
use std::fs;
use std::sync::OnceLock;

enum Source {
    /// Each pause in which the counters increase is a collection. `at_begin` is their value at the last pause's begin.
    Pauses { counters: Counters, at_begin: Option<u64> },
    /// The increase of the counters is the number of collections. `last` is the value last read.
    Counters { counters: Counters, last: u64 },
    /// The death of a sentinel shows a collection.
    Effect,
}

static SOURCE: OnceLock<Lock<Source>> = OnceLock::new();

/// Before this version, Serial and Parallel do not report to JVMTI that they collect for a histogram or a heap dump of
/// the VM. (G1 always reports.)
const ALL_TELL: u32 = 25;

/// Selects the source and begins to count. Returns true if the collector is known to move and free objects only in
/// its pauses, and JVMTI is known to report all of them.
pub fn start() -> bool {
    let all_tell = jvm::get().feature_version() >= ALL_TELL;
    let source = SOURCE.get_or_init(|| Lock::new(Source::choose()));
    match *source.lock() {
        Source::Counters { .. } => true,
        Source::Pauses { .. } => all_tell,
        Source::Effect => false,
    }
}

/// Returns true if the structures that would replace missing counters are known.
pub fn are_structures_known() -> bool {
    internals::STRUCTURES.find(Known::of_structures).is_some()
}

/// Records that a pause begins. Called while the world is stopped.
pub fn pause_begins() {
    if let Some(source) = SOURCE.get() {
        source.lock().pause_begins();
    }
}

/// Records that a pause has ended. Called while the world is stopped. Returns false if the counters show that it was no
/// collection.
pub fn pause_has_collected() -> bool {
    SOURCE.get().is_none_or(|source| source.lock().pause_has_collected())
}

/// Returns the number of collections since the last call, given the pauses since then that may have been collections,
/// and whether a sentinel has died.
pub fn collections_since_last_time(pauses: u64, has_effect: bool) -> u64 {
    let Some(source) = SOURCE.get() else { return 0 };
    source.lock().count(pauses, has_effect)
}

impl Source {
    fn choose() -> Self {
        match Known::find() {
            Some(Known { collector: Collector::G1, counters }) => {
                Self::Counters { last: counters.read().unwrap_or_default(), counters }
            }
            Some(Known { collector: Collector::SerialOrParallel, counters }) => {
                Self::Pauses { counters, at_begin: None }
            }
            _ => Self::Effect,
        }
    }

    fn pause_begins(&mut self) {
        if let Self::Pauses { counters, at_begin } = self {
            *at_begin = counters.read();
        }
    }

    fn pause_has_collected(&mut self) -> bool {
        match self {
            Self::Pauses { counters, at_begin } => {
                let at_begin = at_begin.take();
                at_begin.is_none() || at_begin != counters.read()
            }
            Self::Counters { .. } | Self::Effect => true,
        }
    }

    fn count(&mut self, pauses: u64, has_effect: bool) -> u64 {
        match self {
            Self::Pauses { .. } => pauses,
            Self::Counters { counters, last } => {
                let Some(now) = counters.read() else { return pauses };
                now.saturating_sub(std::mem::replace(last, now))
            }
            Self::Effect => has_effect.into(),
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Collector {
    SerialOrParallel,
    G1,
    Shenandoah,
    Other,
}

/// The VM's collector and its counters.
struct Known {
    collector: Collector,
    counters: Counters,
}

impl Known {
    fn find() -> Option<Self> {
        internals::COUNTERS
            .find(|| Memory::of_counters().map(|memory| memory.known()))
            .or_else(|| internals::STRUCTURES.find(Self::of_structures))
    }

    /// Reads the structures that the VM publishes for debuggers.
    fn of_structures() -> Option<Self> {
        let flags = [
            (c"UseG1GC", Collector::G1),
            (c"UseSerialGC", Collector::SerialOrParallel),
            (c"UseParallelGC", Collector::SerialOrParallel),
            (c"UseShenandoahGC", Collector::Shenandoah),
            (c"UseZGC", Collector::Other),
            (c"UseEpsilonGC", Collector::Other),
        ];
        let set = vm_structs::first_set_flag(&flags.map(|(name, _)| name))?;
        let (_, collector) = *flags.iter().find(|(name, _)| *name == set)?;
        let place = vm_structs::count_of_collections()?;
        Some(Self { collector, counters: Counters { places: vec![place], bytes: 4 } })
    }
}

/// The VM's counters of collections: one of young and one of full collections, or one of all. Each has `bytes` bytes.
struct Counters {
    places: Vec<usize>,
    bytes: usize,
}

impl Counters {
    /// Returns their sum; None if they cannot be read.
    fn read(&self) -> Option<u64> {
        if self.places.is_empty() {
            return None;
        }
        let read = |place: &usize| match self.bytes {
            4 => {
                let mut number = [0; 4];
                own_memory::read(*place, &mut number).then(|| u32::from_ne_bytes(number).into())
            }
            _ => {
                let mut number = [0; 8];
                own_memory::read(*place, &mut number).then(|| u64::from_ne_bytes(number))
            }
        };
        self.places.iter().map(read).sum()
    }
}

/// The memory in which the VM publishes its counters, with a copy of its contents. It is mapped from a file in `/tmp`.
/// The file's name is not used: that file may belong to a process in another container, or to one that has ended.
struct Memory {
    start: usize,
    data: Vec<u8>,
}

impl Memory {
    fn of_counters() -> Option<Self> {
        let maps = fs::read("/proc/self/maps").ok()?;
        let (start, length) = counters_in(&String::from_utf8_lossy(&maps))?;
        let mut data = vec![0; length];
        own_memory::read(start, &mut data).then_some(Self { start, data })
    }

    fn known(&self) -> Known {
        let names = ["sun.gc.collector.0.invocations", "sun.gc.collector.1.invocations"];
        let places = names.iter().filter_map(|name| perf_data::number(&self.data, name));
        let places = places.map(|place| self.start + place).collect();
        Known { collector: self.collector(), counters: Counters { places, bytes: 8 } }
    }

    /// Identifies the collector by the name of its part that collects young objects.
    fn collector(&self) -> Collector {
        let name = perf_data::text(&self.data, "sun.gc.collector.0.name").unwrap_or_default();
        let begins = |names: &[&str]| names.iter().any(|start| name.starts_with(start));
        if begins(&["G1"]) {
            Collector::G1
        } else if begins(&["Copy", "Serial", "PSScavenge", "Parallel"]) {
            Collector::SerialOrParallel
        } else if begins(&["Shenandoah"]) {
            Collector::Shenandoah
        } else {
            Collector::Other
        }
    }
}

/// Returns the address and the length of the VM's counters in the mappings of a process. The file is
/// `hsperfdata_<user>/<number>`. A read-only mapping has the counters of another VM.
fn counters_in(maps: &str) -> Option<(usize, usize)> {
    let is_counters = |line: &&str| {
        line.contains("/hsperfdata_") && line.split(' ').nth(1).is_some_and(|p| p.starts_with("rw"))
    };
    let range = maps.lines().find(is_counters)?.split(' ').next()?;
    let (start, end) = range.split_once('-')?;
    let address = |text| usize::from_str_radix(text, 16).ok();
    let (start, end) = (address(start)?, address(end)?);
    Some((start, end.checked_sub(start)?))
}

/// The format of these counters: a header, then entries with a name and a value each.
mod perf_data {
    use std::ops::Range;

    const MAGIC: [u8; 4] = 0xcafe_c0c0_u32.to_be_bytes();
    const LITTLE_ENDIAN: u8 = 1;

    struct Data<'a>(&'a [u8]);

    impl<'a> Data<'a> {
        fn int(&self, at: usize) -> Option<usize> {
            let bytes = self.0.get(at..at + 4)?.try_into().ok()?;
            let value = if self.0[4] == LITTLE_ENDIAN {
                u32::from_le_bytes(bytes)
            } else {
                u32::from_be_bytes(bytes)
            };
            Some(value as usize)
        }

        /// Returns the range of the value, up to the end of the entry.
        fn find(&self, name: &str) -> Option<Range<usize>> {
            if self.0.get(..4)? != MAGIC {
                return None;
            }
            let (mut entry, count) = (self.int(24)?, self.int(28)?);
            for _ in 0..count {
                let length = self.int(entry)?;
                if length == 0 {
                    return None;
                }
                let start = entry + self.int(entry + 4)?;
                let end = start + self.0.get(start..)?.iter().position(|byte| *byte == 0)?;
                if self.0.get(start..end)? == name.as_bytes() {
                    return Some(entry + self.int(entry + 16)?..entry + length);
                }
                entry += length;
            }
            None
        }
    }

    /// Returns the position of a counter of 8 bytes.
    pub fn number(data: &[u8], name: &str) -> Option<usize> {
        let place = Data(data).find(name)?.start;
        data.get(place..)?.get(..8)?;
        Some(place)
    }

    /// Returns the value of a string.
    pub fn text(data: &[u8], name: &str) -> Option<String> {
        let bytes = data.get(Data(data).find(name)?)?;
        let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
        Some(String::from_utf8_lossy(&bytes[..end]).into_owned())
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        /// Returns a file with one string and one number, as the VM writes it.
        fn file() -> Vec<u8> {
            let mut data = MAGIC.to_vec();
            data.extend([LITTLE_ENDIAN, 2, 0, 1]);
            data.resize(24, 0);
            data.extend(32_u32.to_le_bytes());
            data.extend(2_u32.to_le_bytes());
            for (name, value) in [("gc.name", *b"G1 young"), ("gc.count", 41_u64.to_le_bytes())] {
                let mut entry = vec![0; 20];
                entry[0..4].copy_from_slice(&48_u32.to_le_bytes());
                entry[4..8].copy_from_slice(&20_u32.to_le_bytes());
                entry[16..20].copy_from_slice(&40_u32.to_le_bytes());
                entry.extend(name.as_bytes());
                entry.resize(40, 0);
                entry.extend(value);
                data.extend(entry);
            }
            data
        }

        #[test]
        fn values_are_found_by_name() {
            assert_eq!(text(&file(), "gc.name").as_deref(), Some("G1 young"));
            let (data, place) = (file(), number(&file(), "gc.count").unwrap());
            assert_eq!(data[place..place + 8], 41_u64.to_le_bytes());
            assert_eq!(number(&file(), "gc.other"), None);
        }

        #[test]
        fn a_damaged_file_has_no_values() {
            let whole = file();
            for end in 0..whole.len() {
                let part = &whole[..end];
                assert_eq!(number(part, "gc.count"), None, "{end}");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_counters_are_those_that_the_process_writes() {
        let maps = "\
7f100000-7f101000 r--s 00000000 fe:00 12  /tmp/hsperfdata_root/1
7f200000-7f201000 rw-p 00000000 fe:00 13  /tmp/other
7f300000-7f308000 rw-s 00000000 fe:00 14  /tmp/hsperfdata_root/1 (deleted)
";
        assert_eq!(counters_in(maps), Some((0x7f30_0000, 0x8000)));
        assert_eq!(counters_in(maps.split('\n').next().unwrap()), None);
    }
}
