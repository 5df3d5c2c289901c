//! Random texts for the scanners.

use std::sync::LazyLock;

use crate::common::regexes::{is_comparable, regex};
use crate::common::Random;

/// The classes that the patterns tell apart.
const CLASSES: [&str; 7] = [
    r"[\p{Lu}\p{Lt}]",
    r"\p{Ll}",
    r"[\p{Lm}\p{Lo}]",
    r"\p{M}",
    r"\p{N}",
    r"[^\S\r\n]",
    r"[^\s\p{L}\p{M}\p{N}]",
];

/// What the rules name, or nearly.
const ASCII: [&str; 8] = [
    "abcxyz",
    "ABCXYZ",
    "0123456789",
    " ",
    "\r\n",
    "\t\u{b}\u{c}\u{1c}\u{1f}\0\u{7f}",
    "/",
    ".,!?-_()[]{}<>|\"",
];

/// Contractions, and what looks like one.
const QUOTES: [&str; 12] = [
    "'", "'s", "'S", "'t", "'ll", "'Ve", "'rE", "'m", "'D", "'\u{17f}", "'l", "'x",
];

/// Runs of neighbouring characters of one class, of which there are some thousands: every script
/// has its own, and what a table gets wrong, it gets wrong at the end of one.
static RUNS: LazyLock<Vec<Vec<char>>> = LazyLock::new(|| {
    let text: String = ('\0'..=char::MAX).filter(|&it| is_comparable(it)).collect();
    let runs_of = |class| {
        let runs = regex(&format!("{class}+"));
        let runs = runs.find_iter(&text).map(|run| {
            let run = run.expect("no limit is met");
            run.as_str().chars().collect()
        });
        runs.collect::<Vec<_>>()
    };
    CLASSES.into_iter().flat_map(runs_of).collect()
});

impl Random {
    /// A text of `bytes` bytes, or up to three fewer: runs of a few kinds of characters, as uniform
    /// draws would hardly ever make two runs meet where a block of the scanner ends.
    pub fn text(&mut self, bytes: usize) -> String {
        let kinds: Vec<_> = (0..=self.below(6)).map(|_| self.kind()).collect();
        let longest = *self.choose(&[1, 2, 5, 20, 70]);
        let mut text = String::new();
        while text.len() < bytes {
            if self.below(8) == 0 {
                text.push_str(QUOTES[self.below(QUOTES.len())]);
                continue;
            }
            let kind = self.choose(&kinds);
            let run = 1 + self.below(longest);
            text.extend((0..run).map(|_| *self.choose(kind)));
        }
        while text.len() > bytes {
            text.pop();
        }
        text
    }

    /// As a rule, a length next to a multiple of the 64 bytes that are scanned at once.
    pub fn length_near_blocks(&mut self) -> usize {
        match self.below(4) {
            0 => self.below(24),
            1 => self.below(300),
            _ => 64 * (1 + self.below(4)) + self.below(9) - 4,
        }
    }

    /// Some characters that the rules treat alike: of ASCII, or from one end of a run.
    fn kind(&mut self) -> Vec<char> {
        if self.below(2) == 0 {
            return self.choose(&ASCII).chars().collect();
        }
        let run = self.choose(&RUNS);
        match self.below(3) {
            0 => run.iter().take(4).copied().collect(),
            1 => run.iter().rev().take(4).copied().collect(),
            _ => (0..4).map(|_| *self.choose(run)).collect(),
        }
    }
}
