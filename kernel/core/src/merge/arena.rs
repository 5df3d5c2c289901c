//! The arena: all words in one flat array of symbols.
//!
//! A word takes a slot per byte and one more for the separator behind it. A symbol covers as
//! many slots as its token has bytes, and its number stands in the first and in the last of
//! them. Hence the next symbol starts `length` slots further, and the slot before a symbol
//! names the previous one: no links, no lengths, two or four bytes per byte of text (`slot`).
//!
//! **Stale postings are seen.** A posting of the pair (x, y) says that an x started at slot p
//! and a y behind it at slot q = p + length(x). That x is there still if and only if slot p
//! holds x, and likewise y and slot q. For an x ends in one of two ways. It is joined to what
//! follows: then slot p gets the new symbol. Or it is joined to what precedes: then slot p gets
//! [`Slot::INSIDE`] or, if x is a single byte, the new symbol whose last slot p now is. From then on
//! slot p is at most written as the last slot of a symbol, and all that cover it are longer than x.
//!
//! **Counts.** The count of a word weighs each of its slots, but storing it per word would cost
//! another array and another cache miss. Words are placed by falling count, each distinct count
//! (*class*) starting on a fresh block of [`BLOCK`] slots, so that a block has one count and
//! the table of block counts is small enough for the caches.
//!
//! Memory: 2 or 4 bytes per slot and 8 per block, that is 2.1 bytes per byte of unique words plus
//! 2.1 per word, or 4.1; words of fewer than two bytes are left out. Placing needs two passes over the
//! words and no sorting.

use std::collections::BTreeMap;

use super::division::Share;
use super::pulse::Pulse;
use super::slot::Slot;
use super::tokens::{symbol, SEPARATOR};
use super::MergeError;
use crate::prefetch::{prefer_large, prefetch};

/// Slots of one count: `1 << BLOCK_BITS`.
const BLOCK_BITS: u32 = 6;
const BLOCK: usize = 1 << BLOCK_BITS;

/// Positions are 32 bits, and symbols at most; a merge takes a slot, so these cannot run out first.
pub(super) const MAX_SLOTS: u64 = (u32::MAX - 1024) as u64;

/// Counts below this have their class in a table, the few others in a map.
const FREQUENT: usize = 1 << 16;

/// The words of one count.
#[derive(Clone, Copy, Default)]
struct Class {
    words: usize,
    /// The slots they need; once placed, where the next of them goes.
    slots: usize,
}

/// The words of a shard, laid out for merging.
pub(super) struct Arena<S> {
    pub(super) symbols: Vec<S>,
    block_counts: Vec<u64>,
    /// By falling count: the number of words with at least this count, and the count.
    ranks: Vec<(usize, u64)>,
}

impl<S: Slot> Arena<S> {
    /// The count of the word that covers a position.
    #[inline]
    pub(super) fn count_at(&self, position: u32) -> u64 {
        self.block_counts[(position >> BLOCK_BITS) as usize]
    }

    /// Sends for what an occurrence at `position` needs.
    #[inline]
    pub(super) fn prefetch(&self, position: u32) {
        prefetch(&self.symbols, position as usize);
        prefetch(&self.block_counts, (position >> BLOCK_BITS) as usize);
    }

    /// The slots in blocks of one count each.
    pub(super) fn blocks(&self) -> impl Iterator<Item = (&[S], u64)> {
        self.symbols
            .chunks_exact(BLOCK)
            .zip(self.block_counts.iter().copied())
    }

    /// By falling count: how many words have at least this count, and the count. Of words with
    /// two bytes or more, and at most `max_length`.
    pub(super) fn ranks(&self, max_length: Option<usize>) -> Vec<(usize, u64)> {
        let Some(max_length) = max_length else {
            return self.ranks.clone();
        };
        let mut ranks: Vec<(usize, u64)> = Vec::new();
        let (mut words, mut length) = (0, 0);
        for (block, count) in self.blocks() {
            for &slot in block {
                if slot.symbol() != SEPARATOR {
                    length += 1;
                    continue;
                }
                words += usize::from((2..=max_length).contains(&length));
                length = 0;
            }
            match ranks.last_mut() {
                Some(last) if last.1 == count => last.0 = words,
                _ => ranks.push((words, count)),
            }
        }
        ranks
    }
}

