//! The tables and their columns. `docs/reference/parquet.md` describes each of them, which a test checks.

/// A table.
#[derive(Clone, Copy, Debug)]
pub struct Schema {
    /// Its name: that of its file or folder.
    pub name: &'static str,
    /// The columns after `profile_id`, which each table has.
    pub columns: &'static [Column],
}

/// A column.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Column {
    /// Its name.
    pub name: &'static str,
    /// The type of its values.
    pub kind: Kind,
    /// True if a row may have no value.
    pub nullable: bool,
}

/// The type of a column.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// A 64-bit number with many different values, such as the ID of an object.
    Id,
    /// A 64-bit number.
    Long,
    /// A 32-bit number.
    Int,
    /// True or false.
    Flag,
    /// A moment, in milliseconds since 1970 in UTC.
    Time,
    /// Text in UTF-8.
    Text,
}

impl Kind {
    /// Returns the SQL type that readers show.
    pub const fn sql(self) -> &'static str {
        match self {
            Self::Id | Self::Long => "BIGINT",
            Self::Int => "INT",
            Self::Flag => "BOOLEAN",
            Self::Time => "TIMESTAMP",
            Self::Text => "VARCHAR",
        }
    }
}

/// The name of the column that each table has first.
pub const PROFILE_ID: &str = "profile_id";

/// The column that is a folder in a partitioned layout.
pub const HOST: &str = "host";

const fn required(name: &'static str, kind: Kind) -> Column {
    Column { name, kind, nullable: false }
}

const fn nullable(name: &'static str, kind: Kind) -> Column {
    Column { name, kind, nullable: true }
}

/// One row per converted file.
pub const PROFILE: Schema = Schema {
    name: "profile",
    columns: &[
        required("file", Kind::Text),
        required("started", Kind::Time),
        nullable("ended", Kind::Time),
        nullable("heap_dumped", Kind::Time),
        nullable("problem", Kind::Text),
        required(HOST, Kind::Text),
    ],
};

/// The labels that the user gives to a profile.
pub const LABEL: Schema = Schema {
    name: "label",
    columns: &[required("key", Kind::Text), required("value", Kind::Text)],
};

/// The stacks with their weights.
pub const SAMPLE: Schema = Schema {
    name: "sample",
    columns: &[
        required("weight", Kind::Text),
        nullable("stack_id", Kind::Id),
        nullable("thread", Kind::Text),
        nullable("subject", Kind::Text),
        nullable("state", Kind::Text),
        required("value", Kind::Long),
    ],
};

/// The stacks, each linked to the stack of its caller.
pub const STACK: Schema = Schema {
    name: "stack",
    columns: &[
        required("stack_id", Kind::Id),
        nullable("parent_id", Kind::Id),
        required("frame_id", Kind::Id),
        required("depth", Kind::Int),
        required("preorder", Kind::Id),
        required("preorder_last", Kind::Id),
        required("is_recursive", Kind::Flag),
    ],
};

/// The frames of the stacks.
pub const FRAME: Schema = Schema {
    name: "frame",
    columns: &[
        required("frame_id", Kind::Id),
        required("class", Kind::Text),
        required("method", Kind::Text),
        nullable("signature", Kind::Text),
        nullable("source", Kind::Text),
        nullable("line", Kind::Int),
    ],
};

/// The classes of a heap dump.
pub const CLASSES: Schema = Schema {
    name: "classes",
    columns: &[
        required("id", Kind::Id),
        required("name", Kind::Text),
        nullable("superclass_id", Kind::Id),
        nullable("loader_id", Kind::Id),
        required("instance_size", Kind::Long),
    ],
};

/// All objects of a heap dump.
pub const INSTANCES: Schema = Schema {
    name: "instances",
    columns: &[
        required("id", Kind::Id),
        required("kind", Kind::Text),
        nullable("class_id", Kind::Id),
        required("class", Kind::Text),
        required("shallow", Kind::Long),
        nullable("retained", Kind::Long),
        nullable("dominator_id", Kind::Id),
        nullable("stack_id", Kind::Id),
    ],
};

/// The references between the objects. REFERENCES is a reserved word of SQL.
pub const REFS: Schema = Schema {
    name: "refs",
    columns: &[
        required("from_id", Kind::Id),
        nullable("field", Kind::Text),
        nullable("index", Kind::Int),
        required("to_id", Kind::Id),
        required("weak", Kind::Flag),
    ],
};

/// The reasons that keep objects alive from outside the heap.
pub const ROOTS: Schema = Schema {
    name: "roots",
    columns: &[
        required("object_id", Kind::Id),
        required("reason", Kind::Text),
        nullable("thread_number", Kind::Int),
        nullable("thread", Kind::Text),
    ],
};

/// The strings with their text.
pub const STRINGS: Schema = Schema {
    name: "strings",
    columns: &[
        required("id", Kind::Id),
        required("array_id", Kind::Id),
        required("length", Kind::Int),
        required("value", Kind::Text),
    ],
};

/// The arrays with their lengths.
pub const ARRAYS: Schema = Schema {
    name: "arrays",
    columns: &[
        required("id", Kind::Id),
        required("element_type", Kind::Text),
        required("length", Kind::Int),
    ],
};

/// All tables: first those that each file gets, then those of a heap dump.
pub const TABLES: [Schema; 11] =
    [PROFILE, LABEL, SAMPLE, STACK, FRAME, CLASSES, INSTANCES, REFS, ROOTS, STRINGS, ARRAYS];
