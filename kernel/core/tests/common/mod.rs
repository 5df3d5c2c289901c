//! What the tests and the fuzz targets share: seeded random numbers, and what the kernel does
//! without any cleverness.

#![allow(dead_code, reason = "each test crate uses its part")]

pub mod merging;
pub mod payloads;
pub mod regexes;

use std::collections::HashMap;
use std::ops::ControlFlow;

use bpefleet_core::count::{count, count_documents, CountError, Errors};
use bpefleet_core::scan::{scan, Pattern, Sink};
use bpefleet_core::specials::Specials;
use bpefleet_core::table::CountTable;

/// A xorshift generator: the same numbers on every run.
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    /// A number below `limit`.
    pub fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 32).expect("32 bits") % limit
    }

    /// One of `items`.
    pub fn choose<'i, T>(&mut self, items: &'i [T]) -> &'i T {
        &items[self.below(items.len())]
    }

    /// Bytes of the given length, each one of `alphabet`.
    pub fn bytes(&mut self, length: usize, alphabet: &[u8]) -> Vec<u8> {
        (0..length).map(|_| *self.choose(alphabet)).collect()
    }
}

/// The counts of a table as a map.
pub fn map(table: &CountTable) -> HashMap<Vec<u8>, u64> {
    let map: HashMap<_, _> = table
        .iter()
        .map(|(pretoken, count)| (pretoken.to_vec(), count))
        .collect();
    assert_eq!(map.len(), table.len(), "a pre-token is there twice");
    assert_eq!(map.values().sum::<u64>(), table.pretokens());
    map
}

/// Keeps where pre-tokens start and end. The one sink of the tests: scanners take long to compile.
#[derive(Default)]
struct Spans(Vec<(usize, usize)>);

impl Sink for Spans {
    fn pretoken(&mut self, _text: &[u8], start: usize, end: usize) {
        self.0.push((start, end));
    }
}

/// Where the pre-tokens of a text start and end.
pub fn spans(pattern: Pattern, text: &str) -> Vec<(usize, usize)> {
    let mut spans = Spans::default();
    scan(pattern, text, &mut spans);
    spans.0
}

/// Counts by hand: cuts at the longest special token, one byte at a time, and scans each piece
/// whole.
pub fn naive(text: &str, pattern: Pattern, specials: &[&str]) -> HashMap<Vec<u8>, u64> {
    let mut counts = HashMap::new();
    let mut count = |piece: &str| {
        for (start, end) in spans(pattern, piece) {
            let pretoken = piece.as_bytes()[start..end].to_vec();
            *counts.entry(pretoken).or_default() += 1;
        }
    };
    let (mut start, mut at) = (0, 0);
    while at < text.len() {
        let rest = text.as_bytes().get(at..).unwrap_or_default();
        let starting = specials
            .iter()
            .filter(|special| rest.starts_with(special.as_bytes()));
        if let Some(special) = starting.max_by_key(|special| special.len()) {
            count(&text[start..at]);
            at += special.len();
            start = at;
        } else {
            at += 1;
        }
    }
    count(&text[start..]);
    counts
}

/// Counts `data` into a new table.
pub fn counted(
    data: &[u8],
    pattern: Pattern,
    specials: &[&str],
    errors: Errors,
) -> Result<(CountTable, u64), CountError> {
    let specials = Specials::new(specials).expect("searchable");
    let mut table = CountTable::new();
    let mut tick = |_| ControlFlow::Continue(());
    let replaced = count(data, pattern, &specials, errors, &mut table, &mut tick)?;
    Ok((table, replaced))
}

/// Counts documents of `data` into a new table.
pub fn counted_documents(
    data: &[u8],
    offsets: &[usize],
    pattern: Pattern,
    specials: &[&str],
    errors: Errors,
) -> Result<(CountTable, u64), CountError> {
    let specials = Specials::new(specials).expect("searchable");
    let mut table = CountTable::new();
    let mut tick = |_| ControlFlow::Continue(());
    let replaced = count_documents(
        data, offsets, pattern, &specials, errors, &mut table, &mut tick,
    )?;
    Ok((table, replaced))
}
