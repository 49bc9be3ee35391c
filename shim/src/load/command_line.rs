//! Finds the `-Xrun` libraries that this JVM was started with.
//!
//! JDK 25 crashes if such a library lacks `JVM_OnLoad`, so the shim examines them before the JVM loads them. This
//! module reads the same sources as the `java` launcher and the JVM: the command line with its `@argfiles`,
//! `JDK_JAVA_OPTIONS`, `JAVA_TOOL_OPTIONS`, `_JAVA_OPTIONS` and `-XX:VMOptionsFile`. It cannot see options that a
//! program passes to `JNI_CreateJavaVM` itself.

use std::env;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::mem;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;

/// One `-Xrun<name>[:<options>]`.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct XrunArgument {
    /// The library name: `foo` for `libfoo.so`.
    pub name: OsString,
    /// The text after the first colon, byte for byte; `None` if there is no colon.
    pub options: Option<OsString>,
}

impl XrunArgument {
    /// Parses a JVM option. Returns `None` if it is not `-Xrun`.
    fn parse(option: &[u8]) -> Option<Self> {
        let text = option.strip_prefix(b"-Xrun")?;
        let mut parts = text.splitn(2, |byte| *byte == b':').map(|part| part.to_vec());
        Some(Self {
            name: OsString::from_vec(parts.next().unwrap_or_default()),
            options: parts.next().map(OsString::from_vec),
        })
    }
}

/// Returns the `-Xrun` options of this process. Without access to `/proc`, only those in environment variables.
pub fn xrun_arguments_of_this_process() -> Vec<XrunArgument> {
    let cmdline = fs::read("/proc/self/cmdline").unwrap_or_default();
    let cmdline = cmdline.strip_suffix(b"\0").unwrap_or(&cmdline);
    let cmdline = cmdline.split(|byte| *byte == 0).map(<[u8]>::to_vec).collect::<Vec<_>>();
    let variable = |name: &str| env::var_os(name).map(OsString::into_vec);
    xrun_arguments(&cmdline, variable, |path| fs::read(path).ok())
}

/// Returns the `-Xrun` options in the order in which the JVM processes them: those in `JAVA_TOOL_OPTIONS`, on the
/// command line (preceded by `JDK_JAVA_OPTIONS`), and in `_JAVA_OPTIONS`.
///
/// `cmdline` begins with the program. `variable` returns the value of an environment variable, and `read_file` the
/// bytes of a file.
pub fn xrun_arguments(
    cmdline: &[Vec<u8>],
    variable: impl Fn(&str) -> Option<Vec<u8>>,
    read_file: impl Fn(&Path) -> Option<Vec<u8>>,
) -> Vec<XrunArgument> {
    let words_of = |name| words(&variable(name).unwrap_or_default());
    let mut options = words_of("JAVA_TOOL_OPTIONS");
    match cmdline {
        [program, arguments @ ..] if file_name(program) == b"java" => {
            let mut launcher = Launcher::new(&read_file);
            words_of("JDK_JAVA_OPTIONS").into_iter().for_each(|word| launcher.argument(word));
            arguments.iter().for_each(|argument| launcher.argument(argument.clone()));
            options.append(&mut launcher.jvm_options);
        }
        // Other programs parse their command lines in their own way, but none uses `-Xrun` for something else. The
        // JDK's tools put `-J` in front of options for the JVM.
        _ => options.extend(
            cmdline
                .iter()
                .skip(1)
                .map(|argument| argument.strip_prefix(b"-J").unwrap_or(argument).to_vec()),
        ),
    }
    options.append(&mut words_of("_JAVA_OPTIONS"));

    // A file of options is replaced by its words; it cannot name another file.
    let expand = |option: Vec<u8>| match option.strip_prefix(b"-XX:VMOptionsFile=") {
        Some(path) => words(&read_file(to_path(path)).unwrap_or_default()),
        None => vec![option],
    };
    options.into_iter().flat_map(expand).filter_map(|option| XrunArgument::parse(&option)).collect()
}

fn to_path(bytes: &[u8]) -> &Path {
    Path::new(OsStr::from_bytes(bytes))
}

