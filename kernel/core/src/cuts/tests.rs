//! Cuts against the scanners, on every short text; against the regex engines, the tests in Python
//! do the same.

use super::{CutRule, Cutter};
use crate::scan::{scan, Pattern, Sink};

/// One character of each kind that a rule or the table of cuts tells apart.
const KINDS: [&str; 15] = [
    "s", "L", "é", "日", "ー", "\u{301}", "7", " ", "\u{3000}", "\n", "\r", "'", "/", "-", "。",
];

#[derive(Default)]
struct Ends(Vec<usize>);

impl Sink for Ends {
    fn pretoken(&mut self, _text: &[u8], _start: usize, end: usize) {
        self.0.push(end);
    }
}

fn ends(pattern: Pattern, text: &str) -> Vec<usize> {
    let mut ends = Ends::default();
    scan(pattern, text, &mut ends);
    ends.0
}

/// The pre-tokens of the text are those of its parts, whichever cut it is divided at.
fn assert_cuts_change_nothing(pattern: Pattern, text: &str) {
    let whole = ends(pattern, text);
    let mut from = 1;
    while let Some(cut) = CutRule::from(pattern).first(text.as_bytes(), from, text.len()) {
        let (left, right) = text.split_at(cut);
        let mut parts = ends(pattern, left);
        parts.extend(ends(pattern, right).iter().map(|end| cut + end));
        assert_eq!(parts, whole, "{} on {left:?} {right:?}", pattern.name());
        from = cut + 1;
    }
}

#[test]
fn every_short_text_may_be_cut() {
    for pattern in Pattern::ALL {
        for length in 2..=4 {
            for number in 0..KINDS.len().pow(length) {
                let kind = |place| KINDS[number / KINDS.len().pow(place) % KINDS.len()];
                let text: String = (0..length).map(kind).collect();
                assert_cuts_change_nothing(pattern, &text);
            }
        }
    }
}

#[test]
fn first_and_last_name_the_same_places() {
    let text = "ab cd\n\nあ、い。𝐀 \u{3000}é\u{a0}/\n/x".repeat(3);
    let text = [text.as_bytes(), b"\xe3\x80 \xff\n\xff ", &[b'-'; 99], b" a"].concat();
    for rule in [CutRule::Gpt2, CutRule::Cl100k, CutRule::O200k] {
        let is_cut = |&at: &usize| rule.first(&text, at, at + 1).is_some();
        let cuts: Vec<_> = (0..text.len()).filter(is_cut).collect();
        assert!(cuts.len() > 10 && !cuts.contains(&0));
        for at in 0..=text.len() {
            let next = cuts.iter().copied().find(|&cut| cut >= at);
            assert_eq!(rule.first(&text, at, usize::MAX), next);
            let previous = cuts.iter().copied().rev().find(|&cut| cut < at);
            assert_eq!(rule.last(&text, 0, at), previous);
        }
    }
}

#[test]
fn bytes_that_are_no_characters_are_not_cut_off() {
    for text in [&b"\xe3\x80 a"[..], b"\xff a", b"\n\xffa", b"\n\xe3\x81"] {
        assert_eq!(CutRule::Cl100k.first(text, 0, text.len()), None, "{text:?}");
    }
}

#[test]
fn every_name_has_a_rule_and_no_other() {
    for name in CutRule::NAMES {
        assert!(CutRule::from_name(name).is_some());
    }
    for pattern in Pattern::ALL {
        assert!(CutRule::NAMES.contains(&pattern.name()));
    }
    assert_eq!(CutRule::from_name("custom"), None);
}

#[test]
fn tokens_are_cut_before_and_never_within() {
    let text = b"a <b>c <b> <b d> <b d> <d> <";
    let tokens = ["<b>", "<b d>", "> <"];
    let cutter = Cutter::new(Some(CutRule::Gpt2), &tokens).expect("searchable");
    let covered = |at: usize| {
        tokens.iter().any(|token| {
            (0..text.len()).any(|start| {
                text[start..].starts_with(token.as_bytes())
                    && start < at
                    && at < start + token.len()
            })
        })
    };
    let is_start = |at: usize| {
        tokens
            .iter()
            .any(|token| text[at..].starts_with(token.as_bytes()))
    };
    let by_rule = |at: usize| CutRule::Gpt2.first(text, at, at + 1).is_some();
    let cuts: Vec<_> = (1..text.len())
        .filter(|&at| (is_start(at) || by_rule(at)) && !covered(at))
        .collect();
    assert_eq!(cuts, [1, 2, 6, 7, 25]);
    for from in 0..text.len() {
        let next = cuts.iter().copied().find(|&cut| cut >= from);
        assert_eq!(cutter.first(text, from, text.len()), next);
        let previous = cuts.iter().copied().rev().find(|&cut| cut < from);
        assert_eq!(cutter.last(text, 0, from), previous);
    }
}
