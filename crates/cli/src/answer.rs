//! The answers of a JVM to commands.

/// Reads an answer to `load`: a line with 0 if the JVM has executed it, then what it has to say: `0`
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

/// Returns true if the library was refused because the VM is still starting, so that it can be loaded a little later.
pub fn is_starting(answer: &str) -> bool {
    // JNI_EDETACHED, with which nothing but libjvmpi.so answers. Some JDKs refuse before they load it.
    matches!(answer, "0\n-2\n" | "0\nreturn code: -2\n")
        || answer.contains("only permitted in the live phase")
}

/// Reads an answer to `dumpheap` or `Thread.dump_to_file`: a line with 0, also if there is no dump, then lines for the
/// user. Only one of them says that the dump is complete.
pub fn understand_dump(answer: &str) -> Result<(), String> {
    let mut lines = answer.lines().map(str::trim).filter(|line| !line.is_empty());
    if lines
        .clone()
        .any(|line| line.starts_with("Heap dump file created") || line.starts_with("Created "))
    {
        return Ok(());
    }
    match lines.next_back() {
        None => Err("it ended before it answered".into()),
        Some(line) if line.parse::<u32>().is_ok() => Err("it gave no reason".into()),
        // In front of the reason is the name of the file, or that the dump is incomplete.
        Some(line) => Err(line.rsplit_once(": ").map_or(line, |(_, reason)| reason).into()),
    }
}

/// Returns the thread dump in an answer to `threaddump`, behind a line with 0.
pub fn understand_threads(answer: &str) -> Result<String, String> {
    answer.strip_prefix("0\n").map(str::to_owned).ok_or_else(|| answer.trim().to_owned())
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
        assert!(is_starting("0\nreturn code: -2\n") && !is_starting("0\nreturn code: -1\n"));
        let missing = "/x.so was not loaded.\nno such file";
        let why = "/x.so was not loaded: no such file";
        assert_eq!(understand(&format!("0\n{missing}")), Err(why.into()));
        assert_eq!(understand(&format!("100\n{missing}")), Err(why.into()));
        assert_eq!(understand("0\n/x.so was not loaded."), Err("/x.so was not loaded.".into()));
        assert!(understand("").is_err());
        assert_eq!(understand_threads("0\n\"main\" #1\n"), Ok("\"main\" #1\n".into()));
        assert_eq!(
            understand_threads("101\nNo such command\n"),
            Err("101\nNo such command".into())
        );
    }

    #[test]
    fn only_a_complete_dump_is_a_success() {
        let begin = "0\nDumping heap to /x/heap.hprof ...\n";
        let created = "Heap dump file created [2497499 bytes in 0.019 secs]\n";
        assert_eq!(understand_dump(&format!("{begin}{created}")), Ok(()));
        for path in ["/x/dump", r"C:\x\dump"] {
            assert_eq!(understand_dump(&format!("0\nCreated {path}\n")), Ok(()));
        }
        for (answer, reason) in [
            (format!("{begin}Unable to create /x/heap.hprof: File exists\n"), "File exists"),
            (
                format!("{begin}Dump file is incomplete: No space left on device\n"),
                "No space left on device",
            ),
            (
                "101\nOperation dumpheap not recognized!\n".into(),
                "Operation dumpheap not recognized!",
            ),
            ("-1\njava.lang.X: Unknown diagnostic command\n".into(), "Unknown diagnostic command"),
            ("100\n".into(), "it gave no reason"),
            (String::new(), "it ended before it answered"),
        ] {
            assert_eq!(understand_dump(&answer), Err(reason.to_owned()), "{answer:?}");
        }
    }
}
