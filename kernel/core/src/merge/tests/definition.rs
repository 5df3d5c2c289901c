//! What merging means, by brute force.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use super::super::{Merge, Merged, Options, TieBreak};
use super::Words;

pub(super) fn naive(words: &Words, options: &Options) -> Vec<Merge> {
    by_definition(words, options).merges
}

/// The definition, by brute force. Spells the tie rules out in its own way.
pub(super) fn by_definition(words: &Words, options: &Options) -> Merged {
    let mut spelled: Vec<Vec<u8>> = (0..=255).map(|byte| vec![byte]).collect();
    let mut pieces: Vec<(Vec<u32>, u64)> = words
        .iter()
        .map(|(word, &count)| (word.iter().map(|&byte| u32::from(byte)).collect(), count))
        .collect();
    let mut merges = Vec::new();
    while merges.len() < options.merges {
        let mut counts: BTreeMap<(u32, u32), u64> = BTreeMap::new();
        for (word, count) in &pieces {
            for pair in word.windows(2) {
                *counts.entry((pair[0], pair[1])).or_default() += count;
            }
        }
        let length = |id: u32| spelled[id as usize].len();
        let longest = options.max_token_length.unwrap_or(usize::MAX);
        let allowed = counts.into_iter().filter(|&((left, right), count)| {
            count >= options.min_frequency.max(1) && length(left) + length(right) <= longest
        });
        let Some(((left, right), count)) = first(allowed, &spelled, options.tie_break) else {
            break;
        };
        let token = u32::try_from(spelled.len()).expect("few tokens");
        spelled.push([&spelled[left as usize][..], &spelled[right as usize][..]].concat());
        for (word, _) in &mut pieces {
            let mut at = 0;
            while at + 1 < word.len() {
                if (word[at], word[at + 1]) == (left, right) {
                    word.splice(at..at + 2, [token]);
                }
                at += 1;
            }
        }
        merges.push(Merge { left, right, count });
    }
    let bytes = words.iter().map(|(word, count)| word.len() as u64 * count);
    let tokens = pieces.iter().map(|(word, count)| word.len() as u64 * count);
    Merged {
        merges,
        bytes: bytes.sum(),
        tokens: tokens.sum(),
    }
}

fn first(
    pairs: impl Iterator<Item = ((u32, u32), u64)>,
    spelled: &[Vec<u8>],
    rule: TieBreak,
) -> Option<((u32, u32), u64)> {
    let bytes = |(left, right): (u32, u32)| (&spelled[left as usize], &spelled[right as usize]);
    let printable = gpt2_alphabet();
    let rank = |id: u32| {
        printable
            .get(id as usize)
            .map_or(id + 256, |&c| u32::from(c))
    };
    match rule {
        TieBreak::LexMax => pairs.max_by_key(|&(pair, count)| (count, bytes(pair))),
        TieBreak::LexMin => pairs.max_by_key(|&(pair, count)| (count, Reverse(bytes(pair)))),
        TieBreak::RawId => pairs.max_by_key(|&(pair, count)| (count, Reverse(pair))),
        TieBreak::Hf => {
            pairs.max_by_key(|&(pair, count)| (count, Reverse((rank(pair.0), rank(pair.1)))))
        }
    }
}

/// GPT-2's byte alphabet: printable bytes stand for themselves, the others for U+0100 onwards.
fn gpt2_alphabet() -> Vec<char> {
    let printable: BTreeSet<u8> = (b'!'..=b'~')
        .chain(0xA1..=0xAC)
        .chain(0xAE..=0xFF)
        .collect();
    let mut others = '\u{100}'..;
    let stand_in = |byte| {
        if printable.contains(&byte) {
            char::from(byte)
        } else {
            others.next().expect("enough code points")
        }
    };
    (0..=255).map(stand_in).collect()
}
