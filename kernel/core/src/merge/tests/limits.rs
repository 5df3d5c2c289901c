//! What there is nothing of, too much of, or no time for.

use std::ops::ControlFlow;

use super::super::{Merge, MergeError, Shards, TieBreak};
use super::random::Random;
use super::{learn, options};

#[test]
fn nothing_to_merge_is_no_error() {
    let none: &[(&[u8], u64)] = &[];
    let single: &[(&[u8], u64)] = &[(b"", 3), (b"a", 4), (b"bc", 0)];
    for words in [none, single] {
        assert_eq!(learn(words, &options(5, TieBreak::Hf)), Ok(vec![]));
    }
    let words: &[(&[u8], u64)] = &[(b"ab", 1)];
    assert_eq!(learn(words, &options(0, TieBreak::Hf)), Ok(vec![]));
}

#[test]
fn counts_beyond_32_bits_are_exact_and_beyond_64_bits_refused() {
    let half = u64::MAX / 4;
    let merges = learn(&[(b"ab", half), (b"abc", 3)], &options(1, TieBreak::LexMax));
    assert_eq!(merges.map(|merges| merges[0].count), Ok(half + 3));
    let refused = learn(
        &[(b"ab", half), (b"abc", half)],
        &options(1, TieBreak::LexMax),
    );
    assert_eq!(refused, Err(MergeError::Overflow));
}

#[test]
fn one_very_long_word_takes_no_quadratic_time() {
    let mut random = Random(7);
    let word: Vec<u8> = (0..1_000_000).map(|_| b"abcd"[random.index(4)]).collect();
    let merges = learn(&[(&word, 1)], &options(2000, TieBreak::LexMax)).expect("within limits");
    assert_eq!(merges.len(), 2000);
    assert!(merges.windows(2).all(|pair| pair[0].count >= pair[1].count));
}

#[test]
fn progress_is_reported_and_can_cancel() {
    let mut random = Random(3);
    let words: Vec<Vec<u8>> = (0..16)
        .map(|_| {
            let byte = |_| u8::try_from(random.below(256)).expect("a byte");
            (0..60_000).map(byte).collect()
        })
        .collect();
    let words = words.iter().map(|word| (&word[..], 1));
    for shards in 1..4 {
        let mut reports = Vec::new();
        let shards = Shards::build(words.clone(), shards, &mut |_| ControlFlow::Continue(()));
        let mut stop_after = |made: &[Merge]| {
            reports.push(made.len());
            if reports.len() < 3 {
                ControlFlow::Continue(())
            } else {
                ControlFlow::Break(())
            }
        };
        let outcome = shards
            .expect("small")
            .merge(&options(60_000, TieBreak::RawId), &mut stop_after);
        assert_eq!(outcome, Err(MergeError::Cancelled));
        assert_eq!(reports.len(), 3);
        assert!(reports.is_sorted());
        let cancelled = Shards::build(words.clone(), 3, &mut |_| ControlFlow::Break(()));
        assert_eq!(cancelled.err(), Some(MergeError::Cancelled));
    }
}

#[test]
fn rules_have_names() {
    for rule in TieBreak::ALL {
        assert_eq!(TieBreak::from_name(rule.name()), Some(rule));
    }
    assert_eq!(TieBreak::from_name("first-seen"), None);
}
