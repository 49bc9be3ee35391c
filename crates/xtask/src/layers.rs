//! `cargo xtask check-layers`: what the files of the shim import, and that it lies below them.
//!
//! A layer is a module of the crate's root with all files in it. Every path to another module counts as an import,
//! wherever it stands in the file. Tests may import from everywhere.

use proc_macro2::{Delimiter, TokenStream, TokenTree};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use compat_tests::workspace_root;

/// The modules from top to bottom. Each may import those below it, and none beside it.
const LAYERS: [&[&str]; 15] = [
    &["lib"],
    &["load"],
    &["table"],
    &["dumps"],
    &["translate"],
    &["notify", "instrument"],
    &["gc"],
    &["classes"],
    &["suspension"],
    &["threads"],
    &["sync"],
    &["records"],
    &["jvm"],
    &["boundary", "lock", "logging", "suspending"],
    &["platform"],
];

/// The only files that may import each other in a circle. To send an event is to announce what it names first, and an
/// announcement is an event: a class names its superclass, an object its class, and each of them its thread.
const RECURSIVE: [&str; 7] = [
    "translate/classes",
    "translate/construction",
    "translate/frames",
    "translate/methods",
    "translate/objects",
    "translate/send",
    "translate/threads",
];

/// The path of a module: `crate`, and its names from there.
type Module = Vec<String>;
/// What imports what.
type Arrows = BTreeMap<Module, BTreeSet<Module>>;

/// Fails with every import that does not run down, every circle but [`RECURSIVE`], every module of [`LAYERS`]
/// that is not there, and every file that `docs/explanation/architecture.md` names although it is not there.
pub fn run(_: &[String]) -> Result<(), String> {
    let arrows = arrows_in(&workspace_root().join("shim/src"))?;
    let mut faults: Vec<String> = arrows
        .iter()
        .flat_map(|(from, all)| all.iter().map(move |to| (from, to)))
        .filter(|(from, to)| !runs_down(from, to))
        .map(|(from, to)| format!("{} imports {}", name(from), name(to)))
        .collect();
    faults.extend(missing_files()?);
    faults.extend(crate::file_creation::faults()?);
    faults.extend(missing_modules(&arrows));
    let circles = circles(&arrows);
    for circle in &circles {
        let names: Vec<String> = circle.iter().map(name).collect();
        if !names.iter().all(|name| RECURSIVE.contains(&name.as_str())) {
            faults.push(format!("{} import each other: {}", circle.len(), names.join(", ")));
        }
    }
    if faults.is_empty() {
        println!(
            "{} files, all imports run down; the only circle is the announcements",
            arrows.len()
        );
        Ok(())
    } else {
        Err(format!("{} faults in the shim's layers:\n{}", faults.len(), faults.join("\n")))
    }
}

/// The modules of [`LAYERS`] that have no file.
fn missing_modules(arrows: &Arrows) -> Vec<String> {
    let is_there = |layer: &str| arrows.keys().any(|module| layer_of(module) == layer);
    let missing = LAYERS.iter().copied().flatten().filter(|layer| !is_there(layer));
    missing.map(|layer| format!("there is no module {layer}")).collect()
}

/// The files that `docs/explanation/architecture.md` names and that are not there, below the root or the shim's
/// source.
fn missing_files() -> Result<Vec<String>, String> {
    let root = workspace_root();
    let path = root.join("docs/explanation/architecture.md");
    let text = fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()))?;
    let in_code = text.split('`').skip(1).step_by(2);
    let files = in_code.filter(|name| name.contains('/') && name.ends_with(".rs"));
    let places = [root.to_owned(), root.join("crates"), root.join("shim/src")];
    let is_missing = |name: &&str| !places.iter().any(|place| place.join(name).is_file());
    Ok(files
        .filter(is_missing)
        .map(|name| format!("docs/explanation/architecture.md names {name}"))
        .collect())
}

fn name(module: &Module) -> String {
    module
        .get(1..)
        .filter(|below| !below.is_empty())
        .map_or("lib".to_owned(), |below| below.join("/"))
}

fn runs_down(from: &Module, to: &Module) -> bool {
    let height = |layer: &str| LAYERS.iter().position(|layers| layers.contains(&layer));
    let (from, to) = (layer_of(from), layer_of(to));
    from == to || height(from).zip(height(to)).is_some_and(|(from, to)| from < to)
}