impl Arena<u16> {
    /// With room for more symbols.
    pub(super) fn widened(self) -> Arena<u32> {
        let mut symbols = vec![0; self.symbols.len()];
        prefer_large(&mut symbols);
        for (wide, &short) in symbols.iter_mut().zip(&self.symbols) {
            *wide = short.symbol();
        }
        Arena {
            symbols,
            block_counts: self.block_counts,
            ranks: self.ranks,
        }
    }
}

/// Whether a word has slots.
fn mergeable(word: &[u8], count: u64) -> bool {
    word.len() > 1 && count > 0
}

/// The classes by count, of the words that have slots.
pub(super) struct Classes {
    rare: Vec<Class>,
    frequent: BTreeMap<u64, Class>,
    /// Of all words, each as often as it was counted; also of those that have no slots.
    bytes: u64,
}

impl Classes {
    pub(super) fn new() -> Self {
        Self {
            rare: vec![Class::default(); FREQUENT],
            frequent: BTreeMap::new(),
            bytes: 0,
        }
    }

    /// Notes a word.
    #[inline]
    pub(super) fn add(&mut self, word: &[u8], count: u64) -> Result<(), MergeError> {
        self.bytes = count
            .checked_mul(word.len() as u64)
            .and_then(|more| more.checked_add(self.bytes))
            .ok_or(MergeError::Overflow)?;
        if mergeable(word, count) {
            let class = self.of(count);
            class.words += 1;
            class.slots += word.len() + 1;
        }
        Ok(())
    }

    /// Of the words noted.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// That the words noted need.
    pub(super) fn slots(&self) -> u64 {
        let classes = self.rare.iter().chain(self.frequent.values());
        let slots = classes.map(|class| class.slots.next_multiple_of(BLOCK) as u64);
        BLOCK as u64 + slots.sum::<u64>()
    }

    #[inline]
    fn of(&mut self, count: u64) -> &mut Class {
        match usize::try_from(count) {
            Ok(rare) if rare < FREQUENT => &mut self.rare[rare],
            _ => self.frequent.entry(count).or_default(),
        }
    }

    /// The arena of the words noted, which are shown again.
    pub(super) fn fill<'w, W>(
        mut self,
        words: Share<W>,
        pulse: &mut Pulse<'_, '_>,
    ) -> Result<Arena<u16>, MergeError>
    where
        W: Iterator<Item = (&'w [u8], u64)> + Clone,
    {
        let (mut arena, slots) = self.place();
        arena.symbols = vec![0; slots];
        prefer_large(&mut arena.symbols);
        words.again(|word, count| {
            if !mergeable(word, count) {
                return Ok(());
            }
            let next = &mut self.of(count).slots;
            for (slot, &byte) in arena.symbols[*next..].iter_mut().zip(word) {
                *slot = Slot::of(symbol(byte));
            }
            *next += word.len() + 1;
            pulse.work(word.len() + 1)
        })?;
        Ok(arena)
    }

    /// Gives each class its place, by falling count behind one block of separators. Returns an
    /// arena without symbols, and how many it needs.
    fn place(&mut self) -> (Arena<u16>, usize) {
        let mut arena = Arena {
            symbols: Vec::new(),
            block_counts: vec![0],
            ranks: Vec::new(),
        };
        let mut words = 0;
        let mut next = BLOCK;
        let frequent = self
            .frequent
            .iter_mut()
            .map(|(&count, class)| (count, class))
            .rev();
        let rare = self
            .rare
            .iter_mut()
            .enumerate()
            .map(|(count, class)| (count as u64, class))
            .rev();
        for (count, class) in frequent.chain(rare).filter(|(_, class)| class.words > 0) {
            words += class.words;
            arena.ranks.push((words, count));
            let start = next;
            next += class.slots.next_multiple_of(BLOCK);
            class.slots = start;
            arena.block_counts.resize(next / BLOCK, count);
        }
        (arena, next)
    }
}
