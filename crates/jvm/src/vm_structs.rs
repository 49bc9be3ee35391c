//! HotSpot's description of its own structures, which it publishes for debuggers. The tables are in variables
//! whose names begin with `gHotSpotVM`. Further variables give the layout of their entries.

use super::{internals, symbols};
use std::ffi::{CStr, c_char, c_int};
use std::ptr::{self, NonNull};

/// Returns the value of an exported variable.
fn exported<T: Copy>(name: &CStr) -> Option<T> {
    let variable: NonNull<T> = symbols::find(name)?.cast();
    // SAFETY: the VM exports a variable of this type under this name, and never changes it.
    Some(unsafe { variable.read() })
}

/// A table: its start, and the size of each entry.
#[derive(Clone, Copy)]
struct Table {
    start: *const u8,
    stride: usize,
}

impl Table {
    fn find(start: &CStr, stride: &CStr) -> Option<Self> {
        let start: *const u8 = exported(start)?;
        let stride = offset(stride)?;
        (!start.is_null() && stride > 0).then_some(Self { start, stride })
    }

    /// Returns the entries, up to the one whose `name` is NULL.
    fn entries(self, name: usize) -> impl Iterator<Item = Entry> {
        let all = (0..).map(move |i| Entry(self.start.wrapping_add(i * self.stride)));
        all.take_while(move |entry| entry.text(name).is_some())
    }
}

/// An entry of a table.
#[derive(Clone, Copy)]
struct Entry(*const u8);

impl Entry {
    fn read<T: Copy>(self, offset: usize) -> T {
        // SAFETY: the VM's table has a value of this type at this offset, which the VM exports. Entries after the
        // last one are not read.
        unsafe { ptr::read_unaligned(self.0.wrapping_add(offset).cast()) }
    }

    fn text(self, offset: usize) -> Option<&'static CStr> {
        let text: *const c_char = self.read(offset);
        // SAFETY: the VM's table has NULL or a string literal there.
        (!text.is_null()).then(|| unsafe { CStr::from_ptr(text) })
    }
}

/// Returns an offset or a size that the VM exports.
fn offset(name: &CStr) -> Option<usize> {
    usize::try_from(exported::<u64>(name)?).ok()
}

/// A field of one of the VM's structures.
struct Field {
    /// The offset of an instance field in its object.
    offset: usize,
    /// The address of a static field.
    address: *const u8,
}

fn field(structure: &CStr, name: &CStr) -> Option<Field> {
    let table = Table::find(c"gHotSpotVMStructs", c"gHotSpotVMStructEntryArrayStride")?;
    let structures = offset(c"gHotSpotVMStructEntryTypeNameOffset")?;
    let names = offset(c"gHotSpotVMStructEntryFieldNameOffset")?;
    let (offsets, addresses) = (
        offset(c"gHotSpotVMStructEntryOffsetOffset")?,
        offset(c"gHotSpotVMStructEntryAddressOffset")?,
    );
    let is_it = |entry: &Entry| {
        entry.text(structures) == Some(structure) && entry.text(names) == Some(name)
    };
    let entry = table.entries(structures).find(is_it)?;
    let offset = usize::try_from(entry.read::<u64>(offsets)).ok()?;
    Some(Field { offset, address: entry.read(addresses) })
}

/// Returns the offset of a field in its structure.
pub fn offset_of(structure: &CStr, name: &CStr) -> Option<usize> {
    field(structure, name).map(|field| field.offset)
}

/// Returns the value of a static field of this type.
fn static_value<T: Copy>(structure: &CStr, name: &CStr) -> Option<T> {
    let address = field(structure, name)?.address;
    // SAFETY: the VM's table says that the field is at this address.
    (!address.is_null()).then(|| unsafe { ptr::read(address.cast()) })
}

/// Returns the options that the VM was started with, in the order in which it has processed them: those of the command
/// line, of environment variables and of files, and those that a program has passed to JNI_CreateJavaVM.
pub fn vm_options() -> Option<Vec<&'static CStr>> {
    const ARGUMENTS: &CStr = c"Arguments";
    internals::VM_OPTIONS.find(|| {
        let count: c_int = static_value(ARGUMENTS, c"_num_jvm_args")?;
        let options: *const *const c_char = static_value(ARGUMENTS, c"_jvm_args_array")?;
        let option = |i| {
            // SAFETY: the VM has that many options, which it copies before it loads agents and never frees.
            unsafe { CStr::from_ptr(options.add(i).read()) }
        };
        Some((0..usize::try_from(count).ok()?).map(option).collect())
    })
}

fn size_of_structure(structure: &CStr) -> Option<usize> {
    let table = Table::find(c"gHotSpotVMTypes", c"gHotSpotVMTypeEntryArrayStride")?;
    let names = offset(c"gHotSpotVMTypeEntryTypeNameOffset")?;
    let sizes = offset(c"gHotSpotVMTypeEntrySizeOffset")?;
    let entry = table.entries(names).find(|entry| entry.text(names) == Some(structure))?;
    usize::try_from(entry.read::<u64>(sizes)).ok()
}

/// Returns true if one of these flags of the VM is set. All of them are boolean. None if the VM does not describe its flags.
pub fn is_any_set(flags: &[&CStr]) -> Option<bool> {
    const FLAG: &CStr = c"JVMFlag";
    let (names, values) = (field(FLAG, c"_name")?.offset, field(FLAG, c"_addr")?.offset);
    let (all, count): (usize, usize) =
        (static_value(FLAG, c"flags")?, static_value(FLAG, c"numFlags")?);
    let table =
        Table { start: ptr::with_exposed_provenance(all), stride: size_of_structure(FLAG)? };
    let is_set = |flag: Entry| {
        let value: *const u8 = flag.read(values);
        // SAFETY: the VM's table says that the value is at this address; a boolean flag is one byte.
        !value.is_null() && unsafe { value.read() } == 1
    };
    let mut those = table
        .entries(names)
        .take(count)
        .filter(|flag| flag.text(names).is_some_and(|name| flags.contains(&name)));
    Some(those.any(is_set))
}
