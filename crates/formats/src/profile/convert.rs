//! Writes what was read in another of HPROF's encodings.

use crate::profile::error::Error;
use crate::profile::file::{Encoding, File};
use crate::profile::model::{HeapDump, Section};
use crate::profile::writer::{EachRecord, Writer};
use std::io;

/// The parts that did not get from one file into another.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct LeftOut {
    /// The sections that the other encoding does not have, each kind once.
    pub sections: Vec<&'static str>,
    /// The place where a heap dump became unreadable.
    pub problem: Option<Error>,
}

impl File {
    /// Writes everything that `writer`'s encoding has. Of a file with a [`problem`](Self::problem) that is
    /// what was read up to there.
    pub fn write(&self, writer: &mut dyn Writer) -> io::Result<LeftOut> {
        let profile = self.profile();
        for thread in profile.threads.keys() {
            writer.thread_start(profile, *thread)?;
        }
        for thread in profile.threads.values().filter(|thread| thread.ended) {
            writer.thread_end(profile, thread.serial)?;
        }
        for class in profile.classes.iter().filter(|class| class.unloaded) {
            writer.class_unload(profile, class.serial)?;
        }
        let mut left_out = LeftOut::default();
        for section in &profile.sections {
            match section {
                // Text has no values other than references.
                Section::HeapDump(_)
                    if writer.needs_values() && self.encoding() == Encoding::Text =>
                {
                    left_out.add("heap dump");
                }
                Section::HeapDump(dump) => self.write_heap(writer, dump, &mut left_out)?,
                _ if writer.holds(section) => writer.section(profile, section)?,
                _ => left_out.add(section.name()),
            }
        }
        writer.traces(profile)?;
        writer.flush()?;
        Ok(left_out)
    }

    fn write_heap(
        &self,
        writer: &mut dyn Writer,
        dump: &HeapDump,
        left_out: &mut LeftOut,
    ) -> io::Result<()> {
        let heap = self.heap(dump);
        let mut pass = |each: &mut EachRecord<'_>| {
            let end = heap.records(|record| each(record));
            // The error of a record that cannot be read. Writers have others.
            end.or_else(|error| {
                left_out.problem = Some(error.downcast::<Error>()?);
                Ok(())
            })
        };
        writer.heap_dump(self.profile(), dump, &mut pass)
    }
}

impl LeftOut {
    fn add(&mut self, section: &'static str) {
        if !self.sections.contains(&section) {
            self.sections.push(section);
        }
    }
}
