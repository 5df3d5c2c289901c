//! The merge loop by its definition: all pairs are counted anew for each merge.

use std::cmp::{Ordering, Reverse};
use std::collections::BTreeMap;
use std::ops::ControlFlow;

use bpefleet_core::merge::{merge, Merge, Merged, Options, Shards, TieBreak};

/// Pre-tokens and their counts.
pub type Words = BTreeMap<Vec<u8>, u64>;

/// The kernel learns from `words` what the definition does, in one thread and in several.
pub fn assert_merged_as_by_definition(words: &Words, options: &Options) {
    let list = words.iter().map(|(word, &count)| (&word[..], count));
    let mut go_on = |_: &[Merge]| ControlFlow::Continue(());
    let learned = merge(list.clone(), options, &mut go_on);
    let expected = Definition::new(words).merged(options);
    assert_eq!(learned.as_ref(), Ok(&expected), "{options:?} on {words:?}");
    let shards = Shards::build(list, 2, &mut go_on);
    let learned = shards.and_then(|shards| shards.merge(options, &mut go_on));
    assert_eq!(learned, Ok(expected), "{options:?} in shards on {words:?}");
}

/// Words in tokens, and what each token spells.
struct Definition {
    words: Vec<(Vec<u32>, u64)>,
    tokens: Vec<Vec<u8>>,
}

impl Definition {
    fn new(words: &Words) -> Self {
        let spelled = |word: &[u8]| word.iter().map(|&byte| u32::from(byte)).collect();
        Self {
            words: words.iter().map(|(word, &n)| (spelled(word), n)).collect(),
            tokens: (0..=255).map(|byte| vec![byte]).collect(),
        }
    }

    fn merged(mut self, options: &Options) -> Merged {
        let bytes = self.symbols();
        let mut merges = Vec::new();
        while merges.len() < options.merges {
            let Some(merge) = self.best(options) else {
                break;
            };
            self.apply(&merge);
            merges.push(merge);
        }
        let tokens = self.symbols();
        Merged {
            merges,
            bytes,
            tokens,
        }
    }

    /// The symbols of all words, each as often as it was counted.
    fn symbols(&self) -> u64 {
        let words = self.words.iter();
        words.map(|(word, n)| word.len() as u64 * n).sum()
    }

    fn best(&self, options: &Options) -> Option<Merge> {
        let mut counts = BTreeMap::new();
        for (word, count) in &self.words {
            for pair in word.windows(2) {
                *counts.entry((pair[0], pair[1])).or_insert(0) += count;
            }
        }
        let pairs = counts
            .into_iter()
            .map(|((left, right), count)| Merge { left, right, count });
        pairs
            .filter(|pair| pair.count >= options.min_frequency.max(1))
            .filter(|pair| {
                let length = self.spelling(pair.left).len() + self.spelling(pair.right).len();
                options.max_token_length.is_none_or(|most| length <= most)
            })
            .max_by(|one, other| {
                let by_count = one.count.cmp(&other.count);
                by_count.then_with(|| self.preference(options.tie_break, one, other))
            })
    }

    /// `Greater` if the rule prefers `one`.
    fn preference(&self, rule: TieBreak, one: &Merge, other: &Merge) -> Ordering {
        let spelled = |pair: &Merge| (self.spelling(pair.left), self.spelling(pair.right));
        let ids = |pair: &Merge| (pair.left, pair.right);
        let ranks = |pair: &Merge| (gpt2_rank(pair.left), gpt2_rank(pair.right));
        match rule {
            TieBreak::LexMax => spelled(one).cmp(&spelled(other)),
            TieBreak::LexMin => Reverse(spelled(one)).cmp(&Reverse(spelled(other))),
            TieBreak::RawId => Reverse(ids(one)).cmp(&Reverse(ids(other))),
            TieBreak::Hf => Reverse(ranks(one)).cmp(&Reverse(ranks(other))),
        }
    }

    fn spelling(&self, id: u32) -> &[u8] {
        &self.tokens[id as usize]
    }

    /// Joins the pair in all words, from the left.
    fn apply(&mut self, merge: &Merge) {
        let token = u32::try_from(self.tokens.len()).expect("few tokens");
        let joined = [self.spelling(merge.left), self.spelling(merge.right)].concat();
        self.tokens.push(joined);
        for (word, _) in &mut self.words {
            let mut joined = Vec::with_capacity(word.len());
            let mut rest = &word[..];
            while let Some((&first, tail)) = rest.split_first() {
                let is_pair = first == merge.left && tail.first() == Some(&merge.right);
                joined.push(if is_pair { token } else { first });
                rest = if is_pair { &tail[1..] } else { tail };
            }
            *word = joined;
        }
    }
}

/// The place of a token among the bytes by GPT-2's printable code points, then the merges.
fn gpt2_rank(id: u32) -> (bool, u32) {
    let printable = [33..=126, 161..=172, 174..=255];
    (!printable.iter().any(|range| range.contains(&id)), id)
}
