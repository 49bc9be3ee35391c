//! Stands in for `pushes.rs` without the feature `push`: a recording that is never pushed.

use super::received::Received;
use super::target::Target;
use std::num::NonZeroU32;
use std::path::Path;

#[derive(clap::Args)]
pub struct PushOptions {}

pub enum Pushes {}

impl Pushes {
    pub fn new(_: &PushOptions, _: Option<NonZeroU32>) -> Result<Option<Self>, String> {
        Ok(None)
    }

    pub fn push(&mut self, _: usize, _: &mut Received, _: &Target) {
        match *self {}
    }

    pub fn finish(self, _: Option<&Path>, _: impl FnMut() -> bool) {
        match self {}
    }
}
