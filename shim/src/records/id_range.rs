//! The range of IDs.

/// The distance between two IDs.
pub const STEP: i64 = 16;

/// The limit of all IDs: they fit into a pointer, and into the bits that a tag has for the ID.
const END: i64 = if usize::BITS == 32 { 1 << 32 } else { 1 << 48 };

/// Returns the limit of all IDs. In builds with debug assertions, which tests use, the environment variable
/// `JVMPI_TEST_IDS` sets the number of IDs.
pub fn end() -> i64 {
    #[cfg(debug_assertions)]
    {
        use std::sync::LazyLock;

        static FEW: LazyLock<Option<i64>> = LazyLock::new(|| {
            let count: i64 = std::env::var("JVMPI_TEST_IDS").ok()?.parse().ok()?;
            Some((count + 1) * STEP)
        });
        FEW.unwrap_or(END)
    }
    #[cfg(not(debug_assertions))]
    END
}

/// IDs that follow each other in steps of 16.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Run {
    /// The first ID.
    pub first: i64,
    /// The number of IDs.
    pub count: i64,
}
