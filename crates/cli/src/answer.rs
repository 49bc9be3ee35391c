//! The answer of a JVM to the command `load`.

/// Reads an answer: a line with 0 if the JVM has executed it, then what it has to say: `0`
/// for the agent's own result, behind `return code: ` since JDK 9.
pub fn understand(answer: &str) -> Result<(), String> {
    let (result, said) = answer.split_once('\n').unwrap_or((answer, ""));
    let said = said.trim();
    let code = said.strip_prefix("return code: ").unwrap_or(said);
    match (result.trim(), code) {
        ("0", "0" | "") => Ok(()),
        ("0", code) if code.parse::<i32>().is_ok() => {
            Err("it has refused; its standard error says why".into())
        }
        ("", "") => Err("it ended before it answered".into()),
        // The second line, if there is one, is what the dynamic loader says.
        _ => {
            let mut lines = said.lines();
            let first = lines.next().unwrap_or("it gave no reason");
            Err(lines.next().map_or(first.to_owned(), |reason| {
                format!("{}: {reason}", first.trim_end_matches('.'))
            }))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_of_all_versions_are_understood() {
        for answer in ["0\n0\n", "0\nreturn code: 0\n", "0\n"] {
            assert_eq!(understand(answer), Ok(()), "{answer:?}");
        }
        let refused = Err("it has refused; its standard error says why".to_owned());
        assert_eq!(understand("0\nreturn code: -1\n"), refused);
        assert_eq!(understand("0\n102\n"), refused);
        let missing = "/x.so was not loaded.\nno such file";
        let why = "/x.so was not loaded: no such file";
        assert_eq!(understand(&format!("0\n{missing}")), Err(why.into()));
        assert_eq!(understand(&format!("100\n{missing}")), Err(why.into()));
        assert_eq!(understand("0\n/x.so was not loaded."), Err("/x.so was not loaded.".into()));
        assert!(understand("").is_err());
    }
}
