//! Stands in for `pushes.rs` without the feature `push`: a recording that is never pushed.

use super::received::Received;
use crate::process::Process;
use std::num::NonZeroU32;
use std::time::Duration;

pub const SECRETS: [&str; 0] = [];

#[derive(clap::Args)]
pub struct PushOptions {}

impl PushOptions {
    pub fn checked(&self) -> Result<Option<Pushes>, String> {
        Ok(None)
    }
}

pub enum Pushes {}

impl Pushes {
    pub fn new(
        push: Self,
        _: Option<Process>,
        _: Option<(&'static str, &str)>,
        _: Option<NonZeroU32>,
    ) -> Self {
        push
    }

    pub fn push(&mut self, _: usize, _: &mut Received) {
        match *self {}
    }

    pub fn finish(self, _: Duration, _: impl FnMut() -> bool) {
        match self {}
    }
}
