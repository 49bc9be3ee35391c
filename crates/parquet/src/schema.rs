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

/// Defines a table as SQL does: the names of the columns, their kinds, and `null` where a row may have no value.
macro_rules! table {
    ($table:literal: $($column:ident $kind:ident $($null:ident)?),*) => {
        Schema {
            name: $table,
            columns: &[$(Column {
                name: stringify!($column),
                kind: Kind::$kind,
                nullable: !stringify!($($null)?).is_empty(),
            }),*],
        }
    };
}

/// One row per converted file.
pub const PROFILE: Schema = table!("profile":
    file Text, started Time, ended Time null, heap_dumped Time null, problem Text null, host Text
);

/// The labels that the user gives to a profile.
pub const LABEL: Schema = table!("label":
    key Text, value Text
);

/// The stacks with their weights.
pub const SAMPLE: Schema = table!("sample":
    weight Text, stack_id Id null, thread Text null, subject Text null, state Text null, value Long
);

/// The stacks, each linked to the stack of its caller.
pub const STACK: Schema = table!("stack":
    stack_id Id, parent_id Id null, frame_id Id, depth Int, preorder Id, preorder_last Id,
    is_recursive Flag
);

/// The frames of the stacks.
pub const FRAME: Schema = table!("frame":
    frame_id Id, class Text, method Text, signature Text null, source Text null, line Int null
);

/// The classes of a heap dump.
pub const CLASSES: Schema = table!("classes":
    id Id, name Text, superclass_id Id null, loader_id Id null, instance_size Long
);

/// All objects of a heap dump.
pub const INSTANCES: Schema = table!("instances":
    id Id, kind Text, class_id Id null, class Text, shallow Long, retained Long null,
    dominator_id Id null, stack_id Id null
);

/// The references between the objects. REFERENCES is a reserved word of SQL.
pub const REFS: Schema = table!("refs":
    from_id Id, field Text null, index Int null, to_id Id, weak Flag
);

/// The reasons that keep objects alive from outside the heap.
pub const ROOTS: Schema = table!("roots":
    object_id Id, reason Text, thread_number Int null, thread Text null
);

/// The strings with their text.
pub const STRINGS: Schema = table!("strings":
    id Id, array_id Id, length Int, value Text
);

/// The arrays with their lengths.
pub const ARRAYS: Schema = table!("arrays":
    id Id, element_type Text, length Int
);

/// All tables: first those that each file gets, then those of a heap dump.
pub const TABLES: [Schema; 11] =
    [PROFILE, LABEL, SAMPLE, STACK, FRAME, CLASSES, INSTANCES, REFS, ROOTS, STRINGS, ARRAYS];
