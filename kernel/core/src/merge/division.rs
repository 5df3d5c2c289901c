//! Which words go to which shard.
//!
//! Words come in an order that says nothing of their counts or lengths (payloads and tables give
//! them by hash), so shards that take turns get equal parts of everything. They take a run of
//! words at a time: each shard goes through all words once, and keeps where its runs begin.

use std::iter::Fuse;

use super::MergeError;

/// Words in a run.
#[cfg(not(test))]
const RUN: usize = 4096;
#[cfg(test)]
const RUN: usize = 2;

/// The words of one shard.
pub(super) struct Share<W> {
    runs: Vec<Fuse<W>>,
    run: usize,
}

impl<'w, W> Share<W>
where
    W: Iterator<Item = (&'w [u8], u64)> + Clone,
{
    /// What falls to one of so many shards; `see` is shown each of its words.
    pub(super) fn new(
        words: W,
        (shard, shards): (usize, usize),
        mut see: impl FnMut(&'w [u8], u64) -> Result<(), MergeError>,
    ) -> Result<Self, MergeError> {
        let mut words = words.fuse();
        let (mut runs, run) = (Vec::new(), if shards == 1 { usize::MAX } else { RUN });
        for turn in (0..shards).cycle() {
            if turn != shard {
                if words.nth(run - 1).is_none() {
                    break;
                }
                continue;
            }
            runs.push(words.clone());
            let mut seen = 0;
            for (word, count) in words.by_ref().take(run) {
                seen += 1;
                see(word, count)?;
            }
            if seen < run {
                break;
            }
        }
        Ok(Self { runs, run })
    }

    /// Shows the words again.
    pub(super) fn again(
        self,
        mut see: impl FnMut(&'w [u8], u64) -> Result<(), MergeError>,
    ) -> Result<(), MergeError> {
        for run in self.runs {
            for (word, count) in run.take(self.run) {
                see(word, count)?;
            }
        }
        Ok(())
    }
}
