//! Property: a scanner cuts as a regex engine does that runs its regular expression.
//!
//! The engine's tables are of Unicode 16, ours may be newer: the alphabet has only
//! characters that were assigned long before and have kept their class.

use fancy_regex::Regex;

use super::{ends, pieces, Pattern, Random};

/// Groups of characters that the rules treat alike, or nearly.
const ALPHABET: [&str; 17] = [
    "abcdefghijklmnopqrstuvwxyz",
    "ABCDEFGHIJKLMNOPQRSTUVWXYZ",
    "0123456789",
    " ",
    "\n\r",
    "\t\u{b}\u{c}\u{85}\u{a0}\u{1680}\u{2003}\u{2028}\u{2029}\u{202f}\u{3000}",
    "\u{1c}\u{1d}\u{1e}\u{1f}\0\u{7f}\u{200b}\u{feff}",
    "'",
    "stdmSTDMlLvVrReE\u{17f}\u{212a}",
    "/",
    ".,!?-_()[]{}<>*&^%$#@~`+=|\\\":;",
    "\u{300}\u{301}\u{93f}\u{94d}\u{20dd}\u{fe0f}\u{e0100}",
    "ªºʰʼˈ日本語한국아באไṭ\u{10400}𠀀",
    "éßñЖжΩωǅǈᾈ𝐀𝐚",
    "٣७９²½Ⅷ〇𝟘",
    "€©→😀👍\u{1f3fd}\u{200d}“”—…。、",
    "'s're'LLd'\u{17f}",
];

impl Random {
    /// A text of `len` characters in runs of a few groups: uniform draws would hardly
    /// ever make two runs of white space or of letters meet at the end of a block.
    fn text(&mut self, groups: &[Vec<char>], len: usize) -> String {
        let some: Vec<_> = (0..=self.below(6))
            .map(|_| self.pick_group(groups))
            .collect();
        let longest = self.pick(&[1, 2, 4, 20]);
        let mut text = String::new();
        let mut left = len;
        while left > 0 {
            let group = some[self.below(some.len())];
            let run = (1 + self.below(longest)).min(left);
            text.extend((0..run).map(|_| self.pick(group)));
            left -= run;
        }
        text
    }

    fn pick_group<'g>(&mut self, groups: &'g [Vec<char>]) -> &'g [char] {
        &groups[self.below(groups.len())]
    }
}

fn groups() -> Vec<Vec<char>> {
    ALPHABET
        .iter()
        .map(|group| group.chars().collect())
        .collect()
}

fn regex_ends(regex: &Regex, text: &str) -> Vec<usize> {
    regex
        .find_iter(text)
        .map(|found| found.expect("the engine gave up").end())
        .collect()
}

fn assert_same(pattern: Pattern, regex: &Regex, text: &str) {
    let (found, expected) = (ends(pattern, text), regex_ends(regex, text));
    assert_eq!(
        pieces(text, &found),
        pieces(text, &expected),
        "{} on {text:?}",
        pattern.name()
    );
}

fn regex(pattern: Pattern) -> Regex {
    Regex::new(pattern.regex()).expect("a named pattern compiles")
}

/// The engine runs at a thousandth of its speed without optimisation.
const CHARACTERS: usize = 1_000_000;

#[test]
fn random_text() {
    let groups = groups();
    for pattern in Pattern::ALL {
        let regex = regex(pattern);
        let mut random = Random(0x5eed);
        let mut left = CHARACTERS;
        while left > 0 {
            let len = (1 + random.pick(&[0, 8, 16, 32, 64, 128, 300]) + random.below(12)).min(left);
            let text = random.text(&groups, len);
            assert_same(pattern, &regex, &text);
            left -= len;
        }
    }
}

/// Every short text over one character of each kind: small enough to leave none out.
/// Once alone, where its end is the end of the text, and once at the head of a window.
#[test]
fn all_short_texts() {
    let kinds = [
        'a', 'B', '日', '\u{301}', '7', ' ', '\u{a0}', '\n', '\'', 's', '/', '.',
    ];
    let longest = 4;
    let filler = ", and so on until no window of sixty-four bytes ends in the text.";
    for pattern in Pattern::ALL {
        let regex = regex(pattern);
        for len in 1..=longest {
            for number in 0..kinds.len().pow(len) {
                let digit = |place| number / kinds.len().pow(place) % kinds.len();
                let text: String = (0..len).map(|place| kinds[digit(place)]).collect();
                assert_same(pattern, &regex, &text);
                assert_same(pattern, &regex, &(text + filler));
            }
        }
    }
}
