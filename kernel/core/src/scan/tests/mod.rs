//! Tests of the scanners: by hand, against a regex engine, and against the tables.

mod against_regex;
mod by_hand;

use super::{scan, Pattern, Sink};

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

/// Where the pre-tokens of `text` end.
fn ends(pattern: Pattern, text: &str) -> Vec<usize> {
    let mut ends = Ends::default();
    scan(pattern, text, &mut ends);
    ends.0
}

/// The pieces of `text` between `ends`.
fn pieces<'t>(text: &'t str, ends: &[usize]) -> Vec<&'t str> {
    let starts = std::iter::once(0).chain(ends.iter().copied());
    starts
        .zip(ends)
        .map(|(start, &end)| &text[start..end])
        .collect()
}