/// The layer of a module.
fn layer_of(module: &Module) -> &str {
    module.get(1).map_or("lib", String::as_str)
}

/// The imports among all source files below a crate's `src`.
fn arrows_in(source: &Path) -> Result<Arrows, String> {
    let mut files = BTreeMap::new();
    collect(source, &mut vec!["crate".to_owned()], &mut files)?;
    let modules: BTreeSet<Module> = files.keys().cloned().collect();
    let arrows = files.into_iter().map(|(module, tokens)| {
        let mut file = File { module: module.clone(), modules: &modules, found: BTreeSet::new() };
        let aliases = file.aliases(&tokens, &module);
        file.scan(tokens, &module, &aliases);
        file.found.remove(&module);
        (module, file.found)
    });
    Ok(arrows.collect())
}

fn collect(
    directory: &Path,
    module: &mut Module,
    files: &mut BTreeMap<Module, Vec<TokenTree>>,
) -> Result<(), String> {
    let failed =
        |path: &Path, error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
    for entry in fs::read_dir(directory).map_err(|e| failed(directory, &e))? {
        let path = entry.map_err(|e| failed(directory, &e))?.path();
        let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        if path.is_dir() {
            module.push(stem);
            collect(&path, module, files)?;
            module.pop();
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let text = fs::read_to_string(&path).map_err(|e| failed(&path, &e))?;
            let tokens: TokenStream = text.parse().map_err(|e| failed(&path, &e))?;
            let mut module = module.clone();
            if !["lib", "mod"].contains(&&*stem) {
                module.push(stem);
            }
            files.insert(module, tokens.into_iter().collect());
        }
    }
    Ok(())
}

/// The names that `use` declarations bring into a file, and what they stand for.
type Aliases = BTreeMap<String, Module>;

/// A source file whose paths are being followed.
struct File<'a> {
    module: Module,
    modules: &'a BTreeSet<Module>,
    found: BTreeSet<Module>,
}

impl File<'_> {
    /// What the `use` declarations outside of tests bring in.
    fn aliases(&self, tokens: &[TokenTree], module: &Module) -> Aliases {
        let mut aliases = Aliases::new();
        let children = self.modules.iter().filter(|m| m.len() == module.len() + 1);
        for child in children.filter(|m| m.starts_with(module)) {
            aliases.insert(child[module.len()].clone(), child.clone());
        }
        let mut rest = tokens;
        while let Some((token, after)) = rest.split_first() {
            rest = after;
            if is_ident(token, "use") {
                let end = rest.iter().position(|token| is_punct(token, ';')).unwrap_or(rest.len());
                self.bring_in(&rest[..end], &Module::new(), module, &mut aliases);
                rest = &rest[end..];
            }
        }
        aliases
    }

    /// Follows one tree of a `use` declaration.
    fn bring_in(&self, tree: &[TokenTree], base: &Module, module: &Module, aliases: &mut Aliases) {
        let mut path = base.clone();
        let mut alias = None;
        let mut tokens = tree.iter();
        while let Some(token) = tokens.next() {
            match token {
                TokenTree::Ident(ident) if ident == "as" => {
                    alias = tokens.next().map(ToString::to_string);
                }
                TokenTree::Ident(ident) => extend(&mut path, &ident.to_string(), module, aliases),
                TokenTree::Group(group) => {
                    let inner: Vec<TokenTree> = group.stream().into_iter().collect();
                    for tree in inner.split(|token| is_punct(token, ',')) {
                        self.bring_in(tree, &path, module, aliases);
                    }
                    return;
                }
                _ => {}
            }
        }
        if let Some(last) = alias.or_else(|| path.last().cloned()) {
            aliases.insert(last, path);
        }
    }

    /// Finds what paths lead to.
    fn scan(&mut self, tokens: Vec<TokenTree>, module: &Module, aliases: &Aliases) {
        let mut tokens = tokens.into_iter().peekable();
        let mut path = Module::new();
        let mut is_test = false;
        while let Some(token) = tokens.next() {
            match token {
                // #[cfg(test)] mod tests { … }
                TokenTree::Group(group) if group.to_string().contains("cfg (test)") => {
                    is_test = true;
                }
                TokenTree::Group(group) if is_test && group.delimiter() == Delimiter::Brace => {
                    is_test = false;
                }
                TokenTree::Group(group) => {
                    let inner: Vec<TokenTree> = group.stream().into_iter().collect();
                    if path.is_empty() {
                        self.scan(inner, module, aliases);
                    } else {
                        // use path::{a, b::c};
                        for tree in inner.split(|token| is_punct(token, ',')) {
                            let mut longer = Aliases::new();
                            self.bring_in(tree, &path, module, &mut longer);
                            longer.values().for_each(|path| self.leads_to(path));
                        }
                    }
                    path.clear();
                }
                TokenTree::Ident(ident) => {
                    let name = ident.to_string();
                    if name == "mod" && !is_test {
                        // The module is its own file, or a test.
                        tokens.next();
                        continue;
                    }
                    if name == "pub" {
                        // Who may see an item is no import.
                        let visibility = |token: &TokenTree| match token {
                            TokenTree::Group(group) => group.delimiter() == Delimiter::Parenthesis,
                            _ => false,
                        };
                        tokens.next_if(visibility);
                        continue;
                    }
                    if !path.is_empty()
                        || ["crate", "super", "self"].contains(&&*name)
                        || aliases.contains_key(&name)
                    {
                        extend(&mut path, &name, module, aliases);
                    }
                    let goes_on = tokens.next_if(|token| is_punct(token, ':')).is_some()
                        && tokens.next_if(|token| is_punct(token, ':')).is_some();
                    if !goes_on {
                        self.leads_to(&std::mem::take(&mut path));
                    }
                }
                _ => path.clear(),
            }
        }
    }

    /// Notes the module that a path begins with.
    fn leads_to(&mut self, path: &Module) {
        // `pub(crate)` leads nowhere.
        let modules =
            (1..=path.len()).rev().filter(|_| path.len() > 1).map(|length| path[..length].to_vec());
        let found = modules.into_iter().find(|module| self.modules.contains(module));
        self.found.extend(found.filter(|module| *module != self.module));
    }
}

