//! Merging the bytes of one pre-token: lowest rank first, the leftmost of several.
//!
//! Pre-tokens are short, so a scan over all neighbours for the lowest rank is faster than any
//! queue, and quadratic. Hence longer ones go through a queue: n log n for n bytes.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::pairs::{Joined, Pairs, NEVER};

/// Bytes up to which neighbours are scanned; and of most pre-tokens, which take less memory.
const SCANNED: usize = 64;
const FEW: usize = 16;

/// Where there is no neighbour.
const NOWHERE: usize = usize::MAX;

/// Memory that merging uses again and again.
#[derive(Default)]
pub(super) struct Scratch {
    ids: Vec<u32>,
}

impl Scratch {
    /// A single id.
    pub(super) fn one(&mut self, id: u32) -> &[u32] {
        self.ids.clear();
        self.ids.push(id);
        &self.ids
    }
}

/// The ids of `pretoken`, whose bytes begin as the tokens `bytes`.
pub(super) fn merge<'s>(
    pretoken: &[u8],
    bytes: &[u32; 256],
    pairs: &Pairs,
    scratch: &'s mut Scratch,
) -> &'s [u32] {
    merge_down_to(1, pretoken, bytes, pairs, scratch)
}

/// The two tokens that the bytes of a token are just before they are the token; others if they
/// never are.
pub(super) fn halves<'s>(
    token: &[u8],
    bytes: &[u32; 256],
    pairs: &Pairs,
    scratch: &'s mut Scratch,
) -> &'s [u32] {
    merge_down_to(2, token, bytes, pairs, scratch)
}

/// Merges as long as there are more than `fewest` tokens.
fn merge_down_to<'s>(
    fewest: usize,
    pretoken: &[u8],
    bytes: &[u32; 256],
    pairs: &Pairs,
    scratch: &'s mut Scratch,
) -> &'s [u32] {
    let ids = &mut scratch.ids;
    ids.clear();
    ids.extend(pretoken.iter().map(|&byte| bytes[usize::from(byte)]));
    let length = pretoken.len();
    if length <= FEW {
        scan::<FEW>(ids, pretoken, pairs, fewest);
    } else if length <= SCANNED {
        scan::<SCANNED>(ids, pretoken, pairs, fewest);
    } else {
        Chain::new(std::mem::take(ids), pairs).merge(ids, fewest);
    }
    ids
}

/// Merges at most `N` tokens, 255 at the most. Those that are merged into others stay where they
/// are, for to move the rest takes longer than to look at them.
fn scan<const N: usize>(ids: &mut Vec<u32>, pretoken: &[u8], pairs: &Pairs, fewest: usize) {
    let length = pretoken.len();
    // Rank and place of each with the next.
    let mut waiting = [GONE; N];
    let mut made = [0; N];
    let mut next = [0_u8; N];
    let mut before = [0_u8; N];
    for (at, pair) in (0_u8..).zip(pretoken.windows(2)) {
        let joined = pairs.of_bytes(pair[0], pair[1]);
        let place = usize::from(at);
        (waiting[place], made[place]) = (key(joined.rank, at), joined.id);
        (next[place], before[place + 1]) = (at + 1, at);
    }
    let mut left = length;
    while left > fewest {
        let least = waiting[..length]
            .iter()
            .fold(GONE, |least, &key| least.min(key));
        if least >= u64::from(NEVER) << 32 {
            break;
        }
        #[allow(
            clippy::cast_possible_truncation,
            reason = "the place is what is below the rank"
        )]
        let at = least as u8;
        let place = usize::from(at);
        let gone = usize::from(next[place]);
        ids[place] = made[place];
        waiting[gone] = GONE;
        left -= 1;
        let after = next[gone];
        next[place] = after;
        waiting[place] = GONE;
        // The last has no next: 0.
        if after != 0 {
            before[usize::from(after)] = at;
            let joined = pairs.get(ids[place], ids[usize::from(after)]);
            (waiting[place], made[place]) = (key(joined.rank, at), joined.id);
        }
        if at != 0 {
            let at = before[place];
            let place_before = usize::from(at);
            let joined = pairs.get(ids[place_before], ids[place]);
            (waiting[place_before], made[place_before]) = (key(joined.rank, at), joined.id);
        }
    }
    let mut at = 0;
    for to in 0..left {
        ids[to] = ids[at];
        at = usize::from(next[at]);
    }
    ids.truncate(left);
}

/// More than any [`key`] of neighbours that merge.
const GONE: u64 = u64::MAX;

/// What is least for the lowest rank, and the leftmost of equals.
#[inline]
fn key(rank: u32, at: u8) -> u64 {
    u64::from(rank) << 32 | u64::from(at)
}

/// Tokens side by side, of which any two neighbours can be merged in constant time.
struct Chain<'p> {
    pairs: &'p Pairs,
    ids: Vec<u32>,
    /// Of each token with the next.
    joined: Vec<Joined>,
    next: Vec<usize>,
    before: Vec<usize>,
    queue: BinaryHeap<Reverse<(u32, usize)>>,
}

impl<'p> Chain<'p> {
    fn new(ids: Vec<u32>, pairs: &'p Pairs) -> Self {
        let length = ids.len();
        let mut joined: Vec<_> = ids
            .windows(2)
            .map(|pair| pairs.get(pair[0], pair[1]))
            .collect();
        joined.push(Joined { rank: NEVER, id: 0 });
        let waiting = joined.iter().enumerate();
        let waiting = waiting.filter(|(_, joined)| joined.rank != NEVER);
        let queue = waiting
            .map(|(at, joined)| Reverse((joined.rank, at)))
            .collect();
        Self {
            pairs,
            ids,
            joined,
            next: (1..=length)
                .map(|at| if at == length { NOWHERE } else { at })
                .collect(),
            before: (0..length)
                .map(|at| at.checked_sub(1).unwrap_or(NOWHERE))
                .collect(),
            queue,
        }
    }

    fn merge(mut self, ids: &mut Vec<u32>, fewest: usize) {
        let mut length = self.ids.len();
        while length > fewest {
            let Some(Reverse((rank, at))) = self.queue.pop() else {
                break;
            };
            // What waits for a rank that the place no longer has was overtaken by another merge.
            if self.joined[at].rank == rank {
                self.merge_at(at);
                length -= 1;
            }
        }
        let mut at = 0;
        while at != NOWHERE {
            ids.push(self.ids[at]);
            at = self.next[at];
        }
    }

    /// Merges the token at a place with the next.
    fn merge_at(&mut self, at: usize) {
        let gone = self.next[at];
        self.ids[at] = self.joined[at].id;
        self.next[at] = self.next[gone];
        self.joined[gone].rank = NEVER;
        if self.next[at] != NOWHERE {
            self.before[self.next[at]] = at;
        }
        self.look(at);
        if self.before[at] != NOWHERE {
            self.look(self.before[at]);
        }
    }

    /// Looks up what a token becomes with the next, and queues it.
    fn look(&mut self, at: usize) {
        let next = self.next[at];
        self.joined[at].rank = NEVER;
        if next != NOWHERE {
            self.joined[at] = self.pairs.get(self.ids[at], self.ids[next]);
            if self.joined[at].rank != NEVER {
                self.queue.push(Reverse((self.joined[at].rank, at)));
            }
        }
    }
}
