//! `jvmpi doctor`: the JVMs of this machine, and what works on each.

pub mod jvms;
pub mod probe;

use crate::failure::Failure;
use crate::installation;
use crate::platform::system;
use jvmpi_conformance::tried::Tried;
use jvmpi_formats::profile::printable;
use jvmpi_settings::library::Machine;
use jvms::Jvm;
use probe::{Internal, Program};
use serde_json::{Value, json};
use std::env;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::thread::available_parallelism;

/// Find the JVMs of this machine and test what works on each
///
/// Each JVM runs a small program with jvmpi, once with each of its collectors. The profile of HPROF must
/// agree with the program's own counts. On a version on which jvmpi was not tested, the internals of the JVM that
/// jvmpi relies on are tested too. The exit status is 0 if the program works on at least one JVM.
#[derive(clap::Args)]
#[command(after_help = "Example: jvmpi doctor --report")]
pub struct Arguments {
    /// Print the results as JSON
    #[arg(long, conflicts_with = "report")]
    json: bool,
    /// Print what a bug report needs, to paste into it
    #[arg(long)]
    report: bool,
    /// Test only these JVMs, each named by its root directory
    #[arg(value_name = "JAVA_HOME")]
    homes: Vec<PathBuf>,
}

/// `jvmpi doctor`.
pub fn doctor(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let libjvmpi = installation::libjvmpi()?;
    let jvms = if arguments.homes.is_empty() { jvms::found() } else { jvms::at(&arguments.homes)? };
    if !arguments.json {
        print_head(&libjvmpi, arguments.report);
    }
    let program = Program::new()?;
    let mut patients = Vec::new();
    for jvm in jvms {
        let patient = Patient::examine(jvm, &program, &libjvmpi);
        if !arguments.json {
            patient.print();
        }
        patients.push(patient);
    }
    if arguments.json {
        let jvms: Vec<_> = patients.iter().map(Patient::to_json).collect();
        println!(
            "{:#}",
            json!({
                "version": env!("CARGO_PKG_VERSION"),
                "libjvmpi": libjvmpi.to_string_lossy(),
                "machine": Machine::THIS.to_string(),
                "jvms": jvms,
            })
        );
    } else if patients.is_empty() {
        println!("no JVM found: set JAVA_HOME, or name the JVM's root directory");
    }
    Ok(if patients.iter().any(Patient::works) { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn print_head(libjvmpi: &Path, is_report: bool) {
    println!("jvmpi {} for {}", env!("CARGO_PKG_VERSION"), Machine::THIS);
    println!("  library     {}", libjvmpi.display());
    if is_report {
        for (name, value) in system::facts().into_iter().chain(settings()) {
            println!("  {name:<10}  {value}");
        }
    }
}

/// Returns the number of processors, and the variables that change how a JVM and jvmpi work.
fn settings() -> Vec<(&'static str, String)> {
    let processors = available_parallelism().map_or_else(|e| e.to_string(), |n| n.to_string());
    let mut facts = vec![("processors", processors)];
    for name in
        ["JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS", "JVMPI_OPTIONS", "JVMPI_CONFIG"]
    {
        if let Some(value) = env::var_os(name) {
            facts.push(("variable", format!("{name}={}", value.to_string_lossy())));
        }
    }
    facts
}

/// Returns true if the conformance suite was passed on a JVM of this version.
fn was_tested(jvm: &Jvm) -> bool {
    jvm.feature().is_some_and(|feature| Tried::of_the_suite().supports(feature))
}

/// A JVM, and what works on it.
struct Patient {
    jvm: Jvm,
    /// The collectors by name, each with what is wrong.
    tried: Vec<(&'static str, Result<(), String>)>,
    /// The JVM's internals, if its version was not tested.
    internals: Option<Result<Vec<Internal>, String>>,
}

impl Patient {
    fn examine(jvm: Jvm, program: &Program, libjvmpi: &Path) -> Self {
        let collectors = match probe::starts(&jvm) {
            Err(why) => {
                let tried = vec![("any", Err(format!("the JVM does not start: {why}")))];
                return Self { jvm, tried, internals: None };
            }
            Ok(()) => probe::collectors(&jvm),
        };
        let works = |(name, flag)| (name, program.works(&jvm, libjvmpi, flag));
        let tried: Vec<_> = collectors.iter().copied().map(works).collect();
        let working = tried.iter().position(|(_, result)| result.is_ok());
        let collector = collectors.get(working.unwrap_or(0)).filter(|_| !was_tested(&jvm));
        let internals = collector.map(|(_, flag)| program.internals(&jvm, libjvmpi, flag));
        Self { jvm, tried, internals }
    }

    /// Returns true if it works with any collector.
    fn works(&self) -> bool {
        self.tried.iter().any(|(_, result)| result.is_ok())
    }

    fn print(&self) {
        let Jvm { home, version, vendor, machine } = &self.jvm;
        let machine = machine.map_or_else(|| "not HotSpot".into(), |machine| machine.to_string());
        let vendor = if vendor.is_empty() { String::new() } else { format!(" of {vendor}") };
        // These texts are the JVM's.
        let (java, home) = (format!("Java {version}{vendor}"), home.to_string_lossy());
        println!("\n{}, {machine}\n  home        {}", printable(&java), printable(&home));
        let works = self.tried.iter().filter(|(_, result)| result.is_ok());
        let works: Vec<_> = works.map(|(name, _)| *name).collect();
        if !works.is_empty() {
            println!("  works with  {}", works.join(", "));
        }
        for (name, result) in &self.tried {
            if let Err(why) = result {
                println!("  fails with  {name}: {}", printable(why));
            }
        }
        let Some(internals) = &self.internals else { return };
        println!(
            "  untested    jvmpi was not tested with this version; the internals that it relies on:"
        );
        match internals {
            Ok(internals) => {
                for Internal { name, result } in internals {
                    println!("  internal    {}: {}", printable(name), printable(result));
                }
            }
            Err(why) => println!("  internal    cannot be tested: {}", printable(why)),
        }
    }

    fn to_json(&self) -> Value {
        let collectors = self.tried.iter().map(|(name, result)| {
            json!({ "name": name, "works": result.is_ok(), "why": result.as_ref().err() })
        });
        let internals = self.internals.as_ref().map(|internals| match internals {
            Ok(internals) => {
                let each = internals.iter().map(|internal| {
                    let Internal { name, result } = internal;
                    json!({ "name": name, "works": internal.works(), "result": result })
                });
                Value::from(each.collect::<Vec<_>>())
            }
            Err(why) => json!({ "why": why }),
        });
        json!({
            "home": self.jvm.home.to_string_lossy(),
            "version": self.jvm.version,
            "vendor": self.jvm.vendor,
            "machine": self.jvm.machine.map(|machine| machine.to_string()),
            "collectors": collectors.collect::<Vec<_>>(),
            "internals": internals,
        })
    }
}
