//! Cases, and the JVMs on which each runs.

use crate::jdk::Gc;
use crate::run::Vm;

/// The newest JDK that cases name; newer ones run the same cases as this one.
const NEWEST: u32 = 25;

/// The JDKs on which a landing runs every case.
const WHOLE: [u32; 2] = [17, NEWEST];

/// On the other JDKs a landing runs one of this many cases, which ones depends on the commit.
const PARTS: u64 = 5;

/// A case: what it does, and on which JVMs.
#[derive(Clone, Copy, Debug)]
pub struct Case<'a> {
    /// Its name, without its topic.
    pub name: &'a str,
    /// Runs it.
    pub run: fn(&Vm<'_>) -> Result<(), String>,
    /// The oldest and the newest JDK.
    jdks: (u32, u32),
    gcs: &'static [Gc],
    except: Option<(u32, Gc)>,
    /// The Java release that its workload is compiled for.
    pub release: u32,
    /// The JDKs on which it runs beside spinning processes. If there are any, it runs on no other JDK.
    loaded: &'static [u32],
    depends_on_jdk: bool,
    slow: bool,
}

impl<'a> Case<'a> {
    /// A case on every JDK with the default collector.
    pub const fn new(name: &'a str, run: fn(&Vm<'_>) -> Result<(), String>) -> Self {
        Self {
            name,
            run,
            jdks: (11, NEWEST),
            gcs: &[Gc::G1],
            except: None,
            release: 8,
            loaded: &[],
            depends_on_jdk: false,
            slow: false,
        }
    }

    /// On every collector, for what depends on it.
    pub const fn on_every_gc(mut self) -> Self {
        self.gcs = &Gc::ALL;
        self
    }

    /// On these collectors.
    pub const fn on(mut self, gcs: &'static [Gc]) -> Self {
        self.gcs = gcs;
        self
    }

    /// Not on this JVM, which cannot do it.
    pub const fn except(mut self, feature: u32, gc: Gc) -> Self {
        self.except = Some((feature, gc));
        self
    }

    /// Runs the case on these JDKs only, beside processes that spin, four to a processor. Its name says so: the same
    /// case may run without them too. For waits that have failed under load; all other cases are slowed down by it.
    pub const fn under_load_on(mut self, jdks: &'static [u32]) -> Self {
        self.loaded = jdks;
        self
    }

    /// On every JDK at each landing, for what differs between their versions.
    pub const fn on_every_jdk(mut self) -> Self {
        self.depends_on_jdk = true;
        self
    }

    /// A landing runs the case on the newest JDK as on the others, in turn: it takes its time, and other cases notice most
    /// of its faults.
    pub const fn slow(mut self) -> Self {
        self.slow = true;
        self
    }

    /// Only on this JDK and older ones.
    pub const fn until(mut self, feature: u32) -> Self {
        self.jdks = (11, feature);
        self
    }

    /// Only on this JDK: it takes its time, and the JDK makes no difference.
    pub const fn only(mut self, feature: u32) -> Self {
        self.jdks = (feature, feature);
        self
    }

    /// Only on this JDK and newer ones, with a workload compiled for it.
    pub const fn since(mut self, release: u32) -> Self {
        self.jdks = (release, NEWEST);
        self.release = release;
        self
    }

    /// Returns true if the case runs beside spinning processes.
    pub const fn is_under_load(&self) -> bool {
        !self.loaded.is_empty()
    }

    /// Returns true if the case is for this JVM.
    pub fn is_for(&self, feature: u32, gc: Gc) -> bool {
        let feature = feature.min(NEWEST);
        (self.jdks.0..=self.jdks.1).contains(&feature)
            && self.gcs.contains(&gc)
            && self.except != Some((feature, gc))
            && (!self.is_under_load() || self.loaded.contains(&feature))
    }
}

/// The cases that a landing adds to the command for people. That command runs every case on one JDK with G1.
#[derive(Clone, Copy, Debug)]
pub struct Landing {
    /// The JDK of that command.
    pub usual: Option<u32>,
    /// A number that differs between commits.
    pub commit: u64,
}

impl Landing {
    /// Returns the landing of the commit with this hash.
    pub fn of(usual: Option<u32>, commit: &str) -> Self {
        Self { usual, commit: hash(commit, 0) }
    }

    /// Returns true if the landing runs the case on this JVM. `jdks` are those with the collector.
    pub fn wants(&self, case: &Case<'_>, feature: u32, gc: Gc, jdks: &[u32]) -> bool {
        if feature > NEWEST || !case.is_for(feature, gc) {
            return false;
        }
        if gc == Gc::G1 {
            self.wants_with_g1(case, feature)
        } else {
            self.turn(case, gc, jdks) == Some(feature)
        }
    }

