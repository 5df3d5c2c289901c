//! Documents are counted alone, and found where their offsets say.

mod common;

use std::collections::HashMap;
use std::ops::ControlFlow;

use bpefleet_core::count::{count_documents, CountError, Errors};
use bpefleet_core::offsets::{offsets, OffsetsError};
use bpefleet_core::scan::Pattern;
use bpefleet_core::specials::Specials;
use bpefleet_core::table::CountTable;
use common::{counted_documents, map, naive, Random};

const PARTS: [&str; 12] = [
    " the",
    "a",
    "  ",
    "\n",
    "\0",
    "123",
    "\u{1f600}",
    "漢",
    "<|s|>",
    "<|s",
    "|>",
    " internationalisation",
];

fn counted(
    data: &[u8],
    offsets: &[usize],
    pattern: Pattern,
    errors: Errors,
) -> Result<(CountTable, u64), CountError> {
    counted_documents(data, offsets, pattern, &["<|s|>"], errors)
}

#[test]
fn documents_count_as_each_alone() {
    for seed in 0..300 {
        let mut random = Random::new(seed);
        let longest = *random.choose(&[2, 5, 60]);
        let (mut data, mut ends, mut expected) = (String::new(), vec![0], HashMap::new());
        let pattern = *random.choose(&Pattern::ALL);
        for _ in 0..random.below(60) {
            let parts = random.below(longest);
            let text: String = (0..parts).map(|_| *random.choose(&PARTS)).collect();
            for (pretoken, count) in naive(&text, pattern, &["<|s|>"]) {
                *expected.entry(pretoken).or_default() += count;
            }
            data += &text;
            ends.push(data.len());
        }
        let (table, replaced) =
            counted(data.as_bytes(), &ends, pattern, Errors::Strict).expect("valid");
        assert_eq!(
            (map(&table), replaced),
            (expected, 0),
            "{pattern:?} {data:?} {ends:?}"
        );
    }
}

#[test]
fn a_character_divided_is_ill_formed_in_both_documents() {
    let data = "aé漢".as_bytes();
    let strict = counted(data, &[0, 2, 6], Pattern::Gpt2, Errors::Strict);
    assert_eq!(strict.err(), Some(CountError::InvalidUtf8 { offset: 1 }));
    let strict = counted(data, &[0, 3, 5, 6], Pattern::Gpt2, Errors::Strict);
    assert_eq!(strict.err(), Some(CountError::InvalidUtf8 { offset: 3 }));
    let strict = counted(data, &[2, 2, 6], Pattern::Gpt2, Errors::Strict);
    assert_eq!(strict.err(), Some(CountError::InvalidUtf8 { offset: 2 }));

    let (table, replaced) =
        counted(data, &[0, 2, 6], Pattern::Gpt2, Errors::Replace).expect("replaced");
    assert_eq!(
        (table.get("a".as_bytes()), table.get("\u{fffd}".as_bytes())),
        (1, 2)
    );
    assert_eq!((table.get("漢".as_bytes()), replaced), (1, 2));
}

#[test]
fn a_special_token_divided_is_none() {
    let (table, _) = counted(b"a<|s|>b", &[0, 3, 7], Pattern::Gpt2, Errors::Strict).expect("valid");
    assert_eq!(table.get(b"<|"), 1);
    let (table, _) = counted(b"a<|s|>b", &[0, 6, 7], Pattern::Gpt2, Errors::Strict).expect("valid");
    assert_eq!((table.len(), table.get(b"a"), table.get(b"b")), (2, 1, 1));
}

#[test]
fn what_no_document_holds_is_not_counted() {
    let (table, _) = counted(b"ab\xffcd\xff", &[3, 4, 5], Pattern::Gpt2, Errors::Strict)
        .expect("valid where it is read");
    assert_eq!((table.len(), table.get(b"c"), table.get(b"d")), (2, 1, 1));
    for none in [&[][..], &[2], &[2, 2, 2]] {
        let (table, _) = counted(b"abc", none, Pattern::Gpt2, Errors::Strict).expect("nothing");
        assert!(table.is_empty());
    }
}

#[test]
fn ticks_tell_progress_and_stop_the_count() {
    let data = b"some words".repeat(100_000);
    let ends: Vec<_> = (0..=100_000).map(|document| document * 10).collect();
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
    let (pattern, errors) = (Pattern::Gpt2, Errors::Strict);
    let result = count_documents(
        &data, &ends, pattern, &specials, errors, &mut table, &mut tick,
    );
    assert_eq!(result, Err(CountError::Cancelled));
    assert!(seen.is_sorted() && seen[2] < data.len() / 2, "{seen:?}");
    assert_eq!(table.get(b" words"), seen[2] as u64 / 10);
}

#[test]
fn offsets_of_both_widths() {
    let narrow = [3_i32, 3, 2_000_000].map(i32::to_ne_bytes).concat();
    let wide = [3_i64, 3, 2_000_000].map(i64::to_ne_bytes).concat();
    assert_eq!(offsets(&narrow, 4, 2_000_000), Ok(vec![3, 3, 2_000_000]));
    assert_eq!(offsets(&wide, 8, 2_000_000), Ok(vec![3, 3, 2_000_000]));
    assert_eq!(offsets(b"", 4, 0), Ok(vec![]));
}

#[test]
fn offsets_that_cannot_be() {
    let of = |numbers: &[i64]| {
        let bytes: Vec<_> = numbers
            .iter()
            .flat_map(|number| number.to_ne_bytes())
            .collect();
        offsets(&bytes, 8, 10).expect_err("refused")
    };
    let descending = |index, offset| OffsetsError::Descending { index, offset };
    assert_eq!(of(&[-1, 2]), descending(0, -1));
    assert_eq!(of(&[0, 5, 4, 11]), descending(2, 4));
    assert_eq!(of(&[i64::MIN]), descending(0, i64::MIN));
    assert_eq!(
        of(&[0, 11]),
        OffsetsError::Outside {
            offset: 11,
            data: 10
        }
    );
    assert_eq!(
        of(&[i64::MAX]).to_string(),
        format!("the last offset is {}, but the data has 10 bytes", i64::MAX)
    );
    assert_eq!(
        offsets(b"1234567", 4, 9),
        Err(OffsetsError::Length { bytes: 7, width: 4 })
    );
    assert_eq!(offsets(b"12", 2, 9), Err(OffsetsError::Width(2)));
}
