//! The imports among the files of a crate.
//!
//! Every path to another file counts, wherever it stands. A path through a re-export leads to the file that defines
//! the name. So a `mod.rs` or `lib.rs` that only declares and re-exports its children imports nothing, and nothing
//! imports it. Items that are compiled for tests only do not count.

use proc_macro2::{Delimiter, Group, TokenStream, TokenTree};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// The path of a module: `crate`, and its names from there.
pub type Module = Vec<String>;
/// The modules that each module imports.
pub type Arrows = BTreeMap<Module, BTreeSet<Module>>;

/// The files whose module is their folder.
const ROOTS: [&str; 3] = ["lib", "main", "mod"];
/// The keywords before the name of an item.
const ITEMS: [&str; 9] =
    ["const", "enum", "fn", "macro_rules", "static", "struct", "trait", "type", "union"];

/// Returns the imports among all source files in a folder with a `lib.rs` or `main.rs`.
pub fn arrows_in(source: &Path) -> Result<Arrows, String> {
    let mut files = BTreeMap::new();
    collect(source, &mut vec!["crate".to_owned()], &mut files)?;
    Ok(arrows_among(files))
}

/// Returns the imports among files.
fn arrows_among(files: BTreeMap<Module, TokenStream>) -> Arrows {
    let modules: BTreeSet<Module> = files.keys().cloned().collect();
    let files: BTreeMap<Module, Vec<TokenTree>> =
        files.into_iter().map(|(module, tokens)| (module, tokens.into_iter().collect())).collect();
    let names = files
        .iter()
        .map(|(module, tokens)| (module.clone(), Names::of(module, tokens, &modules)))
        .collect();
    let arrows = files.into_iter().map(|(module, tokens)| {
        let mut file =
            File { module: &module, names: &names, is_reexport: false, found: BTreeSet::new() };
        file.scan(tokens, &module);
        let found = file.found;
        (module, found)
    });
    arrows.collect()
}

fn collect(
    directory: &Path,
    module: &mut Module,
    files: &mut BTreeMap<Module, TokenStream>,
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
            let tokens = text.parse().map_err(|e| failed(&path, &e))?;
            let mut module = module.clone();
            if !ROOTS.contains(&&*stem) {
                module.push(stem);
            }
            files.insert(module, tokens);
        }
    }
    Ok(())
}

/// The names at the top of a file.
#[derive(Default)]
struct Names {
    /// The names that the file's children and its `use` declarations bring in, with the paths they stand for.
    aliases: BTreeMap<String, Module>,
    /// The modules that `use module::*` brings in.
    globs: Vec<Module>,
    /// The names of the file's own items.
    defined: BTreeSet<String>,
}

impl Names {
    fn of(module: &Module, tokens: &[TokenTree], modules: &BTreeSet<Module>) -> Self {
        let mut names = Self::default();
        let children = modules.iter().filter(|m| m.len() == module.len() + 1);
        for child in children.filter(|m| m.starts_with(module)) {
            names.aliases.insert(child[module.len()].clone(), child.clone());
        }
        let mut rest = tokens;
        while let Some((token, after)) = rest.split_first() {
            rest = after;
            if is_ident(token, "use") {
                let end = rest.iter().position(|token| is_punct(token, ';')).unwrap_or(rest.len());
                names.bring_in(&rest[..end], &Module::new(), module);
                rest = &rest[end..];
            } else if ITEMS.iter().any(|item| is_ident(token, item)) {
                let name = after.iter().find(|token| !is_punct(token, '!'));
                names.defined.extend(name.map(ToString::to_string));
            }
        }
        names
    }

    /// Follows one tree of a `use` declaration.
    fn bring_in(&mut self, tree: &[TokenTree], base: &Module, module: &Module) {
        let mut path = base.clone();
        let mut alias = None;
        let mut tokens = tree.iter();
        while let Some(token) = tokens.next() {
            match token {
                TokenTree::Ident(ident) if ident == "as" => {
                    alias = tokens.next().map(ToString::to_string);
                }
                TokenTree::Ident(ident) => self.extend(&mut path, &ident.to_string(), module),
                TokenTree::Group(group) => {
                    let inner: Vec<TokenTree> = group.stream().into_iter().collect();
                    for tree in inner.split(|token| is_punct(token, ',')) {
                        self.bring_in(tree, &path, module);
                    }
                    return;
                }
                token if is_punct(token, '*') => {
                    self.globs.push(path);
                    return;
                }
                _ => {}
            }
        }
        if let Some(last) = alias.or_else(|| path.last().cloned()) {
            self.aliases.insert(last, path);
        }
    }

