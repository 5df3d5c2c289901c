//! The merges of a vocabulary: which two tokens become which, and in what order.
//!
//! Neighbours that join to a token are what merging its bytes alone comes to: until they join,
//! nothing beside them took part, or it would have taken a part of them. So of all ways to divide
//! a token one is ever met, at most: each token is made of one pair, and pairs are numbered by
//! rank.
//!
//! That pair is found by merging the token's bytes by the pairs of lower rank, the lowest first:
//! if two tokens are left, they are it, for nothing else is left to merge. Of a vocabulary that was
//! trained this finds all. A token that is left over is never made, or needs a merge of higher rank
//! inside it. Then that and all tokens that have it inside are merged by the definition, which is
//! slow: the merges inside of any other are known.

use std::collections::{HashMap, HashSet};

use aho_corasick::AhoCorasick;

use super::greedy::{merge, merge_each};
use super::pairs::Pairs;
use super::tokens::Tokens;

/// See the module.
pub(super) struct Merges {
    pairs: Pairs,
    /// By number; 256 of bytes, then one a pair.
    ids: Vec<u32>,
}

/// By tiktoken's rule: the rank of neighbours is the id of what they join to.
pub(super) fn of_ranks(tokens: &Tokens, bytes: &[u32; 256]) -> Merges {
    let mut sorted: Vec<_> = tokens.iter().filter(|(token, _)| token.len() > 1).collect();
    sorted.sort_unstable_by_key(|&(_, id)| id);
    let mut made = Growing::new(bytes, sorted.len());
    let mut left_over = Vec::new();
    for (token, id) in sorted {
        made.divide(token);
        match *made.parts {
            [left, right] => made.add(left, right, id, id),
            _ => left_over.push(token),
        }
    }
    let join = |joined: &[u8], _: (u32, u32)| tokens.get(joined).map(|id| (id, id));
    made.finish(tokens, &left_over, join)
}

/// By a list of merges, whose ranks are their places in it.
///
/// # Errors
/// The place of one with a side, or a result, that is no token.
pub(super) fn of_list<T: AsRef<[u8]>>(
    tokens: &Tokens,
    bytes: &[u32; 256],
    list: &[(T, T)],
) -> Result<Merges, usize> {
    // Two neighbours, by their ids, to their rank and the id of what they become.
    let mut ways = HashMap::with_capacity(list.len());
    let mut joined = Vec::with_capacity(list.len());
    for (index, (left, right)) in list.iter().enumerate() {
        let (left, right) = (left.as_ref(), right.as_ref());
        let token = [left, right].concat();
        let ids = (tokens.get(left), tokens.get(right), tokens.get(&token));
        let (Some(left_id), Some(right_id), Some(id)) = ids else {
            return Err(index);
        };
        let rank = u32::try_from(index).map_err(|_| index)?;
        // Of two for the same neighbours the later counts.
        ways.insert((left_id, right_id), (rank, id));
        joined.push((token, left.len(), (left_id, right_id)));
    }
    let mut made = Growing::new(bytes, ways.len());
    let (mut done, mut left_over) = (HashSet::new(), Vec::new());
    for (rank, (token, middle, sides)) in (0..).zip(&joined) {
        let (counts, id) = ways[sides];
        if counts != rank || done.contains(&id) {
            continue;
        }
        made.divide(token);
        match *made.parts {
            [left, right] if made.lengths[left as usize] == *middle => {
                made.add(left, right, rank, id);
                done.insert(id);
            }
            _ => left_over.push((&token[..], id)),
        }
    }
    left_over.retain(|(_, id)| !done.contains(id));
    let left_over: Vec<_> = left_over.into_iter().map(|(token, _)| token).collect();
    let join = |_: &[u8], sides: (u32, u32)| ways.get(&sides).copied();
    Ok(made.finish(tokens, &left_over, join))
}

impl Merges {
    fn new(bytes: &[u32; 256], pairs: usize) -> Self {
        let mut ids = Vec::with_capacity(256 + pairs);
        ids.extend(bytes);
        Self {
            pairs: Pairs::with_capacity(pairs),
            ids,
        }
    }

    /// Those of pairs in any order.
    fn of(bytes: &[u32; 256], mut met: Vec<Met>) -> Self {
        met.sort_unstable();
        let mut merges = Self::new(bytes, met.len());
        let mut numbers: HashMap<u32, u32> = bytes.iter().copied().zip(0..).collect();
        numbers.extend(met.iter().map(|&(.., id)| id).zip(256..));
        for (_, left, right, id) in met {
            merges.add(numbers[&left], numbers[&right], id);
        }
        merges
    }

    /// Adds the pair of a higher rank than all that are there.
    fn add(&mut self, left: u32, right: u32, id: u32) {
        let number = u32::try_from(self.ids.len()).expect("an id each, of 32 bits");
        self.pairs.add(left, right, number);
        self.ids.push(id);
    }

