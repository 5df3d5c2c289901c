//! One merge: rewrite the occurrences of a pair, and account for what that changes.
//!
//! Joining a and b to c in `… p a b n …` takes away the pairs (p, a) and (b, n) and makes
//! (p, c) and (c, n). Both sides are tallied per neighbour in arrays indexed by symbol: the
//! weight (sum of the words' counts) that (p, c) gains is the weight that (p, a) loses. So one
//! pass over the occurrences is all that is done per occurrence; the index of pairs is asked
//! once per distinct neighbour, and pairs below the floor end as a number in an array. English
//! text at 32,000 merges: 2.5 million occurrences, 0.59 million neighbours, 0.09 million pairs.
//!
//! Where occurrences touch (`a b a b` to `c c`), the left neighbour of the second is a c and
//! the pair (c, c) was counted as the right neighbour of the first; what is lost between them
//! is (b, a). In a run (`a a a a a` to `c c a`) occurrences overlap: they are taken from the left,
//! as everyone does, and since nothing remains of (a, a) its losses do not matter.
//!
//! The postings are read in chunks: while one is worked on, the slots of the next are sent for.
//! Which postings of a chunk are fresh, about half, is found without branches; then those
//! occurrences are rewritten. Sending ahead takes a tenth off the whole loop.

use super::arena::Arena;
use super::lockstep::{Member, Message};
use super::pairs::{Pair, Pairs};
use super::pulse::Pulse;
use super::queue::Queue;
use super::slot::Slot;
use super::tokens::{Tokens, INITIAL, SEPARATOR};
use super::MergeError;

/// Postings looked up at a time.
const CHUNK: usize = 64;

/// The merge being made: `left` and `right` to `token`.
pub(super) struct Joint {
    left: u32,
    right: u32,
    token: u32,
    left_length: u32,
    length: u32,
}

impl Joint {
    /// Adds the token of the chosen pair.
    pub(super) fn new(chosen: &Pair, tokens: &mut Tokens) -> Self {
        let token = tokens.join(chosen.left, chosen.right);
        Self {
            left: chosen.left,
            right: chosen.right,
            token,
            left_length: tokens.length(chosen.left),
            length: tokens.length(token),
        }
    }
}

/// An occurrence rewritten, and the symbols beside it.
#[derive(Clone, Copy)]
struct Occurrence {
    position: u32,
    before: u32,
    after: u32,
}

/// What a neighbour adds up to.
#[derive(Clone, Copy, Default)]
struct Tally {
    weight: u64,
    /// First the number of occurrences, then where the next posting goes; [`DROPPED`] if none.
    cursor: usize,
}

const DROPPED: usize = usize::MAX;

/// The neighbours on one side.
struct Side {
    /// By symbol.
    tallies: Vec<Tally>,
    /// The symbols with a tally.
    seen: Vec<u32>,
}

impl Side {
    fn new() -> Self {
        Self {
            tallies: vec![Tally::default(); INITIAL],
            seen: Vec::new(),
        }
    }

    #[inline]
    fn add(&mut self, symbol: u32, weight: u64) {
        let tally = &mut self.tallies[symbol as usize];
        if tally.cursor == 0 {
            self.seen.push(symbol);
        }
        tally.cursor += 1;
        tally.weight += weight;
    }

    /// The weights, by symbol.
    fn tell(&self, message: &mut Vec<(u64, u64)>) {
        let weight = |&symbol: &u32| (u64::from(symbol), self.tallies[symbol as usize].weight);
        message.clear();
        message.extend(self.seen.iter().map(weight));
    }

    /// Adds what another shard tells.
    fn hear(&mut self, message: &[(u64, u64)]) {
        for &(symbol, weight) in message {
            #[expect(clippy::cast_possible_truncation, reason = "it was a symbol")]
            let symbol = symbol as u32;
            let tally = &mut self.tallies[symbol as usize];
            if tally.weight == 0 {
                self.seen.push(symbol);
            }
            tally.weight += weight;
        }
    }
}

/// The working memory of a merge.
pub(super) struct Rewriter {
    occurrences: Vec<Occurrence>,
    before: Side,
    after: Side,
}

impl Rewriter {
    pub(super) fn new() -> Self {
        Self {
            occurrences: Vec::new(),
            before: Side::new(),
            after: Side::new(),
        }
    }

