//! `jvmpi convert`: a profile in another format.

use crate::failure::Failure;
use crate::output::{NewFile, Output};
use jvmpi_formats::profile::{self, File, Format, Weight};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Convert a profile to another format
///
/// The input is an HPROF file, text or binary. The name of the output selects the format: .txt (HPROF text),
/// .hprof (HPROF binary), .collapsed (one stack per line), .svg (a flame graph), .pb.gz (for pprof), .json
/// (for speedscope) or .html (a report, as jvmpi report writes it).
#[derive(clap::Args)]
#[command(after_help = "Example: jvmpi convert java.hprof.txt profile.svg")]
pub struct Arguments {
    /// The profile
    #[arg(value_name = "IN")]
    from: PathBuf,
    /// Output file; - for standard output, with --format
    #[arg(value_name = "OUT")]
    to: PathBuf,
    /// Format of OUT, whatever its name: one of the endings, without the dot
    #[arg(long, value_name = "ENDING")]
    format: Option<String>,
    /// Weight of the stacks; by default the first of these with data in the profile
    #[arg(long, value_parser = Weight::ALL.map(Weight::name))]
    weight: Option<String>,
    /// Older profile: OUT is a flame graph (.svg) of IN, red where it has grown since OLDER and blue where
    /// it has shrunk
    #[arg(long, value_name = "OLDER")]
    base: Option<PathBuf>,
}

/// `jvmpi convert`.
pub fn convert(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let to_standard_output = arguments.to == Path::new("-");
    let format = match &arguments.format {
        Some(ending) => Format::of_path(Path::new(&format!("-.{ending}")))
            .map_err(|_| format!("--format {ending}: unknown format; see --help"))?,
        None if to_standard_output => {
            return Err("- selects no format: add --format, as in --format collapsed".into());
        }
        None => Format::of_path(&arguments.to).map_err(|error| error.to_string())?,
    };
    let weight = arguments.weight.as_deref().map(str::parse).transpose()?;
    let file = open(&arguments.from)?;
    let older = arguments.base.as_deref().map(open).transpose()?;
    if older.is_some() && format != Format::Svg {
        return Err("with --base, OUT is a flame graph: let its name end in .svg".into());
    }
    let output = Output { format, weight };
    let write = |out: &mut dyn Write| match &older {
        Some(older) => {
            let (older, newer) = (older.profile(), file.profile());
            let weight = weight.or_else(|| Weight::of(newer).first().copied());
            profile::write_difference(older, newer, weight.unwrap_or(Weight::CpuSamples), out)
                .map(|()| Vec::new())
        }
        None => output.write(&name_of(&arguments.from), &file, None, None, out),
    };
    let said = if to_standard_output {
        let mut out = BufWriter::new(io::stdout().lock());
        write(&mut out).and_then(|said| out.flush().map(|()| said)).map_err(|e| e.to_string())?
    } else {
        NewFile::create(&arguments.to)?.finish(write)?
    };
    for line in &said {
        eprintln!("jvmpi: warning: {}: {line}", arguments.from.display());
    }
    Ok(if file.problem().is_none() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Returns the name of the file in pages.
pub fn name_of(path: &Path) -> String {
    path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned()
}

/// Reads a file of HPROF.
pub fn open(path: &Path) -> Result<File, String> {
    File::open(path).map_err(|error| format!("{}: {error}", path.display()))
}
