//! The merge loop: from the counts of the unique pre-tokens to the list of merges.
//!
//! Byte-level BPE (Sennrich et al., 2016) repeats one step: find the pair of adjacent symbols
//! with the greatest count, make it a token, rewrite its occurrences. Done plainly, each step
//! reads everything. Here a step costs what it changes, and what it touches lies close together:
//!
//! * [`Arena`] — every pre-token once, in one flat array with a slot per byte. A symbol covers
//!   the slots of its bytes and stands in the first and the last of them, so both neighbours of
//!   an occurrence are found without links, and rewriting it is three stores.
//! * `pairs` — for each pair its count and its *postings*, the ascending positions where it
//!   occurred. All postings of a pair come into being in the one merge that makes its newer
//!   symbol; later they only go stale, which one look at the arena tells.
//! * `floor` — a proof, from the counts of the words alone, that pairs below some count cannot
//!   be chosen any more. They get neither record nor postings: of the 590 thousand
//!   pairs that arise on English text in 32,000 merges, 86 thousand are kept.
//! * `rewrite` — one merge: occurrences rewritten, neighbours tallied in arrays indexed by
//!   symbol, then one look-up per distinct neighbour rather than per occurrence.
//! * `queue` — counts never rise, so pairs wait in buckets by count, and only those of the
//!   current greatest count are ordered by the tie rule (`tokens`).
//!
//! Memory at the peak, measured at 32,000 merges: 10 to 11 bytes per slot of the arena, on
//! code, on English and on text in 22 scripts; that is 101, 113 and 164 bytes per unique
//! pre-token. Text whose pre-tokens are few, long and random defeats the floor and takes up to
//! 35 bytes per slot.
//!
//! Everything is exact, and the result depends neither on the order of the words nor on time.

mod arena;
mod error;
mod floor;
mod initial;
mod pairs;
mod pulse;
mod queue;
mod rewrite;
#[cfg(test)]
mod tests;
mod tokens;

use std::ops::ControlFlow;

pub use arena::Arena;
pub use error::MergeError;

use floor::Floor;
use pairs::Pairs;
use pulse::Pulse;
use queue::Queue;
use rewrite::{Joint, Rewriter};
use tokens::Tokens;

/// Which of several pairs with the same count is merged first.
///
/// ```
/// use bpefleet_core::merge::TieBreak;
///
/// assert_eq!(TieBreak::from_name("lexmax"), Some(TieBreak::LexMax));
/// assert_eq!(TieBreak::ALL.map(TieBreak::name), ["lexmax", "rawid", "hf", "lexmin"]);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TieBreak {
    /// The greatest tuple (left bytes, right bytes).
    LexMax,
    /// The smallest tuple (left id, right id); bytes are 0 to 255, merges follow in order.
    RawId,
    /// As `RawId`, with bytes ranked by the code point that stands for them in GPT-2's
    /// printable alphabet.
    Hf,
    /// The smallest tuple (left bytes, right bytes).
    LexMin,
}

impl TieBreak {
    /// Every rule.
    pub const ALL: [Self; 4] = [Self::LexMax, Self::RawId, Self::Hf, Self::LexMin];

    /// The rule's name in options and files.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::LexMax => "lexmax",
            Self::RawId => "rawid",
            Self::Hf => "hf",
            Self::LexMin => "lexmin",
        }
    }

    /// The rule of that name, if there is one.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|rule| rule.name() == name)
    }
}

/// What to learn. See [`merge()`].
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// The most merges to make; fewer if the words are exhausted.
    pub merges: usize,
    /// The order among pairs of equal count.
    pub tie_break: TieBreak,
    /// Pairs with a lower count are never merged. Zero means one.
    pub min_frequency: u64,
    /// In bytes. A merge that would make a longer token is never made.
    pub max_token_length: Option<usize>,
}

/// One merge. See [`merge()`]. Ids are 0 to 255 for the bytes, then 256 for the first merge's token, and so on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Merge {
    /// Id of the left token.
    pub left: u32,
    /// Id of the right token.
    pub right: u32,
    /// How often the pair stood side by side when it was merged.
    pub count: u64,
}

/// What came of merging.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Merged {
    /// The merges, in order.
    pub merges: Vec<Merge>,
    /// Bytes of all words together, each as often as it was counted.
    pub bytes: u64,
    /// The tokens that they are once all merges are made.
    pub tokens: u64,
}

