//! Encoding equals its definition.

#![allow(
    clippy::cast_possible_truncation,
    reason = "random numbers of any size will do"
)]

use std::ops::ControlFlow;

use super::{Encoded, Encoder, Options, Output, Vocabulary, VocabularyError, MOST_TOKENS};
use crate::count::{CountError, Errors};
use crate::scan::{scan, Pattern, Sink};

/// Tokens of random bytes: many cannot be reached by merging.
fn ranks(seed: u64, tokens: usize) -> Vec<(Vec<u8>, u32)> {
    let mut random = Random(seed);
    let mut found: Vec<Vec<u8>> = (0..=255).map(|byte| vec![byte]).collect();
    while found.len() < 256 + tokens {
        let length = 2 + random.below(5);
        let token: Vec<u8> = if random.below(2) == 0 {
            (0..length).map(|_| random.letter()).collect()
        } else {
            let (left, right) = (random.below(found.len()), random.below(found.len()));
            [&found[left][..], &found[right]].concat()
        };
        if token.len() < 40 && !found.contains(&token) {
            found.push(token);
        }
    }
    // Ids leave gaps, and bytes do not come first.
    let mut ids: Vec<u32> = (0..found.len())
        .map(|_| random.below(1 << 31) as u32)
        .collect();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), found.len());
    for at in (1..ids.len()).rev() {
        ids.swap(at, random.below(at + 1));
    }
    found.into_iter().zip(ids).collect()
}

struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed ^ mixed >> 31
    }

    fn below(&mut self, end: usize) -> usize {
        (self.next() % end as u64) as usize
    }

    fn letter(&mut self) -> u8 {
        b"abAB  \n1'.\xc3\xa9"[self.below(12)]
    }

    fn text(&mut self, length: usize) -> String {
        let word = |random: &mut Self| match random.below(8) {
            0 => "é漢字 ".repeat(1 + random.below(9)),
            1 => "ab".repeat(random.below(90)),
            2 => " ".repeat(random.below(70)),
            _ => (0..random.below(20))
                .map(|_| char::from(random.letter().min(b'b')))
                .collect(),
        };
        (0..length).map(|_| word(self)).collect()
    }
}

/// Merging as tiktoken's documentation has it, in the plainest words.
fn by_definition(pretoken: &[u8], ranks: &[(Vec<u8>, u32)]) -> Vec<u32> {
    let rank = |bytes: &[u8]| {
        ranks
            .iter()
            .find(|(token, _)| token == bytes)
            .map(|found| found.1)
    };
    if let Some(id) = rank(pretoken) {
        return vec![id];
    }
    let mut parts: Vec<Vec<u8>> = pretoken.iter().map(|&byte| vec![byte]).collect();
    while let Some((_, at)) = (0..parts.len().saturating_sub(1))
        .filter_map(|at| Some((rank(&parts[at..at + 2].concat())?, at)))
        .min()
    {
        let right = parts.remove(at + 1);
        parts[at].extend(right);
    }
    parts
        .iter()
        .map(|part| rank(part).expect("each is a token"))
        .collect()
}

#[derive(Default)]
struct Pieces(Vec<Vec<u8>>);

impl Sink for Pieces {
    fn pretoken(&mut self, text: &[u8], start: usize, end: usize) {
        self.0.push(text[start..end].to_vec());
    }
}

fn encode(encoder: &Encoder, data: &[u8], offsets: &[usize], threads: usize) -> Encoded {
    let options = Options {
        special: encoder.special(),
        errors: Errors::Strict,
        output: Output::Ids,
        threads,
    };
    let mut go_on = |_| ControlFlow::Continue(());
    let ids = encoder.documents(data, offsets, &options, &mut go_on);
    let options = Options {
        output: Output::Number,
        ..options
    };
    let number = encoder.documents(data, offsets, &options, &mut go_on);
    let (ids, number) = (ids.expect("UTF-8"), number.expect("UTF-8"));
    assert_eq!(ids.ends, number.ends);
    ids
}

