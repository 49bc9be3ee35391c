//! `cargo xtask docs`: renders the documentation as a site. A test checks the links of its pages.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use compat_tests::{target_dir, workspace_root};
use jvmpi_conformance::document;
use jvmpi_conformance::manifest::Manifest;
use jvmpi_layers::check::rules;

use crate::cross;

/// Pages outside `docs/` that the site and an installation include, with their titles. Other files that pages link to are copied.
pub const PROJECT: [(&str, &str); 7] = [
    ("README.md", "Overview"),
    ("CHANGELOG.md", "Changes"),
    ("CONTRIBUTING.md", "Contributing"),
    ("RELEASING.md", "Releasing"),
    ("compat-tests/README.md", "Compatibility tests"),
    ("SECURITY.md", "Reporting a vulnerability"),
    ("packaging/REVIEWED.md", "Packages in the two libraries"),
];

/// The folder of the site for files that are outside `docs/`.
const OUTSIDE: &str = "project";

/// Runs `cargo xtask docs`.
pub fn run(arguments: &[String]) -> Result<(), String> {
    let mut arguments = arguments.to_vec();
    let serve = cross::take_flag(&mut arguments, "--serve");
    cross::finish(&arguments)?;
    let source = prepare()?;
    let site = target_dir().join("docs");
    mdbook("build", &source, &site)?;
    println!("{}", site.join("index.html").display());
    if serve { mdbook("serve", &source, &site) } else { Ok(()) }
}

fn mdbook(command: &str, source: &Path, site: &Path) -> Result<(), String> {
    let mut mdbook = Command::new("mdbook");
    let status = mdbook.arg(command).arg("--dest-dir").arg(site).arg(source).status();
    match status {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("mdbook {command}: {status}")),
        Err(e) => {
            Err(format!("cannot run mdbook: {e}; install it with cargo install mdbook --locked"))
        }
    }
}

/// Copies the pages into a folder that mdBook can render, with the files outside `docs/` that they link to.
fn prepare() -> Result<PathBuf, String> {
    let root = workspace_root();
    let source = target_dir().join("docs-source");
    let _ = fs::remove_dir_all(&source);
    let mut waiting = files_below(root, "docs")?;
    waiting.extend(PROJECT.map(|(page, _)| page.to_owned()));
    let mut copied = BTreeSet::new();
    while let Some(file) = waiting.pop() {
        if !copied.insert(file.clone()) {
            continue;
        }
        let (from, to) = (root.join(&file), source.join(place(&file)));
        let error = |e: std::io::Error| format!("{}: {e}", from.display());
        fs::create_dir_all(to.parent().unwrap_or(&source)).map_err(error)?;
        if !file.ends_with(".md") {
            fs::copy(&from, &to).map_err(error)?;
            continue;
        }
        let text = fs::read_to_string(&from).map_err(error)?;
        let mut moved = String::new();
        let mut rest = text.as_str();
        for link in links(&text) {
            let (before, after) = rest.split_once(&format!("]({link})")).ok_or("a link twice")?;
            moved += before;
            rest = after;
            let (path, anchor) = link.split_at(link.find('#').unwrap_or(link.len()));
            let target = resolve(&file, path);
            if is_local(&link) && !path.is_empty() && root.join(&target).exists() {
                waiting.extend(files_below(root, &target)?);
                moved += &format!("]({}{anchor})", relative(&place(&file), &place(&target)));
            } else {
                moved += &format!("]({link})");
            }
        }
        moved += rest;
        moved += &generated(&file);
        fs::write(&to, moved).map_err(|e| format!("{}: {e}", to.display()))?;
    }
    let summary = source.join("SUMMARY.md");
    let mut text = fs::read_to_string(&summary).map_err(|e| e.to_string())?;
    text += "\n# Project\n\n";
    for (page, title) in PROJECT {
        text += &format!("- [{title}]({})\n", place(page));
    }
    fs::write(&summary, text).map_err(|e| e.to_string())?;
    Ok(source)
}

/// Returns the part of a page that is generated. The site and an installation have it.
pub fn generated(page: &str) -> String {
    match page {
        "docs/reference/checks.md" => rules::document(),
        "docs/reference/conformance.md" => document::tables(&Manifest::of_the_suite()),
        _ => String::new(),
    }
}

/// Returns the place of a file of the workspace in the site. The page of a folder is its index.
fn place(file: &str) -> String {
    let place =
        file.strip_prefix("docs/").map_or_else(|| format!("{OUTSIDE}/{file}"), String::from);
    match place.strip_suffix("README.md") {
        Some(folder) => format!("{folder}index.md"),
        None => place,
    }
}

/// Returns a file, or all files below a folder, relative to the root.
pub fn files_below(root: &Path, path: &str) -> Result<Vec<String>, String> {
    if root.join(path).is_file() {
        return Ok(vec![path.to_owned()]);
    }
    let mut files = Vec::new();
    let entries = fs::read_dir(root.join(path)).map_err(|e| format!("{path}: {e}"))?;
    for name in entries.flatten().filter_map(|entry| entry.file_name().into_string().ok()) {
        let path = if path.is_empty() { name } else { format!("{path}/{name}") };
        files.extend(files_below(root, &path)?);
    }
    files.sort();
    Ok(files)
}