fn file_name(path: &[u8]) -> &[u8] {
    path.rsplit(|byte| *byte == b'/').next().unwrap_or(path)
}

/// Splits the value of an environment variable or the text of a `VMOptionsFile` into words.
///
/// Words are separated by white space, and `'…'` and `"…"` quote. A backslash has no special meaning. An unterminated
/// quote is accepted here; the JVM reports it.
fn words(text: &[u8]) -> Vec<Vec<u8>> {
    let mut words = Vec::new();
    let mut word: Option<Vec<u8>> = None;
    let mut quote = None;
    for &byte in text {
        match byte {
            _ if quote == Some(byte) => quote = None,
            _ if quote.is_some() => word.get_or_insert_default().push(byte),
            b'\'' | b'"' => {
                quote = Some(byte);
                word.get_or_insert_default();
            }
            b' ' | b'\t'..=b'\r' => words.extend(word.take()),
            _ => word.get_or_insert_default().push(byte),
        }
    }
    words.extend(word);
    words
}

/// Splits the text of an `@argfile` into words. It differs from [`words`] in three ways: a backslash within quotes
/// escapes a character or continues the line, a quote ends at the end of the line at the latest, and `#` starts a
/// comment. A `#` in the middle of a word drops that word, as in the launcher.
fn argfile_words(text: &[u8]) -> Vec<Vec<u8>> {
    let mut words = Vec::new();
    let mut word: Option<Vec<u8>> = None;
    let mut quote = None;
    let mut bytes = text.iter().copied().peekable();
    while let Some(byte) = bytes.next() {
        match byte {
            b'\n' | b'\r' => {
                quote = None;
                words.extend(word.take());
            }
            _ if quote == Some(byte) => quote = None,
            b'\\' if quote.is_some() => match bytes.next() {
                Some(b'\n' | b'\r') => {
                    while bytes.next_if(|next| b" \t\n\r\x0c".contains(next)).is_some() {}
                }
                Some(escaped) => word.get_or_insert_default().push(match escaped {
                    b'n' => b'\n',
                    b'r' => b'\r',
                    b't' => b'\t',
                    b'f' => b'\x0c',
                    other => other,
                }),
                None => {}
            },
            _ if quote.is_some() => word.get_or_insert_default().push(byte),
            b'\'' | b'"' => {
                quote = Some(byte);
                word.get_or_insert_default();
            }
            b'#' => {
                word = None;
                while bytes.next_if(|next| !b"\n\r".contains(next)).is_some() {}
            }
            b' ' | b'\t' | b'\x0c' => words.extend(word.take()),
            _ => word.get_or_insert_default().push(byte),
        }
    }
    words.extend(word);
    words
}

/// Options of the `java` launcher whose value is the next argument.
const OPTIONS_WITH_VALUE: [&[u8]; 16] = [
    b"-cp",
    b"-classpath",
    b"--class-path",
    b"-p",
    b"--module-path",
    b"--upgrade-module-path",
    b"--add-modules",
    b"--limit-modules",
    b"--add-exports",
    b"--add-opens",
    b"--add-reads",
    b"--patch-module",
    b"--enable-native-access",
    b"-d",
    b"--describe-module",
    b"--source",
];

/// Parses the arguments of the `java` launcher up to the main class.
struct Launcher<'a, F> {
    read_file: &'a F,
    /// The options before the main class, including those for the JVM.
    jvm_options: Vec<Vec<u8>>,
    expands_argfiles: bool,
    value_follows: bool,
    main_seen: bool,
}

impl<'a, F: Fn(&Path) -> Option<Vec<u8>>> Launcher<'a, F> {
    fn new(read_file: &'a F) -> Self {
        Self {
            read_file,
            jvm_options: Vec::new(),
            expands_argfiles: true,
            value_follows: false,
            main_seen: false,
        }
    }

    /// Processes an argument. `@file` is replaced by the words in the file, and `@@x` by `@x`.
    fn argument(&mut self, argument: Vec<u8>) {
        match argument.strip_prefix(b"@") {
            Some(rest) if self.expands_argfiles && !self.main_seen && !rest.is_empty() => {
                if rest.starts_with(b"@") {
                    self.expanded(rest.to_vec());
                } else {
                    let text = (self.read_file)(to_path(rest)).unwrap_or_default();
                    argfile_words(&text).into_iter().for_each(|word| self.expanded(word));
                }
            }
            _ => self.expanded(argument),
        }
    }

