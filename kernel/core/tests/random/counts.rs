//! Counting equals a plain map, and so does the table under any calls.

use std::collections::HashMap;
use std::num::NonZeroU64;

use bpefleet_core::count::{CountError, Errors};
use bpefleet_core::payload::{encode, fold, fold_weighted, FoldError, PayloadError};
use bpefleet_core::scan::Pattern;
use bpefleet_core::table::{CountTable, Overflow};

use crate::common::payloads::{table_of, DIGEST};
use crate::common::{counted, counted_documents, map, naive, Random};
use crate::rounds::rounds;

type Map = HashMap<Vec<u8>, u64>;

/// Some begin others, with the shorter ones first, and some overlap.
const SPECIALS: [&str; 9] = [
    "<",
    "<|s|",
    "<|s|>",
    "s|>",
    "é",
    "漢字漢",
    "\n\n",
    " a",
    "👍",
];

const BROKEN: [&[u8]; 5] = [b"\xff", b"\xe2\x82", b"\xf0\x9f", b"\x80", b"\xed\xa0\x80"];

impl Random {
    /// Text, special tokens and some bytes that are no text. Now and then enough for several of
    /// the blocks in which counting goes.
    fn data(&mut self) -> Vec<u8> {
        let parts = if self.below(100) == 0 { 2000 } else { 8 };
        let broken = self.below(2) == 0;
        let mut data = Vec::new();
        for _ in 0..self.below(parts) {
            let length = self.length_near_blocks();
            data.extend_from_slice(self.text(length).as_bytes());
            match self.below(4) {
                0 => data.extend_from_slice(self.choose(&SPECIALS).as_bytes()),
                1 if broken => data.extend_from_slice(BROKEN[self.below(BROKEN.len())]),
                _ => data.extend_from_slice(b"word word"),
            }
        }
        data
    }

    /// Any bytes of any length, but often the same, and often with the same hash.
    pub fn pretoken(&mut self) -> Vec<u8> {
        // What the hash of 8 to 15 bytes starts with: it makes the product, hence the hash, zero.
        const SEED: [u8; 8] = 0xff13_198a_2e03_70fe_u64.to_le_bytes();
        let longest = *self.choose(&[2, 7, 8, 15, 16, 30, 300]);
        let length = 1 + self.below(longest);
        match self.below(4) {
            0 => [&SEED[..], &self.bytes(length % 8, b"ab")].concat(),
            1 => self.bytes(length, b"\0\x01\xfe\xff"),
            _ => self.bytes(length, b"ab"),
        }
    }

    fn count(&mut self) -> u64 {
        *self.choose(&[0, 1, 1, 2, 15, 16, 143, 144, 1 << 40, u64::MAX / 3])
    }

    /// A table filled at random, and the same as a map.
    pub fn table(&mut self, most: usize) -> (CountTable, Map) {
        let (mut table, mut expected) = (CountTable::new(), Map::new());
        for _ in 0..self.below(most) {
            add(&mut table, &mut expected, self);
        }
        (table, expected)
    }
}

/// Adds to both, unless the sum would not fit.
fn add(table: &mut CountTable, expected: &mut Map, random: &mut Random) {
    let (pretoken, count) = (random.pretoken(), random.count());
    let fits = table.pretokens().checked_add(count).is_some();
    let added = table.add(&pretoken, count);
    assert_eq!(added, if fits { Ok(()) } else { Err(Overflow) });
    if fits && count > 0 {
        *expected.entry(pretoken).or_default() += count;
    }
}

#[test]
fn counting_equals_a_map() {
    rounds(|random| {
        let data = random.data();
        let pattern = *random.choose(&Pattern::ALL);
        let mut specials = SPECIALS.to_vec();
        specials.retain(|_| random.below(3) == 0);
        let text = String::from_utf8_lossy(&data);
        let expected = naive(&text, pattern, &specials);

        let (table, _) = counted(&data, pattern, &specials, Errors::Replace).expect("replaced");
        assert_eq!(map(&table), expected, "{pattern:?} {specials:?} {text:?}");

        let strict = counted(&data, pattern, &specials, Errors::Strict);
        match std::str::from_utf8(&data) {
            Ok(_) => assert_eq!(map(&strict.expect("valid").0), expected),
            Err(error) => {
                let offset = error.valid_up_to();
                assert_eq!(strict.err(), Some(CountError::InvalidUtf8 { offset }));
            }
        }
    });
}

