//! `cargo run -p jvmpi-formats --example summary FILE…`: what is in files of HPROF.

use jvmpi_formats::profile::heap::Record;
use jvmpi_formats::profile::{Error, File, Section};
use std::path::Path;

fn main() -> std::io::Result<()> {
    for path in std::env::args().skip(1) {
        let file = File::open(Path::new(&path))?;
        let profile = file.profile();
        println!("{path}: created {}", profile.created.to_text());
        println!(
            "  {} threads, {} traces, {} classes, {} names",
            profile.threads.len(),
            profile.traces.len(),
            profile.classes.iter().len(),
            profile.names.len()
        );
        for section in &profile.sections {
            match section {
                Section::Sites(sites) => println!("  {} sites", sites.rows.len()),
                Section::CpuSamples(samples) => {
                    println!("  {} samples in {} traces", samples.total, samples.rows.len());
                }
                Section::CpuTimes(times) => {
                    println!("  {:?} of CPU in {} traces", times.total, times.rows.len());
                }
                Section::CpuOld(old) => println!("  {} pairs of methods", old.rows.len()),
                Section::MonitorTimes(times) => {
                    println!("  {:?} of waiting for monitors", times.total);
                }
                Section::MonitorDump(dump) => println!(
                    "  {} threads and {} monitors at one moment",
                    dump.threads.len(),
                    dump.monitors.len()
                ),
                Section::HeapSummary(summary) => println!("  a heap of {:?}", summary.live),
                Section::HeapDump(dump) => {
                    let mut counts = [0; 3];
                    let end = file.heap(dump).records(|record| {
                        let kind = match record {
                            Record::Root(_) => 0,
                            Record::Class(_) => 1,
                            _ => 2,
                        };
                        counts[kind] += 1;
                        Ok::<_, Error>(())
                    });
                    let [roots, classes, objects] = counts;
                    println!("  a heap of {classes} classes and {objects} objects, {roots} roots");
                    if let Err(error) = end {
                        println!("    up to {error}");
                    }
                }
            }
        }
        if let Some(problem) = file.problem() {
            println!("  up to {problem}");
        }
    }
    Ok(())
}