    /// Every case but slow ones on the newest JDK and on 17, and on the others what depends on the JDK and a part of the
    /// rest.
    fn wants_with_g1(&self, case: &Case<'_>, feature: u32) -> bool {
        let is_first = case.release > 8 && case.release == feature;
        Some(feature) != self.usual
            && (WHOLE.contains(&feature) && !case.slow
                || case.depends_on_jdk
                || case.is_under_load()
                || is_first
                || hash(case.name, self.commit + u64::from(feature)).is_multiple_of(PARTS))
    }

    /// Returns the JDK on which the case runs with this collector. Each commit has another one.
    fn turn(&self, case: &Case<'_>, gc: Gc, jdks: &[u32]) -> Option<u32> {
        let fits = |feature: &&u32| **feature <= NEWEST && case.is_for(**feature, gc);
        let fitting: Vec<u32> = jdks.iter().filter(fits).copied().collect();
        let turn = self.commit.wrapping_add(gc as u64).checked_rem(fitting.len() as u64)?;
        fitting.get(usize::try_from(turn).ok()?).copied()
    }
}

/// FNV-1a, which is the same with every compiler.
fn hash(text: &str, seed: u64) -> u64 {
    let bytes = seed.to_le_bytes();
    let bytes = text.bytes().chain(bytes);
    // The upper half is mixed better than the lower one.
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3)
    }) >> 32
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    const JDKS: [u32; 4] = [11, 17, 21, 25];
    const EVERYTHING: Landing = Landing { usual: None, commit: 0 };

    fn case(name: &str) -> Case<'_> {
        Case::new(name, |_| Ok(()))
    }

    fn jdks(case: Case<'_>, gc: Gc, landing: Landing) -> Vec<u32> {
        JDKS.into_iter().filter(|jdk| landing.wants(&case, *jdk, gc, &JDKS)).collect()
    }

    /// Returns the JDKs with G1, where no case of this name is in the part of the rest.
    fn beside_17(case: Case<'_>) -> Vec<u32> {
        let landings = (0..100).map(|commit| Landing { usual: Some(17), commit });
        let all = landings.map(|landing| jdks(case, Gc::G1, landing));
        all.min_by_key(Vec::len).unwrap_or_default()
    }

    #[test]
    fn every_case_runs_on_17_and_on_the_newest_jdk() {
        assert_eq!(beside_17(case("a")), [25], "the usual JDK is not repeated");
        let all = (0..100).map(|commit| jdks(case("a"), Gc::G1, Landing { commit, ..EVERYTHING }));
        assert!(all.into_iter().all(|jdks| jdks.contains(&17) && jdks.contains(&25)));
        assert_eq!(beside_17(case("a").slow()), [0; 0], "slow ones have their turn there too");
    }

    #[test]
    fn jdk_dependent_cases_run_on_each_jdk() {
        assert_eq!(beside_17(case("a").on_every_jdk()), [11, 21, 25]);
        assert_eq!(beside_17(case("a").on_every_jdk().until(19)), [11]);
        assert_eq!(beside_17(case("a").since(21)), [21, 25], "and where the feature is new");
        assert_eq!(beside_17(case("a").under_load_on(&[11, 17])), [11]);
        assert!(!case("a").under_load_on(&[11]).is_for(25, Gc::G1));
    }

    #[test]
    fn each_commit_adds_another_fifth_of_the_rest() {
        let names: Vec<String> = (0..1000).map(|number| format!("case_{number}")).collect();
        let of = |hash| -> BTreeSet<&str> {
            let landing = Landing::of(Some(17), hash);
            let runs = |name: &&str| jdks(case(name), Gc::G1, landing).contains(&11);
            names.iter().map(String::as_str).filter(runs).collect()
        };
        let (one, other) = (of("0b1c"), of("77af"));
        assert!((150..250).contains(&one.len()), "{}", one.len());
        assert!(one.intersection(&other).count() < 100);
        assert_eq!(one, of("0b1c"));
    }

    #[test]
    fn each_collector_has_one_jdk_which_changes_with_the_commit() {
        let runs = |commit, gc| {
            jdks(case("a").on_every_gc().except(11, Gc::Z), gc, Landing { commit, ..EVERYTHING })
        };
        let serial: Vec<_> = (0..4).flat_map(|commit| runs(commit, Gc::Serial)).collect();
        assert_eq!(serial.len(), 4);
        assert_eq!(BTreeSet::from_iter(serial), JDKS.into());
        let z: Vec<_> = (0..3).flat_map(|commit| runs(commit, Gc::Z)).collect();
        assert_eq!(BTreeSet::from_iter(z), [17, 21, 25].into());
        assert!(jdks(case("a"), Gc::Z, EVERYTHING).is_empty());
        let only_on_21 = EVERYTHING.wants(&case("a").on_every_gc(), 21, Gc::Shenandoah, &[21]);
        assert!(only_on_21, "where no other JDK has the collector");
    }

    #[test]
    fn newer_jdks_run_what_the_newest_named_one_runs_but_not_at_a_landing() {
        assert!(case("a").since(25).is_for(28, Gc::G1));
        assert!(!EVERYTHING.wants(&case("a"), 28, Gc::G1, &[28]));
    }
}
