//! The common part of the writers of HPROF's own formats, text and binary.

use crate::profile::heap::Record;
use crate::profile::model::{
    ClassSerial, CpuTimes, HeapDump, Profile, Section, StackTime, ThreadSerial,
};
use crate::profile::stream::DumpKind;
use std::io;

/// A function that gets the records of a heap dump one by one.
pub type EachRecord<'a> = dyn FnMut(&Record<'_>) -> io::Result<()> + 'a;

/// Writes an HPROF file piece by piece, while a profiler collects the data.
///
/// Every call gets the profile with all tables. Entries that a piece refers to (names, classes, frames, traces) are
/// written before it, each once. So the tables may grow between calls, but their entries may not change. Errors of
/// the underlying file are returned, and no call after such an error makes the file complete again.
pub trait Writer {
    /// Records that a thread of the profile has started.
    fn thread_start(&mut self, _profile: &Profile, _thread: ThreadSerial) -> io::Result<()> {
        Ok(())
    }

    /// Records that a thread has ended.
    fn thread_end(&mut self, _profile: &Profile, _thread: ThreadSerial) -> io::Result<()> {
        Ok(())
    }

    /// Records that a class was unloaded. Only binary files have a record of it.
    fn class_unload(&mut self, _profile: &Profile, _class: ClassSerial) -> io::Result<()> {
        Ok(())
    }

    /// Writes all traces that were not written yet.
    fn traces(&mut self, _profile: &Profile) -> io::Result<()> {
        Ok(())
    }

    /// Writes a section other than a heap dump, with all of its rows in their order.
    ///
    /// # Errors
    ///
    /// Fails with the kind `Unsupported`, and writes nothing, if [`holds`](Self::holds) returns false or the section
    /// is a heap dump.
    fn section(&mut self, profile: &Profile, section: &Section) -> io::Result<()>;

    /// Writes a heap dump. `records` passes all records to the function that it gets. It may be called twice,
    /// because text begins with the number of objects. Both times the records must be the same, and their
    /// names must be in the profile.
    ///
    /// # Errors
    ///
    /// Fails with the kind `Unsupported` if the format has no heap dumps.
    fn heap_dump(
        &mut self,
        _profile: &Profile,
        _dump: &HeapDump,
        _records: &mut dyn FnMut(&mut EachRecord<'_>) -> io::Result<()>,
    ) -> io::Result<()> {
        Err(unsupported("this format has no heap dumps"))
    }

    /// Returns true if the format has this kind of section.
    fn holds(&self, section: &Section) -> bool;

    /// Returns true if heap dumps need all fields and their values, not only references.
    fn needs_values(&self) -> bool {
        false
    }

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

    /// Ends a dump. Text has an empty line after a snapshot, which only a front end requests.
    fn end_dump(&mut self, _: DumpKind) -> io::Result<()> {
        Ok(())
    }

    /// Writes a line for the user. Returns false if the format has no place for it.
    fn note(&mut self, _: &str) -> io::Result<bool> {
        Ok(false)
    }

    /// Writes the data that is still in buffers.
    fn flush(&mut self) -> io::Result<()>;
}

/// Returns the error of what a format does not have.
pub(crate) fn unsupported(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::Unsupported, what)
}