    /// Appends a part to a path, whose first part may be an alias.
    fn extend(&self, path: &mut Module, part: &str, module: &Module) {
        match part {
            "self" if path.is_empty() => path.clone_from(module),
            "self" => {}
            "super" if path.is_empty() => path.extend_from_slice(&module[..module.len() - 1]),
            "super" => _ = path.pop(),
            _ => match self.aliases.get(part) {
                Some(known) if path.is_empty() => path.clone_from(known),
                _ => path.push(part.to_owned()),
            },
        }
    }
}

/// A source file whose paths are being followed.
struct File<'a> {
    module: &'a Module,
    names: &'a BTreeMap<Module, Names>,
    /// True in a `pub use` declaration.
    is_reexport: bool,
    found: BTreeSet<Module>,
}

impl File<'_> {
    /// Finds the files that the paths in `tokens` lead to. `module` is the file's, or a module inside the file.
    fn scan(&mut self, tokens: Vec<TokenTree>, module: &Module) {
        let names = &self.names[self.module];
        let mut tokens = tokens.into_iter().peekable();
        let mut path = Module::new();
        let mut is_test = false;
        while let Some(token) = tokens.next() {
            match token {
                // #[cfg(test)] mod tests { … }
                TokenTree::Group(group) if is_cfg_test(&group) => {
                    is_test = true;
                }
                TokenTree::Group(group) if is_test => {
                    is_test = group.delimiter() != Delimiter::Brace;
                    path.clear();
                }
                TokenTree::Group(group) => {
                    let inner: Vec<TokenTree> = group.stream().into_iter().collect();
                    if path.is_empty() {
                        self.scan(inner, module);
                    } else {
                        self.follow_tree(&inner, &path, module);
                    }
                    path.clear();
                }
                TokenTree::Ident(ident) => {
                    let name = ident.to_string();
                    if name == "mod" {
                        // A file of its own, or a module inside this one.
                        let name = tokens.next().map(|name| name.to_string()).unwrap_or_default();
                        let is_inside = |token: &TokenTree| matches!(token, TokenTree::Group(_));
                        if !is_test && let Some(TokenTree::Group(inner)) = tokens.next_if(is_inside)
                        {
                            let inside = [module.as_slice(), &[name]].concat();
                            self.scan(inner.stream().into_iter().collect(), &inside);
                        }
                        continue;
                    }
                    if name == "pub" {
                        // The visibility of an item is no import.
                        tokens.next_if(|token| is_group(token, Delimiter::Parenthesis));
                        self.is_reexport = tokens.peek().is_some_and(|next| is_ident(next, "use"));
                        continue;
                    }
                    let is_first = path.is_empty();
                    if !is_first
                        || ["crate", "super", "self"].contains(&&*name)
                        || names.aliases.contains_key(&name)
                    {
                        names.extend(&mut path, &name, module);
                    }
                    let goes_on = tokens.next_if(|token| is_punct(token, ':')).is_some()
                        && tokens.next_if(|token| is_punct(token, ':')).is_some();
                    if !goes_on {
                        let path = std::mem::take(&mut path);
                        // A lone name of a module is a variable or a field.
                        if !(is_test || is_first && self.names.contains_key(&path)) {
                            self.leads_to(path);
                        }
                    }
                }
                TokenTree::Punct(punct) => {
                    let path = std::mem::take(&mut path);
                    match punct.as_char() {
                        // use path::*;
                        '*' if !path.is_empty() && !is_test => self.leads_to(path),
                        ';' => (is_test, self.is_reexport) = (false, false),
                        _ => {}
                    }
                }
                TokenTree::Literal(_) => path.clear(),
            }
        }
    }

    /// Follows `use base::{a, b::c};`.
    fn follow_tree(&mut self, inner: &[TokenTree], base: &Module, module: &Module) {
        let mut names = Names::default();
        for tree in inner.split(|token| is_punct(token, ',')) {
            names.bring_in(tree, base, module);
        }
        names.aliases.into_values().chain(names.globs).for_each(|path| self.leads_to(path));
    }

    /// Notes the file that a path leads to.
    fn leads_to(&mut self, path: Module) {
        let home = self.home_of(path);
        let counts = |home: &Module| {
            home != self.module && !(self.is_reexport && home.starts_with(self.module))
        };
        self.found.extend(home.filter(counts));
    }

    /// Returns the file that defines the item at the end of a path, and follows re-exports on the way.
    fn home_of(&self, mut path: Module) -> Option<Module> {
        // Only re-exports of each other have no end, and the compiler refuses those.
        for _ in 0..100 {
            let length =
                (1..=path.len()).rev().find(|end| self.names.contains_key(&path[..*end]))?;
            let Some(name) = path.get(length) else { return Some(path) };
            let names = &self.names[&path[..length]];
            // A module that is imported under the name of a function is for this file alone.
            if names.defined.contains(name) {
                return Some(path[..length].to_vec());
            }
            let from = match names.aliases.get(name) {
                Some(alias) => alias.clone(),
                None => match names.globs.iter().find(|glob| self.has(glob, name)) {
                    Some(glob) => [glob.as_slice(), std::slice::from_ref(name)].concat(),
                    None => return Some(path[..length].to_vec()),
                },
            };
            path = [&from, &path[length + 1..]].concat();
        }
        None
    }

    /// Returns true if `module::name` exists.
    fn has(&self, module: &Module, name: &str) -> bool {
        self.names.get(module).is_some_and(|names| {
            names.defined.contains(name)
                || names.aliases.contains_key(name)
                || names.globs.iter().any(|glob| self.has(glob, name))
        })
    }
}