#[test]
fn ids_are_those_of_the_definition() {
    for seed in 0..6 {
        let ranks = ranks(seed, 60);
        let text = Random(seed).text(60);
        for pattern in [Pattern::Gpt2, Pattern::O200k] {
            let vocabulary = Vocabulary::from_ranks(&ranks).expect("a vocabulary");
            let encoder = Encoder::new(vocabulary, Some(pattern), &[]).expect("no special token");
            let mut pieces = Pieces::default();
            scan(pattern, &text, &mut pieces);
            let pieces = pieces.0.iter().map(|piece| by_definition(piece, &ranks));
            let expected: Vec<u32> = pieces.flatten().collect();
            for _ in 0..2 {
                let found = encode(&encoder, text.as_bytes(), &[0, text.len()], 1);
                assert_eq!(found.ids, expected, "{seed} {text:?}");
            }
        }
    }
}

#[test]
fn without_a_pattern_a_text_is_one_pretoken_of_any_length() {
    let ranks = ranks(1, 60);
    let vocabulary = Vocabulary::from_ranks(&ranks).expect("a vocabulary");
    let encoder = Encoder::new(vocabulary, None, &[("<|end|>", 7)]).expect("one special token");
    let mut random = Random(2);
    for length in [1, 2, 15, 16, 47, 48, 49, 50, 256, 257, 400] {
        let text: Vec<u8> = (0..length).map(|_| random.letter()).collect();
        let expected = by_definition(&text, &ranks);
        for _ in 0..2 {
            assert_eq!(encode(&encoder, &text, &[0, length], 1).ids, expected);
        }
    }
    assert_eq!(encode(&encoder, b"<|end|>", &[0, 7], 1).ids, [7]);
}

#[test]
fn merges_rank_by_their_place_in_the_list() {
    let mut tokens: Vec<_> = (0..=255)
        .map(|byte| (vec![byte], u32::from(byte)))
        .collect();
    let made: [&[u8]; 4] = [b"ab", b"bc", b"abc", b"xyz"];
    tokens.extend(
        made.iter()
            .zip(256..)
            .map(|(token, id)| (token.to_vec(), id)),
    );
    let merge = |left: &[u8], right: &[u8]| (left.to_vec(), right.to_vec());
    // `bc` before `ab`, against the order of their ids; two ways to `abc`; none to `xyz`.
    let merges = [
        merge(b"b", b"c"),
        merge(b"a", b"b"),
        merge(b"a", b"bc"),
        merge(b"ab", b"c"),
    ];
    for (whole, xyz) in [(false, vec![120, 121, 122]), (true, vec![259])] {
        let vocabulary = Vocabulary::from_merges(&tokens, &merges, whole).expect("merges");
        let encoder = Encoder::new(vocabulary, None, &[]).expect("no special token");
        let found = encode(&encoder, b"abcabbcxyz", &[0, 3, 5, 7, 10], 1);
        assert_eq!(found.ids[..3], [258, 256, 257]);
        assert_eq!(found.ids[3..], xyz);
    }
    let unknown = [merge(b"x", b"y")];
    let failed = Vocabulary::from_merges(&tokens, &unknown, false).err();
    assert_eq!(failed, Some(VocabularyError::Merge(0)));
}

