//! Files that are rendered as a whole from everything dumped: SVG pictures and profiles of other tools.

use jvmpi_formats::profile::{Format, Profile, Section, Writer, write_stacks};
use std::io::{self, Write};

/// The dumped data.
pub struct Rendered {
    format: Format,
    sections: Vec<Section>,
}

impl Rendered {
    /// Creates it without any data.
    pub fn new(format: Format) -> Self {
        Self { format, sections: Vec::new() }
    }

    /// Writes the file. The profile has the tables to which the sections refer.
    ///
    /// # Errors
    /// Fails if the file does.
    pub fn write(&mut self, profile: &mut Profile, out: &mut impl Write) -> io::Result<()> {
        std::mem::swap(&mut profile.sections, &mut self.sections);
        let result = write_stacks(profile, self.format, None, out);
        std::mem::swap(&mut profile.sections, &mut self.sections);
        result
    }
}

impl Writer for Rendered {
    fn section(&mut self, _: &Profile, section: &Section) -> io::Result<()> {
        self.sections.push(section.clone());
        Ok(())
    }

    fn holds(&self, _: &Section) -> bool {
        true
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
