//! Opens pages in the browser.

use std::fs;
use std::path::Path;

use jvmpi_formats::profile::{File, Profile};
use jvmpi_report::Input;

use crate::chromium::Browser;
use crate::fixture;

/// Returns a profile to be shown that has no heap.
pub fn input<'a>(name: &'a str, profile: &'a Profile) -> Input<'a> {
    Input { name, profile, heap: None, problem: None, recording: None }
}

/// Opens the page of one profile.
pub fn open_single(browser: &mut Browser) {
    let (profile, heap) = (fixture::profile(1), fixture::heap(100));
    open(browser, &[Input { heap: Some(&heap), ..input("run.txt", &profile) }]);
}

/// Opens a comparison of two profiles. In the second, `app.Main.work` has twice the samples, the table 1.5
/// times the orders.
pub fn open_comparison(browser: &mut Browser) {
    let (before, heap_before) = (fixture::profile(1), fixture::heap(100));
    let (after, heap_after) = (fixture::profile(2), fixture::heap(150));
    let before = Input { heap: Some(&heap_before), ..input("before.txt", &before) };
    let after = Input { heap: Some(&heap_after), ..input("after.txt", &after) };
    open(browser, &[before, after]);
}

/// Opens the page of one profile without a heap.
pub fn open_profile(browser: &mut Browser, profile: &Profile) {
    open(browser, &[input("a", profile)]);
}

pub fn open(browser: &mut Browser, inputs: &[Input<'_>]) {
    let mut page = Vec::new();
    jvmpi_report::write(inputs, &mut page).expect("memory takes a page");
    open_page(browser, &page);
}

/// Opens the page of a file with this content.
pub fn open_file(browser: &mut Browser, content: &str) {
    let file = File::from_bytes(content.into()).expect("a file of HPROF");
    let mut page = Vec::new();
    jvmpi_report::write_files(&[("java.hprof.txt", &file, None)], None, &mut page)
        .expect("memory takes a page");
    open_page(browser, &page);
}

fn open_page(browser: &mut Browser, page: &[u8]) {
    open_as(browser, "report.html", page);
}

pub fn open_as(browser: &mut Browser, name: &str, content: &[u8]) {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    fs::write(&path, content).expect("the file is written");
    browser.open(&path);
}
