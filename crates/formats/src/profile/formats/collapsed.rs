//! Stacks, one in a line: what flame graph tools have in common.

use super::name_tree::NameTree;
use crate::profile::model::Profile;
use crate::profile::weight::Weight;
use std::io::{self, Write};

/// Writes a line for each stack: `outermost;…;innermost value`. Stacks that differ in lines only are one.
pub fn write(profile: &Profile, weight: Weight, out: &mut dyn Write) -> io::Result<()> {
    NameTree::of(profile, weight).each(|names, value| writeln!(out, "{names} {value}"))
}