/// Returns the targets of the links and pictures in a Markdown page, in order. Code is skipped.
pub fn links(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let outside: Vec<_> = lines_outside_code(text).collect();
    for paragraph in outside.join("\n").split("\n\n") {
        // A code span may contain brackets, and a link may contain a code span: drop only the content of spans.
        let spans = paragraph.split('`').enumerate();
        let text: String = spans.map(|(i, part)| if i % 2 == 0 { part } else { "x" }).collect();
        let targets = text.split("](").skip(1).filter_map(|rest| rest.split(')').next());
        found.extend(targets.filter(|target| !target.contains(' ')).map(String::from));
    }
    found
}

fn lines_outside_code(text: &str) -> impl Iterator<Item = &str> {
    let mut in_code = false;
    text.lines().filter(move |line| {
        let is_fence = line.trim_start().starts_with("```");
        in_code ^= is_fence;
        !in_code && !is_fence
    })
}

fn is_local(link: &str) -> bool {
    !link.contains(':')
}

/// Returns the file that a link of a page leads to, relative to the root. An empty link leads to the page itself.
pub fn resolve(page: &str, link: &str) -> String {
    if link.is_empty() {
        return page.to_owned();
    }
    let mut parts: Vec<&str> = page.split('/').collect();
    parts.pop();
    for part in link.split('/') {
        match part {
            ".." => drop(parts.pop()),
            "." | "" => {}
            part => parts.push(part),
        }
    }
    parts.join("/")
}

/// Returns the link that leads from one page to a file.
fn relative(page: &str, target: &str) -> String {
    let (mut from, mut to): (Vec<_>, Vec<_>) =
        (page.split('/').collect(), target.split('/').collect());
    from.pop();
    while to.len() > 1 && from.first() == to.first() && !from.is_empty() {
        from.remove(0);
        to.remove(0);
    }
    format!("{}{}", "../".repeat(from.len()), to.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the anchors of the headings of a page, as code hosts form them. No heading has a link, and none occurs twice.
    fn anchors_of(text: &str) -> BTreeSet<String> {
        let headings = lines_outside_code(text).filter(|line| line.starts_with('#'));
        let anchor = |line: &str| {
            let heading = line.trim_start_matches('#').trim();
            let kept =
                heading.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
            kept.collect::<String>().to_lowercase().replace(' ', "-")
        };
        headings.map(anchor).collect()
    }

    #[test]
    fn contents_list_every_page() {
        let root = workspace_root();
        let contents = fs::read_to_string(root.join("docs/SUMMARY.md")).unwrap();
        let listed = links(&contents).into_iter().map(|link| resolve("docs/SUMMARY.md", &link));
        let mut pages = files_below(root, "docs").unwrap();
        pages.retain(|file| file.ends_with(".md") && file != "docs/SUMMARY.md");
        let (listed, pages): (BTreeSet<_>, BTreeSet<_>) =
            (listed.collect(), pages.into_iter().collect());
        assert_eq!(pages.difference(&listed).collect::<Vec<_>>(), [""; 0]);
    }

    #[test]
    fn pages_link_to_existing_pages_and_headings() {
        let root = workspace_root();
        let read = |page: &str| fs::read_to_string(root.join(page)).unwrap();
        let (mut count, mut wrong) = (0, Vec::new());
        let mut pages = files_below(root, "docs").unwrap();
        pages.retain(|file| file.ends_with(".md"));
        for page in pages.iter().map(String::as_str).chain(PROJECT.map(|(page, _)| page)) {
            for link in links(&read(page)).iter().filter(|link| is_local(link)) {
                count += 1;
                let (path, anchor) = link.split_once('#').unwrap_or((link, ""));
                let target = resolve(page, path);
                if !root.join(&target).exists() {
                    wrong.push(format!("{page}: {link}: no such file"));
                } else if !anchor.is_empty() && !anchors_of(&read(&target)).contains(anchor) {
                    wrong.push(format!("{page}: {link}: no such heading"));
                }
            }
        }
        assert!(wrong.is_empty(), "{wrong:#?}");
        assert!(count > 300, "only {count} links");
    }

    #[test]
    fn tests_that_the_threat_model_names_exist() {
        let root = workspace_root();
        let page = fs::read_to_string(root.join("docs/explanation/security.md")).unwrap();
        let model = page.split("\n## ").find(|part| part.starts_with("Threat model\n")).unwrap();
        // The fourth cell, below the heading.
        let rows = model.lines().filter(|line| line.starts_with("| ")).skip(1);
        let cells = rows.filter_map(|row| row.split('|').nth(4));
        let names = cells.flat_map(|cell| cell.split('`').skip(1).step_by(2));
        let names: Vec<_> = names.filter(|name| !name.contains('/')).collect();
        assert!(names.len() > 30, "{names:?}");
        let folders = ["crates", "compat-tests/tests", "fuzz/src"];
        let files = folders.into_iter().flat_map(|folder| files_below(root, folder).unwrap());
        let sources = files.filter(|file| file.ends_with(".rs"));
        let read = |file: String| fs::read_to_string(root.join(file)).unwrap();
        let code: String = sources.map(read).collect();
        let is_missing = |name: &&str| !code.contains(&format!("fn {name}("));
        assert_eq!(names.into_iter().filter(is_missing).collect::<Vec<_>>(), [""; 0]);
    }

    #[test]
    fn links_outside_code_are_found_resolved_and_formed() {
        let page = "[a](b.md#c) `[x](y)` [`d`](e)\n```\n[f](g)\n```\n![h](i.png)";
        assert_eq!(links(page), ["b.md#c", "e", "i.png"]);
        assert_eq!(resolve("docs/howto/a.md", "../../README.md"), "README.md");
        assert_eq!(relative("howto/a.md", "project/README.md"), "../project/README.md");
        assert_eq!(relative("howto/a.md", "howto/b.md"), "b.md");
    }
}
