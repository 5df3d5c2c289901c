//! A short pre-token, merged step by step.
//!
//! Short enough that to look at all neighbours for the lowest rank is faster than any queue. What
//! takes the time is that each step waits for the one before, so several lanes take turns: while
//! one waits for memory, the others go on.

#![allow(
    clippy::inline_always,
    reason = "the steps are compiled for the machine they run on"
)]

use super::pairs::{Pairs, NEVER};

/// Bits of a place.
const PLACE: u32 = 6;

/// Places of the largest lane.
pub(super) const MOST: usize = 1 << PLACE;

/// At most `N - 2` bytes, and what they have become.
///
/// Tokens that are merged into others stay where they are, for to move the rest takes longer than
/// to look at them. Before the first and behind the last is [`NEVER`], which merges with nothing:
/// so all have neighbours, and none is asked whether it has.
#[derive(Clone, Copy)]
pub(super) struct Lane<const N: usize> {
    /// What each becomes with the next, and its place below: the least is what merges first.
    waiting: [u32; N],
    tokens: [u32; N],
    next: [u8; N],
    before: [u8; N],
    /// The place behind the last.
    end: u8,
    /// The least that waits.
    least: u32,
    /// Where what that makes is looked for with the next, and with the one before.
    lines: [usize; 2],
}

impl<const N: usize> Lane<N> {
    pub(super) const EMPTY: Self = Self {
        waiting: [u32::MAX; N],
        tokens: [NEVER; N],
        next: Self::beside(1),
        before: Self::beside(u8::MAX),
        end: 1,
        least: u32::MAX,
        lines: [0; 2],
    };

    /// Where neighbours are before anything is merged.
    #[allow(clippy::cast_possible_truncation, reason = "there are few places")]
    const fn beside(step: u8) -> [u8; N] {
        let mut places = [0; N];
        let mut at = 0;
        while at < N {
            places[at] = (at as u8).wrapping_add(step);
            at += 1;
        }
        places
    }

    /// Begins with a pre-token of at most `N - 2` bytes.
    #[inline(always)]
    pub(super) fn load(&mut self, pretoken: &[u8], pairs: &Pairs) {
        *self = Self::EMPTY;
        let mut at = 1;
        for &byte in pretoken {
            self.tokens[usize::from(at) % N] = u32::from(byte);
            at += 1;
        }
        self.end = at;
        at = 1;
        for pair in pretoken.windows(2) {
            self.waiting[usize::from(at) % N] = key(pairs.of_bytes(pair[0], pair[1]), at);
            at += 1;
        }
    }

    /// Chooses what merges next, and has fetched from memory what [`step`](Self::step) will look
    /// at; `false` if nothing merges.
    #[inline(always)]
    pub(super) fn choose(&mut self, pairs: &Pairs) -> bool {
        self.least = self
            .waiting
            .iter()
            .fold(u32::MAX, |least, &waiting| least.min(waiting));
        if self.least >= NEVER << PLACE {
            return false;
        }
        let (made, at) = self.chosen();
        let gone = usize::from(self.next[at]) % N;
        let after = usize::from(self.next[gone]) % N;
        let before = usize::from(self.before[at]) % N;
        self.lines = [
            pairs.fetch(made, self.tokens[after]),
            pairs.fetch(self.tokens[before], made),
        ];
        true
    }

    /// Merges what was chosen.
    #[inline(always)]
    pub(super) fn step(&mut self, pairs: &Pairs) {
        let (made, place) = self.chosen();
        let gone = usize::from(self.next[place]) % N;
        let after = self.next[gone];
        let place_after = usize::from(after) % N;
        let before = self.before[place];
        let place_before = usize::from(before) % N;
        let with_after = pairs.get(self.lines[0], made, self.tokens[place_after]);
        let with_before = pairs.get(self.lines[1], self.tokens[place_before], made);
        #[allow(clippy::cast_possible_truncation, reason = "a place")]
        let at = place as u8;
        self.tokens[place] = made;
        self.next[place] = after;
        self.before[place_after] = at;
        self.waiting[gone] = u32::MAX;
        self.waiting[place] = key(with_after, at);
        self.waiting[place_before] = key(with_before, before);
    }

    /// What is made next, and where.
    #[inline(always)]
    fn chosen(&self) -> (u32, usize) {
        (self.least >> PLACE, self.least as usize % N)
    }

    /// The tokens that are left, the first so many of `numbers`.
    #[inline(always)]
    pub(super) fn write(&self, numbers: &mut [u32; N]) -> usize {
        let (mut at, mut left) = (1, 0);
        while at != self.end {
            numbers[left % N] = self.tokens[usize::from(at) % N];
            left += 1;
            at = self.next[usize::from(at) % N];
        }
        left
    }
}

/// What is least for the lowest rank, and the leftmost of equals; of neighbours that do not merge
/// no less than of [`NEVER`].
#[inline(always)]
fn key(made: u32, at: u8) -> u32 {
    made << PLACE | u32::from(at)
}
