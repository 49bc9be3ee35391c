//! Has what Cargo takes for programs linked as libraries. `cargo install` leaves out all that is a library for it.
//!
//! All code is in crates that are compiled as for any library. Of the compiler's options that of a program, `-pie`,
//! is the only one that matters, and the last one of its kind counts.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("Cargo sets OUT_DIR"));
    for library in ["libjvmpi", "libhprof"] {
        let names = Path::new(library).with_extension("txt");
        println!("cargo::rerun-if-changed={}", names.display());
        let names = fs::read_to_string(&names).expect("a list of what the library exports");
        let exports: String = names.lines().map(|name| format!("{name}; ")).collect();
        let script = out.join(library).with_extension("map");
        fs::write(&script, format!("{{ global: {exports}local: *; }};\n")).expect("a script");
        let link = |argument: String| println!("cargo::rustc-link-arg-bin={library}={argument}");
        link("-shared".into());
        // The linker takes from archives what is asked for.
        names.lines().for_each(|name| link(format!("-Wl,-u,{name}")));
        link(format!("-Wl,--version-script={}", script.display()));
        link("-Wl,-z,defs".into());
    }
}
