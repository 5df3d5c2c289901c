//! Pre-tokens of a text that wait to be merged, and where their ids belong.
//!
//! To merge one pre-token is to wait for memory, step after step; many together wait side by side
//! (see `lane`). So what is not known leaves a gap in the ids, and all gaps are filled at once.

use std::ops::Range;

use super::cache::Cache;
use super::key::Key;
use super::vocabulary::Vocabulary;

/// So many gaps are filled, even in the midst of a text.
const MOST: usize = 1 << 10;

/// Where ids belong that are not known yet.
pub(super) struct Gap {
    /// How many ids are before it, those of other gaps left out.
    pub(super) place: usize,
    which: usize,
}

/// See the module.
#[derive(Default)]
pub(super) struct Unknown {
    /// Each is there once.
    pretokens: Vec<(Key, Range<usize>)>,
    gaps: Vec<Gap>,
    /// When merged: the ids of one after the other, in any order, and where those of each are.
    ids: Vec<u32>,
    places: Vec<Range<usize>>,
}

impl Unknown {
    pub(super) fn is_empty(&self) -> bool {
        self.gaps.is_empty()
    }

    pub(super) fn is_full(&self) -> bool {
        self.gaps.len() >= MOST
    }

    /// Adds a pre-token, a range of the text; returns its number.
    pub(super) fn add(&mut self, key: Key, pretoken: Range<usize>) -> usize {
        self.pretokens.push((key, pretoken));
        self.pretokens.len() - 1
    }

    /// The pre-token of this number, if there is one.
    pub(super) fn pretoken<'t>(&self, which: usize, text: &'t [u8]) -> Option<&'t [u8]> {
        let (_, pretoken) = self.pretokens.get(which)?;
        text.get(pretoken.clone())
    }

    /// Leaves a gap for the pre-token of this number.
    pub(super) fn leave(&mut self, which: usize, place: usize) {
        self.gaps.push(Gap { place, which });
    }

    /// Merges all of them, and puts them into the cache.
    pub(super) fn merge(&mut self, text: &[u8], vocabulary: &Vocabulary, cache: &mut Cache) {
        let all = self.pretokens.iter();
        let pretokens: Vec<_> = all.map(|(_, place)| &text[place.clone()]).collect();
        self.places.resize(pretokens.len(), 0..0);
        let (ids, places) = (&mut self.ids, &mut self.places);
        vocabulary.merge_each(&pretokens, |which, these| {
            cache.fetch(self.pretokens[which].0);
            places[which] = ids.len()..ids.len() + these.len();
            ids.extend_from_slice(these);
        });
        for ((key, _), (pretoken, place)) in self.pretokens.iter().zip(pretokens.iter().zip(places))
        {
            cache.insert(*key, pretoken, &ids[place.clone()], vocabulary.tokens());
        }
    }

    /// The gaps with their ids, from the last to the first.
    pub(super) fn gaps(&self) -> impl Iterator<Item = (&Gap, &[u32])> {
        let ids = |gap: &Gap| &self.ids[self.places[gap.which].clone()];
        self.gaps.iter().rev().map(move |gap| (gap, ids(gap)))
    }

    /// How many ids the gaps have.
    pub(super) fn missing(&self) -> usize {
        self.gaps().map(|(_, ids)| ids.len()).sum()
    }

    /// Forgets them all.
    pub(super) fn clear(&mut self) {
        self.pretokens.clear();
        self.gaps.clear();
        self.ids.clear();
        self.places.clear();
    }
}
