//! A short form of `cargo xtask soak`.

use std::time::Duration;

use compat_tests::soak::{End, Expected, Round};

use crate::prelude::*;

cases![everything_at_random.on_every_jdk()];

/// The running time of the program.
const LENGTH: Duration = Duration::from_secs(4);

/// Each JDK has other agents, without spinning processes. On JDK 11 none of them samples: to suspend a thread takes it a
/// safepoint, so that the program would hardly run. The order of events still depends on the scheduling of threads.
fn seed(feature: u32) -> u64 {
    match feature {
        11 => 9,
        17 => 10,
        21 => 14,
        _ => 13,
    }
}

fn everything_at_random(vm: &Vm<'_>) -> Result<(), String> {
    let seed = seed(vm.jdk.feature);
    let round = Round { jdk: vm.jdk, gc: vm.gc, program: None, length: LENGTH, seed, without: "" };
    match round.run(vm.case(), &mut Expected::default())? {
        End::Clean(_) => Ok(()),
        // Not the shim's fault, and nothing is known of the rest.
        End::VmFault(_) => Ok(()),
        End::Missing(why) => Err(why),
    }
}
