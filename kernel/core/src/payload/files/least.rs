//! The least hashes of what passes by.

use crate::payload::body::SAMPLE;

/// The least hashes of entries.
#[derive(Default)]
pub(super) struct Least {
    /// Those of each width so far.
    hashes: Vec<u64>,
    enough: usize,
}

impl Least {
    /// A width begins.
    pub(super) fn begin(&mut self) {
        self.enough = self.hashes.len() + SAMPLE;
    }

    /// Takes in hashes, ascending within a width.
    pub(super) fn see(&mut self, hashes: impl Iterator<Item = u64>) {
        self.hashes
            .extend(hashes.take(self.enough - self.hashes.len()));
    }

    /// Those of all widths, ascending.
    pub(super) fn hashes(mut self) -> Vec<u64> {
        self.hashes.sort_unstable();
        self.hashes.truncate(SAMPLE);
        self.hashes
    }
}
