//! Writes profiles and heap dumps as tables in Parquet files, which DuckDB, Spark and others query with SQL.
//!
//! ```
//! use jvmpi_formats::profile::File;
//! use jvmpi_parquet::{Options, write};
//! use std::path::Path;
//!
//! let text = "JAVA PROFILE 1.0.1, created Wed Oct  4 13:13:42 2006\n\n\n--------\n\n";
//! let file = File::from_bytes(text.into())?;
//! let directory = tempfile::tempdir()?;
//! let options = Options { host: "web-1", labels: &[], partition: false };
//! write(Path::new("java.hprof.txt"), &file, directory.path(), &options, |_| {})?;
//! assert!(directory.path().join("profile.parquet").is_file());
//! # Ok::<(), std::io::Error>(())
//! ```
//!
//! [`schema`] has the tables and their columns. A file becomes one row of the table `profile`. Rows are collected for
//! 32 MiB and then written, so a heap dump needs the memory of its analysis and little more.

#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

mod heap;
mod place;
mod profile;
pub mod schema;
mod strings;
mod table;

use std::io;
use std::path::Path;

use jvmpi_formats::profile::{Error, File, Section};
use sha2::{Digest, Sha256};

use place::{Partition, Place};
use profile::Used;
use schema::Schema;
use table::Table;

/// The properties of a file that are not in it, and the layout of the tables.
#[derive(Clone, Copy, Debug)]
pub struct Options<'a> {
    /// The name of the host on which the JVM ran.
    pub host: &'a str,
    /// The rows of the table `label`: keys and values.
    pub labels: &'a [(String, String)],
    /// True if the tables are folders by host, day and hour, so that many machines can write to one directory.
    pub partition: bool,
}

/// Writes the tables of a file, with the objects of its last heap dump if it has one, into a directory. The files get
/// their names when all are whole; until then `begins` has got the directory to remove if the process ends. Returns the
/// reason if the heap dump is cut off.
///
/// # Errors
/// Returns an error if the directory is not empty and there are no partitions, or if a file cannot be written.
pub fn write(
    path: &Path,
    file: &File,
    directory: &Path,
    options: &Options<'_>,
    begins: impl FnOnce(&Path),
) -> io::Result<Option<Error>> {
    let profile = file.profile();
    let profile_id = profile_id(path, file, options.host);
    let partition = options.partition.then_some(Partition {
        host: options.host,
        started: profile.created,
        profile_id,
    });
    let place = Place::new(directory, partition)?;
    begins(place.unfinished());
    let host = options.partition.then_some(schema::HOST);
    let create = |schema: &Schema| Table::create(schema, host, profile_id, place.file()?);
    let mut whole = Vec::new();

    let mut used = Used::none_of(profile, profile_id);
    let mut samples = create(&schema::SAMPLE)?;
    profile::samples(profile, &mut used, &mut samples)?;
    whole.push((schema::SAMPLE, samples.finish()?));

    let dump = profile.heap_dumps().next_back();
    let mut cut = None;
    if let Some(dump) = dump {
        let mut tables = heap::Tables {
            classes: create(&schema::CLASSES)?,
            instances: create(&schema::INSTANCES)?,
            refs: create(&schema::REFS)?,
            roots: create(&schema::ROOTS)?,
            strings: create(&schema::STRINGS)?,
            arrays: create(&schema::ARRAYS)?,
        };
        cut = tables.write(file, dump, &mut used)?;
        whole.push((schema::CLASSES, tables.classes.finish()?));
        whole.push((schema::INSTANCES, tables.instances.finish()?));
        whole.push((schema::REFS, tables.refs.finish()?));
        whole.push((schema::ROOTS, tables.roots.finish()?));
        whole.push((schema::STRINGS, tables.strings.finish()?));
        whole.push((schema::ARRAYS, tables.arrays.finish()?));
    }

    let (mut stacks, mut frames) = (create(&schema::STACK)?, create(&schema::FRAME)?);
    profile::code(profile, used, &mut stacks, &mut frames)?;
    whole.push((schema::STACK, stacks.finish()?));
    whole.push((schema::FRAME, frames.finish()?));

    let mut labels = create(&schema::LABEL)?;
    for (key, value) in options.labels {
        labels.row(&[key.as_str().into(), value.as_str().into()])?;
    }
    whole.push((schema::LABEL, labels.finish()?));

    let mut table = create(&schema::PROFILE)?;
    let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy();
    let ended = profile.sections.iter().filter_map(Section::at).max();
    let problem = file.problem().or(cut.as_ref()).map(ToString::to_string);
    let mut cells = vec![
        (&*name).into(),
        profile.created.0.into(),
        ended.map(|time| time.0).into(),
        dump.and_then(|dump| dump.at).map(|time| time.0).into(),
        problem.as_deref().into(),
    ];
    if !options.partition {
        cells.push(options.host.into());
    }
    table.row(&cells)?;
    // Last, so that the other tables have their rows when a reader finds the profile.
    whole.push((schema::PROFILE, table.finish()?));
    for (schema, file) in whole {
        place.finish(schema.name, file)?;
    }
    Ok(cut)
}

/// Returns the ID of a profile: the same each time the same file is converted on the same host, so that a conversion
/// that is repeated replaces its files.
fn profile_id(path: &Path, file: &File, host: &str) -> i64 {
    let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let mut hash = Sha256::new();
    for part in [host.as_bytes(), path.as_os_str().as_encoded_bytes()] {
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part);
    }
    hash.update(file.profile().created.0.to_le_bytes());
    let hash = hash.finalize();
    let first = hash.iter().take(8).fold(0_u64, |id, byte| id << 8 | u64::from(*byte));
    // Positive, because minus signs would be surprising in IDs, with room for the IDs that begin there.
    (first >> 2).cast_signed()
}
