//! Merging the bytes of one pre-token: lowest rank first, the leftmost of several.
//!
//! Pre-tokens are short, so a scan over all neighbours for the lowest rank is faster than any
//! queue, and quadratic. Hence longer ones go through a queue: n log n for n bytes.

#![allow(
    clippy::inline_always,
    reason = "the scan is compiled for the machine it runs on"
)]

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::pairs::{Pairs, NEVER};

/// Places that a scan looks at: two of them are the ends.
const MOST: usize = 64;
const SOME: usize = 32;
const FEW: usize = 16;

/// Bits of a place.
const PLACE: u32 = MOST.trailing_zeros();

/// Where there is no neighbour.
const NOWHERE: usize = usize::MAX;

/// Makes `numbers` those of the tokens that `pretoken` becomes.
pub(super) fn merge(pretoken: &[u8], pairs: &Pairs, numbers: &mut Vec<u32>) {
    numbers.clear();
    if pretoken.len() + 2 > MOST || 256 + pairs.len() >= (NEVER >> PLACE) as usize {
        Chain::new(pretoken, pairs).merge(numbers);
        return;
    }
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx2") {
        // SAFETY: the machine has what the function demands.
        unsafe { scan_avx2(pretoken, pairs, numbers) };
        return;
    }
    scan_any(pretoken, pairs, numbers);
}

/// # Safety
///
/// The machine has AVX2.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,bmi1,bmi2")]
unsafe fn scan_avx2(pretoken: &[u8], pairs: &Pairs, numbers: &mut Vec<u32>) {
    scan_any(pretoken, pairs, numbers);
}

#[inline(always)]
fn scan_any(pretoken: &[u8], pairs: &Pairs, numbers: &mut Vec<u32>) {
    let places = pretoken.len() + 2;
    if places <= FEW {
        scan::<FEW>(pretoken, pairs, numbers);
    } else if places <= SOME {
        scan::<SOME>(pretoken, pairs, numbers);
    } else {
        scan::<MOST>(pretoken, pairs, numbers);
    }
}

/// Merges at most `N - 2` bytes. Tokens that are merged into others stay where they are, for to
/// move the rest takes longer than to look at them. Before the first and behind the last is
/// [`NEVER`], which merges with nothing: so all have neighbours, and none is asked whether it has.
#[inline(always)]
fn scan<const N: usize>(pretoken: &[u8], pairs: &Pairs, numbers: &mut Vec<u32>) {
    let length = pretoken.len();
    let mut tokens = [NEVER; N];
    let mut next = [0_u8; N];
    let mut before = [0_u8; N];
    // What each becomes with the next, and its place below: the least is what merges first.
    let mut waiting = [NEVER; N];
    for (at, &byte) in (1_u8..).zip(pretoken) {
        let place = usize::from(at) % N;
        tokens[place] = u32::from(byte);
        (next[place], before[place]) = (at + 1, at - 1);
    }
    for (at, pair) in (1_u8..).zip(pretoken.windows(2)) {
        waiting[usize::from(at) % N] = key(pairs.of_bytes(pair[0], pair[1]), at);
    }
    let mut left = length;
    loop {
        let least = waiting
            .iter()
            .fold(NEVER, |least, &waiting| least.min(waiting));
        if least >= NEVER << PLACE {
            break;
        }
        #[allow(clippy::cast_possible_truncation, reason = "a place is below the rank")]
        let at = least as u8 % (1 << PLACE);
        let made = least >> PLACE;
        let place = usize::from(at) % N;
        let gone = usize::from(next[place]) % N;
        let after = next[gone];
        let place_after = usize::from(after) % N;
        let at_before = before[place];
        let place_before = usize::from(at_before) % N;
        tokens[place] = made;
        next[place] = after;
        before[place_after] = at;
        waiting[gone] = NEVER;
        let with_after = pairs.get(made, tokens[place_after]);
        let with_before = pairs.get(tokens[place_before], made);
        waiting[place] = key(with_after, at);
        waiting[place_before] = key(with_before, at_before);
        left -= 1;
    }
    let mut at = 1;
    for _ in 0..left {
        numbers.push(tokens[at % N]);
        at = usize::from(next[at % N]);
    }
}

/// What is least for the lowest rank, and the leftmost of equals; of neighbours that do not merge
/// no less than of [`NEVER`].
#[inline(always)]
fn key(made: u32, at: u8) -> u32 {
    made << PLACE | u32::from(at)
}

/// Tokens side by side, of which any two neighbours can be merged in constant time.
struct Chain<'p> {
    pairs: &'p Pairs,
    tokens: Vec<u32>,
    /// What each becomes with the next.
    made: Vec<u32>,
    next: Vec<usize>,
    before: Vec<usize>,
    queue: BinaryHeap<Reverse<(u32, usize)>>,
}

impl<'p> Chain<'p> {
    fn new(pretoken: &[u8], pairs: &'p Pairs) -> Self {
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

    fn merge(mut self, numbers: &mut Vec<u32>) {
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
            self.made[at] = self.pairs.get(self.tokens[at], self.tokens[next]);
            if self.made[at] != NEVER {
                self.queue.push(Reverse((self.made[at], at)));
            }
        }
    }
}
