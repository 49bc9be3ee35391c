//! Renders the documentation as a site and views every page in a headless Chromium.

#[path = "../../report/tests/page/chromium.rs"]
#[allow(dead_code, reason = "the report's tests use more of it")]
mod chromium;
mod harness;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use chromium::Browser;
use compat_tests::{changes, target_dir};
use harness::{Result, run, trial, xtask};
use serde_json::json;

/// The pages, and the programs that render and view them.
const PAGES: [&str; 4] =
    [":(glob)**/*.md", "docs", "crates/xtask/src/docs.rs", "crates/xtask/tests/site.rs"];

fn main() -> ExitCode {
    let no_mdbook = (!harness::is_installed("mdbook")).then(|| "no mdbook".to_owned());
    let no_mdbook = no_mdbook.or_else(|| changes::unchanged(&PAGES));
    let no_chromium = chromium::executable().is_none().then(|| "no chromium".to_owned());
    let hindrance = no_mdbook.or(no_chromium);
    harness::conclude(vec![trial("every_page_is_shown", hindrance, every_page_is_shown)])
}

fn every_page_is_shown() -> Result {
    run(&mut xtask(&["docs"]))?;
    let site = target_dir().join("docs");
    let mut browser = Browser::start(&chromium::executable().ok_or("no chromium")?);
    let mut pages = Vec::new();
    html_files(&site, &mut pages)?;
    let mut wrong = Vec::new();
    for page in &pages {
        browser.begin();
        browser.open(page);
        let shown = browser.evaluate(
            "[document.querySelector('main h1')?.offsetHeight > 0,
              document.querySelectorAll('#mdbook-sidebar a').length > 30,
              [...document.querySelectorAll('main img')].every((image) => image.naturalWidth > 0)]",
        );
        if shown != json!([true, true, true]) {
            wrong.push(format!("{}: title, contents, pictures: {shown}", page.display()));
        }
        let is_wrong = |complaint: &&String| !complaint.starts_with("request: file://");
        wrong.extend(browser.complaints.iter().filter(is_wrong).cloned());
    }
    if pages.len() < 30 {
        wrong.push(format!("only {} pages", pages.len()));
    }
    if wrong.is_empty() { Ok(()) } else { Err(wrong.join("\n")) }
}

/// Collects the pages of the site. `404.html` and `toc.html` have no place of their own in it.
fn html_files(folder: &Path, pages: &mut Vec<PathBuf>) -> Result {
    for entry in fs::read_dir(folder).map_err(|e| format!("{}: {e}", folder.display()))? {
        let path = entry.map_err(|e| e.to_string())?.path();
        let name = path.file_name().unwrap_or_default();
        if path.is_dir() {
            html_files(&path, pages)?;
        } else if path.extension().is_some_and(|end| end == "html")
            && name != "404.html"
            && name != "toc.html"
        {
            pages.push(path);
        }
    }
    Ok(())
}
