//! What a library needs that is not there.

use std::path::Path;
use std::process::Command;

/// Libraries and symbols that the dynamic loader does not find.
pub struct Missing {
    pub libraries: Vec<String>,
    pub symbols: Vec<String>,
}

impl Missing {
    pub fn is_nothing(&self) -> bool {
        self.libraries.is_empty() && self.symbols.is_empty()
    }
}

/// What `ldd -r` finds missing, which is what the dynamic loader would: it alone knows its cache and
/// the paths within libraries. It runs no code of the library. None if there is no `ldd`.
pub fn missing(path: &Path) -> Option<Missing> {
    let output = Command::new("ldd").arg("-r").arg(path).env("LC_ALL", "C").output().ok()?;
    let text = [output.stdout, output.stderr].concat();
    Some(in_output(&String::from_utf8_lossy(&text)))
}

fn in_output(text: &str) -> Missing {
    let mut missing = Missing { libraries: Vec::new(), symbols: Vec::new() };
    for line in text.lines() {
        if let Some((library, _)) = line.split_once(" => not found") {
            missing.libraries.push(library.trim().to_owned());
        } else if let Some((_, rest)) = line.split_once("undefined symbol: ") {
            let symbol = rest.split(['\t', ' ', ',']).next().unwrap_or(rest);
            if !is_of_the_vm(symbol) {
                missing.symbols.push(symbol.to_owned());
            }
        }
    }
    missing.libraries.dedup();
    missing
}

/// Whether the library of the JVM defines the symbol, which is loaded before any agent.
fn is_of_the_vm(symbol: &str) -> bool {
    symbol.starts_with("JNI_") || symbol.starts_with("JVM_")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_vm_defines_is_not_missing() {
        let text = "\tlinux-vdso.so.1 (0x00007ffd)\n\
                    \tlibgone.so => not found\n\
                    \tlibc.so.6 => /lib/libc.so.6 (0x00007f5c)\n\
                    undefined symbol: frob\t(./libfoo.so)\n\
                    undefined symbol: JNI_GetCreatedJavaVMs\t(./libfoo.so)\n";
        let missing = in_output(text);
        assert_eq!(
            (missing.libraries, missing.symbols),
            (vec!["libgone.so".into()], vec!["frob".into()])
        );
    }
}
