//! Text: `format=a` of HPROF.

mod heap;
mod lines;
mod read;
mod write;

pub use heap::HeapReader;
pub use read::{is_text, read};
pub use write::TextWriter;

/// The default text between the first line and `--------`.
pub const PREAMBLE: &str = include_str!("preamble.txt");

/// The headings of sections; the rows are below these words.
mod heading {
    pub const SITES: [&str; 2] = [
        "          percent         live       alloc'ed  stack class",
        " rank   self  accum    bytes objs   bytes objs trace name",
    ];
    pub const CPU: &str = "rank   self  accum   count trace method";
    pub const CPU_OLD: &str = "count callee caller time";
    pub const MONITOR_TIME: &str = "rank   self  accum   count trace monitor";
}