/// Called with the merges made so far, about fifteen times a second; breaking off ends the
/// work with [`MergeError::Cancelled`].
pub type Progress<'p> = dyn FnMut(&[Merge]) -> ControlFlow<()> + 'p;

/// Learns the merges of `words`, the unique pre-tokens with their counts, in any order.
///
/// To free the words before the merging starts, call [`Arena::build`] and [`Arena::merge`].
///
/// # Errors
/// See [`MergeError`].
///
/// # Examples
/// ```
/// use std::ops::ControlFlow;
///
/// use bpefleet_core::merge::{merge, MergeError, Options, TieBreak};
///
/// let words = [(&b"abab"[..], 3), (&b"bc"[..], 1)];
/// let options = Options {
///     merges: 10,
///     tie_break: TieBreak::LexMax,
///     min_frequency: 2,
///     max_token_length: None,
/// };
/// let mut go_on = |_: &[_]| ControlFlow::Continue(());
/// let merged = merge(words.into_iter(), &options, &mut go_on)?;
/// let made: Vec<_> = merged.merges.iter().map(|m| (m.left, m.right, m.count)).collect();
/// // `ab` is 256, and two of it are 257; `bc` occurs less often than asked for.
/// assert_eq!(made, [(97, 98, 6), (256, 256, 3)]);
/// // Three times 257, and once `b` and `c`.
/// assert_eq!((merged.bytes, merged.tokens), (14, 5));
/// # Ok::<(), MergeError>(())
/// ```
pub fn merge<'w, W>(
    words: W,
    options: &Options,
    progress: &mut Progress<'_>,
) -> Result<Merged, MergeError>
where
    W: Iterator<Item = (&'w [u8], u64)> + Clone,
{
    Arena::build(words, progress)?.merge(options, progress)
}

impl Arena {
    /// Makes up to `options.merges` merges, each of the pair that is most frequent by then.
    ///
    /// # Errors
    /// [`MergeError::Cancelled`] when `progress` says so, [`MergeError::Repeated`] when the
    /// words turn out not to have been unique.
    pub fn merge(
        mut self,
        options: &Options,
        progress: &mut Progress<'_>,
    ) -> Result<Merged, MergeError> {
        let mut pulse = Pulse::new(progress);
        let bytes = self.bytes;
        let mut tokens_left = bytes;
        let mut floor = Floor::new(&self, options);
        let mut tokens = Tokens::new(options.max_token_length);
        let mut pairs = Pairs::initial(&self, floor.count(), &tokens, &mut pulse)?;
        let mut queue = Queue::new(options.tie_break, &mut pairs);
        let mut rewriter = Rewriter::new();
        while pulse.made().len() < options.merges {
            let Some(best) = queue.pop(&mut pairs, &tokens, floor.count()) else {
                floor.check_exhausted()?;
                break;
            };
            let chosen = pairs.take(best);
            let merge = Merge {
                left: tokens::id(chosen.left),
                right: tokens::id(chosen.right),
                count: chosen.count,
            };
            let joint = Joint::new(&chosen, &mut tokens);
            look_ahead(&queue, &pairs, &self);
            let whole = rewriter.replace(&mut self, &mut pairs, &chosen, &joint, &mut pulse)?;
            floor.merged(whole);
            // Each occurrence that was rewritten leaves one token where there were two.
            tokens_left -= rewriter.rewritten();
            rewriter.settle(&joint, &tokens, floor.count(), &mut pairs, &mut queue);
            pulse.merged(merge)?;
        }
        Ok(Merged {
            merges: pulse.into_made(),
            bytes,
            tokens: tokens_left,
        })
    }
}

/// Sends for what the merges after this one will read. At low counts, where most merges are,
/// many pairs are tied with few postings each, and the wait for their first cache lines would
/// cost more than the work on them.
fn look_ahead(queue: &Queue, pairs: &Pairs, arena: &Arena) {
    /// Postings of a pair; for a longer list the rewriter looks ahead itself.
    const FIRST: usize = 128;

    let Some((&next, later)) = queue.upcoming().split_first() else {
        return;
    };
    for &position in pairs.postings[pairs.get(next).range()].iter().take(FIRST) {
        arena.prefetch(position);
    }
    for &number in later {
        pairs.prefetch(number, FIRST);
    }
}
