//! Tests of the scanners: by hand, against a regex engine, and of their parts.

mod against_regex;
mod by_hand;
mod parts;

use super::window::Machine;
use super::{scan, scan_on, Pattern, Sink};

/// Keeps where the pre-tokens end, and checks that they leave no gap.
#[derive(Default)]
struct Ends(Vec<usize>);

impl Sink for Ends {
    fn pretoken(&mut self, _text: &[u8], start: usize, end: usize) {
        assert_eq!(
            start,
            self.0.last().copied().unwrap_or(0),
            "gap before {end}"
        );
        assert!(start < end, "empty pre-token at {start}");
        self.0.push(end);
    }
}

/// Where the pre-tokens of `text` end, as this machine and as any machine finds them.
fn ends(pattern: Pattern, text: &str) -> Vec<usize> {
    let (mut best, mut any) = (Ends::default(), Ends::default());
    scan(pattern, text, &mut best);
    scan_on(Machine::Any, pattern, text, &mut any);
    assert_eq!(
        best.0,
        any.0,
        "{} on {text:?}: machines differ",
        pattern.name()
    );
    assert_eq!(
        best.0.last().copied().unwrap_or(0),
        text.len(),
        "the end is missing"
    );
    best.0
}

/// The pieces of `text` between `ends`.
fn pieces<'t>(text: &'t str, ends: &[usize]) -> Vec<&'t str> {
    let starts = std::iter::once(0).chain(ends.iter().copied());
    starts
        .zip(ends)
        .map(|(start, &end)| &text[start..end])
        .collect()
}

/// xorshift64*: the tests need no more than that, and the same numbers each time.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    fn below(&mut self, bound: usize) -> usize {
        let high = self.next() >> 33;
        usize::try_from(high).expect("31 bits") % bound
    }

    fn pick<T: Copy>(&mut self, items: &[T]) -> T {
        items[self.below(items.len())]
    }
}
