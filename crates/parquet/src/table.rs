//! A Parquet file that is written row by row, with a part of its rows in memory at a time.

use std::io;
use std::sync::Arc;

use parquet::basic::{Compression, Encoding, GzipLevel};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, Int32Type, Int64Type};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::parser::parse_message_type;
use parquet::schema::types::ColumnPath;
use tempfile::NamedTempFile;

use crate::schema::{Column, Kind, PROFILE_ID, Schema};

/// The bytes of rows that are kept in memory before they are written as a row group.
const ROW_GROUP_BYTES: usize = 32 << 20;

/// A value of a row.
#[derive(Clone, Copy, Debug)]
pub enum Cell<'a> {
    /// No value.
    Null,
    /// A value of the kinds `Id`, `Long` and `Time`.
    Long(i64),
    /// A value of the kind `Int`.
    Int(i32),
    /// A value of the kind `Flag`.
    Flag(bool),
    /// A value of the kind `Text`.
    Text(&'a str),
}

impl From<u64> for Cell<'_> {
    /// A number above the range of `i64` keeps its bits, so that equal IDs stay equal.
    fn from(value: u64) -> Self {
        Self::Long(value.cast_signed())
    }
}

impl From<u32> for Cell<'_> {
    /// No number that becomes a cell is above the range of `i32` in a valid file.
    fn from(value: u32) -> Self {
        Self::Int(i32::try_from(value).unwrap_or(i32::MAX))
    }
}

impl From<bool> for Cell<'_> {
    fn from(value: bool) -> Self {
        Self::Flag(value)
    }
}

impl<'a> From<&'a str> for Cell<'a> {
    fn from(value: &'a str) -> Self {
        Self::Text(value)
    }
}

impl<'a, T: Into<Cell<'a>>> From<Option<T>> for Cell<'a> {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}

/// A table that is being written.
pub struct Table {
    columns: Vec<Column>,
    profile_id: i64,
    writer: SerializedFileWriter<NamedTempFile>,
    buffers: Vec<Buffer>,
    rows: usize,
    /// The memory of the rows, in bytes.
    bytes: usize,
}

impl Table {
    /// Begins a table in this file, without the column `left_out`.
    ///
    /// # Errors
    /// Returns the error of the file.
    pub fn create(
        schema: &Schema,
        left_out: Option<&str>,
        profile_id: i64,
        file: NamedTempFile,
    ) -> io::Result<Self> {
        let columns = schema.columns.iter().filter(|column| Some(column.name) != left_out);
        let columns: Vec<_> = columns.copied().collect();
        // Files are as small as with zstd's level 1, and every engine reads them. Higher levels take longer than they save.
        let gzip = GzipLevel::try_new(2)?;
        let mut properties = WriterProperties::builder()
            .set_compression(Compression::GZIP(gzip))
            // Engines skip row groups by the minimum and maximum of a column; pages are too small for that.
            .set_offset_index_disabled(true)
            .set_statistics_enabled(parquet::file::properties::EnabledStatistics::Chunk);
        for column in columns.iter().filter(|column| column.kind == Kind::Id) {
            let path = ColumnPath::from(column.name);
            properties = properties
                .set_column_dictionary_enabled(path.clone(), false)
                .set_column_encoding(path, Encoding::DELTA_BINARY_PACKED);
        }
        let message = parse_message_type(&message(schema.name, &columns))?;
        let writer =
            SerializedFileWriter::new(file, Arc::new(message), Arc::new(properties.build()))?;
        let buffers = columns.iter().map(|column| Buffer::new(*column)).collect();
        Ok(Self { columns, profile_id, writer, buffers, rows: 0, bytes: 0 })
    }

