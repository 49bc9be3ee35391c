//! Gives `libjvmpi.so` the name under which programs that link it look for it.

fn main() {
    // Its number is that of the binary interface, `shim/exports.txt` and the layout in `jvmpi.h`, and
    // not that of the release.
    println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libjvmpi.so.1");
    println!("cargo::rerun-if-changed=build.rs");
}
