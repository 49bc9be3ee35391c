//! Calls each fuzz target with its seeds and with many damaged copies of them, without a fuzzer.

#[path = "../../../fuzz/src/lib.rs"]
mod targets;

use std::collections::BTreeSet;
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;

use compat_tests::workspace_root;
use targets::{ALL, Target};

/// The number of damaged copies of each seed.
const COPIES: u32 = 200;

fn seeds() -> PathBuf {
    workspace_root().join("fuzz/seeds")
}

/// Returns the names of the files in a directory.
fn names(directory: PathBuf) -> BTreeSet<String> {
    let entries = fs::read_dir(&directory).unwrap_or_else(|e| panic!("{directory:?}: {e}"));
    entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

/// Generates pseudo-random numbers, the same in each run.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % limit as u64) as usize
    }

    /// Returns a copy with a few changed bytes; every fourth copy is also cut off.
    fn damage(&mut self, seed: &[u8]) -> Vec<u8> {
        const EDGES: [u8; 8] = [0, 1, 0x7f, 0x80, 0xff, b'\n', b' ', b'-'];
        let mut copy = seed.to_vec();
        for _ in 0..=self.below(4) {
            let at = self.below(copy.len());
            copy[at] = match self.below(3) {
                0 => EDGES[self.below(EDGES.len())],
                1 => copy[at] ^ (1 << self.below(8)),
                _ => self.below(256) as u8,
            };
        }
        if self.below(4) == 0 {
            copy.truncate(self.below(copy.len()));
        }
        copy
    }
}

/// Calls the target. If it panics, the error shows the bytes. They become a seed when the fault is fixed.
fn call(target: Target, seed: &str, bytes: &[u8]) {
    if catch_unwind(AssertUnwindSafe(|| target(bytes))).is_err() {
        panic!("{seed}, or a damaged copy of it: {}", bytes.escape_ascii());
    }
}

#[test]
fn each_target_has_seeds() {
    let all: BTreeSet<String> = ALL.iter().map(|(name, _)| (*name).to_owned()).collect();
    assert_eq!(names(seeds()), all);
    for name in &all {
        assert!(!names(seeds().join(name)).is_empty(), "{name} has no seed");
    }
}

#[test]
fn damaged_seeds_make_no_target_panic() {
    for (target_name, target) in ALL {
        for name in names(seeds().join(target_name)) {
            let bytes = fs::read(seeds().join(target_name).join(&name)).unwrap();
            let seed = format!("{target_name}/{name}");
            call(target, &seed, &bytes);
            let mut numbers = Numbers(0x9e37_79b9_7f4a_7c15);
            for _ in 0..COPIES {
                call(target, &seed, &numbers.damage(&bytes));
            }
        }
    }
}
