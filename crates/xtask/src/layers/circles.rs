//! Circles in a graph of imports.

use super::imports::{Arrows, Module};
use std::collections::{BTreeMap, BTreeSet};

/// Returns the circles of imports: the groups of modules in which each module leads to every other.
pub fn circles(arrows: &Arrows) -> Vec<Vec<Module>> {
    let reached: BTreeMap<&Module, BTreeSet<&Module>> =
        arrows.keys().map(|module| (module, reached_from(module, arrows))).collect();
    let mut circles = BTreeSet::new();
    for (module, reach) in &reached {
        let back = |other: &&&Module| reached.get(**other).is_some_and(|its| its.contains(module));
        let circle: Vec<Module> = reach.iter().filter(back).map(|other| (*other).clone()).collect();
        if circle.len() > 1 {
            circles.insert(circle);
        }
    }
    circles.into_iter().collect()
}

fn reached_from<'a>(module: &'a Module, arrows: &'a Arrows) -> BTreeSet<&'a Module> {
    let mut reached = BTreeSet::new();
    let mut next = vec![module];
    while let Some(module) = next.pop() {
        next.extend(arrows[module].iter().filter(|to| reached.insert(*to)));
    }
    reached
}
