//! Patterns of class names.

use super::setting::Value;
use std::fmt;

/// Patterns of class names: a class must match one of them. In `com.acme.Foo:org.*`, a `*` stands
/// for any characters, or none.
#[derive(Clone, Debug, PartialEq)]
pub struct Patterns(Vec<String>);

/// The word for no pattern at all.
const NONE: &str = "none";

impl Patterns {
    /// Returns patterns that match every class.
    pub fn all() -> Self {
        Self(vec!["*".to_owned()])
    }

    /// Returns patterns that match no class.
    pub fn none() -> Self {
        Self(Vec::new())
    }

    /// Returns true if a class of this name matches. The name may be spelled with dots or slashes.
    pub fn match_name(&self, name: &[u8]) -> bool {
        self.0.iter().any(|pattern| matches(pattern.as_bytes(), name))
    }
}

/// Goes back to the last `*` whenever what follows it does not match.
fn matches(pattern: &[u8], name: &[u8]) -> bool {
    let (mut p, mut n) = (0, 0);
    // Behind the last `*`, and what it stands for so far.
    let mut star = None;
    while n < name.len() {
        let character = if name[n] == b'/' { b'.' } else { name[n] };
        match pattern.get(p) {
            Some(b'*') => {
                p += 1;
                star = Some((p, n));
            }
            Some(wanted) if *wanted == character => (p, n) = (p + 1, n + 1),
            _ => {
                let Some((behind, end)) = star else { return false };
                (p, n) = (behind, end + 1);
                star = Some((behind, n));
            }
        }
    }
    pattern[p..].iter().all(|rest| *rest == b'*')
}

impl Value for Patterns {
    const VALID: &'static [&'static str] = &["*", NONE, "com.acme.*:org.example.Foo"];

    fn parse(text: &str) -> Option<Self> {
        if text == NONE {
            return Some(Self::none());
        }
        let is_valid =
            |pattern: &str| !pattern.is_empty() && !pattern.contains(char::is_whitespace);
        let patterns = text.split(':').map(|pattern| pattern.replace('/', "."));
        let patterns: Vec<_> = patterns.collect();
        patterns.iter().all(|pattern| is_valid(pattern)).then_some(Self(patterns))
    }
}

impl fmt::Display for Patterns {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() { f.write_str(NONE) } else { f.write_str(&self.0.join(":")) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_matches_itself_and_a_star_anything() {
        for (patterns, name, expected) in [
            ("com.acme.Foo", "com/acme/Foo", true),
            ("com/acme/Foo", "com.acme.Foo", true),
            ("com.acme.Foo", "com/acme/Fool", false),
            ("com.acme.Foo", "com/acme/Foo$Bar", false),
            ("com.acme.Foo", "acme/Foo", false),
            ("com.acme.Foo", "", false),
            ("*", "A", true),
            ("*", "", true),
            ("java.*", "java/lang/String", true),
            ("java.*", "javax/swing/JFrame", false),
            ("*.Foo", "com/acme/Foo", true),
            ("*.Foo", "com/acme/Foo$1", false),
            ("*Foo*", "com/acme/XFoo$1", true),
            ("a*b*c", "a/b/b/x/c", true),
            ("a*b*c", "a/b/c/d", false),
            ("a*ab", "aab", true),
            ("com.*:org.Foo", "org/Foo", true),
            ("com.*:org.Foo", "org/Bar", false),
            ("none", "none", false),
        ] {
            let matches = Patterns::parse(patterns).unwrap().match_name(name.as_bytes());
            assert_eq!(matches, expected, "{patterns} {name}");
        }
    }

    #[test]
    fn invalid_name_is_refused() {
        for text in ["", ":", "a:", "a b"] {
            assert_eq!(Patterns::parse(text), None, "{text:?}");
        }
    }
}