#[test]
fn threads_and_shares_change_nothing() {
    let ranks = ranks(3, 60);
    let vocabulary = Vocabulary::from_ranks(&ranks).expect("a vocabulary");
    let special = &[("<|end|>", 1 << 31), ("<|e", 5)];
    let encoder = Encoder::new(vocabulary, Some(Pattern::Gpt2), special).expect("special tokens");
    let text = (Random(4).text(2000) + "<|end|><|en<|e <|end|>").repeat(80);
    let unbroken = "a".repeat(3 << 20);
    let (text, length) = (text + &unbroken, 2 << 20);
    let many: Vec<usize> = (0..=text.len())
        .filter(|&at| at % 997 == 0 && text.is_char_boundary(at))
        .collect();
    let some = [3, 3, length, length + 9, text.len(), text.len()].map(|at| {
        (at..=text.len())
            .find(|&at| text.is_char_boundary(at))
            .expect("the end is one")
    });
    for offsets in [&many[..], &some, &[0, text.len()]] {
        let one = encode(&encoder, text.as_bytes(), offsets, 1);
        assert_eq!(one.ends.len(), offsets.len() - 1);
        assert_eq!(one.ends.last().copied(), Some(one.ids.len() as u64));
        for threads in [2, 5] {
            assert!(encode(&encoder, text.as_bytes(), offsets, threads) == one);
        }
    }
    assert_eq!(encode(&encoder, b"", &[], 2), Encoded::default());
}

#[test]
fn the_first_bad_byte_is_told_whatever_the_threads() {
    let vocabulary = Vocabulary::from_ranks(&ranks(5, 1)).expect("a vocabulary");
    let encoder = Encoder::new(vocabulary, Some(Pattern::Gpt2), &[]).expect("no special token");
    let mut data = b"word ".repeat(2 << 20);
    let length = data.len();
    for bad in [9_000_000, 5_000_001] {
        data[bad] = 0xff;
        for threads in [1, 2, 3] {
            let options = Options {
                special: encoder.special(),
                errors: Errors::Strict,
                output: Output::Ids,
                threads,
            };
            let mut go_on = |_| ControlFlow::Continue(());
            let failed = encoder.documents(&data, &[0, length], &options, &mut go_on);
            assert_eq!(failed, Err(CountError::InvalidUtf8 { offset: bad }));
            let mut stop = |_| ControlFlow::Break(());
            let options = Options {
                errors: Errors::Replace,
                ..options
            };
            let stopped = encoder.documents(&data, &[0, length], &options, &mut stop);
            assert_eq!(stopped, Err(CountError::Cancelled));
        }
    }
}

#[test]
fn vocabularies_that_cannot_be_are_refused() {
    let bytes = || (0..=255).map(|byte| (vec![byte], u32::from(byte)));
    let failed = |tokens: Vec<_>| Vocabulary::from_ranks(&tokens).err();
    assert_eq!(
        failed(bytes().skip(1).collect()),
        Some(VocabularyError::NoByte(0))
    );
    let with = |token: &[u8], id| bytes().chain([(token.to_vec(), id)]).collect();
    assert_eq!(failed(with(b"", 300)), Some(VocabularyError::Empty));
    assert_eq!(failed(with(b"ab", 97)), Some(VocabularyError::SameId(97)));
    assert_eq!(
        failed(with(b"ab", u32::MAX)),
        Some(VocabularyError::IdTooLarge)
    );
    let many: Vec<(&[u8], u32)> = vec![(b"ab", 0); MOST_TOKENS + 1];
    let failed = Vocabulary::from_ranks(&many).err();
    assert_eq!(failed, Some(VocabularyError::TooMany));
}

#[test]
fn a_million_spaces_are_an_answer() {
    let mut ranks: Vec<_> = (0..=255)
        .map(|byte| (vec![byte], u32::from(byte)))
        .collect();
    ranks.extend([(b"  ".to_vec(), 256), (b"    ".to_vec(), 257)]);
    let vocabulary = Vocabulary::from_ranks(&ranks).expect("a vocabulary");
    let encoder = Encoder::new(vocabulary, Some(Pattern::Cl100k), &[]).expect("no special token");
    let text = " ".repeat(1_000_003);
    let ids = encode(&encoder, text.as_bytes(), &[0, text.len()], 1).ids;
    assert_eq!(ids.len(), 250_000 + 2);
    assert_eq!(ids[250_000..], [256, 32]);
}
