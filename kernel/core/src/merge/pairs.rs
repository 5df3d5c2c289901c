//! The pairs: what is known of each, where it occurred, and how to find it by its symbols.
//!
//! Postings are kept in one vector, a pair's in one piece, since they are all written in the
//! merge that makes its newer symbol. The room of merged pairs is given to those that come, first
//! that of the pair just merged, so the vector grows by little after the start: by 16 % in 32,000
//! merges of 4 million synthetic words. Taking stale postings out instead of growing won 2 % of the
//! memory, and cost a tenth of the time: it is done once, when the arena needs the room.
//!
//! The index is an open-addressing table of 32 bits per entry: the pair's number in the low
//! bits, and as many bits of its hash as there is room for above, so that a miss, the common
//! case, reads this small table only. Pairs are never removed; a merged pair cannot come back.

use std::collections::BinaryHeap;

use crate::prefetch::prefetch;

/// Postings in a cache line.
const LINE: usize = 16;

/// No further pair in a list.
pub(super) const NONE: u32 = u32::MAX;

/// A pair of symbols that lie or lay side by side. 32 bytes.
#[derive(Clone)]
pub(super) struct Pair {
    pub(super) left: u32,
    pub(super) right: u32,
    /// Exact at any time, and falling; zero once merged.
    pub(super) count: u64,
    start: usize,
    found: u32,
    /// The next in the same bucket of the queue.
    pub(super) next: u32,
}

impl Pair {
    /// A pair with room for `found` postings at `start`.
    pub(super) fn new(symbols: (u32, u32), count: u64, start: usize, found: usize) -> Self {
        let found = u32::try_from(found).expect("no more postings than slots");
        let (left, right) = symbols;
        Self {
            left,
            right,
            count,
            start,
            found,
            next: NONE,
        }
    }

    /// Where its postings are.
    #[inline]
    pub(super) fn range(&self) -> std::ops::Range<usize> {
        self.start..self.start + self.found as usize
    }
}

pub(super) struct Pairs {
    records: Vec<Pair>,
    index: Vec<u32>,
    /// Ascending within a pair. The first is nobody's.
    pub(super) postings: Vec<u32>,
    /// Room of the pair merged last: length and start.
    hole: (usize, usize),
    /// What is left of such room from before.
    holes: BinaryHeap<(usize, usize)>,
}

impl Default for Pairs {
    fn default() -> Self {
        Self {
            records: Vec::new(),
            index: vec![0; 1 << 10],
            postings: vec![0],
            hole: (0, 0),
            holes: BinaryHeap::new(),
        }
    }
}

impl Pairs {
    /// The numbers of all pairs so far.
    pub(super) fn numbers(&self) -> std::ops::Range<u32> {
        0..u32::try_from(self.records.len()).expect("no more pairs than numbers")
    }

    #[inline]
    pub(super) fn get(&self, number: u32) -> &Pair {
        &self.records[number as usize]
    }

    #[inline]
    pub(super) fn get_mut(&mut self, number: u32) -> &mut Pair {
        &mut self.records[number as usize]
    }

    /// Sends for the `first` postings of a pair.
    pub(super) fn prefetch(&self, number: u32, first: usize) {
        let range = self.get(number).range();
        for posting in range.take(first).step_by(LINE) {
            prefetch(&self.postings, posting);
        }
    }

    /// Takes a pair out of the game to merge it, and returns what it was.
    pub(super) fn take(&mut self, number: u32) -> Pair {
        let pair = self.get_mut(number);
        let taken = pair.clone();
        pair.count = 0;
        taken
    }

    /// Gives the postings of a merged pair away.
    pub(super) fn reuse(&mut self, merged: &Pair) {
        self.holes.push(self.hole);
        self.hole = (merged.found as usize, merged.start);
    }

    /// Room for `found` postings; returns where it starts, which is never zero.
    pub(super) fn reserve(&mut self, found: usize) -> usize {
        if let Some(start) = taken(&mut self.hole, found) {
            return start;
        }
        if let Some(mut largest) = self.holes.peek_mut() {
            if let Some(start) = taken(&mut largest, found) {
                return start;
            }
        }
        let start = self.postings.len();
        self.postings.resize(start + found, 0);
        start
    }

    /// Leaves postings to those pairs only that have a count of at least `floor`.
    pub(super) fn compact(&mut self, floor: u64) {
        let kept = |pair: &Pair| pair.count >= floor;
        let found = self.records.iter().filter(|pair| kept(pair));
        let found: usize = found.map(|pair| pair.found as usize).sum();
        let mut postings = Vec::with_capacity(1 + found);
        postings.push(0);
        for pair in &mut self.records {
            let range = pair.range();
            pair.start = postings.len();
            if kept(pair) {
                postings.extend_from_slice(&self.postings[range]);
            } else {
                pair.found = 0;
            }
        }
        self.postings = postings;
        self.hole = (0, 0);
        self.holes.clear();
    }

    /// Adds a pair and returns its number.
    pub(super) fn add(&mut self, pair: Pair) -> u32 {
        if self.index.len() < 2 * (self.records.len() + 1) {
            self.grow();
        }
        let number = self.numbers().end;
        self.enter(number, pair.left, pair.right);
        self.records.push(pair);
        number
    }

    /// Takes `weight` off the count of a pair, if it is kept.
    #[inline]
    pub(super) fn lose(&mut self, left: u32, right: u32, weight: u64) {
        let probe = Probe::new(self.index.len(), left, right);
        let mut at = probe.start;
        while let entry @ 1.. = self.index[at] {
            if entry >> probe.bits == probe.tag {
                let pair = &mut self.records[(entry & probe.mask) as usize - 1];
                if (pair.left, pair.right) == (left, right) {
                    // Below only for a pair of equal symbols that was merged and is zero.
                    pair.count = pair.count.saturating_sub(weight);
                    return;
                }
            }
            at = (at + 1) & probe.mask as usize;
        }
    }

    fn enter(&mut self, number: u32, left: u32, right: u32) {
        let probe = Probe::new(self.index.len(), left, right);
        let mut at = probe.start;
        while self.index[at] != 0 {
            at = (at + 1) & probe.mask as usize;
        }
        self.index[at] = probe.tag << probe.bits | (number + 1);
    }

    fn grow(&mut self) {
        self.index = vec![0; 2 * self.index.len()];
        for number in self.numbers() {
            let (left, right) = (self.get(number).left, self.get(number).right);
            self.enter(number, left, right);
        }
    }
}

/// Takes room off a hole, if it is large enough; returns where that starts.
fn taken((length, start): &mut (usize, usize), found: usize) -> Option<usize> {
    let left = length.checked_sub(found)?;
    *length = left;
    *start += found;
    Some(*start - found)
}

/// Where a pair would be in an index of some size, and the bits of its hash kept there.
struct Probe {
    start: usize,
    bits: u32,
    mask: u32,
    tag: u32,
}

impl Probe {
    #[inline]
    #[expect(
        clippy::cast_possible_truncation,
        reason = "the two halves of the hash"
    )]
    fn new(size: usize, left: u32, right: u32) -> Self {
        let key = u64::from(left) << 32 | u64::from(right);
        let hash = key.wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let hash = (hash ^ hash >> 32).wrapping_mul(0xD6E8_FEB8_6659_FD93);
        let bits = size.trailing_zeros();
        let mask = (1u32 << bits) - 1;
        let [high, low] = [(hash >> 32) as u32, hash as u32];
        Self {
            start: (high & mask) as usize,
            bits,
            mask,
            tag: low >> bits,
        }
    }
}
