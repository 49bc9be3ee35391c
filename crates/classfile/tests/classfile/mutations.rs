//! Files with random faults: they cause an error or a skipped method, never a panic or a hang.
//!
//! The regular test counterpart of the fuzz target, which uses coverage feedback.

use std::fs;
use std::time::Instant;

use crate::support::exercise::exercise;
use crate::support::{Jdk, class_files};

/// Marsaglia's xorshift64, which produces the same faults in every run.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit as u64) as usize
    }
}

/// Changes, removes, repeats or overwrites some bytes.
fn mutate(bytes: &mut Vec<u8>, random: &mut Random) {
    for _ in 0..=random.below(6) {
        let at = random.below(bytes.len());
        match random.below(8) {
            0 => bytes[at] ^= 1 << random.below(8),
            1 => bytes[at] = [0, 1, 0x7f, 0x80, 0xff][random.below(5)],
            2 => bytes[at] = random.next() as u8,
            3 => drop(bytes.drain(at..(at + 1 + random.below(4)).min(bytes.len()))),
            4 => bytes.insert(at, random.next() as u8),
            5 => bytes.truncate(at.max(1)),
            6 => {
                let from = random.below(bytes.len());
                bytes[at] = bytes[from];
            }
            _ => {
                let value = (random.below(0x200) as u16).to_be_bytes();
                for (byte, value) in bytes[at..].iter_mut().zip(value) {
                    *byte = value;
                }
            }
        }
        if bytes.is_empty() {
            bytes.push(0);
        }
    }
}

#[test]
fn faults_are_errors() {
    let Some(jdk) = Jdk::all().pop() else {
        return println!("skipped: no JDK whose classes could be changed");
    };
    let rounds = if cfg!(debug_assertions) { 4 } else { 40 };
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let start = Instant::now();
    let mut parsed = 0;
    let mut total = 0;
    for path in class_files(&jdk.corpus()).into_iter().step_by(97) {
        let original = fs::read(path).unwrap();
        for _ in 0..rounds {
            let mut bytes = original.clone();
            mutate(&mut bytes, &mut random);
            parsed += usize::from(exercise(&bytes));
            total += 1;
        }
    }
    println!("{total} files, {parsed} of which could be parsed, in {:?}", start.elapsed());
    assert!(parsed > total / 20, "the faults must not all be in the first bytes");
}
