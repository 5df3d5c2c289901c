//! Merging the bytes of one pre-token: lowest rank first, the leftmost of several.
//!
//! Pre-tokens are short, so a scan over all neighbours for the lowest rank is faster than any
//! queue, and quadratic. Hence longer ones go through a queue: n log n for n bytes.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::pairs::{Joined, Pairs, NEVER};

/// Bytes up to which neighbours are scanned.
const SCANNED: usize = 48;

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
    scratch.ids.clear();
    let ids = pretoken.iter().map(|&byte| bytes[usize::from(byte)]);
    scratch.ids.extend(ids);
    if pretoken.len() <= SCANNED {
        scan(&mut scratch.ids, pairs);
    } else {
        Chain::new(std::mem::take(&mut scratch.ids), pairs).merge(&mut scratch.ids);
    }
    &scratch.ids
}

/// Merges at most [`SCANNED`] tokens.
fn scan(ids: &mut Vec<u32>, pairs: &Pairs) {
    let mut ranks = [NEVER; SCANNED];
    let mut made = [0; SCANNED];
    for (at, pair) in ids.windows(2).enumerate() {
        let Joined { rank, id } = pairs.get(pair[0], pair[1]);
        (ranks[at], made[at]) = (rank, id);
    }
    let mut length = ids.len();
    while length > 1 {
        let waiting = &ranks[..length - 1];
        let least = waiting.iter().fold(NEVER, |least, &rank| least.min(rank));
        if least == NEVER {
            break;
        }
        let at = waiting.iter().position(|&rank| rank == least);
        let at = at.expect("it is the rank of one");
        ids[at] = made[at];
        ids.copy_within(at + 2..length, at + 1);
        ranks.copy_within(at + 1..length, at);
        made.copy_within(at + 1..length, at);
        length -= 1;
        ranks[length - 1] = NEVER;
        for left in [at.checked_sub(1), Some(at)].into_iter().flatten() {
            if left + 1 < length {
                let Joined { rank, id } = pairs.get(ids[left], ids[left + 1]);
                (ranks[left], made[left]) = (rank, id);
            }
        }
    }
    ids.truncate(length);
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

    fn merge(mut self, ids: &mut Vec<u32>) {
        while let Some(Reverse((rank, at))) = self.queue.pop() {
            // What waits for a rank that the place no longer has was overtaken by another merge.
            if self.joined[at].rank == rank {
                self.merge_at(at);
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
