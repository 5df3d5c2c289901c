//! Counting equals a plain map, whatever the text, the special tokens and the blocks.

mod common;

use std::collections::HashMap;
use std::ops::ControlFlow;

use bpefleet_core::count::{count, CountError, Errors};
use bpefleet_core::scan::Pattern;
use bpefleet_core::specials::{Specials, SpecialsError};
use bpefleet_core::table::{CountTable, Overflow};
use common::{counted, map, naive, Random};

const WORDS: [&str; 16] = [
    " the",
    "a",
    "'s",
    "  ",
    "\n",
    " 12345",
    "é",
    "漢字",
    "\u{1f600}",
    "!?",
    "\r\n",
    "\u{301}",
    " internationalisation",
    "<|s|>",
    "\u{a0}",
    " Xy",
];

fn text(random: &mut Random, words: usize) -> String {
    (0..words).map(|_| *random.choose(&WORDS)).collect()
}

#[test]
fn random_texts_count_as_in_a_map() {
    for seed in 0..300 {
        let mut random = Random::new(seed);
        let words = random.below(400);
        let text = text(&mut random, words);
        let pattern = *random.choose(&Pattern::ALL);
        let (table, replaced) =
            counted(text.as_bytes(), pattern, &["<|s|>"], Errors::Strict).expect("valid");
        assert_eq!(
            map(&table),
            naive(&text, pattern, &["<|s|>"]),
            "{pattern:?} {text:?}"
        );
        assert_eq!(replaced, 0);
    }
}

#[test]
fn blocks_change_nothing() {
    let mut random = Random::new(7);
    let text = text(&mut random, 200_000);
    for pattern in Pattern::ALL {
        let (table, _) = counted(text.as_bytes(), pattern, &[], Errors::Strict).expect("valid");
        assert_eq!(map(&table), naive(&text, pattern, &[]), "{pattern:?}");
    }
}

#[test]
fn many_different_pretokens_of_every_length() {
    let mut random = Random::new(3);
    let (mut table, mut expected) = (CountTable::new(), HashMap::new());
    for _ in 0..200_000 {
        let length = 1 + random.below(40);
        let pretoken = random.bytes(length, if length < 5 { b"abcdefgh" } else { b"ab" });
        let count = 1 + random.below(3) as u64;
        table.add(&pretoken, count).expect("fits");
        *expected.entry(pretoken).or_default() += count;
    }
    assert_eq!(map(&table), expected);
    for (pretoken, count) in expected {
        assert_eq!(table.get(&pretoken), count);
        assert_eq!(table.get(&[&pretoken[..], b"?"].concat()), 0);
    }
}

#[test]
fn zero_bytes_and_lengths_are_told_apart() {
    let mut table = CountTable::new();
    for length in 1..20 {
        table.add(&vec![0; length], length as u64).expect("fits");
        table.add(&vec![0xff; length], 100).expect("fits");
    }
    for length in 1..20 {
        assert_eq!(table.get(&vec![0; length]), length as u64);
        assert_eq!(table.get(&vec![0xff; length]), 100);
    }
    assert_eq!(table.len(), 38);
}

#[test]
fn the_order_depends_on_the_pretokens_alone() {
    let mut random = Random::new(5);
    let words: Vec<_> = (0..30_000)
        .map(|_| {
            let length = 1 + random.below(25);
            random.bytes(length, b"abcd")
        })
        .collect();
    let (mut forward, mut backward) = (CountTable::new(), CountTable::new());
    for word in &words {
        forward.add(word, 1).expect("fits");
    }
    for word in words.iter().rev() {
        backward.add(word, 1).expect("fits");
    }
    assert!(forward.iter().eq(backward.iter()));
}

#[test]
fn nothing_is_no_pretoken() {
    let mut table = CountTable::new();
    table.add(b"", 5).expect("fits");
    table.add(b"a", 0).expect("fits");
    assert!(table.is_empty());
    assert_eq!(
        (table.pretokens(), table.get(b""), table.get(b"a")),
        (0, 0, 0)
    );
}

