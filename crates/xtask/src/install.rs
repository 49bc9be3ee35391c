//! `cargo xtask install` and `uninstall`: install the product under a prefix, and remove it.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use crate::cross;
use crate::product::{self, Build, DOCUMENTATION};

/// The list of installed files: one path per line, directories with a trailing slash.
const LIST: &str = "installed-files";

/// Runs `cargo xtask install`.
pub fn install(arguments: &[String]) -> Result<(), String> {
    let mut arguments = arguments.to_vec();
    let root = root(&mut arguments)?;
    let profile = cross::take(&mut arguments, "--profile").unwrap_or_else(|| "release".into());
    let machine = cross::machine(&mut arguments)?;
    cross::finish(&arguments)?;
    let files = product::files(&Build { profile, machine, anywhere: None })?;

    // Removes an older release first, which may have had other files.
    let mut made = remove(&root)?.unwrap_or_default();
    made.extend(new_directories(&root, files.iter().map(|file| file.path.as_str())));
    for file in &files {
        file.write(&root)?;
        made.push(file.path.clone());
    }
    made.sort();
    made.dedup();
    let list = root.join(DOCUMENTATION).join(LIST);
    fs::write(&list, made.join("\n") + "\n").map_err(|e| format!("{}: {e}", list.display()))?;
    println!("{} files are installed in {}", files.len(), root.display());
    println!(
        "next: {} doctor shows what works with the JVMs of this machine",
        root.join("bin/jvmpi").display()
    );
    Ok(())
}

/// Runs `cargo xtask uninstall`.
pub fn uninstall(arguments: &[String]) -> Result<(), String> {
    let mut arguments = arguments.to_vec();
    let root = root(&mut arguments)?;
    cross::finish(&arguments)?;
    let directories = remove(&root)?
        .ok_or_else(|| format!("{} has no {DOCUMENTATION}/{LIST}", root.display()))?;
    for directory in directories.iter().rev() {
        // The directory may contain files of other packages.
        let _ = fs::remove_dir(root.join(directory));
    }
    Ok(())
}

/// Returns the directory of the prefix. It is under `DESTDIR` if that is set, for building packages.
fn root(arguments: &mut Vec<String>) -> Result<PathBuf, String> {
    let prefix = cross::take(arguments, "--prefix").unwrap_or_else(|| "/usr/local".into());
    let prefix = PathBuf::from(prefix);
    let Ok(relative) = prefix.strip_prefix("/") else {
        return Err(format!(
            "--prefix {} is not an absolute path; begin it with /",
            prefix.display()
        ));
    };
    let destination = env::var_os("DESTDIR").filter(|destination| !destination.is_empty());
    Ok(destination.map_or(prefix.clone(), |destination| Path::new(&destination).join(relative)))
}

/// Removes the installed files. Returns the directories that install created, sorted, or `None` if nothing is
/// installed.
fn remove(root: &Path) -> Result<Option<Vec<String>>, String> {
    let list = root.join(DOCUMENTATION).join(LIST);
    let Ok(made) = fs::read_to_string(&list) else { return Ok(None) };
    let (directories, files): (Vec<_>, Vec<_>) =
        made.lines().map(String::from).partition(|path| path.ends_with('/'));
    for file in files.iter().map(|file| root.join(file)).chain([list]) {
        match fs::remove_file(&file) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(format!("{}: {error}", file.display()));
            }
            _ => {}
        }
    }
    Ok(Some(directories))
}

/// Returns the directories of these files that do not exist yet.
fn new_directories<'a>(root: &Path, files: impl Iterator<Item = &'a str>) -> Vec<String> {
    let parents = files.flat_map(|file| Path::new(file).ancestors().skip(1));
    let new = parents.filter(|parent| *parent != Path::new("") && !root.join(parent).exists());
    new.map(|parent| format!("{}/", parent.display())).collect()
}
