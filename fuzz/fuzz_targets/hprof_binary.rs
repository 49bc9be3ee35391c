//! `cargo +nightly fuzz run hprof_binary`: no bytes make the reader of binary files panic, and what it reads is
//! written so that it can be read.

#![no_main]

use jvmpi_formats::profile::{BinaryWriter, Error, File, Version};
use libfuzzer_sys::fuzz_target;

/// How many records the heap dumps of a file have, up to the first that can't be read.
fn records(file: &File) -> usize {
    let mut count = 0;
    for dump in file.profile().heap_dumps() {
        let _ = file.heap(dump).records(|_| {
            count += 1;
            Ok::<(), Error>(())
        });
    }
    count
}

fuzz_target!(|bytes: &[u8]| {
    // The first byte chooses the size of IDs: what else it could be is refused at once.
    let Some((first, rest)) = bytes.split_first() else { return };
    let id_size = if first % 2 == 0 { 4 } else { 8 };
    let header = [&b"JAVA PROFILE 1.0.2\0\0\0\0"[..], &[id_size], &[0; 8]].concat();
    let file = File::from_bytes([&header[..], rest].concat()).unwrap();
    for version in [Version::V1_0_1, Version::V1_0_2] {
        let mut writer = BinaryWriter::new(Vec::new(), file.profile(), version).unwrap();
        file.write(&mut writer).unwrap();
        let again = File::from_bytes(writer.into_inner()).unwrap();
        assert_eq!(again.problem(), None);
        assert_eq!(records(&again), records(&file));
    }
});
