//! The loop equals a naive one that counts everything anew for each merge.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;

use super::pairs::{Pair, Pairs};
use super::{merge, Merge, MergeError, Merged, Options, Shards, TieBreak};

type Words = BTreeMap<Vec<u8>, u64>;

fn merged(words: &[(&[u8], u64)], options: &Options) -> Result<Merged, MergeError> {
    merge(words.iter().copied(), options, &mut |_| {
        ControlFlow::Continue(())
    })
}

fn learn(words: &[(&[u8], u64)], options: &Options) -> Result<Vec<Merge>, MergeError> {
    merged(words, options).map(|merged| merged.merges)
}

fn merged_in(
    shards: usize,
    words: &[(&[u8], u64)],
    options: &Options,
) -> Result<Merged, MergeError> {
    let go_on = &mut |_: &[Merge]| ControlFlow::Continue(());
    Shards::build(words.iter().copied(), shards, go_on)?.merge(options, go_on)
}

fn options(merges: usize, tie_break: TieBreak) -> Options {
    Options {
        merges,
        tie_break,
        min_frequency: 1,
        max_token_length: None,
    }
}

fn naive(words: &Words, options: &Options) -> Vec<Merge> {
    by_definition(words, options).merges
}

/// The definition, by brute force. Spells the tie rules out in its own way.
fn by_definition(words: &Words, options: &Options) -> Merged {
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

/// xorshift64*, seeded.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 33) % limit
    }

    fn index(&mut self, limit: usize) -> usize {
        usize::try_from(self.below(limit as u64)).expect("below a usize")
    }

    fn words(&mut self) -> Words {
        let alphabet: Vec<u8> = match self.below(3) {
            0 => b"ab"[..].into(),
            1 => b"abc "[..].into(),
            _ => vec![0, 0x20, 0x7F, 0xAD, 0xFF, b'z'],
        };
        let letters = 1 + self.index(alphabet.len());
        let longest = [3, 8, 30, 90][self.index(4)];
        let most = [1, 3, 1000, 1 << 18][self.index(4)];
        let mut words = Words::new();
        for _ in 0..=self.below(20) {
            let mut word = Vec::new();
            for _ in 0..self.index(longest) {
                let letter = alphabet[self.index(letters)];
                let run = if self.below(8) == 0 { self.index(9) } else { 1 };
                word.extend([letter].repeat(run));
            }
            words.insert(word, self.below(most + 1));
        }
        words
    }

    fn shuffled<'w>(&mut self, words: &'w Words) -> Vec<(&'w [u8], u64)> {
        let mut list: Vec<_> = words
            .iter()
            .map(|(word, &count)| (&word[..], count))
            .collect();
        for end in (1..list.len()).rev() {
            list.swap(end, self.index(end + 1));
        }
        list
    }
}

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

#[test]
fn rules_have_names() {
    for rule in TieBreak::ALL {
        assert_eq!(TieBreak::from_name(rule.name()), Some(rule));
    }
    assert_eq!(TieBreak::from_name("first-seen"), None);
}