#[test]
fn documents_equal_a_map() {
    rounds(|random| {
        let data = random.data();
        let most = *random.choose(&[2, 10, 200]);
        let places = 1 + random.below(most);
        let mut offsets: Vec<_> = (0..places).map(|_| random.below(data.len() + 1)).collect();
        offsets.sort_unstable();
        let pattern = *random.choose(&Pattern::ALL);
        let mut specials = SPECIALS.to_vec();
        specials.retain(|_| random.below(3) == 0);

        let (mut expected, mut bad) = (Map::new(), None);
        for places in offsets.windows(2) {
            let document = &data[places[0]..places[1]];
            let text = String::from_utf8_lossy(document);
            for (pretoken, count) in naive(&text, pattern, &specials) {
                *expected.entry(pretoken).or_default() += count;
            }
            if let (None, Err(error)) = (bad, std::str::from_utf8(document)) {
                bad = Some(places[0] + error.valid_up_to());
            }
        }
        let counted = |errors| counted_documents(&data, &offsets, pattern, &specials, errors);
        let (table, _) = counted(Errors::Replace).expect("replaced");
        assert_eq!(
            map(&table),
            expected,
            "{pattern:?} {specials:?} {data:x?} {offsets:?}"
        );
        let strict = counted(Errors::Strict).map(|(table, _)| map(&table));
        match bad {
            None => assert_eq!(strict, Ok(expected)),
            Some(offset) => assert_eq!(strict, Err(CountError::InvalidUtf8 { offset })),
        }
    });
}

#[test]
fn the_table_equals_a_map() {
    rounds(|random| {
        let (mut table, mut expected) = random.table(2000);
        for _ in 0..random.below(50) {
            add(&mut table, &mut expected, random);
            let asked = random.pretoken();
            let count = expected.get(&asked).copied();
            assert_eq!(table.get(&asked), count.unwrap_or(0));
        }
        assert_eq!(map(&table), expected);

        let mut again = CountTable::new();
        for (pretoken, count) in expected {
            again.add(&pretoken, count).expect("fits");
        }
        assert_eq!(encode(&again, &DIGEST), encode(&table, &DIGEST));
    });
}

#[test]
fn folding_equals_one_table() {
    rounds(|random| {
        let (mut whole, mut payloads) = (CountTable::new(), Vec::new());
        for _ in 0..random.below(6) {
            let most = *random.choose(&[1, 20, 500]);
            let (table, _) = random.table(most);
            if whole.pretokens().checked_add(table.pretokens()).is_none() {
                payloads.push(encode(&table, &DIGEST));
                let index = payloads.len() - 1;
                let error = PayloadError::Overflow(Overflow);
                let refused = fold(&payloads, &DIGEST).map(|_| ());
                assert_eq!(refused, Err(FoldError { index, error }));
                payloads.pop();
                continue;
            }
            for (pretoken, count) in table.iter() {
                whole.add(pretoken, count).expect("fits");
            }
            let at = random.below(payloads.len() + 1);
            payloads.insert(at, encode(&table, &DIGEST));
        }
        let folded = fold(&payloads, &DIGEST).expect("sound");
        assert_eq!(map(&table_of(&folded)), map(&whole));
        assert_eq!(folded.payload(), encode(&whole, &DIGEST));
    });
}

#[test]
fn weighted_folding_equals_one_table() {
    rounds(|random| {
        let (mut whole, mut payloads) = (CountTable::new(), Vec::new());
        for _ in 0..random.below(5) {
            let most = *random.choose(&[1, 20, 300]);
            let (table, _) = random.table(most);
            let weight = *random.choose(&[1, 1, 2, 7, 1 << 20, u64::MAX]);
            let weighted = table.pretokens().checked_mul(weight);
            if weighted
                .and_then(|n| n.checked_add(whole.pretokens()))
                .is_none()
            {
                let weighted = [(encode(&table, &DIGEST), weight)];
                let all: Vec<_> = payloads.iter().chain(&weighted).map(weighed).collect();
                let (index, error) = (payloads.len(), PayloadError::Overflow(Overflow));
                let refused = fold_weighted(&all, &DIGEST).map(|_| ());
                assert_eq!(refused, Err(FoldError { index, error }));
                continue;
            }
            for (pretoken, count) in table.iter() {
                whole.add(pretoken, count * weight).expect("fits");
            }
            payloads.push((encode(&table, &DIGEST), weight));
        }
        let all: Vec<_> = payloads.iter().map(weighed).collect();
        let folded = fold_weighted(&all, &DIGEST).expect("sound");
        assert_eq!(folded.payload(), encode(&whole, &DIGEST));
    });
}

fn weighed((payload, weight): &(Vec<u8>, u64)) -> (&[u8], NonZeroU64) {
    (payload, NonZeroU64::new(*weight).expect("it is not 0"))
}
