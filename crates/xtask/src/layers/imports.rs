//! The imports among the files of a crate, found in their text.
//!
//! Paths that begin with `crate`, `self` or `super` count, and in a `mod.rs` or `lib.rs` those that begin with a child. A
//! path through a re-export leads to the file that defines the name. Re-exports themselves, and tests, do not count.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// The names on the way from the root of a crate to a module.
pub type Module = Vec<String>;
/// The modules that each module imports.
pub type Arrows = BTreeMap<Module, BTreeSet<Module>>;

/// Returns the imports among all source files in a folder with a `lib.rs` or `main.rs`.
pub fn arrows_in(source: &Path) -> Result<Arrows, String> {
    let mut files = BTreeMap::new();
    collect(source, &Module::new(), &mut files)?;
    Ok(arrows_among(&files))
}

fn collect(
    folder: &Path,
    module: &Module,
    files: &mut BTreeMap<Module, String>,
) -> Result<(), String> {
    let failed = |e: std::io::Error| format!("{}: {e}", folder.display());
    for entry in fs::read_dir(folder).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let below = [module.as_slice(), std::slice::from_ref(&stem)].concat();
        if path.is_dir() {
            collect(&path, &below, files)?;
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let is_root = ["lib", "main", "mod"].contains(&&*stem);
            let text = fs::read_to_string(&path).map_err(failed)?;
            files.insert(if is_root { module.clone() } else { below }, text);
        }
    }
    Ok(())
}

/// Returns the imports among files.
fn arrows_among(files: &BTreeMap<Module, String>) -> Arrows {
    let paths: BTreeMap<&Module, Vec<(bool, Module)>> =
        files.iter().map(|(module, text)| (module, paths_in(module, text, files))).collect();
    let home = |path: &Module| {
        let mut path = path.clone();
        // Re-exports of re-exports are few.
        for _ in 0..10 {
            let end = (0..=path.len()).rev().find(|end| files.contains_key(&path[..*end]))?;
            let name = path.get(end);
            let brought_in = paths[&path[..end].to_vec()]
                .iter()
                .find(|(_, to)| name.is_some() && to.last() == name);
            match brought_in {
                Some((_, to)) => path = [to, &path[end + 1..]].concat(),
                None => return Some(path[..end].to_vec()),
            }
        }
        None
    };
    let arrows = paths.iter().map(|(module, paths)| {
        let imports = paths.iter().filter(|(reexports, _)| !reexports);
        let found = imports.filter_map(|(_, path)| home(path)).filter(|to| to != *module);
        ((*module).clone(), found.collect())
    });
    arrows.collect()
}

/// Returns the paths in a file, each with whether it is re-exported.
fn paths_in(module: &Module, text: &str, files: &BTreeMap<Module, String>) -> Vec<(bool, Module)> {
    let code: Vec<&str> =
        text.lines().filter(|line| !line.trim_start().starts_with("//")).collect();
    let code = code.join("\n");
    let starts_tests = |(at, _): &(usize, &str)| {
        code[*at..]
            .lines()
            .nth(1)
            .is_some_and(|next| next.starts_with("mod ") && next.ends_with('{'))
    };
    let code = match code
        .match_indices("#[cfg(")
        .filter(|(at, _)| code[*at..].split(')').next().is_some_and(|it| it.contains("test")))
        .find(starts_tests)
    {
        Some((at, _)) => &code[..at],
        None => &code,
    };
    let mut paths = Vec::new();
    for (at, _) in code.match_indices("::") {
        let before = &code[..at];
        let name = &before[before.rfind(|c| !is_in_name(c)).map_or(0, |end| end + 1)..];
        let before = &before[..before.len() - name.len()];
        let child = [module.as_slice(), &[name.to_owned()]].concat();
        let starts = ["crate", "self", "super"].contains(&name) || files.contains_key(&child);
        let opens_module =
            |line: &str| line.trim_start_matches("pub ").starts_with("mod ") && line.ends_with('{');
        let item = before.rsplit("\n}\n").next().unwrap_or_default();
        // In a module inside the file, `super` is that file.
        let leads_here = name == "super" && item.lines().any(opens_module);
        if !starts || leads_here || before.ends_with(['$', ':']) {
            continue;
        }
        let line = before.rsplit(['\n', ';']).next().unwrap_or_default();
        let is_reexport = line.trim_start().starts_with("pub") && line.ends_with("use ");
        let base = if name == "crate" { Module::new() } else { module.clone() };
        let mut found = Vec::new();
        follow(&code[at - name.len()..], base, &mut found);
        paths.extend(found.into_iter().map(|path| (is_reexport, path)));
    }
    paths
}

fn is_in_name(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Finds the paths in the tree at the start of `text`, from `base`. Returns the text behind it.
fn follow<'a>(text: &'a str, mut base: Module, found: &mut Vec<Module>) -> &'a str {
    if let Some(mut inner) = text.strip_prefix('{') {
        loop {
            inner = inner.trim_start_matches([',', ' ', '\n']);
            if inner.is_empty() || inner.starts_with('}') {
                return inner.strip_prefix('}').unwrap_or(inner);
            }
            inner = follow(inner, base.clone(), found);
        }
    }
    let end = text.find(|c| !is_in_name(c)).unwrap_or(text.len());
    match &text[..end] {
        "crate" | "self" | "" => {}
        "super" => _ = base.pop(),
        name => base.push(name.to_owned()),
    }
    if let Some(below) = text[end..].strip_prefix("::") {
        return follow(below, base, found);
    }
    found.push(base);
    let rest = &text[end..];
    &rest[rest.find([',', '}']).unwrap_or(rest.len())..]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns `"a -> b"` for each import among files, given with their paths from the root of the crate.
    fn imports(files: &[(&str, &str)]) -> Vec<String> {
        let module = |path: &str| -> Module {
            path.split('/').filter(|it| !it.is_empty()).map(str::to_owned).collect()
        };
        let files = files.iter().map(|(path, text)| (module(path), (*text).to_owned()));
        let arrows = arrows_among(&files.collect());
        let pairs = arrows.iter().flat_map(|(from, all)| all.iter().map(move |to| (from, to)));
        pairs.map(|(from, to)| format!("{} -> {}", from.join("/"), to.join("/"))).collect()
    }

    #[test]
    fn every_form_of_a_path_is_an_import() {
        for text in [
            "use crate::b::B;",
            "use super::b::*;",
            "use super::{c::{C as D, self}, b::B};",
            "use crate::b; fn f() { b::g(); }",
            "fn f() { crate::b::g(); }",
        ] {
            let found = imports(&[("", "mod a; mod b;"), ("a", text), ("b", ""), ("c", "")]);
            assert!(found.contains(&"a -> b".to_owned()), "{text}: {found:?}");
        }
    }

    #[test]
    fn path_through_a_reexport_leads_to_the_definition() {
        let files = [("", "mod a; mod b; pub use b::B;"), ("a", "use crate::B;"), ("b", "")];
        assert_eq!(imports(&files), ["a -> b"]);
    }

    #[test]
    fn item_of_a_parent_that_uses_its_child_is_an_import() {
        let files = [("", "mod a; struct Own; fn f() { a::g(); }"), ("a", "use super::Own;")];
        assert_eq!(imports(&files), [" -> a", "a -> "]);
    }

    #[test]
    fn tests_may_import_everything() {
        let text = "fn f() {}\n#[cfg(test)]\nmod tests {\n    use crate::b::B;\n}";
        assert!(imports(&[("", ""), ("a", text), ("b", "")]).is_empty());
    }
}
