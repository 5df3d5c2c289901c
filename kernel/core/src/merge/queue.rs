//! The queue: the pair to merge next.
//!
//! The greatest count never rises, so the queue walks down the counts, *level* by level, and
//! never looks back. Below the level pairs wait in buckets, each a list through the pairs'
//! records, under the count they had when they were put there; counts from 2^16 on are few and
//! wait in a heap. When a level is reached its bucket is emptied: who still has that count
//! joins the *tied*, who lost some is put down to the bucket of its present count, who fell
//! below the floor is dropped. Only the tied, usually a handful, are ordered by the tie rule,
//! in a binary heap of their own. A pair is thus moved once per visit, and the many that never
//! rise to the top cost one store.

use std::collections::BinaryHeap;

use super::pairs::{Pairs, NONE};
use super::tokens::Tokens;
use super::TieBreak;

/// Counts below this have a bucket of their own.
const BUCKETS: usize = 1 << 16;

/// The bucket of a count, if it has one.
#[inline]
fn bucket(count: u64) -> Option<usize> {
    usize::try_from(count)
        .ok()
        .filter(|&bucket| bucket < BUCKETS)
}

pub(super) struct Queue {
    /// By count, the first pair of each list.
    buckets: Vec<u32>,
    /// Counts of [`BUCKETS`] and more, with the pairs' numbers.
    large: BinaryHeap<(u64, u32)>,
    level: u64,
    /// A binary heap of the pairs that had a count of `level` when they came.
    tied: Vec<u32>,
    rule: TieBreak,
}

impl Queue {
    /// A queue of all `pairs`.
    pub(super) fn new(rule: TieBreak, pairs: &mut Pairs) -> Self {
        let mut queue = Self {
            buckets: vec![NONE; BUCKETS],
            large: BinaryHeap::new(),
            level: u64::MAX,
            tied: Vec::new(),
            rule,
        };
        for number in pairs.numbers() {
            queue.wait(number, pairs);
        }
        queue
    }

    /// Adds a pair whose count is at most that of the pair popped last.
    pub(super) fn push(&mut self, number: u32, pairs: &mut Pairs, tokens: &Tokens) {
        if pairs.get(number).count == self.level {
            self.tie(number, pairs, tokens);
        } else {
            self.wait(number, pairs);
        }
    }

    /// The pair with the greatest count, the first of them by the tie rule; none if that count
    /// is below `floor`, which never falls.
    pub(super) fn pop(&mut self, pairs: &mut Pairs, tokens: &Tokens, floor: u64) -> Option<u32> {
        loop {
            while let Some(number) = self.untie(pairs, tokens) {
                let count = pairs.get(number).count;
                if count == self.level {
                    return (count >= floor).then_some(number);
                }
                if count >= floor {
                    self.wait(number, pairs);
                }
            }
            if !self.descend(floor) {
                return None;
            }
            self.open(pairs, tokens, floor);
        }
    }

    /// Some pairs that are likely to be popped next, the likeliest first.
    pub(super) fn upcoming(&self) -> &[u32] {
        &self.tied[..self.tied.len().min(3)]
    }

    fn wait(&mut self, number: u32, pairs: &mut Pairs) {
        let pair = pairs.get_mut(number);
        match bucket(pair.count) {
            Some(bucket) => pair.next = std::mem::replace(&mut self.buckets[bucket], number),
            None => self.large.push((pair.count, number)),
        }
    }

    /// Goes down to the next level where pairs wait; false if there is none from `floor` on.
    fn descend(&mut self, floor: u64) -> bool {
        if let Some(&(count, _)) = self.large.peek() {
            self.level = count;
            return true;
        }
        let above = bucket(self.level).unwrap_or(BUCKETS);
        let lowest = bucket(floor).unwrap_or(BUCKETS);
        for bucket in (lowest..above).rev() {
            if self.buckets[bucket] != NONE {
                self.level = bucket as u64;
                return true;
            }
        }
        false
    }

    /// Ties the pairs that still have the count of the level, and puts the others down.
    fn open(&mut self, pairs: &mut Pairs, tokens: &Tokens, floor: u64) {
        let Some(bucket) = bucket(self.level) else {
            while let Some(&(count, number)) = self.large.peek() {
                if count != self.level {
                    break;
                }
                self.large.pop();
                self.place(number, pairs, tokens, floor);
            }
            return;
        };
        let mut number = std::mem::replace(&mut self.buckets[bucket], NONE);
        while number != NONE {
            let next = pairs.get(number).next;
            self.place(number, pairs, tokens, floor);
            number = next;
        }
    }

    fn place(&mut self, number: u32, pairs: &mut Pairs, tokens: &Tokens, floor: u64) {
        if pairs.get(number).count >= floor {
            self.push(number, pairs, tokens);
        }
    }

    fn tie(&mut self, number: u32, pairs: &Pairs, tokens: &Tokens) {
        let mut hole = self.tied.len();
        self.tied.push(number);
        while hole > 0 {
            let parent = (hole - 1) / 2;
            if !self.precedes(number, self.tied[parent], pairs, tokens) {
                break;
            }
            self.tied[hole] = self.tied[parent];
            hole = parent;
        }
        self.tied[hole] = number;
    }

    fn untie(&mut self, pairs: &Pairs, tokens: &Tokens) -> Option<u32> {
        let last = self.tied.pop()?;
        let Some(&first) = self.tied.first() else {
            return Some(last);
        };
        let mut hole = 0;
        loop {
            let mut child = 2 * hole + 1;
            if child >= self.tied.len() {
                break;
            }
            let sibling = child + 1;
            if sibling < self.tied.len()
                && self.precedes(self.tied[sibling], self.tied[child], pairs, tokens)
            {
                child = sibling;
            }
            if !self.precedes(self.tied[child], last, pairs, tokens) {
                break;
            }
            self.tied[hole] = self.tied[child];
            hole = child;
        }
        self.tied[hole] = last;
        Some(first)
    }

    #[inline]
    fn precedes(&self, first: u32, second: u32, pairs: &Pairs, tokens: &Tokens) -> bool {
        let (first, second) = (pairs.get(first), pairs.get(second));
        tokens.precedes(
            self.rule,
            (first.left, first.right),
            (second.left, second.right),
        )
    }
}
