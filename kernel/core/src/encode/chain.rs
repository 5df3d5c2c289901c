//! A pre-token of any length, merged by a queue: n log n for n bytes.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::pairs::{Pairs, NEVER};

/// Where there is no neighbour.
const NOWHERE: usize = usize::MAX;
/// Tokens side by side, of which any two neighbours can be merged in constant time.
pub(super) struct Chain<'p> {
    pairs: &'p Pairs,
    tokens: Vec<u32>,
    /// What each becomes with the next.
    made: Vec<u32>,
    next: Vec<usize>,
    before: Vec<usize>,
    queue: BinaryHeap<Reverse<(u32, usize)>>,
}

impl<'p> Chain<'p> {
    pub(super) fn new(pretoken: &[u8], pairs: &'p Pairs) -> Self {
        let length = pretoken.len();
        let mut made: Vec<_> = pretoken
            .windows(2)
            .map(|pair| pairs.of_bytes(pair[0], pair[1]))
            .collect();
        made.push(NEVER);
        let waiting = made.iter().enumerate();
        let waiting = waiting.filter(|&(_, &made)| made != NEVER);
        let queue = waiting.map(|(at, &made)| Reverse((made, at))).collect();
        Self {
            pairs,
            tokens: pretoken.iter().copied().map(u32::from).collect(),
            made,
            next: (1..=length)
                .map(|at| if at == length { NOWHERE } else { at })
                .collect(),
            before: (0..length)
                .map(|at| at.checked_sub(1).unwrap_or(NOWHERE))
                .collect(),
            queue,
        }
    }

    pub(super) fn merge(mut self, numbers: &mut Vec<u32>) {
        while let Some(Reverse((made, at))) = self.queue.pop() {
            // What waits for a rank that the place no longer has was overtaken by another merge.
            if self.made[at] == made {
                self.merge_at(at);
            }
        }
        let mut at = 0;
        while at != NOWHERE && at < self.tokens.len() {
            numbers.push(self.tokens[at]);
            at = self.next[at];
        }
    }

    /// Merges the token at a place with the next.
    fn merge_at(&mut self, at: usize) {
        let gone = self.next[at];
        self.tokens[at] = self.made[at];
        self.next[at] = self.next[gone];
        self.made[gone] = NEVER;
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
        self.made[at] = NEVER;
        if next != NOWHERE {
            let (left, right) = (self.tokens[at], self.tokens[next]);
            let line = self.pairs.fetch(left, right);
            self.made[at] = self.pairs.get(line, left, right);
            if self.made[at] != NEVER {
                self.queue.push(Reverse((self.made[at], at)));
            }
        }
    }
}
