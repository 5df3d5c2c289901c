//! The pairs of bytes, found before the first merge.
//!
//! There are only 256 × 256 of them, so a table indexed by the two symbols needs no hashing:
//! one pass over the arena counts, a second writes each position behind those of its pair. The
//! row and the column of the separator take what is no pair, sparing the loop a branch.

use super::arena::Arena;
use super::lockstep::{Member, Message};
use super::pairs::{Pair, Pairs};
use super::pulse::Pulse;
use super::slot::Slot;
use super::tokens::{Tokens, INITIAL, SEPARATOR};
use super::MergeError;
use crate::prefetch::prefer_large;

#[derive(Clone, Copy, Default)]
struct Tally {
    weight: u64,
    /// First the number of positions, then where the next one goes; zero if they are not kept.
    cursor: usize,
}

/// Adds what the other shards counted.
fn add_others(table: &mut [Tally], member: &mut Member<'_>) -> Result<(), MergeError> {
    let tell = |table: &[Tally], message: &mut Message| {
        let weights = (0..).zip(table.iter().map(|tally| tally.weight));
        message.first.clear();
        message
            .first
            .extend(weights.filter(|&(_, weight)| weight > 0));
    };
    member.exchange(table, tell, |table, message| {
        for &(pair, weight) in &message.first {
            let tally = &mut table[usize::try_from(pair).expect("an index")];
            tally.weight = tally.weight.wrapping_add(weight);
        }
    })
}

impl Pairs {
    /// The pairs of adjacent bytes with a count of at least `floor` that `tokens` may join.
    pub(super) fn initial<S: Slot>(
        arena: &Arena<S>,
        floor: u64,
        tokens: &Tokens,
        member: &mut Member<'_>,
        pulse: &mut Pulse<'_, '_>,
    ) -> Result<Self, MergeError> {
        let mut table = vec![Tally::default(); INITIAL * INITIAL];
        let mut left = SEPARATOR as usize;
        for (block, count) in arena.blocks() {
            for &right in block {
                let right = right.symbol() as usize;
                let tally = &mut table[left * INITIAL + right];
                // What stands beside a separator is not a pair and its sum may wrap; the sums of
                // pairs cannot, `Shards::build` has seen to that.
                tally.weight = tally.weight.wrapping_add(count);
                tally.cursor += 1;
                left = right;
            }
            pulse.work(block.len())?;
        }
        add_others(&mut table, member)?;
        let mut pairs = Self::default();
        let mut next = pairs.postings.len();
        for (left, row) in (0..).zip(table.chunks_exact_mut(INITIAL)) {
            for (right, tally) in (0..).zip(row) {
                let found = std::mem::take(&mut tally.cursor);
                if left != SEPARATOR
                    && right != SEPARATOR
                    && tally.weight >= floor
                    && tokens.may_join(left, right)
                {
                    tally.cursor = next;
                    next += found;
                    pairs.add(Pair::new((left, right), tally.weight, tally.cursor, found));
                }
            }
        }
        // Room for all that come later. Pages that nothing was written to take no memory, while a
        // vector that outgrows its room is there twice: at the peak that was a third of all memory.
        pairs.postings = vec![0; 2 * next];
        prefer_large(&mut pairs.postings);
        pairs.postings.truncate(next);
        pairs.post(arena, &mut table, pulse)?;
        Ok(pairs)
    }

    /// Writes the positions.
    fn post<S: Slot>(
        &mut self,
        arena: &Arena<S>,
        table: &mut [Tally],
        pulse: &mut Pulse<'_, '_>,
    ) -> Result<(), MergeError> {
        let mut left = SEPARATOR as usize;
        // Where the left symbol stands. Slot zero is a separator: what stands before it, nothing,
        // makes no pair with it.
        let mut position = u32::MAX;
        for (block, _) in arena.blocks() {
            for &right in block {
                let right = right.symbol() as usize;
                let cursor = &mut table[left * INITIAL + right].cursor;
                // Posting zero belongs to no pair: what is not kept ends there.
                self.postings[*cursor] = position;
                *cursor += usize::from(*cursor != 0);
                left = right;
                position = position.wrapping_add(1);
            }
            pulse.work(block.len())?;
        }
        Ok(())
    }
}
