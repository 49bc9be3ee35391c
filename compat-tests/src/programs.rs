//! Real programs of other projects, and how to run them.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use crate::machine::Machine;
use crate::run::{Launch, Vm, is_complaint};
use crate::tool::tool;
use crate::{jdk, text, workspace_root};

/// A real program.
#[derive(Clone, Copy, Debug)]
pub struct Program {
    /// The name in test names.
    pub name: &'static str,
    launch: fn(&Vm<'_>) -> Result<Found, String>,
}

/// The availability of a program.
#[derive(Debug)]
pub enum Found {
    /// The program can be run.
    Ready(Box<Launch>),
    /// The program cannot be run; the text says why and what to do.
    Missing(String),
}

/// All programs.
pub const ALL: [Program; 6] = [
    Program { name: "javac", launch: javac },
    Program { name: "http", launch: http },
    Program { name: "clojure", launch: clojure },
    Program { name: "lucene", launch: lucene },
    Program { name: "tomcat", launch: tomcat },
    Program { name: "closure", launch: closure },
];

/// Those that run for each landing. The compiler has fewer sources.
pub const SHORT: [Program; 3] = [
    Program { name: "javac", launch: |vm| compiler(vm, "crates/conformance/suite/workloads") },
    Program { name: "http", launch: http },
    Program { name: "clojure", launch: clojure },
];

impl Program {
    /// Returns the program with this name.
    pub fn named(name: &str) -> Option<Self> {
        ALL.into_iter().find(|program| program.name == name)
    }

