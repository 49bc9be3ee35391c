//! Compiles the C agents of `examples/agent`, which the tutorial shows, in the C dialects that `jvmpi.h` supports.

mod common;

use std::path::Path;

const EXAMPLES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/agent");

#[test]
fn agents_of_the_tutorial_compile() {
    for agent in ["count.c", "sampler.c"] {
        for standard in ["c89", "c99"] {
            let Some(mut cc) = common::cc("agents_of_the_tutorial_compile") else { return };
            cc.args(["-fsyntax-only", "-Wall", "-Wextra", "-pedantic", "-Werror"]);
            cc.arg(format!("-std={standard}")).arg(Path::new(EXAMPLES).join(agent));
            common::run(&mut cc).unwrap_or_else(|error| panic!("{agent}: {error}"));
        }
    }
}
