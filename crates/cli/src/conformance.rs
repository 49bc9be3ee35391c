//! `jvmpi conformance`: whether the JVMs of this machine have JVMPI as its specification says.

use crate::doctor::{jvms, probe};
use crate::failure::Failure;
use crate::installation;
use crate::output::NewFile;
use crate::temporary::temporary;
use jvmpi_conformance::compile::Compiled;
use jvmpi_conformance::manifest::Manifest;
use jvmpi_conformance::report;
use jvmpi_conformance::results::Results;
use jvmpi_conformance::run::{Implementation, PATIENCE, Place, run_all};
use std::env::consts::OS;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::thread;
use tempfile::TempDir;

/// Run the JVMPI conformance suite against JVMs
///
/// Each JVM is tested with each of its collectors. The agents are compiled on the spot, which needs a C compiler
/// and the jni.h of a JDK. The exit status is 0 if no case failed.
#[derive(clap::Args)]
#[command(after_help = "Example: jvmpi conformance --gc g1 --html report.html /usr/lib/jvm/jdk-21")]
pub struct Arguments {
    /// Test only with this collector; can be given several times
    #[arg(long = "gc", value_name = "NAME", value_parser = probe::COLLECTORS.map(|(name, _)| name))]
    collectors: Vec<String>,
    /// Write the results as JSON
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Write the results as JUnit XML
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,
    /// Write the results as an HTML page
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Compile the agents with the jvmpi.h in this directory
    #[arg(long, value_name = "DIRECTORY")]
    header: Option<PathBuf>,
    /// Keep the agents and the output of the JVMs in this directory
    #[arg(long, value_name = "DIRECTORY")]
    keep: Option<PathBuf>,
    /// Test only these JVMs, each named by its root directory
    #[arg(value_name = "JAVA_HOME")]
    homes: Vec<PathBuf>,
}

/// `jvmpi conformance`.
pub fn conformance(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let manifest = Manifest::of_the_suite();
    let results = tried(arguments, &manifest)?;
    for (path, text) in [
        (&arguments.json, results.to_json(&manifest)),
        (&arguments.junit, report::junit(&manifest, &results)),
        (&arguments.html, report::page(&manifest, &results)),
    ] {
        if let Some(path) = path {
            NewFile::create(path)?.finish(|out| out.write_all(text.as_bytes()))?;
        }
    }
    print!("{}", report::matrix(&results));
    Ok(if results.is_good() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn tried(arguments: &Arguments, manifest: &Manifest) -> Result<Results, String> {
    let library = installation::libjvmpi()?;
    let found = jvms::found();
    let include = jni_include(&found)?;
    let wanted = if arguments.homes.is_empty() { found } else { jvms::at(&arguments.homes)? };
    let places = places(&wanted, &arguments.collectors);
    if places.is_empty() {
        return Err("no JVM starts: name the root directory of one that does".into());
    }
    let temporary = match &arguments.keep {
        Some(_) => None,
        None => Some(temporary("jvmpi-conformance-")?),
    };
    let kept = arguments.keep.as_deref();
    let directory = kept.or(temporary.as_ref().map(TempDir::path)).unwrap_or(Path::new("."));
    let compiled =
        Compiled::new(directory, manifest.agents(), &include, arguments.header.as_deref())?;
    let directory = directory.canonicalize().map_err(|error| error.to_string())?;
    let compiled = compiled.at(&directory);
    let implementation = Implementation { library, between: None, patience: PATIENCE };
    let workers = thread::available_parallelism().map_or(1, usize::from);
    let told = |line: &str| eprintln!("{line}");
    let results = run_all(manifest, &compiled, &places, &implementation, workers, &told);
    // A directory for a run that succeeds is removed.
    if kept.is_some() || !results.is_good() {
        temporary.map(TempDir::keep);
        eprintln!("the agents and the output of the JVMs are in {}", directory.display());
    }
    Ok(results)
}

/// Returns each JVM that starts, with each of these collectors that it has, or with all if none are given.
fn places(jvms: &[jvms::Jvm], collectors: &[String]) -> Vec<Place> {
    let mut places = Vec::new();
    for jvm in jvms.iter().filter(|jvm| probe::starts(jvm).is_ok()) {
        for (name, flag) in probe::collectors(jvm) {
            // Epsilon collects nothing, so there is nothing to report.
            if name == "epsilon" || !collectors.is_empty() && !collectors.iter().any(|c| c == name)
            {
                continue;
            }
            let version = jvm.version.split('.').next().unwrap_or("?");
            let mut place = format!("{version}/{name}");
            // Several JDKs of one version are distinguished by their directories.
            if places.iter().any(|other: &Place| other.name == place) {
                let directory = jvm.home.file_name().unwrap_or_default().to_string_lossy();
                place = format!("{version}/{name}/{directory}");
            }
            let flags = vec!["-XX:+UnlockExperimentalVMOptions".to_owned(), flag.to_owned()];
            let java = jvm.java();
            places.push(Place { name: place, java, flags, machine: OS, root: "" });
        }
        // A second VM, which some JDKs have in addition to HotSpot's own: it has no compiler.
        let is_wanted = collectors.is_empty() || collectors.iter().any(|c| c == "serial");
        if is_wanted && jvm.home.join("lib/zero/libjvm.so").is_file() {
            let version = jvm.version.split('.').next().unwrap_or("?");
            let flags = vec!["-zero".to_owned(), "-XX:+UseSerialGC".to_owned()];
            let (name, java) = (format!("{version}-zero/serial"), jvm.java());
            places.push(Place { name, java, flags, machine: OS, root: "" });
        }
    }
    places
}

/// Returns the include directories of the first JVM that has `jni.h`.
fn jni_include(jvms: &[jvms::Jvm]) -> Result<Vec<PathBuf>, String> {
    let includes = jvms.iter().map(|jvm| jvm.home.join("include"));
    let found = includes.into_iter().find(|include| include.join("jni.h").is_file());
    let none = || "no JDK has a jni.h: install one with its compiler, or set JAVA_HOME".to_owned();
    let include = found.ok_or_else(none)?;
    let platform = |path: &Path| path.join("jni_md.h").is_file();
    let entries = fs::read_dir(&include).into_iter().flatten().flatten().map(|e| e.path());
    let mut all: Vec<_> = entries.filter(|path| platform(path)).collect();
    all.push(include);
    Ok(all)
}