    /// Adds a row: a value for each column after `profile_id`.
    ///
    /// # Errors
    /// Returns the error of the file.
    pub fn row(&mut self, cells: &[Cell<'_>]) -> io::Result<()> {
        debug_assert_eq!(cells.len(), self.columns.len());
        for (buffer, cell) in self.buffers.iter_mut().zip(cells) {
            self.bytes += buffer.push(*cell);
        }
        self.rows += 1;
        if self.bytes >= ROW_GROUP_BYTES { self.write_rows() } else { Ok(()) }
    }

    /// Writes the rows in memory as a row group.
    fn write_rows(&mut self) -> io::Result<()> {
        let rows = std::mem::take(&mut self.rows);
        self.bytes = 0;
        if rows == 0 {
            return Ok(());
        }
        let mut group = self.writer.next_row_group()?;
        if let Some(column) = group.next_column()? {
            write::<Int64Type>(column, &vec![self.profile_id; rows], None)?;
        }
        for buffer in &mut self.buffers {
            if let Some(column) = group.next_column()? {
                buffer.write(column)?;
            }
        }
        group.close()?;
        Ok(())
    }

    /// Writes the remaining rows and the end of the file, and returns the file.
    ///
    /// # Errors
    /// Returns the error of the file.
    pub fn finish(mut self) -> io::Result<NamedTempFile> {
        self.write_rows()?;
        Ok(self.writer.into_inner()?)
    }
}

/// Returns the definition of a table in the language of Parquet.
fn message(name: &str, columns: &[Column]) -> String {
    let mut message = format!("message {name} {{ required int64 {PROFILE_ID};");
    for Column { name, kind, nullable } in columns {
        let (of_type, annotation) = match kind {
            Kind::Id | Kind::Long => ("int64", ""),
            Kind::Int => ("int32", ""),
            Kind::Flag => ("boolean", ""),
            Kind::Time => ("int64", " (TIMESTAMP(MILLIS,true))"),
            Kind::Text => ("binary", " (UTF8)"),
        };
        let repetition = if *nullable { "optional" } else { "required" };
        message += &format!(" {repetition} {of_type} {name}{annotation};");
    }
    message + " }"
}

/// The values of a column in the rows that are in memory.
struct Buffer {
    values: Values,
    /// For each row 1 if it has a value and otherwise 0; none if each row has one.
    levels: Option<Vec<i16>>,
}

enum Values {
    Longs(Vec<i64>),
    Ints(Vec<i32>),
    Flags(Vec<bool>),
    /// The texts one after the other, and the end of each.
    Texts(Vec<u8>, Vec<usize>),
}

impl Buffer {
    fn new(column: Column) -> Self {
        let values = match column.kind {
            Kind::Id | Kind::Long | Kind::Time => Values::Longs(Vec::new()),
            Kind::Int => Values::Ints(Vec::new()),
            Kind::Flag => Values::Flags(Vec::new()),
            Kind::Text => Values::Texts(Vec::new(), Vec::new()),
        };
        Self { values, levels: column.nullable.then(Vec::new) }
    }

    /// Adds a value, and returns the memory that it needs in bytes. Writing texts needs a handle for each.
    fn push(&mut self, cell: Cell<'_>) -> usize {
        if let Some(levels) = &mut self.levels {
            levels.push(i16::from(!matches!(cell, Cell::Null)));
        }
        let bytes = match (&mut self.values, cell) {
            (_, Cell::Null) if self.levels.is_some() => 0,
            (Values::Longs(values), Cell::Long(value)) => {
                values.push(value);
                size_of::<i64>()
            }
            (Values::Ints(values), Cell::Int(value)) => {
                values.push(value);
                size_of::<i32>()
            }
            (Values::Flags(values), Cell::Flag(value)) => {
                values.push(value);
                size_of::<bool>()
            }
            (Values::Texts(bytes, ends), Cell::Text(text)) => {
                bytes.extend_from_slice(text.as_bytes());
                ends.push(bytes.len());
                text.len() + size_of::<ByteArray>()
            }
            (_, cell) => unreachable!("{cell:?} is not of the type of its column"),
        };
        bytes + size_of::<i16>()
    }

    /// Writes the values, and forgets them.
    fn write(&mut self, column: SerializedColumnWriter<'_>) -> io::Result<()> {
        let levels = self.levels.as_deref();
        match &mut self.values {
            Values::Longs(values) => {
                write::<Int64Type>(column, values, levels)?;
                values.clear();
            }
            Values::Ints(values) => {
                write::<Int32Type>(column, values, levels)?;
                values.clear();
            }
            Values::Flags(values) => {
                write::<BoolType>(column, values, levels)?;
                values.clear();
            }
            Values::Texts(bytes, ends) => {
                let all = ByteArray::from(std::mem::take(bytes));
                let mut start = 0;
                let texts = ends.drain(..).map(|end| {
                    let text = all.slice(start, end - start);
                    start = end;
                    text
                });
                write::<ByteArrayType>(column, &texts.collect::<Vec<_>>(), levels)?;
            }
        }
        if let Some(levels) = &mut self.levels {
            levels.clear();
        }
        Ok(())
    }
}

fn write<T: DataType>(
    mut column: SerializedColumnWriter<'_>,
    values: &[T::T],
    levels: Option<&[i16]>,
) -> io::Result<()> {
    column.typed::<T>().write_batch(values, levels, None)?;
    Ok(column.close()?)
}
