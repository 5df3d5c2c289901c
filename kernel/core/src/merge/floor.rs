//! The floor: a count below which no pair can be chosen any more.
//!
//! **Claim.** With `r` merges left, let `w` be the unmerged word of rank `r` by count (unmerged:
//! not one token yet). No pair with a count below that of `w` is chosen in these `r` merges.
//!
//! **Proof.** A merge makes one token and turns at most one word, the one spelled like that
//! token, into a single token. So before each of the `r` merges one of the `r` most frequent
//! unmerged words is still in pieces. Any two adjacent pieces of it are a pair whose count is at
//! least the word's, and the chosen pair's count is at least that.
//!
//! Rank `r` among the unmerged words is at most rank `r + c` among all, `c` being the number of
//! merges that turned a word into one token; counting on all words from the start is therefore
//! safe. The floor starts at the count of the word whose rank is the number of merges and rises
//! with every merge that completes no word. Words longer than the longest token allowed are left
//! out; the others are not hindered by that limit. The words must be unique: were one given
//! twice, a merge could complete both. That cannot yield wrong merges, only an early end, which
//! [`Floor::check_exhausted`] tells from a true one.

use super::{Arena, MergeError, Options};

pub(super) struct Floor {
    /// By falling count: the number of words with at least this count, and the count.
    ranks: Vec<(usize, u64)>,
    /// The class that holds the word of the current rank; past the end if there is none.
    class: usize,
    /// Merges left plus words completed.
    rank: usize,
    min_frequency: u64,
}

impl Floor {
    pub(super) fn new(arena: &Arena, options: &Options) -> Self {
        let ranks = arena.ranks(options.max_token_length);
        let class = ranks.partition_point(|&(words, _)| words < options.merges);
        Self {
            ranks,
            class,
            rank: options.merges,
            min_frequency: options.min_frequency.max(1),
        }
    }

    /// Pairs below this count will not be chosen.
    #[inline]
    pub(super) fn count(&self) -> u64 {
        let proven = self.ranks.get(self.class).map_or(0, |&(_, count)| count);
        proven.max(self.min_frequency)
    }

    /// Notes a merge, and whether its token is a `whole` word.
    pub(super) fn merged(&mut self, whole: bool) {
        if whole {
            return;
        }
        self.rank -= 1;
        while self.class > 0 && self.ranks[self.class - 1].0 >= self.rank {
            self.class -= 1;
        }
    }

    /// Running out of pairs is right only while nothing but `min_frequency` kept them away.
    pub(super) fn check_exhausted(&self) -> Result<(), MergeError> {
        if self.count() > self.min_frequency {
            return Err(MergeError::Repeated);
        }
        Ok(())
    }
}
