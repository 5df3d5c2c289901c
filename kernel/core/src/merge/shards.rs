//! The words in shards, each laid out and merged by a thread of its own.
//!
//! A shard has its own [`Arena`], its own positions of 32 bits and its own postings. What decides
//! on the merges (the pairs with their counts over all shards, the queue, the floor, the tokens)
//! every shard keeps for itself: all make the same decisions, as all are given the same sums. Per
//! merge they tell each other what they tallied of the neighbours (`lockstep`), which is little
//! beside the occurrences rewritten, and none waits for another to decide.

use super::arena::{Arena, Classes, MAX_SLOTS};
use super::division::Share;
use super::floor::{self, Floor};
use super::lockstep::{together, Member};
use super::pairs::Pairs;
use super::pulse::Pulse;
use super::queue::Queue;
use super::rewrite::{Joint, Rewriter};
use super::slot::{Slot, SHORT_MERGES};
use super::tokens::{self, Tokens};
use super::{Merge, MergeError, Merged, Options, Progress};

/// More would not be positions that are short, but a word that is too long.
const MOST_SHARDS: usize = 1 << 10;

/// With so many words each, two shards take 1.7 times less than one on two free cores. With fewer
/// it matters less than what they lose where another process has one of the cores.
const WORDS_A_SHARD: u64 = 1_000_000;

/// Each shard decides on all pairs: more of them share ever less.
const MOST_USEFUL: usize = 16;

/// The unique pre-tokens, laid out for merging.
///
/// ```
/// use std::ops::ControlFlow;
///
/// use bpefleet_core::merge::{MergeError, Options, Shards, TieBreak};
/// use bpefleet_core::table::CountTable;
///
/// let mut table = CountTable::new();
/// table.add(b" the", 2).expect("it fits");
/// let mut go_on = |_: &[_]| ControlFlow::Continue(());
/// let shards = Shards::build(table.iter(), 1, &mut go_on)?;
/// drop(table); // Its memory is free for the merging.
/// let options = Options {
///     merges: 10,
///     tie_break: TieBreak::RawId,
///     min_frequency: 0,
///     max_token_length: Some(3),
/// };
/// let merges = shards.merge(&options, &mut go_on)?.merges;
/// // ` t` and `he`, or ` t` and `h`, but never the four bytes.
/// assert_eq!((merges[0].left, merges[0].right), (32, 116));
/// assert_eq!(merges.len(), 2);
/// # Ok::<(), MergeError>(())
/// ```
pub struct Shards {
    arenas: Vec<Arena<u16>>,
    /// Of all words, each as often as it was counted; also of those that have no slots.
    bytes: u64,
}

impl Shards {
    /// How many shards are fastest for so many words on so many cores.
    ///
    /// ```
    /// use bpefleet_core::merge::Shards;
    ///
    /// assert_eq!(Shards::suited(100_000, 2), 1);
    /// assert_eq!(Shards::suited(100_000_000, 2), 2);
    /// ```
    #[must_use]
    pub fn suited(words: u64, cores: usize) -> usize {
        let most = usize::try_from(words / WORDS_A_SHARD).unwrap_or(usize::MAX);
        most.min(cores).clamp(1, MOST_USEFUL)
    }

    /// Lays out `words`, the unique pre-tokens with their counts, in any order. The words are
    /// read twice and not needed afterwards.
    ///
    /// Each of the `shards`, at least one, has a thread. They are more where positions would not
    /// do for the words otherwise, and one where threads cannot be had. The merges are the same
    /// for any number.
    ///
    /// # Errors
    /// [`MergeError::Overflow`], [`MergeError::TooLarge`], or [`MergeError::Cancelled`] when
    /// `progress` (called with no merges) says so.
    #[expect(
        clippy::needless_pass_by_value,
        reason = "an iterator, of which each thread has a copy"
    )]
    pub fn build<'w, W>(
        words: W,
        shards: usize,
        progress: &mut Progress<'_>,
    ) -> Result<Self, MergeError>
    where
        W: Iterator<Item = (&'w [u8], u64)> + Clone + Send,
    {
        Self::within(MAX_SLOTS, &words, shards.clamp(1, MOST_SHARDS), progress)
    }

    /// Shards of at most `limit` slots.
    pub(super) fn within<'w, W>(
        limit: u64,
        words: &W,
        mut shards: usize,
        progress: &mut Progress<'_>,
    ) -> Result<Self, MergeError>
    where
        W: Iterator<Item = (&'w [u8], u64)> + Clone + Send,
    {
        loop {
            let measured = match measure(words, shards, progress) {
                Err(MergeError::NoThreads) if shards > 1 => {
                    shards = 1;
                    continue;
                }
                measured => measured?,
            };
            let slots = measured.iter().map(|measured| measured.classes.slots());
            let (largest, all) = (slots.clone().max().unwrap_or(0), slots.sum::<u64>());
            if largest <= limit {
                return Self::place(measured, progress);
            }
            if shards >= MOST_SHARDS {
                return Err(MergeError::TooLarge { slots: largest });
            }
            // A little more than the mean, as no division is even.
            let needed = usize::try_from((all + all / 64).div_ceil(limit)).unwrap_or(MOST_SHARDS);
            let more = if needed > shards { needed } else { 2 * shards };
            shards = more.min(MOST_SHARDS);
        }
    }

    fn place<'w, W>(
        measured: Vec<Measured<W>>,
        progress: &mut Progress<'_>,
    ) -> Result<Self, MergeError>
    where
        W: Iterator<Item = (&'w [u8], u64)> + Clone + Send,
    {
        let bytes = measured.iter().try_fold(0u64, |sum, measured| {
            sum.checked_add(measured.classes.bytes())
        });
        // Bounds every count of a pair, and every sum of them, from here on.
        let bytes = bytes.ok_or(MergeError::Overflow)?;
        let arenas = together(
            measured,
            progress,
            |Measured { classes, share }, _, pulse| classes.fill(share, pulse),
        )?;
        Ok(Self { arenas, bytes })
    }

    /// How many there are.
    #[must_use]
    pub fn number(&self) -> usize {
        self.arenas.len()
    }

    /// Makes up to `options.merges` merges, each of the pair that is most frequent by then.
    ///
    /// # Errors
    /// [`MergeError::Cancelled`] when `progress` says so, [`MergeError::Repeated`] when the
    /// words turn out not to have been unique, [`MergeError::NoThreads`].
    pub fn merge(
        self,
        options: &Options,
        progress: &mut Progress<'_>,
    ) -> Result<Merged, MergeError> {
        let Self { arenas, bytes } = self;
        let mut merged = together(arenas, progress, |arena, member, pulse| {
            merge_shard(arena, member, bytes, options, pulse)
        })?;
        debug_assert!(merged.windows(2).all(|two| two[0] == two[1]), "in lockstep");
        Ok(merged.swap_remove(0))
    }
}

