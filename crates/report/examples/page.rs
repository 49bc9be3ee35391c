//! `cargo run -p jvmpi-report --example page -- OUT.html FILE…` writes the page of files of HPROF.

use std::io::{self, BufWriter, Write};
use std::path::Path;

use jvmpi_formats::profile::File;

fn main() -> io::Result<()> {
    let mut arguments = std::env::args().skip(1);
    let out = arguments.next().ok_or_else(|| io::Error::other("give OUT.html FILE…"))?;
    let names: Vec<String> = arguments.collect();
    let files =
        names.iter().map(|name| File::open(Path::new(name))).collect::<io::Result<Vec<_>>>()?;
    let files: Vec<(&str, &File)> = names.iter().map(String::as_str).zip(&files).collect();
    let mut page = BufWriter::new(std::fs::File::create(out)?);
    jvmpi_report::write_files(&files, &mut page)?;
    page.flush()
}
