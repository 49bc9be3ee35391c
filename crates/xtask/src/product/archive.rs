//! Builds `libjvmpi.a` for programs in C.

use std::fs;
use std::path::{Path, PathBuf};

use compat_tests::tool::run;
use compat_tests::workspace_root;

use super::build::Build;

/// Links the compiler's archive into one object file that defines only the symbols that libjvmpi.so exports. So a
/// program can link other Rust libraries too.
pub fn with_own_symbols_alone(build: &Build, archive: &Path, to: &Path) -> Result<PathBuf, String> {
    let error = |path: &Path, error| format!("{}: {error}", path.display());
    fs::create_dir_all(to).map_err(|e| error(to, e))?;
    let exports = workspace_root().join("shim/exports.txt");
    let names = fs::read_to_string(&exports).map_err(|e| error(&exports, e))?;
    let (whole, own, result) = (to.join("whole.o"), to.join("jvmpi.o"), to.join("libjvmpi.a"));

    let mut link = build.tool("ld");
    link.arg("-r");
    names.lines().for_each(|name| {
        link.args(["-u", name]);
    });
    run(link.arg(archive).arg("-o").arg(&whole))?;

    let mut keep = build.tool("objcopy");
    keep.arg(format!("--keep-global-symbols={}", exports.display())).arg("--strip-debug");
    // Rust's standard library also contains LLVM bitcode.
    keep.args(["--remove-section=.llvmbc", "--remove-section=.llvmcmd"]);
    run(keep.arg(&whole).arg(&own))?;

    let _ = fs::remove_file(&result);
    run(build.tool("ar").arg("rcsD").arg(&result).arg(&own))?;
    fs::remove_file(&whole).map_err(|e| error(&whole, e))?;
    Ok(result)
}
