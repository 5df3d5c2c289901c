//! The merges are those of the definition, whatever the words are.

use super::super::pairs::{Pair, Pairs};
use super::super::{Merge, MergeError, Options, TieBreak};
use super::definition::{by_definition, naive};
use super::random::Random;
use super::{learn, merged, merged_in, options, Words};

#[test]
fn equals_the_naive_loop() {
    let mut random = Random(0x9E37_79B9_7F4A_7C15);
    for round in 0..800 {
        let words = random.words();
        let options = Options {
            merges: [1, 5, 40, usize::MAX][round % 4],
            tie_break: TieBreak::ALL[round / 4 % 4],
            min_frequency: random.below(3) * random.below(5),
            max_token_length: (random.below(2) == 0).then(|| random.index(12)),
        };
        let (list, expected) = (random.shuffled(&words), by_definition(&words, &options));
        assert_eq!(
            merged(&list, &options).as_ref(),
            Ok(&expected),
            "{round}: {options:?}, {words:?}"
        );
        let shards = 2 + round % 3;
        assert_eq!(
            merged_in(shards, &list, &options),
            Ok(expected),
            "{round} in {shards} shards: {options:?}, {words:?}"
        );
    }
}

#[test]
fn runs_are_merged_from_the_left() {
    let words: &[(&[u8], u64)] = &[(b"aaaaa", 1)];
    let pair = |left, right, count| Merge { left, right, count };
    let a = u32::from(b'a');
    let expected = vec![pair(a, a, 4), pair(256, 256, 1), pair(257, a, 1)];
    assert_eq!(learn(words, &options(9, TieBreak::LexMax)), Ok(expected));
}

#[test]
fn tuples_are_compared_not_concatenations() {
    let words: Words = [
        (b"abc".to_vec(), 2),
        (b"ab".to_vec(), 3),
        (b"ac".to_vec(), 5),
    ]
    .into();
    for rule in TieBreak::ALL {
        let list: Vec<_> = words
            .iter()
            .map(|(word, &count)| (&word[..], count))
            .collect();
        assert_eq!(
            learn(&list, &options(9, rule)),
            Ok(naive(&words, &options(9, rule)))
        );
    }
}

#[test]
fn tokens_longer_than_the_compared_prefix_are_ordered_by_all_bytes() {
    let mut words = Words::new();
    for tail in [&b"x"[..], b"y", b"\0", b"\0\0", b"\xFF", b"xy"] {
        words.insert([b"prefix-of-sixteen-", tail].concat(), 7);
        words.insert([tail, b"prefix-of-sixteen-"].concat(), 7);
    }
    for rule in TieBreak::ALL {
        let list: Vec<_> = words
            .iter()
            .map(|(word, &count)| (&word[..], count))
            .collect();
        assert_eq!(
            learn(&list, &options(60, rule)),
            Ok(naive(&words, &options(60, rule)))
        );
    }
}

#[test]
fn all_bytes_and_the_tokens_left_are_told() {
    // `aaaa` holds the pair three times, and becomes two tokens; a byte and no byte stay.
    let words: &[(&[u8], u64)] = &[(b"aaaa", 10), (b"b", 7), (b"", 5), (b"xy", 0)];
    let left = |merges| {
        let merged = merged(words, &options(merges, TieBreak::LexMax)).expect("few words");
        (merged.bytes, merged.tokens)
    };
    assert_eq!([0, 1, 2].map(left), [(47, 47), (47, 27), (47, 17)]);
}

#[test]
fn repeated_words_never_yield_wrong_merges() {
    let mut list: Vec<(&[u8], u64)> = vec![(b"abc", 10); 40];
    list.extend([(&b"vwxyz"[..], 1), (b"zyxwv", 1), (b"vwyxz", 1)]);
    let mut unique = Words::new();
    for &(word, count) in &list {
        *unique.entry(word.to_vec()).or_default() += count;
    }
    let mut refused = 0;
    for merges in 1..60 {
        let options = options(merges, TieBreak::LexMin);
        let learned = learn(&list, &options);
        let told_apart = merged_in(3, &list, &options).map(|merged| merged.merges);
        assert_eq!(told_apart, learned);
        match learned {
            Ok(learned) => assert_eq!(learned, naive(&unique, &options)),
            Err(error) => {
                assert_eq!(error, MergeError::Repeated);
                refused += 1;
            }
        }
    }
    assert!(refused > 0, "the case was not reached");
}

#[test]
fn pairs_with_equal_hash_bits_are_told_apart() {
    let mut pairs = Pairs::default();
    for right in 1..=100_000 {
        pairs.add(Pair::new((1, right), 9, 1, 0));
    }
    for right in 1..=1_000_000 {
        pairs.lose(1, right, 1);
    }
    let counts = pairs.numbers().map(|number| pairs.get(number).count);
    assert_eq!(counts.filter(|&count| count == 8).count(), 100_000);
}
