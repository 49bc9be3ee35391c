//! Labels of profiles, which the user gives as `--label KEY=VALUE`.

/// Reads `KEY=VALUE`, with at least one character for each.
///
/// # Errors
/// Returns what a label looks like.
pub fn parse(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((key, value)) if !key.trim().is_empty() && !value.is_empty() => {
            Ok((key.trim().to_owned(), value.to_owned()))
        }
        _ => Err("a label is KEY=VALUE, as in release=1.2".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn label_has_a_key_and_a_value() {
        assert_eq!(parse("a=b=c"), Ok(("a".into(), "b=c".into())));
        for bad in ["", "a", "=b", "a=", " =b"] {
            assert!(parse(bad).is_err(), "{bad}");
        }
    }
}
