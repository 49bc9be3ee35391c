//! Files that are rendered as a whole from everything dumped: SVG pictures, HTML pages, profiles of
//! other tools.

use jvmpi_formats::profile::heap::Record;
use jvmpi_formats::profile::{
    ClassSerial, EachRecord, Format, HeapDump, Profile, Section, ThreadSerial, Writer, write_stacks,
};
use jvmpi_report::heap::{Collector, Graph};
use std::io::{self, Write};

/// The dumped data.
pub struct Rendered {
    format: Format,
    sections: Vec<Section>,
    /// The objects of the last heap dump.
    heap: Option<Graph>,
}

impl Rendered {
    /// Creates it without any data.
    pub fn new(format: Format) -> Self {
        Self { format, sections: Vec::new(), heap: None }
    }

    /// Writes the file. The profile has the tables to which the sections refer.
    ///
    /// # Errors
    /// Fails if the file does.
    pub fn write(&mut self, profile: &mut Profile, out: &mut impl Write) -> io::Result<()> {
        std::mem::swap(&mut profile.sections, &mut self.sections);
        let result = if self.format == Format::Html {
            let name = format!("process {}", std::process::id());
            let heap = self.heap.as_ref();
            jvmpi_report::write(
                &[jvmpi_report::Input {
                    name: &name,
                    profile,
                    heap,
                    problem: None,
                    recording: None,
                }],
                out,
            )
        } else {
            write_stacks(profile, self.format, None, out)
        };
        std::mem::swap(&mut profile.sections, &mut self.sections);
        result
    }
}

impl Writer for Rendered {
    fn thread_start(&mut self, _: &Profile, _: ThreadSerial) -> io::Result<()> {
        Ok(())
    }

    fn thread_end(&mut self, _: &Profile, _: ThreadSerial) -> io::Result<()> {
        Ok(())
    }

    fn class_unload(&mut self, _: &Profile, _: ClassSerial) -> io::Result<()> {
        Ok(())
    }

    fn traces(&mut self, _: &Profile) -> io::Result<()> {
        Ok(())
    }

    fn section(&mut self, _: &Profile, section: &Section) -> io::Result<()> {
        self.sections.push(section.clone());
        Ok(())
    }

    fn heap_dump(
        &mut self,
        _: &Profile,
        dump: &HeapDump,
        records: &mut dyn FnMut(&mut EachRecord<'_>) -> io::Result<()>,
    ) -> io::Result<()> {
        let mut collector = Collector::default();
        records(&mut |record: &Record<'_>| {
            collector.record(record);
            Ok(())
        })?;
        self.heap = Some(collector.finish().map_err(io::Error::other)?);
        self.sections.push(dump.clone().into());
        Ok(())
    }

    fn holds(&self, _: &Section) -> bool {
        true
    }

    fn needs_values(&self) -> bool {
        false
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
