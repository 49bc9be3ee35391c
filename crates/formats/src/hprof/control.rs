//! The commands that a front end sends over `net=`, read and written.
//!
//! A command is a u1 tag, a u4 serial number, a u4 length, which is ignored, and a body. The tag decides
//! the size of the body. Numbers are big-endian. A thread is named by the eight bytes in its
//! START_THREAD record. [`Command::Dump`], [`Command::Snapshot`] and [`Command::Stop`] are new: with
//! Sun's agent a front end could end profiling only by ending the program.

use std::io::{self, Read, Write};

/// The requests of a front end.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Command {
    /// A garbage collection.
    RunGc,
    /// A heap dump.
    DumpHeap,
    /// The allocation sites.
    AllocSites {
        /// The order of the sites and their selection.
        flags: SiteFlags,
        /// Sites below this share are left out.
        cutoff: f32,
    },
    /// The number of live objects, and their bytes.
    HeapSummary,
    /// The end of the program, with exit status 0.
    Exit,
    /// All traces that were not written yet.
    DumpTraces,
    /// The CPU samples.
    CpuSamples {
        /// Traces below this share are left out.
        cutoff: f32,
    },
    /// A change of what is recorded.
    Control(Control),
    /// All that the options ask for, as SIGQUIT does.
    Dump,
    /// The counts since the start: everything in a DUMP except heap and monitor dumps. The next dump
    /// repeats it. In text an empty line follows, which shows that it is complete.
    Snapshot,
    /// The end of profiling: every event is disabled and the connection closed. The program continues.
    Stop {
        /// True if everything that the options ask for is written first.
        dump: bool,
    },
}

/// A change of what is recorded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Control {
    /// Allocations are recorded.
    AllocTracesOn,
    /// They are not.
    AllocTracesOff,
    /// This thread is sampled, or all if it is 0.
    SamplingOn(u64),
    /// This thread is not sampled, or none if it is 0.
    SamplingOff(u64),
    /// The counts of CPU samples are cleared.
    ClearSamples,
    /// The counts of allocation sites are cleared.
    ClearSites,
    /// The greatest number of frames in a trace.
    Depth(u16),
    /// A code that means nothing; it is passed over.
    Unknown(u16),
}

/// The flags of ALLOC_SITES, in commands and records.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct SiteFlags(pub u16);

impl SiteFlags {
    /// Returns true if only changes since the last time are requested.
    pub fn incremental(self) -> bool {
        self.0 & 1 != 0
    }

    /// Returns true if the order is by allocated objects, not by live ones.
    pub fn by_allocation(self) -> bool {
        self.0 & 2 != 0
    }

    /// Returns true if a collection is requested first.
    pub fn collect(self) -> bool {
        self.0 & 4 != 0
    }
}

mod tag {
    pub const GC: u8 = 1;
    pub const DUMP_HEAP: u8 = 2;
    pub const ALLOC_SITES: u8 = 3;
    pub const HEAP_SUMMARY: u8 = 4;
    pub const EXIT: u8 = 5;
    pub const DUMP_TRACES: u8 = 6;
    pub const CPU_SAMPLES: u8 = 7;
    pub const CONTROL: u8 = 8;
    pub const DUMP: u8 = 9;
    pub const STOP: u8 = 10;
    pub const SNAPSHOT: u8 = 11;
}

mod code {
    pub const ALLOC_TRACES_ON: u16 = 1;
    pub const ALLOC_TRACES_OFF: u16 = 2;
    pub const SAMPLING_ON: u16 = 3;
    pub const SAMPLING_OFF: u16 = 4;
    pub const CLEAR_SAMPLES: u16 = 5;
    pub const CLEAR_SITES: u16 = 6;
    pub const DEPTH: u16 = 7;
}

/// `Stop`'s flag.
const DUMP_BEFORE: u16 = 1;

impl Command {
    /// Reads the next command. None where the peer has closed the connection between two commands.
    ///
    /// # Errors
    /// Returns the error of the connection; `UnexpectedEof` if it ends in the middle of a command, and `InvalidData`
    /// for an unknown tag.
    pub fn read(from: &mut impl Read) -> io::Result<Option<Self>> {
        let [tag] = match bytes(from) {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
            tag => tag?,
        };
        // The serial number and the length.
        bytes::<8>(from)?;
        let command = match tag {
            tag::GC => Self::RunGc,
            tag::DUMP_HEAP => Self::DumpHeap,
            tag::ALLOC_SITES => Self::AllocSites { flags: SiteFlags(u2(from)?), cutoff: f4(from)? },
            tag::HEAP_SUMMARY => Self::HeapSummary,
            tag::EXIT => Self::Exit,
            tag::DUMP_TRACES => Self::DumpTraces,
            tag::CPU_SAMPLES => {
                u2(from)?;
                Self::CpuSamples { cutoff: f4(from)? }
            }
            tag::CONTROL => Self::Control(Control::read(from)?),
            tag::DUMP => Self::Dump,
            tag::SNAPSHOT => Self::Snapshot,
            tag::STOP => Self::Stop { dump: u2(from)? & DUMP_BEFORE != 0 },
            other => {
                let what = format!("{other} is no command");
                return Err(io::Error::new(io::ErrorKind::InvalidData, what));
            }
        };
        Ok(Some(command))
    }