/// Appends a part of a path to what is known of it.
fn extend(path: &mut Module, part: &str, module: &Module, aliases: &Aliases) {
    match part {
        "self" if path.is_empty() => path.clone_from(module),
        "self" => {}
        "super" if path.is_empty() => path.extend_from_slice(&module[..module.len() - 1]),
        "super" => _ = path.pop(),
        _ => match aliases.get(part) {
            Some(known) if path.is_empty() => path.clone_from(known),
            _ => path.push(part.to_owned()),
        },
    }
}

/// The circles of imports, each as all modules of which every one leads to every other.
fn circles(arrows: &Arrows) -> Vec<Vec<Module>> {
    let reached: BTreeMap<&Module, BTreeSet<&Module>> =
        arrows.keys().map(|module| (module, reached_from(module, arrows))).collect();
    let mut circles = BTreeSet::new();
    for (module, reach) in &reached {
        let back = |other: &&&Module| reached.get(**other).is_some_and(|its| its.contains(module));
        let circle: Vec<Module> = reach.iter().filter(back).map(|other| (*other).clone()).collect();
        if circle.len() > 1 {
            circles.insert(circle);
        }
    }
    circles.into_iter().collect()
}

fn reached_from<'a>(module: &'a Module, arrows: &'a Arrows) -> BTreeSet<&'a Module> {
    let mut reached = BTreeSet::new();
    let mut next = vec![module];
    while let Some(module) = next.pop() {
        next.extend(arrows[module].iter().filter(|to| reached.insert(*to)));
    }
    reached
}

fn is_ident(token: &TokenTree, name: &str) -> bool {
    matches!(token, TokenTree::Ident(ident) if ident == name)
}

fn is_punct(token: &TokenTree, character: char) -> bool {
    matches!(token, TokenTree::Punct(punct) if punct.as_char() == character)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layer_without_a_file_is_missing() {
        let modules = LAYERS.iter().copied().flatten().filter(|layer| **layer != "notify");
        let mut arrows: Arrows = modules
            .map(|layer| (vec!["crate".to_owned(), (*layer).to_owned()], BTreeSet::new()))
            .collect();
        arrows.insert(vec!["crate".to_owned()], BTreeSet::new());
        assert_eq!(missing_modules(&arrows), ["there is no module notify"]);
    }
}
