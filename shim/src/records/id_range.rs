//! Which numbers IDs are.

/// How far apart IDs are.
pub const STEP: i64 = 16;

/// What all IDs are below: those that a pointer has room for, and the bits of a tag that are for the ID.
const END: i64 = if usize::BITS == 32 { 1 << 32 } else { 1 << 48 };

/// What all IDs are below. In builds with debug assertions, which is what tests load, the variable `JVMPI_TEST_IDS`
/// says how many there are.
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
    /// The first of them.
    pub first: i64,
    /// How many they are.
    pub count: i64,
}
