//! A file of HPROF or JFR that is read.

use crate::profile::binary::NamesById;
use crate::profile::error::Error;
use crate::profile::heap::Record;
use crate::profile::model::{HeapDump, Profile};
use crate::profile::{binary, text};
use memmap2::Mmap;
use std::fs;
use std::io::{self, Read};
use std::path::Path;

/// A file of HPROF, text or binary, or of JFR.
///
/// The profile is read at once; the records of heap dumps are read when they are asked for.
#[derive(Debug)]
pub struct File {
    content: Content,
    encoding: Encoding,
    /// The names of a binary file.
    names: NamesById,
    profile: Profile,
    problem: Option<Error>,
}

#[derive(Debug)]
enum Content {
    Mapped(Mmap),
    Read(Vec<u8>),
}

/// The encoding of a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Encoding {
    /// Text, `format=a`.
    Text,
    /// Binary, `format=b`.
    Binary {
        /// The size of an ID in bytes: 4 or 8.
        id_size: usize,
    },
    /// JDK Flight Recorder.
    Jfr,
}

impl File {
    /// Reads the file at this path. One that is compressed with gzip, as `jcmd GC.heap_dump -gz` writes it, is unpacked
    /// into a temporary file.
    ///
    /// # Errors
    ///
    /// Returns the errors of the file system, and `InvalidData` if it is no such file. A fault further on is
    /// no error: [`problem`](Self::problem) returns it.
    pub fn open(path: &Path) -> io::Result<Self> {
        let mut file = fs::File::open(path)?;
        #[cfg(feature = "compressed")]
        if file.metadata()?.is_file() {
            file = unpacked(file)?;
        }
        // A pipe has no length and can't be mapped.
        let content = if file.metadata()?.is_file() {
            // SAFETY: the bytes are only read as bytes, and any value of a byte is valid. If another process
            // changes the file, different bytes are read; if it truncates the file, we get SIGBUS. Our own
            // profiles are renamed into place when they are complete.
            Content::Mapped(unsafe { Mmap::map(&file)? })
        } else {
            let mut bytes = Vec::new();
            file.read_to_end(&mut bytes)?;
            Content::Read(bytes)
        };
        Ok(Self::parse(content)?)
    }

    /// Reads these bytes of a file; the error is that they are none.
    pub fn from_bytes(bytes: Vec<u8>) -> Result<Self, Error> {
        Self::parse(Content::Read(bytes))
    }

    fn parse(content: Content) -> Result<Self, Error> {
        let bytes = content.bytes();
        let mut profile = Profile::default();
        let mut names = NamesById::default();
        let (encoding, problem) = if let Some(header) = binary::Header::read(bytes)? {
            let problem = binary::read(bytes, header, &mut profile, &mut names).err();
            (Encoding::Binary { id_size: header.id_size }, problem)
        } else if text::is_text(bytes) {
            (Encoding::Text, text::read(bytes, &mut profile).err())
        } else if let Some(result) = jfr(bytes, &mut profile) {
            (Encoding::Jfr, result.err())
        } else {
            let what = "this is no profile: it begins neither with `JAVA PROFILE`, as files of HPROF do, nor \
                        with `FLR`, as those of JFR do";
            return Err(Error { at: 0, line: None, what: what.into() });
        };
        Ok(Self { content, encoding, names, profile, problem })
    }

    /// Returns a profile that was in no file, and has no heap dumps.
    pub fn of_profile(profile: Profile) -> Self {
        Self {
            content: Content::Read(Vec::new()),
            encoding: Encoding::Binary { id_size: 8 },
            names: NamesById::default(),
            profile,
            problem: None,
        }
    }

    /// Returns the contents of the file; if there is a [`problem`](Self::problem), the contents before it.
    pub fn profile(&self) -> &Profile {
        &self.profile
    }

    /// Lets stacks of all threads that are equal count as one. Text and binary files say if they are kept by thread, but
    /// files of JFR always have the threads.
    pub fn merge_threads(&mut self) {
        self.profile.traces.merge_threads();
    }

    /// Returns the profile alone; the records of heap dumps can't be read any more.
    pub fn into_profile(self) -> Profile {
        self.profile
    }

    /// Returns the place where the file is cut off or invalid, if there is one.
    pub fn problem(&self) -> Option<&Error> {
        self.problem.as_ref()
    }

    /// Returns the encoding of the file.
    pub fn encoding(&self) -> Encoding {
        self.encoding
    }

    /// Prepares to read the records of a heap dump of this file's profile.
    pub fn heap<'a>(&'a self, dump: &'a HeapDump) -> HeapReader<'a> {
        let bytes = self.content.bytes();
        HeapReader(match self.encoding {
            Encoding::Text | Encoding::Jfr => Inner::Text(text::HeapReader::new(bytes, dump)),
            Encoding::Binary { id_size } => {
                let all = binary::Cursor::new(bytes, id_size);
                Inner::Binary(binary::HeapReader::new(all, &self.names, &self.profile, dump))
            }
        })
    }
}

/// Reads a file of JFR. None if it is none, or if this build reads none.
fn jfr(_bytes: &[u8], _profile: &mut Profile) -> Option<Result<(), Error>> {
    #[cfg(feature = "jfr")]
    if crate::profile::jfr::is_jfr(_bytes) {
        return Some(crate::profile::jfr::read(_bytes, _profile));
    }
    None
}

/// Returns the contents of a file that is compressed with gzip, and any other file as it is.
#[cfg(feature = "compressed")]
fn unpacked(mut file: fs::File) -> io::Result<fs::File> {
    use flate2::read::MultiGzDecoder;
    use std::io::Seek;

    let mut start = Vec::new();
    Read::by_ref(&mut file).take(2).read_to_end(&mut start)?;
    file.rewind()?;
    if start != [0x1f, 0x8b] {
        return Ok(file);
    }
    // Unlike memory, a disk that is full is an error.
    let mut unpacked = tempfile::tempfile()?;
    io::copy(&mut MultiGzDecoder::new(io::BufReader::new(file)), &mut unpacked)?;
    Ok(unpacked)
}

impl Content {
    fn bytes(&self) -> &[u8] {
        match self {
            Self::Mapped(map) => map,
            Self::Read(bytes) => bytes,
        }
    }
}

/// Reads the records of a heap dump, as often as one likes.
#[derive(Debug)]
pub struct HeapReader<'a>(Inner<'a>);

#[derive(Debug)]
enum Inner<'a> {
    Text(text::HeapReader<'a>),
    Binary(binary::HeapReader<'a>),
}

impl HeapReader<'_> {
    /// Passes each record in the order of the file, until one can't be read or `each` returns an error.
    pub fn records<E: From<Error>>(
        &self,
        mut each: impl FnMut(&Record<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        match &self.0 {
            Inner::Text(reader) => reader.records(&mut each),
            Inner::Binary(reader) => reader.records(&mut each),
        }
    }
}
