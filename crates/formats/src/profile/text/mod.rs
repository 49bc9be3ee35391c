//! Text: `format=a` of HPROF.

mod heap;
mod lines;
mod read;
mod write;

pub use heap::HeapReader;
pub use read::{is_text, read};
use std::num::NonZeroU32;
pub use write::TextWriter;

/// The default text between the first line and `--------`.
pub const PREAMBLE: &str = include_str!("preamble.txt");

/// Returns the preamble of a profile. With `sample`, allocations are sampled, one per this number of bytes on average.
pub fn preamble(sample: Option<NonZeroU32>) -> String {
    let estimated = sample.map(|bytes| {
        format!(
            "\nNumbers of objects and bytes are estimates from samples: one object\n\
             in every {bytes} allocated bytes on average.\n"
        )
    });
    format!("{PREAMBLE}{}", estimated.unwrap_or_default())
}

/// Returns the mean number of allocated bytes between two samples that a [`preamble`] has.
pub fn sampled(preamble: &str) -> Option<NonZeroU32> {
    let (_, rest) = preamble.rsplit_once("in every ")?;
    let (bytes, _) = rest.split_once(" allocated bytes on average")?;
    bytes.parse().ok()
}

/// The headings of sections; the rows are below these words.
mod heading {
    pub const SITES: [&str; 2] = [
        "          percent          live          alloc'ed  stack class",
        " rank   self  accum     bytes objs     bytes  objs trace name",
    ];
    pub const CPU: &str = "rank   self  accum   count trace method";
    pub const CPU_OLD: &str = "count callee caller time";
    pub const MONITOR_TIME: &str = "rank   self  accum   count trace monitor";
}
