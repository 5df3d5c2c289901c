//! However the words are divided into shards, the merges are the same.

use std::ops::ControlFlow;

use super::super::{Merge, MergeError, Shards, TieBreak};
use super::definition::by_definition;
use super::random::Random;
use super::{merged, merged_in, options, Words};

#[test]
fn shards_that_would_overflow_are_divided() {
    /// Of the block before all words.
    const FIRST: u64 = 64;

    let mut random = Random(0xA409_3822_299F_31D1);
    let go_on = &mut |_: &[Merge]| ControlFlow::Continue(());
    for round in 0..60 {
        let words: Words = (0..20)
            .map(|_| {
                let length = 2 + random.index(61);
                let word = (0..length).map(|_| b"abc"[random.index(3)]).collect();
                (word, 1 + random.below(3))
            })
            .collect();
        let options = options(40, TieBreak::ALL[round % 4]);
        let list = random.shuffled(&words);
        // A block is what the longest word takes, and a shard needs one more.
        let shards = Shards::within(3 * FIRST, &list.iter().copied(), 1, go_on);
        let shards = shards.expect("two words go into a shard");
        assert!(shards.number() > 1);
        assert_eq!(
            shards.merge(&options, go_on),
            Ok(by_definition(&words, &options))
        );
    }
    let words = [(&[b'x'; 200][..], 1), (b"ab", 1)];
    let mut slots = |limit| match Shards::within(limit, &words.into_iter(), 1, go_on) {
        Ok(shards) => Ok(shards.number()),
        Err(error) => Err(error),
    };
    // 201 slots and 3 in one class of whole blocks, and the first block.
    assert_eq!(slots(320), Ok(1));
    assert_eq!(slots(319), Err(MergeError::TooLarge { slots: 320 }));
}

#[test]
fn more_shards_than_words_do_no_harm() {
    let words: &[(&[u8], u64)] = &[(b"abab", 3), (b"a", 2)];
    let options = options(9, TieBreak::LexMax);
    assert_eq!(merged_in(70, words, &options), merged(words, &options));
    assert_eq!(merged_in(5, &[], &options), merged(&[], &options));
    let half = u64::MAX / 4;
    let words: &[(&[u8], u64)] = &[(b"ab", half), (b"cd", 1), (b"ef", 1), (b"gh", half)];
    assert_eq!(merged_in(2, words, &options), Err(MergeError::Overflow));
}
