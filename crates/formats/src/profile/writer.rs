//! The common part of the writers of HPROF's own formats, text and binary.

use crate::profile::heap::Record;
use crate::profile::model::{
    ClassSerial, CpuTimes, HeapDump, Profile, Section, StackTime, ThreadSerial,
};
use crate::profile::stream::DumpKind;
use std::io;

/// Gets the records of a heap dump one by one.
pub type EachRecord<'a> = dyn FnMut(&Record<'_>) -> io::Result<()> + 'a;

/// Writes a file of HPROF piece by piece, as a profiler comes to know it.
///
/// Every call gets the profile with all tables. Entries that a piece refers to (names, classes, frames, traces) are
/// written before it, each once. So the tables may grow between calls, but their entries may not change. Errors of
/// the underlying file are returned, and no call after such an error makes the file complete again.
pub trait Writer {
    /// A thread of the profile has started.
    fn thread_start(&mut self, profile: &Profile, thread: ThreadSerial) -> io::Result<()>;

    /// A thread has ended.
    fn thread_end(&mut self, profile: &Profile, thread: ThreadSerial) -> io::Result<()>;

    /// A class was unloaded. Text has no record of it.
    fn class_unload(&mut self, profile: &Profile, class: ClassSerial) -> io::Result<()>;

    /// All traces that were not written yet.
    fn traces(&mut self, profile: &Profile) -> io::Result<()>;

    /// A section other than a heap dump, with all of its rows in their order.
    ///
    /// # Errors
    ///
    /// Also those of kind `Unsupported`, with nothing written: [`holds`](Self::holds) is false, or it is a
    /// heap dump.
    fn section(&mut self, profile: &Profile, section: &Section) -> io::Result<()>;

    /// A heap dump. `records` passes all of its records to the function that it is given, and may be called
    /// twice: where lengths come first, they are summed up first. Both times the records must be the same,
    /// and the names in them must be among the profile's.
    fn heap_dump(
        &mut self,
        profile: &Profile,
        dump: &HeapDump,
        records: &mut dyn FnMut(&mut EachRecord<'_>) -> io::Result<()>,
    ) -> io::Result<()>;

    /// Returns true if the format has this kind of section.
    fn holds(&self, section: &Section) -> bool;

    /// Returns true if heap dumps need all fields and their values, not only references.
    fn needs_values(&self) -> bool;

    /// Writes CPU times stack by stack, in any order and without cutoff, in a section with `head` as its other
    /// content. Returns false, with nothing written, if the format has no such rows: use [`section`](Self::section)
    /// then.
    fn stack_times(
        &mut self,
        _profile: &Profile,
        _head: &CpuTimes,
        _rows: &mut dyn Iterator<Item = StackTime>,
    ) -> io::Result<bool> {
        Ok(false)
    }

    /// A dump is whole. Text ends a snapshot, which only a front end asks for, with an empty line.
    fn end_dump(&mut self, _: DumpKind) -> io::Result<()> {
        Ok(())
    }

    /// Writes a line for the user. False if the format has no place for it.
    fn note(&mut self, _: &str) -> io::Result<bool> {
        Ok(false)
    }

    /// Passes on what the writers below have kept back.
    fn flush(&mut self) -> io::Result<()>;
}
