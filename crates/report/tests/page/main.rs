//! Tests of the page in headless Chromium: each view against the known numbers of its data.

mod chromium;
mod fixture;
mod views;

use std::fs;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use chromium::Browser;
use jvmpi_formats::profile::File;
use jvmpi_report::Input;
use libtest_mimic::{Arguments, Trial};

fn main() {
    let arguments = Arguments::from_args();
    let executable = chromium::executable();
    // One browser for all, started by the first case that needs it.
    let browser: Arc<Mutex<Option<Browser>>> = Arc::default();
    let trials = views::CASES.iter().map(|&(name, case)| {
        let Some(executable) = executable.clone() else {
            let missing = Trial::test(name, || Ok(())).with_kind("skipped: no chromium");
            return missing.with_ignored_flag(true);
        };
        let browser = Arc::clone(&browser);
        Trial::test(name, move || {
            let mut browser = browser.lock().unwrap_or_else(PoisonError::into_inner);
            let browser = browser.get_or_insert_with(|| Browser::start(&executable));
            browser.begin();
            case(browser);
            assert_eq!(browser.complaints, [] as [&str; 0]);
            Ok(())
        })
    });
    let trials = trials.collect();
    let conclusion = libtest_mimic::run(&arguments, trials);
    drop(browser);
    conclusion.exit();
}

/// Opens the page of one profile.
fn open_single(browser: &mut Browser) {
    let (profile, heap) = (fixture::profile(1), fixture::heap(100));
    open(
        browser,
        &[Input {
            name: "run.txt",
            profile: &profile,
            heap: Some(&heap),
            problem: None,
            recording: None,
        }],
    );
}

/// Opens a comparison of two profiles. In the second, `app.Main.work` has twice the samples, the table 1.5
/// times the orders.
fn open_comparison(browser: &mut Browser) {
    let (before, heap_before) = (fixture::profile(1), fixture::heap(100));
    let (after, heap_after) = (fixture::profile(2), fixture::heap(150));
    open(
        browser,
        &[
            Input {
                name: "before.txt",
                profile: &before,
                heap: Some(&heap_before),
                problem: None,
                recording: None,
            },
            Input {
                name: "after.txt",
                profile: &after,
                heap: Some(&heap_after),
                problem: None,
                recording: None,
            },
        ],
    );
}

fn open(browser: &mut Browser, inputs: &[Input<'_>]) {
    let mut page = Vec::new();
    jvmpi_report::write(inputs, &mut page).expect("memory takes a page");
    open_page(browser, &page);
}

/// Opens the page of a file with this content.
fn open_file(browser: &mut Browser, content: &str) {
    let file = File::from_bytes(content.into()).expect("a file of HPROF");
    let mut page = Vec::new();
    jvmpi_report::write_files(&[("java.hprof.txt", &file)], &mut page)
        .expect("memory takes a page");
    open_page(browser, &page);
}

fn open_page(browser: &mut Browser, page: &[u8]) {
    open_as(browser, "report.html", page);
}

fn open_as(browser: &mut Browser, name: &str, content: &[u8]) {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    fs::write(&path, content).expect("the file is written");
    browser.open(&path);
}
