//! Compares `src/bindings.rs` with the output of bindgen for the newest `jvmti.h`. It also writes the file:
//!
//! ```sh
//! BLESS=1 cargo test -p jvmti-sys --test generated
//! ```
//!
//! Without `BLESS`, the two must be equal byte for byte. Both need libclang (Debian: `libclang1` and
//! `libclang-common-dev`) and the `jvmti.h` of the JDK release in the bindings. If something is missing, the test is
//! skipped, with the reason beside its name.

mod headers;

use std::env;
use std::fs;
use std::panic;

use bindgen::callbacks::{DeriveTrait, ImplementsTrait, ParseCallbacks};
use bindgen::{Builder, EnumVariation, Formatter, RustEdition, RustTarget};
use headers::Headers;
use jvmpi_jvmti_sys::{JVMTI_VERSION, JVMTI_VERSION_MASK_MAJOR, JVMTI_VERSION_SHIFT_MAJOR};
use libtest_mimic::{Arguments, Failed, Trial};

const BINDINGS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/src/bindings.rs");

const ABOUT: &str = "// Generated from jvmti.h by tests/generated.rs: do not edit.";

fn main() {
    let args = Arguments::from_args();
    let trial = match newest_headers() {
        Ok(headers) => Trial::test("generated", move || compare(&generate(&headers)?)),
        Err(reason) => Trial::test("generated", || Ok(()))
            .with_kind(format!("skipped: {reason}"))
            .with_ignored_flag(true),
    };
    libtest_mimic::run(&args, vec![trial]).exit();
}

fn bless() -> bool {
    env::var_os("BLESS").is_some_and(|value| value == "1")
}

fn compare(bindings: &str) -> Result<(), Failed> {
    if bless() {
        fs::write(BINDINGS, bindings)?;
    }
    let committed = fs::read_to_string(BINDINGS)?;
    match committed.lines().zip(bindings.lines()).position(|(old, new)| old != new) {
        None if committed == bindings => Ok(()),
        difference => {
            let line =
                difference.unwrap_or(committed.lines().count().min(bindings.lines().count()));
            Err(format!("{BINDINGS} is out of date from line {} on; BLESS=1 rewrites it", line + 1)
                .into())
        }
    }
}

/// Returns the headers for the bindings, or the reason why the bindings cannot be generated here.
fn newest_headers() -> Result<Headers, String> {
    // bindgen panics if there is no libclang.
    panic::set_hook(Box::new(|_| ()));
    let libclang = panic::catch_unwind(bindgen::clang_version);
    drop(panic::take_hook());
    libclang.map_err(|_| "no libclang")?;
    Builder::default()
        .header_contents("own_headers.h", "#include <stdarg.h>\n#include <stddef.h>\n")
        .generate()
        .map_err(|_| "libclang lacks its own headers")?;

    let major = (JVMTI_VERSION & JVMTI_VERSION_MASK_MAJOR) >> JVMTI_VERSION_SHIFT_MAJOR;
    Headers::find()
        .into_iter()
        .filter(|headers| {
            headers.major_version() == major || bless() && headers.major_version() > major
        })
        .max_by_key(Headers::major_version)
        .ok_or_else(|| format!("no jvmti.h of JDK {major}"))
}

fn generate(headers: &Headers) -> Result<String, Failed> {
    let header = headers.include.join("jvmti.h");
    let bindings = Builder::default()
        .header(header.to_str().ok_or("the path of jvmti.h is not UTF-8")?)
        .clang_args(headers.include_args())
        .allowlist_file(r".*/jvmti\.h")
        .allowlist_recursively(false)
        // An agent exports Agent_OnLoad and similar functions; it does not call them.
        .ignore_functions()
        // The C++ declaration of the environment. In C the environment is a pointer to the table.
        .blocklist_type("_jvmtiEnv")
        .default_enum_style(EnumVariation::Consts)
        .prepend_enum_name(false)
        .parse_callbacks(Box::new(JniTypes))
        .derive_default(true)
        .use_core()
        .layout_tests(false)
        .generate_comments(false)
        .raw_line(ABOUT)
        .raw_line("use jni_sys::*;")
        .rust_edition(RustEdition::Edition2024)
        .rust_target(RustTarget::stable(88, 0)?)
        .formatter(Formatter::Prettyplease)
        .generate()?;
    Ok(jnicall_is_system(&anonymous_enums_are_jint(&bindings.to_string())))
}

/// Tells bindgen which traits the types of jni-sys implement.
#[derive(Debug)]
struct JniTypes;

impl ParseCallbacks for JniTypes {
    fn blocklisted_type_implements_trait(
        &self,
        _name: &str,
        derive_trait: DeriveTrait,
    ) -> Option<ImplementsTrait> {
        match derive_trait {
            DeriveTrait::Copy | DeriveTrait::Debug => Some(ImplementsTrait::Yes),
            // Some of the types are pointers, whose default is all zeros; bindgen generates that.
            DeriveTrait::Default => Some(ImplementsTrait::Manually),
            DeriveTrait::Hash | DeriveTrait::PartialEqOrPartialOrd => None,
        }
    }
}

/// Flags and versions are anonymous enums in C; each is only used as a `jint`.
fn anonymous_enums_are_jint(bindings: &str) -> String {
    let mut out = String::new();
    for line in bindings.lines().filter(|line| !line.starts_with("pub type _bindgen_ty_")) {
        match line.split_once(": _bindgen_ty_") {
            Some((constant, rest)) => {
                let (_, value) = rest.split_once(" = ").expect("an enumerator has a value");
                out.push_str(&format!("{constant}: jint = {value}"));
            }
            None => out.push_str(line),
        }
        out.push('\n');
    }
    out
}

/// `JNICALL` is `extern "system"`, as in jni-sys. Variadic functions exist only in the C ABI.
fn jnicall_is_system(bindings: &str) -> String {
    let mut functions = bindings.split(r#"extern "C" fn("#);
    let mut out = functions.next().unwrap_or_default().to_owned();
    for function in functions {
        let (parameters, _) = function.split_once(')').expect("a parameter list ends");
        let abi = if parameters.contains("...") { "C" } else { "system" };
        out.push_str(&format!("extern \"{abi}\" fn({function}"));
    }
    out
}