    /// Prepares a run of the program without an agent.
    pub fn on(&self, vm: &Vm<'_>) -> Result<Found, String> {
        (self.launch)(vm)
    }
}

/// Returns those lines of the output that are the same in every run.
pub fn lasting(output: &str) -> String {
    let varies = |line: &str| {
        line.contains("milliseconds")
            || line.starts_with("expect rounds=")
            // The warning is followed by a stack trace.
            || is_complaint(line)
            || line.starts_with('\t')
    };
    output.lines().filter(|line| !varies(line)).fold(String::new(), |text, line| text + line + "\n")
}

fn ready(launch: Launch) -> Result<Found, String> {
    Ok(Found::Ready(Box::new(launch)))
}

fn javac(vm: &Vm<'_>) -> Result<Found, String> {
    compiler(vm, "compat-tests/workloads")
}

fn compiler(vm: &Vm<'_>, sources: &str) -> Result<Found, String> {
    let (machine, feature) = (Machine::this(), vm.jdk.feature);
    let compiler = jdk::with_javac_of(feature).filter(|jdk| machine.runs(&jdk.java()));
    let Some(jdk) = compiler else {
        return Ok(Found::Missing(format!(
            "no JDK {feature} for {} with a compiler",
            machine.name
        )));
    };
    let sources = workspace_root().join(sources);
    ready(vm.on(jdk).java("Programs")?.argument("javac").argument(text(&sources)?))
}

fn http(vm: &Vm<'_>) -> Result<Found, String> {
    if vm.jdk.feature < 17 {
        return Ok(Found::Missing(format!("the runtime of JDK {} lacks it", vm.jdk.feature)));
    }
    ready(vm.java("Programs")?.argument("http"))
}

fn clojure(vm: &Vm<'_>) -> Result<Found, String> {
    let program = "(println (reduce + (map #(* % %) (filter odd? (range 20000)))) \
                   (sort-by val (frequencies (map #(mod % 7) (range 1000)))))";
    with_jars(&["clojure", "spec.alpha", "core.specs.alpha"], "libclojure-java", |jars| {
        Ok(vm.java_with(jars, "clojure.main")?.argument("-e").argument(program))
    })
}

fn lucene(vm: &Vm<'_>) -> Result<Found, String> {
    let jars = ["core", "analyzers-common", "queryparser", "queries", "demo"];
    let jars: Vec<_> = jars.iter().map(|name| format!("lucene-{name}-4.10.4")).collect();
    let jars: Vec<_> = jars.iter().map(String::as_str).collect();
    let sources = workspace_root().join("compat-tests");
    with_jars(&jars, "liblucene4.10-java", |jars| {
        Ok(vm.java_with(jars, "Programs")?.argument("lucene").argument(text(&sources)?))
    })
}

fn tomcat(vm: &Vm<'_>) -> Result<Found, String> {
    let parts = [
        "catalina",
        "coyote",
        "util",
        "util-scan",
        "juli",
        "jni",
        "api",
        "servlet-api",
        "jsp-api",
        "el-api",
        "jaspic-api",
        "annotations-api",
        "jasper",
        "jasper-el",
    ];
    let jars: Vec<_> = parts.iter().map(|name| format!("tomcat9-{name}")).collect();
    let jars: Vec<_> = jars.iter().map(String::as_str).collect();
    let sources = workspace_root().join("compat-tests/workloads");
    with_jars(&jars, "libtomcat9-java", |jars| {
        Ok(vm.java_with(jars, "Programs")?.argument("tomcat").argument(text(&sources)?))
    })
}

/// Returns the Closure Compiler, whose jar is downloaded from npm once.
fn closure(vm: &Vm<'_>) -> Result<Found, String> {
    if vm.jdk.feature < 21 {
        return Ok(Found::Missing("it needs JDK 21".to_owned()));
    }
    let jar = match closure_jar() {
        Ok(jar) => jar,
        Err(why) => return Ok(Found::Missing(why)),
    };
    let java = vm.java_with(&[text(&jar)?], "com.google.javascript.jscomp.CommandLineRunner")?;
    let script = java.directory().join("input.js");
    fs::write(&script, java_script()).map_err(|e| format!("{}: {e}", script.display()))?;
    let arguments = ["--compilation_level", "ADVANCED", "--js", text(&script)?];
    ready(java.arguments(arguments))
}

fn closure_jar() -> Result<PathBuf, String> {
    const PACKAGE: &str = "google-closure-compiler-java@20260927.0.0";
    let folder = jdk::cache().with_file_name("programs");
    let jar = folder.join("package/compiler.jar");
    fs::create_dir_all(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    let _lock = jdk::lock(&folder.join(".lock"))?;
    if jar.is_file() {
        return Ok(jar);
    }
    let fetch =
        format!("npm pack --silent {PACKAGE} && tar xzf google-closure-compiler-java-*.tgz");
    match tool("sh", &["-c", &fetch], &folder) {
        Ok(()) if jar.is_file() => Ok(jar),
        result => Err(format!("npm cannot fetch {PACKAGE}: {}", result.err().unwrap_or_default())),
    }
}

/// Returns a script to compile: functions that call each other, some of them unused.
fn java_script() -> String {
    const FUNCTIONS: usize = 300;
    let mut script = String::new();
    for i in 0..FUNCTIONS {
        let other = (i * 7 + 1) % FUNCTIONS;
        let _ = writeln!(
            script,
            "/** @param {{number}} n @return {{number}} */ function f{i}(n) {{ var table = \
             {{a: n, b: [n, {i}]}}; if (n < {i}) {{ return f{other}(n + table.b[1]) + 1; }} for \
             (var k = 0; k < n; k++) {{ table.a += k * {i}; }} return table.a; }}"
        );
    }
    script + "console.log(f1(3), f2(5), f3(8));\n"
}

/// Prepares a program whose jars Debian installs in `/usr/share/java`.
fn with_jars(
    names: &[&str],
    package: &str,
    launch: impl FnOnce(&[&str]) -> Result<Launch, String>,
) -> Result<Found, String> {
    let path = |name: &&str| Path::new("/usr/share/java").join(format!("{name}.jar"));
    let jars: Vec<PathBuf> = names.iter().map(path).collect();
    if let Some(missing) = jars.iter().find(|jar| !jar.is_file()) {
        let missing = missing.display();
        return Ok(Found::Missing(format!("no {missing}; apt-get install {package}")));
    }
    let jars: Vec<_> = jars.iter().map(|jar| text(jar)).collect::<Result<_, _>>()?;
    ready(launch(&jars)?)
}
