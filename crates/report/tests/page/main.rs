//! Tests of the page in headless Chromium: each view against the known numbers of its data.

mod chromium;
mod fixture;
mod opening;
mod views;

use std::sync::{Arc, Mutex, PoisonError};

use chromium::Browser;
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
