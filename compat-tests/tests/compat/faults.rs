//! Runs the programs of docs/explanation/hotspot-faults.md, without `libjvmpi.so`: a fault shows on the versions that
//! its row names, and on no other. So a version that mends it is noticed.

use std::sync::Mutex;
use std::thread;

use compat_tests::workspace_root;

use crate::prelude::*;

cases![faults_show_on_the_versions_of_the_page.slow()];

/// The texts of a run in which the fault has shown: that of the program, that of a crashed VM, and that of a program
/// whose VM has hung.
const SIGNS: [&str; 3] = ["fault: ", "A fatal error has been detected", "(SIGALRM)"];

/// The texts of a run that ends with an error although the VM is right: there is no agent, or no virtual thread.
const RIGHT: [&str; 2] = ["Could not find JVM_OnLoad", "NoSuchMethodException: java.lang.Thread"];

/// Returns the versions and the program of each row of the page.
fn rows(page: &str) -> Vec<(&str, &str)> {
    let row = |line| {
        let (program, rest) = str::strip_prefix(line, "| [")?.split_once(']')?;
        Some((rest.split(" | ").nth(1)?, program))
    };
    page.lines().filter_map(row).collect()
}

fn numbers(version: &str) -> Vec<u32> {
    version.split(|c: char| !c.is_ascii_digit()).map_while(|number| number.parse().ok()).collect()
}

/// Returns true if ranges such as `11–17.0.10, 25–` contain the version. Their last version stands for its updates too.
fn contain(ranges: &str, version: &str) -> bool {
    let version = numbers(version);
    ranges.split(", ").any(|range| {
        let (first, last) = range.split_once('–').unwrap_or((range, range));
        let last = numbers(last);
        version >= numbers(first) && (last.is_empty() || version.iter().take(last.len()).le(&last))
    })
}

fn launch(vm: &Vm<'_>, program: &str) -> Result<Launch, String> {
    let folder = workspace_root().join("compat-tests/faults");
    let output = build::output_dir().join("faults");
    let library = output.join(format!("lib{program}.so"));
    let flags = ["-O2", "-Wall", "-Wextra", "-Wno-unused-parameter", "-Werror", "-D_GNU_SOURCE"];
    let source = folder.join(program).with_extension("c");
    build::c(&source, &library, &[], &flags, &["-shared", "-fPIC"])?;
    if program == "NoOnLoad" {
        return Ok(vm.java("Hello")?.library_path(&library)?.flag("-XrunNoOnLoad"));
    }
    let classes = build::java(&folder, &output.join("classes"), 11, &[])?;
    Ok(vm.java_with(&[&classes], program)?.flag(&format!("-agentpath:{}", text(&library)?)))
}

/// Returns true if the program shows its fault.
fn shows(vm: &Vm<'_>, program: &str) -> Result<bool, String> {
    let has = |said: &str, texts: &[&str]| texts.iter().any(|text| said.contains(text));
    match launch(vm, program)?.run() {
        Ok(outcome) => Ok(has(&outcome.stdout, &SIGNS)),
        Err(why) if has(&why, &SIGNS) => Ok(true),
        Err(why) if has(&why, &RIGHT) => Ok(false),
        Err(why) => Err(why),
    }
}

fn faults_show_on_the_versions_of_the_page(vm: &Vm<'_>) -> Result<(), String> {
    let page = contents(workspace_root().join("docs/explanation/hotspot-faults.md"))?;
    let rows = rows(&page);
    ensure!(rows.len() > 5, "the page has {rows:?}");
    let (left, wrong) = (Mutex::new(rows.into_iter()), Mutex::new(Vec::new()));
    let next = || left.lock().unwrap().next();
    let run = || {
        while let Some((versions, program)) = next() {
            let shown = shows(vm, program)?;
            if shown != contain(versions, &vm.jdk.version) {
                let names = format!("{program}: shown is {shown}, but the page names {versions}");
                wrong.lock().unwrap().push(names);
            }
        }
        Ok(())
    };
    // Programs whose VM hangs use no CPU until their alarm ends them.
    thread::scope(|scope| {
        let others = [scope.spawn(run), scope.spawn(run)];
        let results = others.map(|other| other.join().unwrap_or(Err("it has panicked".into())));
        results.into_iter().collect::<Result<(), String>>()
    })?;
    let wrong = wrong.into_inner().unwrap();
    ensure!(wrong.is_empty(), "on {}: {}", vm.jdk.version, wrong.join("; "));
    Ok(())
}
