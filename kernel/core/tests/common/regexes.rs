//! The split rules as a regex engine runs them, on any character of Unicode.

use std::collections::HashSet;
use std::sync::LazyLock;

use bpefleet_core::scan::Pattern;
use fancy_regex::Regex;

use super::spans;

/// The characters of which the engine's Unicode (16) and the scanners' say the same: those that
/// were assigned, but for the one that Unicode 17 took the lower case from.
static CHARACTERS: LazyLock<HashSet<char>> = LazyLock::new(|| {
    let unassigned = regex(r"\p{Cn}");
    let is_known = |&character: &char| {
        let text = character.to_string();
        character != '\u{295}' && !unassigned.is_match(&text).expect("no limit is met")
    };
    ('\0'..=char::MAX).filter(is_known).collect()
});

static REGEXES: LazyLock<[Regex; Pattern::ALL.len()]> =
    LazyLock::new(|| Pattern::ALL.map(|pattern| regex(pattern.regex())));

/// The engine, for a regular expression.
pub fn regex(pattern: &str) -> Regex {
    Regex::new(pattern).expect("a regex of ours compiles")
}

/// Whether the engine and the scanners know the character alike.
pub fn is_comparable(character: char) -> bool {
    CHARACTERS.contains(&character)
}

/// The scanner cuts `text`, whose characters are comparable, as the engine does.
pub fn assert_cut_as_by_regex(pattern: Pattern, text: &str) {
    let at = Pattern::ALL.iter().position(|&other| other == pattern);
    let matches = REGEXES[at.expect("one of all")].find_iter(text);
    let expected = matches.map(|found| found.expect("the engine gave up"));
    let expected: Vec<_> = expected.map(|span| (span.start(), span.end())).collect();
    assert_eq!(spans(pattern, text), expected, "{pattern:?} on {text:?}");
}
