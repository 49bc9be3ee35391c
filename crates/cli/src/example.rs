//! `jvmpi example`, which writes the programs of the tutorials.

use crate::failure::Failure;
use std::fs::File;
use std::io::{ErrorKind, Write};
use std::path::PathBuf;
use std::process::ExitCode;

/// Write the programs of the tutorials, and jvmpi.h, into a directory
///
/// Example: jvmpi example .
#[derive(clap::Args)]
pub struct Arguments {
    /// Directory for the files; those that exist stay as they are
    directory: PathBuf,
}

const FILES: [(&str, &str); 4] = [
    ("Invoices.java", include_str!("../example/Invoices.java")),
    ("count.c", include_str!("../example/count.c")),
    ("sampler.c", include_str!("../example/sampler.c")),
    ("jvmpi.h", include_str!("../example/jvmpi.h")),
];

/// `jvmpi example`.
pub fn example(Arguments { directory }: &Arguments) -> Result<ExitCode, Failure> {
    for (name, text) in FILES {
        let path = directory.join(name);
        match File::create_new(&path).and_then(|mut file| file.write_all(text.as_bytes())) {
            Ok(()) => println!("{}", path.display()),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                println!("{} exists, and stays as it is", path.display());
            }
            Err(error) => return Err(format!("{}: {error}", path.display()).into()),
        }
    }
    Ok(ExitCode::SUCCESS)
}