    fn expanded(&mut self, argument: Vec<u8>) {
        if self.main_seen || mem::take(&mut self.value_follows) {
            return;
        }
        match argument.as_slice() {
            option if OPTIONS_WITH_VALUE.contains(&option) => self.value_follows = true,
            b"--disable-@files" => self.expands_argfiles = false,
            // `-jar`, `-m` and `--module` determine the kind of the main program, which is the next argument
            // without a dash.
            option if option.starts_with(b"--module=") || !option.starts_with(b"-") => {
                self.main_seen = true;
            }
            _ => self.jvm_options.push(argument),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the name and the options of each `-Xrun` found.
    fn found(
        cmdline: &[&str],
        variables: &[(&str, &str)],
        files: &[(&str, &str)],
    ) -> Vec<(String, Option<String>)> {
        let get = |pairs: &[(&str, &str)], name: &str| {
            let (_, value) = pairs.iter().find(|(key, _)| *key == name)?;
            Some(value.as_bytes().to_vec())
        };
        let cmdline = cmdline.iter().map(|argument| argument.as_bytes().to_vec());
        let text = |bytes: OsString| bytes.into_string().unwrap();
        xrun_arguments(
            &cmdline.collect::<Vec<_>>(),
            |name| get(variables, name),
            |path| get(files, path.to_str().unwrap()),
        )
        .into_iter()
        .map(|xrun| (text(xrun.name), xrun.options.map(text)))
        .collect()
    }

    fn names(cmdline: &[&str]) -> Vec<String> {
        names_with(cmdline, &[], &[])
    }

    fn names_with(
        cmdline: &[&str],
        variables: &[(&str, &str)],
        files: &[(&str, &str)],
    ) -> Vec<String> {
        found(cmdline, variables, files).into_iter().map(|(name, _)| name).collect()
    }

    #[test]
    fn options_are_the_text_after_the_first_colon() {
        let cmdline = ["/jdk/bin/java", "-Xrunfoo", "-Xrunbar:", "-Xrunbaz:a=b:c, d", "Main"];
        let text = |options: &str| Some(options.to_string());
        assert_eq!(
            found(&cmdline, &[], &[]),
            [("foo".into(), None), ("bar".into(), text("")), ("baz".into(), text("a=b:c, d"))]
        );
    }

    #[test]
    fn names_and_options_need_not_be_utf8() {
        let cmdline = [b"java".to_vec(), b"-Xrunf\xffo:\xfe".to_vec()];
        let found = xrun_arguments(&cmdline, |_| None, |_| None);
        assert_eq!(found[0].name.as_bytes(), b"f\xffo");
        assert_eq!(found[0].options.as_ref().unwrap().as_bytes(), b"\xfe");
    }

    #[test]
    fn arguments_of_the_program_are_ignored() {
        assert_eq!(names(&["java", "-Xruna", "Main", "-Xrunb"]), ["a"]);
        assert_eq!(names(&["java", "-jar", "-Xruna", "app.jar", "-Xrunb"]), ["a"]);
        assert_eq!(names(&["java", "-Xruna", "-m", "mod/Main", "-Xrunb"]), ["a"]);
        assert_eq!(names(&["java", "-Xruna", "--module=mod/Main", "-Xrunb"]), ["a"]);
    }

    #[test]
    fn values_are_neither_options_nor_the_main_class() {
        for option in OPTIONS_WITH_VALUE {
            let option = str::from_utf8(option).unwrap();
            assert_eq!(names(&["java", option, "value", "-Xruna", "Main", "-Xrunb"]), ["a"]);
            assert_eq!(names(&["java", option, "-Xrunvalue", "-Xruna"]), ["a"]);
        }
        assert_eq!(names(&["java", "--class-path=x", "-Xruna", "Main"]), ["a"]);
    }

    #[test]
    fn environment_variables_come_in_the_order_of_the_jvm() {
        let variables = [
            ("_JAVA_OPTIONS", "-Xrund"),
            ("JDK_JAVA_OPTIONS", "-cp x -Xrunb"),
            ("JAVA_TOOL_OPTIONS", "-Xmx1g\t-Xruna:'x y'\"z\"  -Xrun'a a'"),
        ];
        assert_eq!(
            names_with(&["java", "-Xrunc", "Main"], &variables, &[]),
            ["a", "a a", "b", "c", "d"]
        );
        let options = found(&["java"], &variables, &[]).swap_remove(0).1;
        assert_eq!(options.unwrap(), "x yz");
    }

    #[test]
    fn environment_has_no_escapes_and_no_comments() {
        assert_eq!(words(br#"a\ b "c\" #d"#), [&b"a\\"[..], b"b", b"c\\", b"#d"]);
        assert_eq!(words(b"  '' \"'\" a'b\"c'\n"), [&b""[..], b"'", b"ab\"c"]);
        assert!(words(b" \t\n").is_empty());
    }

    #[test]
    fn argfiles_have_escapes_in_quotes_continuations_and_comments() {
        let text =
            b"-a=1#gone y\n-b=\"q\\n\\q # no\" -c=\\t'\\t' -d=\"open\n-e \"con\\\n  tinued\" \
                     \"\"\n\x0c-f\n  # -g\n-h=@@x @nested\r\n-i=a\"b\"'c d'e";
        let expected: [&[u8]; 10] = [
            b"-b=q\nq # no",
            b"-c=\\t\t",
            b"-d=open",
            b"-e",
            b"continued",
            b"",
            b"-f",
            b"-h=@@x",
            b"@nested",
            b"-i=abc de",
        ];
        assert_eq!(argfile_words(text), expected);
    }

    #[test]
    fn argfiles_are_expanded_before_the_main_class_only() {
        let files = [("f", "-Xruna -cp"), ("g", "-Xrunb Main -Xrunx"), ("h", "@f -Xrunx")];
        assert_eq!(
            names_with(&["java", "@f", "value", "-Xrunc", "@g", "-Xrunx"], &[], &files),
            ["a", "c", "b"]
        );
        assert_eq!(names_with(&["java", "Main", "@f"], &[], &files), [""; 0]);
        assert_eq!(
            names_with(&["java", "@h"], &[], &files),
            [""; 0],
            "nested @files do not expand"
        );
        assert_eq!(names_with(&["java", "@@f", "-Xrunx"], &[], &files), [""; 0]);
        assert_eq!(names_with(&["java", "@none", "-Xruna"], &[], &files), ["a"]);
        assert_eq!(
            names_with(&["java", "-Xrunc", "--disable-@files", "@f", "-Xrunx"], &[], &files),
            ["c"]
        );
        let variable = [("JDK_JAVA_OPTIONS", "@f")];
        assert_eq!(names_with(&["java", "value", "-Xrunc"], &variable, &files), ["a", "c"]);
    }

    #[test]
    fn vm_options_file_is_replaced_by_its_words() {
        let files = [("/etc/vm.options", "-Xruna\n-Xrun'b'\n")];
        let cmdline = ["java", "-XX:VMOptionsFile=/etc/vm.options", "-Xrunc", "Main"];
        assert_eq!(names_with(&cmdline, &[], &files), ["a", "b", "c"]);
        let variable = [("JAVA_TOOL_OPTIONS", "-XX:VMOptionsFile=/etc/vm.options")];
        assert_eq!(names_with(&["java", "Main"], &variable, &files), ["a", "b"]);
    }

    #[test]
    fn other_programs_do_not_get_the_java_launchers_rules() {
        let variables = [("JDK_JAVA_OPTIONS", "-Xrunx"), ("JAVA_TOOL_OPTIONS", "-Xrunb")];
        assert_eq!(
            names_with(&["/jdk/bin/javac", "A.java", "-J-Xruna"], &variables, &[]),
            ["b", "a"]
        );
        assert_eq!(names(&["jsvc", "start", "-Xruna"]), ["a"]);
    }

    #[test]
    fn this_process_has_no_xrun_options() {
        assert_eq!(xrun_arguments_of_this_process(), []);
    }
}
