//! Parses the lines that agents and workloads write: `word key=value key="quoted value" …`.
//!
//! In quotes, `\"`, `\\` and `\xHH` are escapes for a byte. The unquoted value `NULL` is a C NULL in place of a string.

use std::fmt;
use std::str::FromStr;

/// All lines of one file, in order.
#[derive(Clone, Debug, Default)]
pub struct Report {
    lines: Vec<Line>,
}

/// One line: a word for its topic, and its fields.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// The first word.
    pub word: String,
    fields: Vec<(String, Option<String>)>,
}

impl Report {
    /// Parses every line of `text`.
    pub fn parse(text: &str) -> Result<Self, String> {
        let lines = text.lines().map(str::parse).collect::<Result<_, _>>()?;
        Ok(Self { lines })
    }

    /// Parses only the lines of a program's output that start with `word`.
    pub fn parse_only(word: &str, text: &str) -> Result<Self, String> {
        let mine = |line: &&str| line.split(' ').next() == Some(word);
        let lines = text.lines().filter(mine).map(str::parse).collect::<Result<_, _>>()?;
        Ok(Self { lines })
    }

    /// Returns all lines.
    pub fn all(&self) -> &[Line] {
        &self.lines
    }

    /// Returns the lines that start with this word.
    pub fn lines<'a>(&'a self, word: &str) -> impl Iterator<Item = &'a Line> {
        self.lines.iter().filter(move |line| line.word == word)
    }

    /// Returns the number of lines that start with this word.
    pub fn count(&self, word: &str) -> usize {
        self.lines(word).count()
    }

    /// Returns the only line that starts with this word.
    pub fn one(&self, word: &str) -> Result<&Line, String> {
        only(word, self.lines(word))
    }

    /// Returns the only line that starts with this word and has this value for `key`.
    pub fn find(&self, word: &str, key: &str, value: &str) -> Result<&Line, String> {
        let what = format!("{word} {key}={value}");
        only(&what, self.lines(word).filter(|line| line.text(key) == Ok(value)))
    }

    /// Returns the index of the first line for which `test` returns true.
    pub fn position(&self, test: impl Fn(&Line) -> bool) -> Option<usize> {
        self.lines.iter().position(test)
    }
}

fn only<'a>(what: &str, mut lines: impl Iterator<Item = &'a Line>) -> Result<&'a Line, String> {
    match (lines.next(), lines.count()) {
        (Some(line), 0) => Ok(line),
        (None, _) => Err(format!("the report has no line `{what}`")),
        (Some(_), more) => Err(format!("the report has {} lines `{what}`", more + 1)),
    }
}

impl Line {
    /// Returns the value as text, if it is not NULL.
    pub fn text(&self, key: &str) -> Result<&str, String> {
        let field = self.fields.iter().find(|(name, _)| name == key);
        let (_, value) = field.ok_or_else(|| format!("no {key}= in `{self}`"))?;
        value.as_deref().ok_or_else(|| format!("{key} is NULL in `{self}`"))
    }

    /// Returns the value as a decimal number.
    pub fn int(&self, key: &str) -> Result<i64, String> {
        self.text(key)?.parse().map_err(|e| format!("{key}: {e} in `{self}`"))
    }

    /// Returns the value as an ID or a pointer, written in hexadecimal.
    pub fn id(&self, key: &str) -> Result<u64, String> {
        let text = self.text(key)?;
        let digits = text.strip_prefix("0x").unwrap_or(text);
        u64::from_str_radix(digits, 16).map_err(|e| format!("{key}: {e} in `{self}`"))
    }
}

impl FromStr for Line {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let bad = |why: &str| format!("malformed report line ({why}): {text}");
        let (word, mut rest) = text.split_once(' ').unwrap_or((text, ""));
        let mut fields = Vec::new();
        while !rest.is_empty() {
            let (key, value) = rest.split_once('=').ok_or_else(|| bad("no `=`"))?;
            if key.is_empty() || key.contains(' ') {
                return Err(bad("invalid key"));
            }
            let (value, after) = match value.strip_prefix('"') {
                Some(quoted) => {
                    let (value, after) = unquote(quoted).ok_or_else(|| bad("unbalanced quotes"))?;
                    (Some(value), after)
                }
                None => {
                    let end = value.find(' ').unwrap_or(value.len());
                    let (value, after) = value.split_at(end);
                    ((value != "NULL").then(|| value.to_owned()), after)
                }
            };
            fields.push((key.to_owned(), value));
            rest = match after.strip_prefix(' ') {
                Some(next) => next,
                None if after.is_empty() => after,
                None => return Err(bad("no space after a value")),
            };
        }
        Ok(Self { word: word.to_owned(), fields })
    }
}

/// Returns the text up to the closing quote, and the rest.
fn unquote(quoted: &str) -> Option<(String, &str)> {
    let mut bytes = Vec::new();
    let mut rest = quoted;
    loop {
        let special = rest.find(['"', '\\'])?;
        bytes.extend_from_slice(&rest.as_bytes()[..special]);
        let escape = &rest[special..];
        if let Some(after) = escape.strip_prefix('"') {
            return Some((String::from_utf8_lossy(&bytes).into_owned(), after));
        }
        let escape = &escape[1..];
        if let Some(hex) = escape.strip_prefix('x') {
            bytes.push(u8::from_str_radix(hex.get(..2)?, 16).ok()?);
            rest = &hex[2..];
        } else {
            bytes.push(*escape.as_bytes().first()?);
            rest = escape.get(1..)?;
        }
    }
}

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.word)?;
        for (key, value) in &self.fields {
            match value {
                Some(value) => write!(f, " {key}={value:?}")?,
                None => write!(f, " {key}=NULL")?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_quoted_and_null_values_are_parsed() {
        let line: Line =
            r#"class_load name="a \"b\" \\ \xc3\xa9\x0a" source=NULL lines=-1 id=0x1f"#
                .parse()
                .unwrap();
        assert_eq!(line.word, "class_load");
        assert_eq!(line.text("name").unwrap(), "a \"b\" \\ é\n");
        assert!(line.text("source").unwrap_err().contains("NULL"));
        assert_eq!(line.int("lines").unwrap(), -1);
        assert_eq!(line.id("id").unwrap(), 31);
        assert!(line.text("other").unwrap_err().contains("no other="));
        assert!(line.int("name").is_err());
    }

    #[test]
    fn null_differs_from_the_quoted_word() {
        let line: Line = r#"thread name="NULL" group="""#.parse().unwrap();
        assert_eq!(line.text("name").unwrap(), "NULL");
        assert_eq!(line.text("group").unwrap(), "");
    }

    #[test]
    fn malformed_lines_are_rejected() {
        for text in ["a b", r#"a b="c"#, r#"a b="c"d=e"#, r#"a b="\x1""#, "a b=c  d=e"] {
            assert!(text.parse::<Line>().is_err(), "{text}");
        }
    }

    #[test]
    fn lines_are_found_by_word_and_value() {
        let text = "start name=a n=1\nend\nstart name=b n=2\n";
        let report = Report::parse(text).unwrap();
        assert_eq!(report.count("start"), 2);
        assert!(report.one("start").unwrap_err().contains("2 lines"));
        assert!(report.one("stop").unwrap_err().contains("no line"));
        assert_eq!(report.find("start", "name", "b").unwrap().int("n").unwrap(), 2);
        assert_eq!(report.position(|line| line.word == "end"), Some(1));
        assert_eq!(Report::parse_only("end", "noise = x\nend\n").unwrap().count("end"), 1);
    }
}
