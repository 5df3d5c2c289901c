//! Merging equals its definition, for every tie rule.

use std::ops::ControlFlow;

use bpefleet_core::merge::{merge, Merge, Options, TieBreak};

use crate::common::merging::{assert_merged_as_by_definition, Words};
use crate::common::Random;
use crate::rounds::rounds;

const ALPHABETS: [&[u8]; 4] = [
    b"ab",
    b"abc ",
    b"\0 \x7f\xad\xff",
    "the quick brown fox é漢".as_bytes(),
];

impl Random {
    /// Words of few letters, with runs, and counts that are often tied. Now and then one so long
    /// that the arena takes many pages.
    fn words(&mut self) -> Words {
        let alphabet = *self.choose(&ALPHABETS);
        let longest = *self.choose(&[3, 10, 60]);
        let most = *self.choose(&[1, 3, 1000, 1 << 20]);
        let mut words = Words::new();
        for _ in 0..=self.below(40) {
            let length = self.below(longest);
            let mut word = self.bytes(length, alphabet);
            if self.below(4) == 0 {
                word.extend([*self.choose(alphabet)].repeat(self.below(9)));
            }
            words.insert(word, self.below(most + 1) as u64);
        }
        if self.below(50) == 0 {
            words.insert(self.bytes(50_000, alphabet), 1);
        }
        words
    }
}

#[test]
fn every_tie_rule_merges_as_defined() {
    rounds(|random| {
        let words = random.words();
        let merges = *random.choose(&[1, 2, 3, 5, 8, 40]);
        let max_token_length = (random.below(3) == 0).then(|| random.below(12));
        let min_frequency = *random.choose(&[0, 1, 2, 10]);
        for tie_break in TieBreak::ALL {
            let options = Options {
                merges,
                tie_break,
                min_frequency,
                max_token_length,
            };
            assert_merged_as_by_definition(&words, &options);
        }
    });
}

#[test]
fn symbols_outgrow_16_bits() {
    /// As many as there are symbols of 16 bits for, without one and those before the merges.
    const MOST: usize = (1 << 16) - 1 - 257;

    let alphabet: Vec<u8> = (0..=255).collect();
    let word = Random::new(11).bytes(200_000, &alphabet);
    let merged = |merges| {
        let options = Options {
            merges,
            tie_break: TieBreak::RawId,
            min_frequency: 0,
            max_token_length: None,
        };
        let mut go_on = |_: &[Merge]| ControlFlow::Continue(());
        merge([(&word[..], 1)].into_iter(), &options, &mut go_on).expect("within limits")
    };
    let (short, long) = (merged(MOST), merged(MOST + 2));
    assert_eq!(long.merges.len(), MOST + 2);
    assert_eq!(long.merges[..MOST], short.merges);
    let last: u64 = long.merges[MOST..].iter().map(|merge| merge.count).sum();
    assert_eq!(long.tokens, short.tokens - last);
}
