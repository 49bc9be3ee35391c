//! The files of the tables: their names, and how they get them.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use chrono::{DateTime, Timelike};
use jvmpi_formats::planted;
use jvmpi_formats::profile::Time;
use tempfile::{NamedTempFile, TempDir};

/// The places of the files of one conversion. They get their names when all of them are whole, so that no reader sees
/// half of a file.
#[derive(Debug)]
pub struct Place {
    directory: PathBuf,
    /// True if the directory is new. It is removed if it stays empty.
    is_new: bool,
    /// The directory of the files that are not whole yet. Spark and DuckDB ignore names that begin with a dot.
    parts: Option<TempDir>,
    /// The folders below that of a table, and the name of the files in them; none without partitions.
    partition: Option<(String, String)>,
}

impl Drop for Place {
    fn drop(&mut self) {
        self.parts = None;
        if self.is_new {
            // A directory with files cannot be removed.
            let _ = fs::remove_dir(&self.directory);
        }
    }
}

/// The properties of a profile that select its partition.
#[derive(Clone, Copy, Debug)]
pub struct Partition<'a> {
    /// The name of the host.
    pub host: &'a str,
    /// The start of the profile.
    pub started: Time,
    /// The ID of the profile.
    pub profile_id: i64,
}

impl Place {
    /// Creates the directory if there is none. Without a partition it must be empty.
    ///
    /// # Errors
    /// Returns the error of the file system, or an error if the directory has files or is another user's in a
    /// directory for everybody.
    #[expect(clippy::disallowed_methods, reason = "the user names the directory, which is checked")]
    pub fn new(directory: &Path, partition: Option<Partition<'_>>) -> io::Result<Self> {
        let mut is_new = false;
        if let (name, None) = planted::find(directory)? {
            fs::create_dir_all(name.parent().unwrap_or(Path::new("")))?;
            match fs::create_dir(name) {
                Ok(()) => is_new = true,
                // Made meanwhile by another conversion, or by another user.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                    planted::find(directory)?;
                }
                Err(error) => return Err(error),
            }
        }
        if partition.is_none() && fs::read_dir(directory)?.next().is_some() {
            let what = "the directory is not empty: name a new one, or add --partition";
            return Err(io::Error::new(io::ErrorKind::AlreadyExists, what));
        }
        let partition = partition.map(|partition| {
            let (date, hour) = date_and_hour(partition.started);
            let host = escaped(partition.host);
            let file = format!("{:016x}.parquet", partition.profile_id);
            (format!("host={host}/date={date}/hour={hour}"), file)
        });
        let mut place = Self { directory: directory.to_owned(), is_new, parts: None, partition };
        let parts = tempfile::Builder::new().prefix(".").suffix(".part").tempdir_in(directory)?;
        place.parts = Some(parts);
        Ok(place)
    }

    /// Returns the directory to remove if the conversion does not end.
    pub fn unfinished(&self) -> &Path {
        match &self.parts {
            Some(parts) if !self.is_new => parts.path(),
            _ => &self.directory,
        }
    }

    /// Creates the file of a table under a temporary name.
    ///
    /// # Errors
    /// Returns the error of the file system.
    pub fn file(&self) -> io::Result<NamedTempFile> {
        NamedTempFile::new_in(self.parts.as_ref().map_or(&*self.directory, TempDir::path))
    }

    /// Gives the file of a table its name. It replaces an older file of the same profile.
    ///
    /// # Errors
    /// Returns the error of the file system.
    #[expect(clippy::disallowed_methods, reason = "below the directory that the user names")]
    pub fn finish(&self, table: &str, file: NamedTempFile) -> io::Result<()> {
        let path = match &self.partition {
            None => self.directory.join(format!("{table}.parquet")),
            Some((folders, name)) => {
                let folder = self.directory.join(table).join(folders);
                fs::create_dir_all(&folder)?;
                folder.join(name)
            }
        };
        file.persist(path)?;
        Ok(())
    }
}

/// Returns a name as Hive writes it in the name of a folder.
fn escaped(name: &str) -> String {
    let keeps = |byte: &u8| byte.is_ascii_alphanumeric() || b"-._".contains(byte);
    let escape = |byte: u8| match byte {
        byte if keeps(&byte) => char::from(byte).to_string(),
        byte => format!("%{byte:02X}"),
    };
    name.bytes().map(escape).collect()
}

/// Returns the date and the hour of a moment in UTC.
fn date_and_hour(time: Time) -> (String, u32) {
    let moment = i64::try_from(time.0).ok().and_then(DateTime::from_timestamp_millis);
    let moment = moment.unwrap_or(DateTime::UNIX_EPOCH);
    (moment.format("%Y-%m-%d").to_string(), moment.hour())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_have_dates_and_hours_in_utc() {
        let of = |milliseconds| date_and_hour(Time(milliseconds));
        assert_eq!(of(1_709_251_200_000), ("2024-03-01".to_owned(), 0));
        assert_eq!(of(1_795_309_388_000), ("2026-11-22".to_owned(), 1));
        assert_eq!(of(u64::MAX), of(0), "there is no such date");
    }

    #[test]
    fn unfinished_directory_is_a_new_one() {
        let directory = tempfile::tempdir().unwrap();
        let new = directory.path().join("new");
        let place = Place::new(&new, None).unwrap();
        assert_eq!(place.unfinished(), new);
        drop((place.file().unwrap(), place));
        assert!(!new.exists());

        let partition = Partition { host: "web", started: Time(0), profile_id: 1 };
        let place = Place::new(directory.path(), Some(partition)).unwrap();
        let parts = place.unfinished().to_owned();
        assert_eq!(parts.parent(), Some(directory.path()));
        assert!(place.file().unwrap().path().starts_with(&parts));
        drop(place);
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);
    }

    #[test]
    fn names_of_hosts_are_no_paths() {
        assert_eq!(escaped("web-1.example_org"), "web-1.example_org");
        assert_eq!(escaped("../a=b c%é"), "..%2Fa%3Db%20c%25%C3%A9");
    }
}
