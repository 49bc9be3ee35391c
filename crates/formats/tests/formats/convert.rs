//! Files are converted between the encodings of HPROF.

use crate::fixture::{binary_file, heap_dump, heap_records, shown_records, tables, text_sections};
use jvmpi_formats::profile::{BinaryWriter, File, Section, TextWriter, Version, Writer};

#[test]
fn text_of_a_binary_file_has_what_text_can_have() {
    let old = File::from_bytes(binary_file()).unwrap();
    let mut writer = TextWriter::new(Vec::new(), old.profile()).unwrap();
    let left_out = old.write(&mut writer).unwrap();
    assert_eq!((left_out.sections, left_out.problem), (vec!["heap summary"], None));
    let text = String::from_utf8(writer.into_inner()).unwrap();
    for line in [
        "THREAD END (id = 2)\n",
        "\tMain$$Lambda/0x00007f3768000c38.run(:Compiled method)\n",
        "HEAP DUMP BEGIN (7 objects, 64 bytes) ",
        "OBJ 200 (sz=28, trace=1, class=Main@110)",
        "\tlonger_name\t210",
        "    1 60.00% 60.00%      2400   24      7000    70     1 java.lang.String",
        "   1 70.00% 70.00%      70     1 Main.fib",
    ] {
        assert!(text.contains(line), "{line} is not in {text}");
    }
}

#[test]
fn data_missing_in_text_is_left_out_of_a_binary_file() {
    let mut profile = tables();
    profile.sections = text_sections(&mut profile);
    let mut writer = TextWriter::new(Vec::new(), &profile).unwrap();
    for section in &profile.sections {
        writer.section(&profile, section).unwrap();
    }
    writer.heap_dump(&profile, &heap_dump(), &mut |each| heap_records(each)).unwrap();
    let text = File::from_bytes(writer.into_inner()).unwrap();
    let mut writer = BinaryWriter::new(Vec::new(), text.profile(), Version::V1_0_2).unwrap();
    let left_out = text.write(&mut writer).unwrap();
    let expected = ["monitor dump", "monitor times", "CPU times", "calls of cpu=old", "heap dump"];
    assert_eq!(left_out.sections, expected);
    let read = File::from_bytes(writer.into_inner()).unwrap();
    assert_eq!(read.problem(), None);
    let kinds: Vec<_> = read.profile().sections.iter().map(Section::name).collect();
    assert_eq!(kinds, ["allocation sites", "CPU samples"]);
}

#[test]
fn readable_part_of_a_broken_file_is_converted() {
    let mut bytes = binary_file();
    // The last record of the heap dump becomes one that there is none of.
    let values = 1.5f64.to_be_bytes();
    let end = bytes.windows(8).position(|window| window == values).unwrap();
    bytes[end - 18] = 0x99;
    let broken = File::from_bytes(bytes).unwrap();
    let mut writer = BinaryWriter::new(Vec::new(), broken.profile(), Version::V1_0_2).unwrap();
    let left_out = broken.write(&mut writer).unwrap();
    assert_eq!(left_out.problem.unwrap().at, end as u64 - 18);
    let read = File::from_bytes(writer.into_inner()).unwrap();
    assert_eq!(read.problem(), None);
    let dump = read.profile().heap_dumps().next().unwrap();
    let (records, end) = shown_records(&read, dump);
    assert_eq!((records.len(), end), (14, Ok(())));
}