fn is_group(token: &TokenTree, delimiter: Delimiter) -> bool {
    matches!(token, TokenTree::Group(group) if group.delimiter() == delimiter)
}

fn is_ident(token: &TokenTree, name: &str) -> bool {
    matches!(token, TokenTree::Ident(ident) if ident == name)
}

fn is_punct(token: &TokenTree, character: char) -> bool {
    matches!(token, TokenTree::Punct(punct) if punct.as_char() == character)
}

/// True for the attributes of tests: `#[cfg(test)]` and `#[cfg(all(test, …))]`.
fn is_cfg_test(attribute: &Group) -> bool {
    let attribute = attribute.to_string();
    ["cfg (test)", "cfg (all (test"].iter().any(|test| attribute.contains(test))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns `"a -> b"` for each import among files, given with their paths from the root of the crate.
    fn imports(files: &[(&str, &str)]) -> Vec<String> {
        let module = |path: &str| {
            let below = path.split('/').filter(|name| !name.is_empty());
            ["crate"].into_iter().chain(below).map(str::to_owned).collect::<Module>()
        };
        let parsed = files.iter().map(|(path, text)| (module(path), text.parse().unwrap()));
        let arrows = arrows_among(parsed.collect());
        let pairs = arrows.iter().flat_map(|(from, all)| all.iter().map(move |to| (from, to)));
        pairs.map(|(from, to)| format!("{} -> {}", from.join("::"), to.join("::"))).collect()
    }

    #[test]
    fn every_form_of_a_path_is_an_import() {
        for text in [
            "use crate::b::B;",
            "use super::b::*;",
            "use super::{b::B, b::other};",
            "use crate::b; fn f() { b::g(); }",
            "fn f() { crate::b::g(); }",
            "mod inside { use super::super::b::B; }",
        ] {
            assert_eq!(
                imports(&[("", "mod a; mod b;"), ("a", text), ("b", "")]),
                ["crate::a -> crate::b"]
            );
        }
    }

    #[test]
    fn path_through_a_reexport_leads_to_the_definition() {
        for parent in ["mod a; mod b; pub use b::B;", "mod a; mod b; pub use b::*;"] {
            let files = [("", parent), ("a", "use crate::B;"), ("b", "pub struct B;")];
            assert_eq!(imports(&files), ["crate::a -> crate::b"]);
        }
    }

    #[test]
    fn item_of_a_parent_that_uses_its_child_is_an_import() {
        let files = [("", "mod a; struct Own; fn f() { a::g(); }"), ("a", "use super::Own;")];
        assert_eq!(imports(&files), ["crate -> crate::a", "crate::a -> crate"]);
        let files = [("", "mod a; pub use a::A; fn f(_: A) {}"), ("a", "pub struct A;")];
        assert_eq!(imports(&files), ["crate -> crate::a"]);
    }

    #[test]
    fn path_to_a_function_is_an_import_beside_a_module_of_its_name() {
        let text = "use other::f::{self, F}; pub fn f() {}";
        let files = [("", "mod a; mod b;"), ("a", "fn g() { crate::b::f(); }"), ("b", text)];
        assert_eq!(imports(&files), ["crate::a -> crate::b"]);
    }

    #[test]
    fn lone_name_of_a_child_is_no_import() {
        assert!(imports(&[("", "mod a; fn f(a: u8) -> u8 { a }"), ("a", "")]).is_empty());
    }

    #[test]
    fn tests_may_import_everything() {
        for text in [
            "#[cfg(test)] mod tests { use crate::b::B; }",
            "#[cfg(test)] use crate::b::B; fn f() {}",
            "#[cfg(test)] mod b;",
        ] {
            assert!(imports(&[("", ""), ("a", text), ("b", "")]).is_empty(), "{text}");
        }
        let after = "#[cfg(test)] use crate::c::C; fn f() { crate::b::g(); }";
        let files = [("", ""), ("a", after), ("b", ""), ("c", "")];
        assert_eq!(imports(&files), ["crate::a -> crate::b"]);
    }
}
