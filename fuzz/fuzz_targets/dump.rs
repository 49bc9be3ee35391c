//! `cargo +nightly fuzz run dump`: no bytes make a reader of dumps panic, and what it reads is
//! written as it was.

#![no_main]

use jvmpi_formats::dump::{
    Buffer, Classes, HeapWriter, Id, Level, List, Monitors, Records, Shape, Type,
};
use libfuzzer_sys::fuzz_target;

/// Knows every class; the number of interfaces and the types depend on the ID.
struct All;

impl Classes for All {
    fn shape(&self, class: Id) -> Option<Shape<'_>> {
        Some(Shape { interfaces: class % 4, statics: &Type::ALL[class % 9..] })
    }
}

fuzz_target!(|bytes: &[u8]| {
    for level in [Level::References, Level::Values] {
        let mut writer = HeapWriter::new(Buffer::new().unwrap(), level);
        for record in Records::new(bytes, level, &All).map_while(Result::ok) {
            writer.record(&record).unwrap();
        }
        assert!(writer.finish().len() <= bytes.len());
    }
    let _ = List::new(bytes).count();
    let _ = Monitors::new(bytes).count();
});
