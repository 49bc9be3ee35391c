//! VisualVM's heap library, a reader of other authors, finds in binary files what was written: objects, classes,
//! roots and stack traces. It is in Debian's package `visualvm`.

use crate::fixture::{MAIN, WORKER, heap_dump, heap_names, heap_records, tables};
use jvmpi_formats::profile::heap::{self, Record};
use jvmpi_formats::profile::{
    BinaryWriter, Class, ClassSerial, EachRecord, ObjectId, Version, Writer,
};
use std::fs;
use std::path::Path;
use std::process::Command;

const LIBRARY: &str =
    "/usr/share/visualvm/visualvm/modules/org-graalvm-visualvm-lib-jfluid-heap.jar";

fn write(path: &Path) {
    let mut profile = tables();
    heap_names(&mut profile);
    // It looks for the classes of arrays by their names; JVMs have them all.
    let arrays = [(4, 0x130, "[C"), (5, 0x140, "[D"), (6, 0x150, "[Ljava.lang.Object;")];
    for (serial, object, name) in arrays {
        let name = profile.names.intern(name);
        let (serial, object) = (ClassSerial(serial), ObjectId(object));
        profile.classes.insert(Class { serial, object, name, ..Class::default() });
    }
    let file = fs::File::create(path).unwrap();
    let mut writer = BinaryWriter::new(file, &profile, Version::V1_0_2).unwrap();
    writer.thread_start(&profile, MAIN).unwrap();
    writer.thread_start(&profile, WORKER).unwrap();
    let mut records = |each: &mut EachRecord<'_>| {
        for (_, id, name) in arrays {
            let (id, superclass) = (ObjectId(id), ObjectId(0x100));
            each(&Record::Class(heap::Class { id, name, superclass, ..heap::Class::default() }))?;
        }
        heap_records(each)
    };
    writer.heap_dump(&profile, &heap_dump(), &mut records).unwrap();
}

#[test]
fn visualvm_finds_what_was_written() {
    if !Path::new(LIBRARY).exists() {
        eprintln!("skipped: VisualVM's heap library is not here; Debian's package visualvm has it");
        return;
    }
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join("visualvm");
    // It keeps its results next to the files, for later files of the same name.
    let _ = fs::remove_dir_all(&directory);
    fs::create_dir_all(&directory).unwrap();
    let path = directory.join("dump.hprof");
    write(&path);
    let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/visualvm/Heap.java");
    let output = Command::new("java")
        .args(["-Xshare:auto", "-cp", LIBRARY])
        .arg(program)
        .arg(&path)
        .output()
        .expect("java runs: the package depends on it");
    let printed = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    let expected = "\
5 classes, 4 objects, 9 roots
root: unknown
root: JNI global
root: JNI local
root: Java frame in frame 1
root: native stack
root: sticky class
root: thread block
root: monitor used
root: thread object [Main.fib(Main.java:7), Main.fib(Main.java:7), Main.main(Main.java:12)]
class char[] extends java.lang.Object
220: [h, i]
class double[] extends java.lang.Object
230: [1.5]
class java.lang.Object[] extends java.lang.Object
210: [200, null, 110]
class java.lang.Object
class Main extends java.lang.Object lock=200 next=null count=-5
200: next=200 count=7 longer_name=210 lock=null
";
    assert_eq!(printed, expected, "{errors}");
}