    /// Writes it.
    ///
    /// # Errors
    /// Returns the error of the connection.
    pub fn write(self, to: &mut impl Write, serial: u32) -> io::Result<()> {
        let mut body = Vec::with_capacity(16);
        let tag = match self {
            Self::RunGc => tag::GC,
            Self::DumpHeap => tag::DUMP_HEAP,
            Self::AllocSites { flags, cutoff } => {
                body.extend(flags.0.to_be_bytes());
                body.extend(cutoff.to_be_bytes());
                tag::ALLOC_SITES
            }
            Self::HeapSummary => tag::HEAP_SUMMARY,
            Self::Exit => tag::EXIT,
            Self::DumpTraces => tag::DUMP_TRACES,
            Self::CpuSamples { cutoff } => {
                body.extend([0; 2]);
                body.extend(cutoff.to_be_bytes());
                tag::CPU_SAMPLES
            }
            Self::Control(control) => {
                control.append(&mut body);
                tag::CONTROL
            }
            Self::Dump => tag::DUMP,
            Self::Snapshot => tag::SNAPSHOT,
            Self::Stop { dump } => {
                body.extend(if dump { DUMP_BEFORE } else { 0 }.to_be_bytes());
                tag::STOP
            }
        };
        let length = u32::try_from(body.len()).expect("a dozen bytes");
        let mut message = vec![tag];
        message.extend(serial.to_be_bytes());
        message.extend(length.to_be_bytes());
        message.extend(body);
        to.write_all(&message)
    }
}

impl Control {
    fn read(from: &mut impl Read) -> io::Result<Self> {
        Ok(match u2(from)? {
            code::ALLOC_TRACES_ON => Self::AllocTracesOn,
            code::ALLOC_TRACES_OFF => Self::AllocTracesOff,
            code::SAMPLING_ON => Self::SamplingOn(u64::from_be_bytes(bytes(from)?)),
            code::SAMPLING_OFF => Self::SamplingOff(u64::from_be_bytes(bytes(from)?)),
            code::CLEAR_SAMPLES => Self::ClearSamples,
            code::CLEAR_SITES => Self::ClearSites,
            code::DEPTH => Self::Depth(u2(from)?),
            other => Self::Unknown(other),
        })
    }

    fn append(self, body: &mut Vec<u8>) {
        let (code, argument) = match self {
            Self::AllocTracesOn => (code::ALLOC_TRACES_ON, vec![]),
            Self::AllocTracesOff => (code::ALLOC_TRACES_OFF, vec![]),
            Self::SamplingOn(thread) => (code::SAMPLING_ON, thread.to_be_bytes().to_vec()),
            Self::SamplingOff(thread) => (code::SAMPLING_OFF, thread.to_be_bytes().to_vec()),
            Self::ClearSamples => (code::CLEAR_SAMPLES, vec![]),
            Self::ClearSites => (code::CLEAR_SITES, vec![]),
            Self::Depth(depth) => (code::DEPTH, depth.to_be_bytes().to_vec()),
            Self::Unknown(code) => (code, vec![]),
        };
        body.extend(code.to_be_bytes());
        body.extend(argument);
    }
}

fn bytes<const N: usize>(from: &mut impl Read) -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    from.read_exact(&mut bytes)?;
    Ok(bytes)
}

fn u2(from: &mut impl Read) -> io::Result<u16> {
    bytes(from).map(u16::from_be_bytes)
}

fn f4(from: &mut impl Read) -> io::Result<f32> {
    bytes(from).map(f32::from_be_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [Command; 20] = [
        Command::RunGc,
        Command::DumpHeap,
        Command::AllocSites { flags: SiteFlags(7), cutoff: 0.25 },
        Command::HeapSummary,
        Command::Exit,
        Command::DumpTraces,
        Command::CpuSamples { cutoff: 0.001 },
        Command::Control(Control::AllocTracesOn),
        Command::Control(Control::AllocTracesOff),
        Command::Control(Control::SamplingOn(0)),
        Command::Control(Control::SamplingOn(0x0102_0304_0506_0708)),
        Command::Control(Control::SamplingOff(16)),
        Command::Control(Control::ClearSamples),
        Command::Control(Control::ClearSites),
        Command::Control(Control::Depth(300)),
        Command::Control(Control::Unknown(77)),
        Command::Dump,
        Command::Snapshot,
        Command::Stop { dump: true },
        Command::Stop { dump: false },
    ];

    #[test]
    fn written_data_is_read_back() {
        let mut stream = Vec::new();
        for (serial, command) in (1..).zip(ALL) {
            command.write(&mut stream, serial).unwrap();
        }
        let mut rest = stream.as_slice();
        for command in ALL {
            assert_eq!(Command::read(&mut rest).unwrap(), Some(command));
        }
        assert_eq!(Command::read(&mut rest).unwrap(), None);
    }

    #[test]
    fn the_bytes_are_those_of_the_protocol() {
        let mut stream = Vec::new();
        Command::AllocSites { flags: SiteFlags(4), cutoff: 1.0 }.write(&mut stream, 9).unwrap();
        Command::Control(Control::Depth(5)).write(&mut stream, 10).unwrap();
        let sites = [3, 0, 0, 0, 9, 0, 0, 0, 6, 0, 4, 0x3f, 0x80, 0, 0];
        let depth = [8, 0, 0, 0, 10, 0, 0, 0, 4, 0, 7, 0, 5];
        assert_eq!(stream, [sites.as_slice(), depth.as_slice()].concat());
    }

    #[test]
    fn a_command_cut_short_is_an_error() {
        for command in ALL {
            let mut stream = Vec::new();
            command.write(&mut stream, 1).unwrap();
            for length in 1..stream.len() {
                let error = Command::read(&mut &stream[..length]).unwrap_err();
                assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof, "{command:?} {length}");
            }
        }
    }

    #[test]
    fn unknown_command_is_an_error() {
        for tag in [0, 12, 255] {
            let error = Command::read(&mut [tag, 0, 0, 0, 0, 0, 0, 0, 0].as_slice()).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::InvalidData);
            assert_eq!(error.to_string(), format!("{tag} is no command"));
        }
    }
}
