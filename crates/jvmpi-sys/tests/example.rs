//! Compiles the example of `docs/writing-agents.md` in the C dialects that `jvmpi.h` supports.

mod common;

use std::fs;

const DOCUMENTATION: &str = include_str!("../../../docs/writing-agents.md");

#[test]
fn documented_agent_compiles() {
    let (_, source) = DOCUMENTATION.split_once("```c\n").unwrap();
    let (source, _) = source.split_once("```").unwrap();
    let file = common::scratch("example").join("count.c");
    fs::write(&file, source).unwrap();
    for standard in ["c89", "c99"] {
        let Some(mut cc) = common::cc("documented_agent_compiles") else { return };
        cc.args(["-fsyntax-only", "-Wall", "-Wextra", "-pedantic", "-Werror"]);
        cc.arg(format!("-std={standard}")).arg(&file);
        common::run(&mut cc).unwrap_or_else(|error| panic!("{error}"));
    }
}
