//! The list of the cases in each topic.

/// The cases of one module, each named as its function.
macro_rules! cases {
    ($($function:ident $(.$limit:ident($($argument:expr),*))*),* $(,)?) => {
        /// Returns the cases of this topic.
        pub fn cases() -> Vec<compat_tests::case::Case<'static>> {
            vec![$(compat_tests::case::Case::new(stringify!($function), $function)$(.$limit($($argument),*))*),*]
        }
    };
}
pub(crate) use cases;
