//! The merge loop: from the counts of the unique pre-tokens to the list of merges.
//!
//! Byte-level BPE (Sennrich et al., 2016) repeats one step: find the pair of adjacent symbols
//! with the greatest count, make it a token, rewrite its occurrences. Done plainly, each step
//! reads everything. Here a step costs what it changes, and what it touches lies close together:
//!
//! * `arena` — every pre-token once, in one flat array with a slot (`slot`) per byte. A symbol covers
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
//! * `shards` — the words in as many parts as there are threads, which agree on every merge.
//!
//! Memory at the peak, measured at 32,000 merges of 4 to 10 million synthetic words (the example
//! `synthetic`): 6.6 to 6.7 bytes per slot of the arena, in any number of shards; that is 102 bytes
//! per word of 15.2 slots. 100,000 merges, whose symbols need 32 bits in the end, take 7.5 bytes.
//! Text whose pre-tokens are few, long and random defeats the floor and takes several times as much.
//!
//! Everything is exact, and the result depends neither on the order of the words, nor on the
//! number of shards, nor on time.

mod arena;
mod division;
mod error;
mod floor;
mod initial;
mod lockstep;
mod pairs;
mod pulse;
mod queue;
mod rewrite;
mod shards;
mod slot;
#[cfg(test)]
mod tests;
mod tokens;

use std::ops::ControlFlow;

pub use error::MergeError;
pub use shards::Shards;

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
/// To free the words before the merging starts, or to use several cores, call [`Shards::build`] and
/// [`Shards::merge`].
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
    W: Iterator<Item = (&'w [u8], u64)> + Clone + Send,
{
    Shards::build(words, 1, progress)?.merge(options, progress)
}
