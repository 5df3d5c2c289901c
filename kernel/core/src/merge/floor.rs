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

use std::collections::BTreeMap;

use super::arena::Arena;
use super::lockstep::{Member, Message};
use super::slot::Slot;
use super::{MergeError, Options};

/// By falling count: the number of words with at least this count, and the count.
type Ranks = Vec<(usize, u64)>;

/// The ranks of the words of all shards, without those longer than `max_length`.
pub(super) fn ranks<S: Slot>(
    arena: &Arena<S>,
    max_length: Option<usize>,
    member: &mut Member<'_>,
) -> Result<Ranks, MergeError> {
    let own = arena.ranks(max_length);
    let mut all = BTreeMap::new();
    let tell = |_: &BTreeMap<_, _>, message: &mut Message| {
        message.first.clear();
        message.first.extend(apart(&own));
    };
    member.exchange(&mut all, tell, |all, message| {
        add(all, message.first.iter().copied());
    })?;
    if all.is_empty() {
        return Ok(own);
    }
    add(&mut all, apart(&own));
    let mut sum = 0;
    let rank = |(&count, &words): (&u64, &u64)| {
        sum += usize::try_from(words).expect("fewer than slots");
        (sum, count)
    };
    Ok(all.iter().rev().map(rank).collect())
}

fn add(all: &mut BTreeMap<u64, u64>, words: impl Iterator<Item = (u64, u64)>) {
    for (words, count) in words {
        *all.entry(count).or_default() += words;
    }
}

/// How many words have each count.
fn apart(ranks: &[(usize, u64)]) -> impl Iterator<Item = (u64, u64)> + '_ {
    let before = std::iter::once(0).chain(ranks.iter().map(|&(words, _)| words));
    let own = before.zip(ranks);
    own.map(|(before, &(words, count))| ((words - before) as u64, count))
}

pub(super) struct Floor {
    ranks: Ranks,
    /// The class that holds the word of the current rank; past the end if there is none.
    class: usize,
    /// Merges left plus words completed.
    rank: usize,
    min_frequency: u64,
}

impl Floor {
    pub(super) fn new(ranks: Ranks, options: &Options) -> Self {
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