/// What a shard is to hold.
struct Measured<W> {
    classes: Classes,
    share: Share<W>,
}

fn measure<'w, W>(
    words: &W,
    shards: usize,
    progress: &mut Progress<'_>,
) -> Result<Vec<Measured<W>>, MergeError>
where
    W: Iterator<Item = (&'w [u8], u64)> + Clone + Send,
{
    let words = vec![words.clone(); shards];
    together(words, progress, |words, member, pulse| {
        let mut classes = Classes::new();
        let share = Share::new(words, (member.number(), shards), |word, count| {
            classes.add(word, count)?;
            pulse.work(1)
        })?;
        Ok(Measured { classes, share })
    })
}

/// The merges, found by one shard together with the others.
fn merge_shard(
    mut arena: Arena<u16>,
    mut member: Member<'_>,
    bytes: u64,
    options: &Options,
    pulse: &mut Pulse<'_, '_>,
) -> Result<Merged, MergeError> {
    let mut shard = Shard::new(&arena, &mut member, bytes, options, pulse)?;
    shard.merge(&mut arena, SHORT_MERGES, &mut member, pulse)?;
    if shard.wants_more(pulse.made().len()) {
        // Most pairs are merged by now. What is left of the postings and the wider arena together
        // take less than the postings took at first.
        shard.pairs.compact(shard.floor.count());
        let mut arena = arena.widened();
        shard.merge(&mut arena, usize::MAX, &mut member, pulse)?;
    }
    Ok(Merged {
        merges: pulse.take_made(),
        bytes,
        tokens: shard.tokens_left,
    })
}

/// What decides on the merges, and where the pairs are in the arena.
struct Shard<'o> {
    options: &'o Options,
    floor: Floor,
    tokens: Tokens,
    pairs: Pairs,
    queue: Queue,
    rewriter: Rewriter,
    tokens_left: u64,
    exhausted: bool,
}

impl<'o> Shard<'o> {
    fn new(
        arena: &Arena<u16>,
        member: &mut Member<'_>,
        bytes: u64,
        options: &'o Options,
        pulse: &mut Pulse<'_, '_>,
    ) -> Result<Self, MergeError> {
        let ranks = floor::ranks(arena, options.max_token_length, member)?;
        let floor = Floor::new(ranks, options);
        let tokens = Tokens::new(options.max_token_length);
        let mut pairs = Pairs::initial(arena, floor.count(), &tokens, member, pulse)?;
        let queue = Queue::new(options.tie_break, &mut pairs);
        Ok(Self {
            options,
            floor,
            tokens,
            pairs,
            queue,
            rewriter: Rewriter::new(),
            tokens_left: bytes,
            exhausted: false,
        })
    }

    /// Whether more than these are to be made, and can be.
    fn wants_more(&self, made: usize) -> bool {
        made < self.options.merges && !self.exhausted
    }

    /// Makes merges, until there are so many.
    fn merge<S: Slot>(
        &mut self,
        arena: &mut Arena<S>,
        until: usize,
        member: &mut Member<'_>,
        pulse: &mut Pulse<'_, '_>,
    ) -> Result<(), MergeError> {
        let Self {
            floor,
            tokens,
            pairs,
            queue,
            rewriter,
            ..
        } = self;
        while pulse.made().len() < self.options.merges.min(until) {
            let Some(best) = queue.pop(pairs, tokens, floor.count()) else {
                floor.check_exhausted()?;
                self.exhausted = true;
                break;
            };
            let chosen = pairs.take(best);
            let merge = Merge {
                left: tokens::id(chosen.left),
                right: tokens::id(chosen.right),
                count: chosen.count,
            };
            let joint = Joint::new(&chosen, tokens);
            look_ahead(queue, pairs, arena);
            let whole = rewriter.replace(arena, pairs, &chosen, &joint, pulse)?;
            let whole = rewriter.add_others(member, whole)?;
            floor.merged(whole);
            // Each occurrence that was rewritten leaves one token where there were two.
            self.tokens_left -= rewriter.rewritten();
            rewriter.settle(&joint, tokens, floor.count(), pairs, queue);
            pulse.merged(merge)?;
        }
        Ok(())
    }
}

/// Sends for what the merges after this one will read. At low counts, where most merges are,
/// many pairs are tied with few postings each, and the wait for their first cache lines would
/// cost more than the work on them.
fn look_ahead<S: Slot>(queue: &Queue, pairs: &Pairs, arena: &Arena<S>) {
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