    /// The ids that the bytes of a pre-token become by merging alone.
    pub(super) fn encode<'s>(&self, pretoken: &[u8], scratch: &'s mut Vec<u32>) -> &'s [u32] {
        merge(pretoken, &self.pairs, scratch);
        for number in scratch.iter_mut() {
            *number = self.ids[*number as usize];
        }
        scratch
    }

    /// Calls with the place of each pre-token, and with its ids, in any order.
    pub(super) fn merge_each(&self, pretokens: &[&[u8]], mut each: impl FnMut(usize, &[u32])) {
        merge_each(pretokens, &self.pairs, |at, numbers| {
            for number in numbers.iter_mut() {
                *number = self.ids[*number as usize];
            }
            each(at, numbers);
        });
    }

    /// The ids of each two neighbours that merge, by rank.
    pub(super) fn pairs(&self) -> Vec<(u32, u32)> {
        let mut made: Vec<_> = self.pairs.iter().collect();
        made.sort_unstable_by_key(|&(.., number)| number);
        let id = |number: u32| self.ids[number as usize];
        made.into_iter()
            .map(|(left, right, _)| (id(left), id(right)))
            .collect()
    }

    /// Those tokens that merging makes.
    pub(super) fn those_made(&self, tokens: &Tokens) -> Tokens {
        let ids: HashSet<_> = self.ids.iter().collect();
        let mut made = Tokens::with_capacity(ids.len());
        for (token, id) in tokens.iter().filter(|(_, id)| ids.contains(id)) {
            made.add(token, id);
        }
        made
    }

    /// Bytes held.
    pub(super) fn memory_bytes(&self) -> usize {
        self.pairs.memory_bytes() + size_of_val(&self.ids[..])
    }
}

/// A pair: rank, the ids of both sides, the id of what they become.
type Met = (u32, u32, u32, u32);

/// Merges to which pairs are added by rank.
struct Growing {
    merges: Merges,
    /// The same pairs by their ids.
    met: Vec<Met>,
    /// By number, the bytes of a token.
    lengths: Vec<usize>,
    /// Numbers, of the token divided last.
    parts: Vec<u32>,
}

impl Growing {
    fn new(bytes: &[u32; 256], pairs: usize) -> Self {
        Self {
            merges: Merges::new(bytes, pairs),
            met: Vec::with_capacity(pairs),
            lengths: vec![1; 256],
            parts: Vec::new(),
        }
    }

    /// Makes the parts those that the bytes of a token become so far.
    fn divide(&mut self, token: &[u8]) {
        merge(token, &self.merges.pairs, &mut self.parts);
    }

    fn add(&mut self, left: u32, right: u32, rank: u32, id: u32) {
        let [left_at, right_at] = [left, right].map(|number| number as usize);
        self.lengths
            .push(self.lengths[left_at] + self.lengths[right_at]);
        let ids = &self.merges.ids;
        self.met.push((rank, ids[left_at], ids[right_at], id));
        self.merges.add(left, right, id);
    }

    /// The merges, when all were added that are found in this way. `join` gives what neighbours
    /// become, by their joined bytes and both ids: rank and id.
    fn finish(
        self,
        tokens: &Tokens,
        left_over: &[&[u8]],
        join: impl Fn(&[u8], (u32, u32)) -> Option<(u32, u32)>,
    ) -> Merges {
        if left_over.is_empty() {
            return self.merges;
        }
        let bytes: [u32; 256] = std::array::from_fn(|byte| self.merges.ids[byte]);
        let inside = AhoCorasick::new(left_over).expect("a vocabulary is no larger than that");
        let again: HashMap<u32, &[u8]> = tokens
            .iter()
            .filter(|(token, _)| inside.is_match(token))
            .map(|(token, id)| (id, token))
            .collect();
        let mut met = self.met;
        met.retain(|(.., id)| !again.contains_key(id));
        met.extend(again.iter().filter_map(|(&id, token)| {
            let (rank, left, right) = halves(token, &bytes, &join)?;
            Some((rank, left, right, id))
        }));
        Merges::of(&bytes, met)
    }
}

/// The two tokens that the bytes of a token are just before they are the token, and their rank;
/// `None` if they never are. By the definition.
fn halves(
    token: &[u8],
    bytes: &[u32; 256],
    join: impl Fn(&[u8], (u32, u32)) -> Option<(u32, u32)>,
) -> Option<(u32, u32, u32)> {
    let mut ids: Vec<_> = token.iter().map(|&byte| bytes[usize::from(byte)]).collect();
    let mut starts: Vec<_> = (0..=token.len()).collect();
    let way = |ids: &[u32], starts: &[usize], at: usize| {
        join(&token[starts[at]..starts[at + 2]], (ids[at], ids[at + 1]))
    };
    let mut waiting: Vec<_> = (1..ids.len())
        .map(|at| way(&ids, &starts, at - 1))
        .collect();
    while ids.len() > 2 {
        let ways = waiting.iter().enumerate();
        let ways = ways.filter_map(|(at, way)| way.map(|(rank, id)| (rank, at, id)));
        let (_, at, id) = ways.min()?;
        ids[at] = id;
        ids.remove(at + 1);
        starts.remove(at + 1);
        waiting.remove(at);
        if at < waiting.len() {
            waiting[at] = way(&ids, &starts, at);
        }
        if at > 0 {
            waiting[at - 1] = way(&ids, &starts, at - 1);
        }
    }
    let (rank, _) = (*waiting.first()?)?;
    Some((rank, ids[0], ids[1]))
}
