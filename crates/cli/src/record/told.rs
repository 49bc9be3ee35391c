//! What a JVM has told so far, of which only the newest is kept.
//!
//! A dump is a row of sections behind the tables (threads, traces) that they refer to. A snapshot is a dump
//! that an empty line ends, and all that it tells is told again by the next. So one section of each kind is
//! enough, however long it is recorded. Other dumps, as the user can have them by SIGQUIT, are kept all.

use profile::section_begun;
use std::mem;
use std::time::Instant;

/// The last line before the first dump.
const END_OF_PREAMBLE: &[u8] = b"--------\n";

/// Names and texts.
type Sections = Vec<(&'static str, Vec<u8>)>;

/// The text that has come over one connection.
#[derive(Debug, Default)]
pub struct Told {
    /// All that is no section, and the dumps that are no snapshots.
    kept: Vec<u8>,
    has_begun: bool,
    /// The newest snapshot.
    snapshot: Sections,
    taken: Option<Instant>,
    /// What has come of the dump after it.
    dump: Sections,
    /// The section that is coming.
    section: Option<(&'static str, Vec<u8>)>,
    /// The line that is coming.
    line: Vec<u8>,
}

impl Told {
    /// Takes what has come.
    pub fn take(&mut self, mut bytes: &[u8]) {
        while let Some(end) = bytes.iter().position(|byte| *byte == b'\n') {
            let (line, rest) = bytes.split_at(end + 1);
            self.line.extend(line);
            let line = mem::take(&mut self.line);
            self.take_line(line);
            bytes = rest;
        }
        self.line.extend(bytes);
    }

    fn take_line(&mut self, line: Vec<u8>) {
        let content = line.strip_suffix(b"\n").unwrap_or(&line);
        if let Some((name, section)) = &mut self.section {
            let is_last = content.strip_prefix(name.as_bytes()) == Some(b" END");
            section.extend(&line);
            if is_last {
                self.dump.extend(self.section.take());
            }
        } else if !self.has_begun {
            self.has_begun = line == END_OF_PREAMBLE;
            self.kept.extend(line);
        } else if !content.is_empty() {
            match section_begun(content) {
                Some(name) => self.begin(name, line),
                None => self.kept.extend(line),
            }
        } else if !self.dump.is_empty() {
            self.snapshot = mem::take(&mut self.dump);
            self.taken = Some(Instant::now());
        }
    }

    fn begin(&mut self, name: &'static str, line: Vec<u8>) {
        if has(&self.dump, name) {
            // Another dump begins. That before was no snapshot: it is not told again.
            self.snapshot.clear();
            self.kept.extend(text_of(mem::take(&mut self.dump)));
        }
        self.section = Some((name, line));
    }

    /// Whether more must come of what has begun.
    pub fn is_coming(&self) -> bool {
        self.section.is_some() || !self.line.is_empty()
    }

    /// When the last snapshot has come.
    pub fn taken(&self) -> Option<Instant> {
        self.taken
    }

    /// The text of a file with all of it, when nothing more comes; and whether it ends with a dump, as that
    /// of a JVM does which has come to its end.
    pub fn into_text(self) -> (Vec<u8>, bool) {
        let is_cut = self.is_coming();
        let Self { kept, snapshot, dump, section, line, .. } = self;
        let has_all = snapshot.iter().all(|(name, _)| has(&dump, name));
        let is_whole = !dump.is_empty() && has_all && !is_cut;
        let mut text = kept;
        if is_whole || snapshot.is_empty() {
            text.extend(text_of(dump));
            // A reader says that it is cut off, if it is.
            text.extend(section.into_iter().flat_map(|(_, section)| section));
            text.extend(line);
        } else {
            text.extend(text_of(snapshot));
        }
        (text, is_whole)
    }
}

fn has(sections: &Sections, name: &str) -> bool {
    sections.iter().any(|(found, _)| *found == name)
}

fn text_of(sections: Sections) -> impl Iterator<Item = u8> {
    sections.into_iter().flat_map(|(_, text)| text)
}

#[cfg(test)]
mod tests {
    use super::*;

    const BEGINNING: &str = "JAVA PROFILE 1.0.1, created x\n\n\n--------\n\n";

    fn dump(trace: u32) -> String {
        format!(
            "THREAD START (obj=1, id = {trace}, name=\"SITES BEGIN \", group=\"x\")\n\
             TRACE {trace}:\n\tSITES BEGIN (A.java:1)\n\
             SITES BEGIN (ordered by live bytes) x\n{trace}\nSITES END\n\
             CPU SAMPLES BEGIN (total = {trace}) x\n{trace}\nCPU SAMPLES END\n"
        )
    }

    /// What is kept of this text, in whatever pieces it comes.
    fn kept(text: &str) -> (String, bool) {
        let kept = |size| {
            let mut told = Told::default();
            text.as_bytes().chunks(size).for_each(|piece| told.take(piece));
            let (text, is_whole) = told.into_text();
            (String::from_utf8(text).unwrap(), is_whole)
        };
        let whole = kept(usize::MAX);
        for size in [1, 7] {
            assert_eq!(kept(size), whole, "{size}");
        }
        whole
    }

    fn numbers(text: &str) -> Vec<&str> {
        text.lines().filter(|line| line.parse::<u32>().is_ok()).collect()
    }

    #[test]
    fn of_each_kind_the_newest_section_is_kept_and_all_tables() {
        let all = [BEGINNING, &dump(1), "\n", &dump(2), "\n", &dump(3)].concat();
        let (text, is_whole) = kept(&all);
        assert!(is_whole);
        assert_eq!(numbers(&text), ["3", "3"]);
        for table in ["TRACE 1:", "id = 1,", "TRACE 3:", "id = 3,"] {
            assert!(text.contains(table), "{table}");
        }
        let alone = [BEGINNING, &dump(1)].concat();
        let (text, is_whole) = kept(&alone);
        assert_eq!((text.len(), is_whole), (alone.len() - 1, true));
    }

    #[test]
    fn a_dump_that_is_no_snapshot_is_kept() {
        let all = [BEGINNING, &dump(1), "\n", &dump(2), &dump(3), "\n", &dump(4), "\n", &dump(5)];
        let (text, is_whole) = kept(&all.concat());
        assert_eq!((numbers(&text), is_whole), (vec!["2", "2", "5", "5"], true));
    }

    #[test]
    fn what_is_cut_off_anywhere_is_the_last_snapshot() {
        let first = [BEGINNING, &dump(1), "\n"].concat();
        let all = [first.as_str(), &dump(2)].concat();
        for length in first.len()..all.len() {
            let (text, is_whole) = kept(&all[..length]);
            assert_eq!((numbers(&text), is_whole), (vec!["1", "1"], false), "{length}");
        }
        let (text, is_whole) = kept(&all[..first.len() - 10]);
        assert!(!is_whole && text.ends_with("CPU SAM"), "{text}");
    }
}