    /// Rewrites the arena and tallies the neighbours. Tells whether the new token is a whole
    /// word somewhere.
    #[expect(
        clippy::needless_bitwise_bool,
        reason = "a branch would be mispredicted half the time"
    )]
    pub(super) fn replace<S: Slot>(
        &mut self,
        arena: &mut Arena<S>,
        pairs: &mut Pairs,
        chosen: &Pair,
        joint: &Joint,
        pulse: &mut Pulse<'_, '_>,
    ) -> Result<bool, MergeError> {
        self.occurrences.clear();
        self.before.tallies.push(Tally::default());
        self.after.tallies.push(Tally::default());
        let mut whole = false;
        let mut found = [0; CHUNK];
        let (left, right) = (S::of(joint.left), S::of(joint.right));
        // The end of the last occurrence: where runs overlap, the next starts no earlier.
        let mut end = 0;
        let postings = &pairs.postings[chosen.range()];
        for (number, chunk) in postings.chunks(CHUNK).enumerate() {
            for &position in postings.iter().skip(CHUNK * (number + 1)).take(CHUNK) {
                arena.prefetch(position);
            }
            let mut count = 0;
            for &position in chunk {
                found[count % CHUNK] = position;
                let is_left = arena.symbols[position as usize] == left;
                let beside = position + joint.left_length;
                let is_right = arena.symbols[beside as usize] == right;
                let fresh = is_left & is_right & (position >= end);
                count += usize::from(fresh);
                end = if fresh { position + joint.length } else { end };
            }
            for &position in &found[..count] {
                whole |= self.join(arena, position, joint);
            }
            pulse.work(chunk.len())?;
        }
        pairs.reuse(chosen);
        Ok(whole)
    }

    /// Rewrites one occurrence. Tells whether it is a whole word now.
    #[inline]
    fn join<S: Slot>(&mut self, arena: &mut Arena<S>, position: u32, joint: &Joint) -> bool {
        let count = arena.count_at(position);
        let start = position as usize;
        let beside = start + joint.left_length as usize;
        let end = start + joint.length as usize;
        let symbols = &mut arena.symbols[..];
        symbols[start] = S::of(joint.token);
        // If the right symbol is one byte long, this slot is the last one and set again.
        symbols[beside] = S::INSIDE;
        symbols[end - 1] = S::of(joint.token);
        let mut before = symbols[start - 1].symbol();
        if before == joint.token {
            before = SEPARATOR;
        }
        let mut after = symbols[end].symbol();
        // The pair again: it is about to be rewritten too.
        if after == joint.left && symbols[end + joint.left_length as usize].symbol() == joint.right
        {
            after = joint.token;
        }
        self.before.add(before, count);
        self.after.add(after, count);
        self.occurrences.push(Occurrence {
            position,
            before,
            after,
        });
        symbols[start - 1].symbol() == SEPARATOR && after == SEPARATOR
    }

    /// Adds the neighbours that the other shards found. Tells whether the new token is a whole
    /// word anywhere.
    pub(super) fn add_others(
        &mut self,
        member: &mut Member<'_>,
        whole: bool,
    ) -> Result<bool, MergeError> {
        let mut elsewhere = false;
        let tell = |own: &Self, message: &mut Message| {
            own.before.tell(&mut message.first);
            own.after.tell(&mut message.second);
            message.flag = whole;
        };
        let hear = |own: &mut Self, message: &Message| {
            own.before.hear(&message.first);
            own.after.hear(&message.second);
            elsewhere |= message.flag;
        };
        member.exchange(self, tell, hear)?;
        Ok(whole || elsewhere)
    }

    /// The weight of all occurrences just rewritten. In a run it is less than the pair's count.
    pub(super) fn rewritten(&self) -> u64 {
        // Each has one neighbour before it, be it the separator.
        let Side { tallies, seen } = &self.before;
        seen.iter()
            .map(|&symbol| tallies[symbol as usize].weight)
            .sum()
    }

    /// Takes what the neighbours lost off their pairs and adds the new pairs that may matter.
    pub(super) fn settle(
        &mut self,
        joint: &Joint,
        tokens: &Tokens,
        floor: u64,
        pairs: &mut Pairs,
        queue: &mut Queue,
    ) {
        for &symbol in self
            .before
            .seen
            .iter()
            .filter(|&&symbol| symbol != SEPARATOR)
        {
            let weight = self.before.tallies[symbol as usize].weight;
            pairs.lose(symbol, joint.left, weight);
        }
        for &symbol in self
            .after
            .seen
            .iter()
            .filter(|&&symbol| symbol != SEPARATOR)
        {
            let weight = self.after.tallies[symbol as usize].weight;
            let lost = if symbol == joint.token {
                joint.left
            } else {
                symbol
            };
            pairs.lose(joint.right, lost, weight);
        }
        let token = joint.token;
        self.before
            .keep(tokens, floor, pairs, queue, |before| (before, token));
        self.before.post(&self.occurrences, pairs, |occurrence| {
            let length = tokens.length(occurrence.before);
            (occurrence.before, occurrence.position - length)
        });
        self.after
            .keep(tokens, floor, pairs, queue, |after| (token, after));
        self.after.post(&self.occurrences, pairs, |occurrence| {
            (occurrence.after, occurrence.position)
        });
    }
}

impl Side {
    /// Adds the pairs at or above the floor, with room for their postings.
    fn keep(
        &mut self,
        tokens: &Tokens,
        floor: u64,
        pairs: &mut Pairs,
        queue: &mut Queue,
        pair_of: impl Fn(u32) -> (u32, u32),
    ) {
        for &symbol in &self.seen {
            let tally = &mut self.tallies[symbol as usize];
            let found = std::mem::replace(&mut tally.cursor, DROPPED);
            let (left, right) = pair_of(symbol);
            if tally.weight < floor || symbol == SEPARATOR || !tokens.may_join(left, right) {
                continue;
            }
            tally.cursor = pairs.reserve(found);
            let number = pairs.add(Pair::new((left, right), tally.weight, tally.cursor, found));
            queue.push(number, pairs, tokens);
        }
    }

    /// Writes the postings of the pairs kept, and forgets the neighbours.
    fn post(
        &mut self,
        occurrences: &[Occurrence],
        pairs: &mut Pairs,
        posting: impl Fn(&Occurrence) -> (u32, u32),
    ) {
        if self
            .seen
            .iter()
            .any(|&symbol| self.tallies[symbol as usize].cursor != DROPPED)
        {
            for occurrence in occurrences {
                let (symbol, position) = posting(occurrence);
                let cursor = &mut self.tallies[symbol as usize].cursor;
                if *cursor != DROPPED {
                    pairs.postings[*cursor] = position;
                    *cursor += 1;
                }
            }
        }
        for symbol in self.seen.drain(..) {
            self.tallies[symbol as usize] = Tally::default();
        }
    }
}