#[test]
fn overflow_is_refused_and_changes_nothing() {
    let mut table = CountTable::new();
    table.add(b"a", u64::MAX - 6).expect("fits");
    assert_eq!(table.add(b"b", 7), Err(Overflow));
    assert_eq!((table.get(b"b"), table.pretokens()), (0, u64::MAX - 6));
    table.add(b"a", 6).expect("fits");
    assert_eq!(table.get(b"a"), u64::MAX);

    let specials = Specials::new(&[]).expect("searchable");
    let mut tick = |_| ControlFlow::Continue(());
    let result = count(
        b"c",
        Pattern::Gpt2,
        &specials,
        Errors::Strict,
        &mut table,
        &mut tick,
    );
    assert_eq!(result, Err(CountError::Overflow(Overflow)));
    assert_eq!(table.len(), 1);
}

#[test]
fn overlapping_special_tokens() {
    let specials = ["<a>", "<a><b>", "<b>", "<b>x<", "><"];
    for seed in 0..300 {
        let mut random = Random::new(seed);
        let parts = ["<a>", "<b>", "x", "<", ">", " y"];
        let text: String = (0..random.below(30))
            .map(|_| *random.choose(&parts))
            .collect();
        let some = &specials[..random.below(specials.len() + 1)];
        let (table, _) =
            counted(text.as_bytes(), Pattern::Gpt2, some, Errors::Strict).expect("valid");
        assert_eq!(
            map(&table),
            naive(&text, Pattern::Gpt2, some),
            "{some:?} {text:?}"
        );
    }
}

#[test]
fn special_tokens_that_cannot_be() {
    assert_eq!(Specials::new(&[""]).err(), Some(SpecialsError::Empty));
    assert_eq!(Specials::new(&["a", ""]).err(), Some(SpecialsError::Empty));
}

#[test]
fn replacing_equals_from_utf8_lossy() {
    let parts: [&[u8]; 13] = [
        b"a",
        b" the",
        b"\xff",
        b"\xe2\x82",
        b"\xe2\x82\xac",
        b"\xf0\x9f\x98",
        b"\xed\xa0\x80",
        b"\xc0\x80",
        b"\xf5",
        b"\x80",
        b"<|s|>",
        b"\xf0\x9f\x98\x80",
        b"\xef\xbf\xbd",
    ];
    for seed in 0..500 {
        let mut random = Random::new(seed);
        let data: Vec<u8> = (0..random.below(40))
            .flat_map(|_| random.choose(&parts).iter().copied())
            .collect();
        let lossy = String::from_utf8_lossy(&data);
        let (table, replaced) =
            counted(&data, Pattern::Gpt4, &["<|s|>"], Errors::Replace).expect("replaced");
        assert_eq!(
            map(&table),
            naive(&lossy, Pattern::Gpt4, &["<|s|>"]),
            "{data:x?}"
        );
        let present = data
            .windows(3)
            .filter(|bytes| bytes == b"\xef\xbf\xbd")
            .count();
        assert_eq!(
            usize::try_from(replaced).expect("fits"),
            lossy.matches('\u{fffd}').count() - present
        );
    }
}

#[test]
fn the_first_bad_byte_is_named() {
    let long = [b"word ".repeat(100_000), b"\xe2\x82 ".to_vec()].concat();
    for (data, bad) in [
        (&b"\xff"[..], 0),
        (b"abc\xe2\x82", 3),
        (b"abc<|s|>de\xf0\x9fx", 10),
        (b"a\xc3\xa9\xed\xa0\x80", 3),
        (&long, 500_000),
    ] {
        let result = counted(data, Pattern::Gpt2, &["<|s|>"], Errors::Strict);
        assert_eq!(result.err(), Some(CountError::InvalidUtf8 { offset: bad }));
    }
}

#[test]
fn ticks_tell_progress_and_stop_the_count() {
    let data = b"some words of text ".repeat(100_000);
    let specials = Specials::new(&[]).expect("searchable");
    let mut seen = Vec::new();
    let mut table = CountTable::new();
    let mut tick = |done| {
        seen.push(done);
        if seen.len() < 3 {
            ControlFlow::Continue(())
        } else {
            ControlFlow::Break(())
        }
    };
    let result = count(
        &data,
        Pattern::Gpt2,
        &specials,
        Errors::Strict,
        &mut table,
        &mut tick,
    );
    assert_eq!(result, Err(CountError::Cancelled));
    assert!(
        seen.is_sorted() && seen.len() == 3 && seen[2] < data.len() / 2,
        "{seen:?}"
    );
    assert_eq!(map(&table).values().sum::<u64>(), table.pretokens());
}
