//! Where a split rule lets text be cut, with the proofs.
//!
//! A place between two characters is a *cut* if the pre-tokens of any text that has the two
//! side by side are those of the part before, followed by those of the part after. The two
//! characters alone decide: whatever is around them, it is a cut or it is none.
//!
//! | before | after | rules |
//! |---|---|---|
//! | anything but white space | white space other than a newline | all |
//! | anything but white space | newline | gpt2 |
//! | newline | anything but white space | all but gpt2; for o200k and tekken anything but a slash, too |
//! | Han or kana letter | Chinese or Japanese sign | all |
//!
//! White space is `\s`, newlines are `\r` and `\n`; of letters and signs those that
//! `is_han_or_kana` and `is_sign` name. No table of Unicode is asked that may change: white
//! space has been the same 25 characters since Unicode 6.3, and the letters and signs named
//! have had their categories since they were first assigned. So a cut is one for any engine,
//! of whatever version: the scanners here, the `regex` package, those of tiktoken and Hugging
//! Face.
//!
//! # What there is to prove
//!
//! Engines take matches one after the other from the left. Let `x` be the character before the
//! place and `y` the one behind. It is a cut if
//!
//! 1. no match holds both `x` and `y`: so the matches of the whole text divide there; and
//! 2. a match that begins before the place is the same when the text ends there: nothing in it
//!    looks at `y`, be it to go on or by a look-ahead.
//!
//! Nothing is to be shown of the part after. No rule has a look-behind, so matching goes on
//! from the place as it begins in a text of its own. All the rules but deepseek-v3 match every
//! character, so nothing lies between the matches either.
//!
//! # `x` is not white, `y` is white but no newline (for gpt2: or a newline)
//!
//! 1. White space other than a newline is matched in three ways: as the one character that may
//!    lead a word or signs (`[^\r\n\p{L}\p{N}]?`, ` ?`), which is the first of its match; and by
//!    the alternatives of white space (`\s++$`, `\s*[\r\n]+`, `\s+(?!\S)`, `\s+`), whose matches
//!    are white from the first character on. So it never follows `x` in a match. Newlines may,
//!    in `[\r\n]*` behind signs; gpt2 has no such tail, so for gpt2 the same holds of them.
//! 2. Runs of letters, numbers and signs end before `y` as they do at the end of the text, and
//!    what o200k gives back within a run of letters depends on that run alone; a contraction
//!    begins with an apostrophe and goes on with letters, and `y` is neither. What looks ahead, `\s+(?!\S)` and `\s++$`, looks
//!    at the end of a run of white space: such a run before the place ends before `x` at the latest,
//!    which is there in both texts.
//!
//! # `x` is a newline, `y` is not white (for o200k and tekken: nor a slash)
//!
//! 1. A newline is matched in two ways. In the tail of signs, `[\r\n]*` (o200k: `[\r\n/]*`),
//!    it is followed by nothing but others of the tail, of which `y` is none. By the
//!    alternatives of white space it is followed by white space. It leads no word.
//! 2. A tail ends before `y` as it does at the end of the text. Else the match begins within the
//!    run of white space that ends in `x`. In the whole text `\s++$` fails, as `y` follows the
//!    run, and `\s*[\r\n]+` takes the rest of the run, which ends in a newline (`\s*[\r\n]` takes
//!    the same, as `\s*` takes the other newlines). In the part alone either of the two takes
//!    just that. The alternatives before them need a letter or a sign after one white
//!    character other than a newline, and this run goes on to `x` with white ones. `\s+(?!\S)`
//!    comes after them and is never tried.
//!
//! gpt2 has no `\s*[\r\n]+`. Of `"\n\nb"` it makes `"\n"`, `"\n"`, `"b"`, but of `"\n\n"` one.
//!
//! # `x` is a Han or kana letter, `y` a sign
//!
//! 1. No contraction has `x` in it and no number; it leads neither word nor sign. So its match
//!    is a run of letters (o200k: of letters and marks), of which `y` is none. Of what may follow
//!    the letters in a match, o200k's contraction, `y` is not the apostrophe.
//! 2. Runs end before `y` as they do at the end of the text, and no look-ahead follows them.
//!
//! # deepseek-v3
//!
//! Its three expressions are applied in turn, each to every piece that those before have made,
//! and what an expression leaves unmatched is a piece as well.
//!
//! - The first isolates numbers, and the second the characters from `一` to `龥` and of the two
//!   blocks of kana. Both are runs of one set of characters, which no white character and no
//!   sign of ours is in. If `x` and `y` come to lie in different pieces, the place is
//!   where a piece ends in both texts. That is so for Han and kana letters before signs. If they
//!   lie in one piece, it is as if that piece were the text.
//! - For the third the proofs above hold, as its alternatives of white space, the lead
//!   `[^\r\n\p{L}\p{P}\p{S}]?` and the tail `[\r\n]*` are those of the others, and a word that
//!   begins with a sign is a run of letters behind it. What it leaves unmatched, such as control
//!   characters, is never white: each white character is at least matched by `\s+`. So such a
//!   piece ends before a white `y`, and begins no earlier than behind a newline `x`.
//!
//! # What is left out
//!
//! More pairs are cuts, such as a letter before any sign, or the end of a number. They depend on
//! what is a letter, a number or a mark, of which engines know different versions; text in any
//! script has enough of the others. Never a cut is what lies within a run of one kind, between
//! two digits (where a number of three ends depends on where it began), before newlines that may
//! be the tail of signs, and behind white space that is no newline.

use crate::scan::Pattern;

/// Where a split rule lets text be cut: see the [module](self).
///
/// ```
/// use bpefleet_core::cuts::CutRule;
///
/// let rule = CutRule::from_name("cl100k").expect("a rule with cuts");
/// let text = "你好。\n再見".as_bytes();
/// assert_eq!(rule.first(text, 1, text.len()), Some("你好".len()));
/// assert_eq!(rule.last(text, 1, text.len()), Some("你好。\n".len()));
/// assert!(CutRule::from_name(r"\w+").is_none());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CutRule {
    /// White space is no lead of words but for a blank, and no tail of signs: gpt2.
    Gpt2,
    /// Signs have a tail of newlines: cl100k, gpt4, nanochat, llama3, qwen2, deepseek-v3.
    Cl100k,
    /// Signs have a tail of newlines and slashes: o200k, tekken.
    O200k,
}

impl CutRule {
    /// The names of the split rules whose text may be cut elsewhere than at special tokens.
    pub const NAMES: [&'static str; 9] = [
        "gpt2",
        "cl100k",
        "gpt4",
        "nanochat",
        "llama3",
        "qwen2",
        "o200k",
        "tekken",
        "deepseek-v3",
    ];

    /// Of the split rule of that name; none if nothing is proven of it.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        match name {
            // The one rule without a scanner.
            "deepseek-v3" => Some(Self::Cl100k),
            _ => Pattern::from_name(name).map(Self::from),
        }
    }

    /// The first cut in `text[from..to]`: its offset in `text`, which is UTF-8, or should be.
    ///
    /// What is not UTF-8 is no part of a cut, so that both its sides may be replaced apart.
    #[must_use]
    pub fn first(self, text: &[u8], from: usize, to: usize) -> Option<usize> {
        let to = to.min(text.len());
        let mut at = from.max(1);
        while at < to {
            if starts_dull(&text[at - 1..]) {
                at += DULL;
            } else if may_be_cut(text[at - 1], text[at]) && self.cuts_at(text, at) {
                return Some(at);
            } else {
                at += 1;
            }
        }
        None
    }

    /// The last cut in `text[from..to]`; see [`Self::first`].
    #[must_use]
    pub fn last(self, text: &[u8], from: usize, to: usize) -> Option<usize> {
        let to = to.min(text.len());
        (from.max(1)..to)
            .rev()
            .find(|&at| may_be_cut(text[at - 1], text[at]) && self.cuts_at(text, at))
    }

    fn cuts_at(self, text: &[u8], at: usize) -> bool {
        char_before(text, at)
            .zip(char_at(text, at))
            .is_some_and(|(before, after)| self.cuts_between(before, after))
    }

    /// The table of the module.
    fn cuts_between(self, before: char, after: char) -> bool {
        match (before.is_whitespace(), after.is_whitespace()) {
            (false, true) => self == Self::Gpt2 || !is_newline(after),
            (true, false) => {
                is_newline(before) && self != Self::Gpt2 && !(self == Self::O200k && after == '/')
            }
            (false, false) => is_han_or_kana(before) && is_sign(after),
            (true, true) => false,
        }
    }
}

impl From<Pattern> for CutRule {
    fn from(pattern: Pattern) -> Self {
        match pattern {
            Pattern::Gpt2 => Self::Gpt2,
            Pattern::Cl100k
            | Pattern::Gpt4
            | Pattern::Nanochat
            | Pattern::Llama3
            | Pattern::Qwen2 => Self::Cl100k,
            Pattern::O200k | Pattern::Tekken => Self::O200k,
        }
    }
}

fn is_newline(character: char) -> bool {
    matches!(character, '\r' | '\n')
}

/// Hiragana, katakana, the long vowel mark, and the Han characters of Unicode 1.1: letters
/// without case (`\p{Lo}`, `\p{Lm}`).
fn is_han_or_kana(character: char) -> bool {
    matches!(character, 'ぁ'..='ゖ' | 'ァ'..='ヺ' | 'ー' | '一'..='龥')
}

/// `、。〃`, the brackets from `〈` to `】`, and the wide forms of ASCII's signs up to `＠`:
/// punctuation and symbols (`\p{P}`, `\p{S}`).
fn is_sign(character: char) -> bool {
    matches!(character, '、'..='〃' | '〈'..='】' | '！'..='／' | '：'..='＠')
}

/// Whether the last byte of one character and the first of the next can be those of a cut. It
/// spares decoding nearly all other places.
fn may_be_cut(before: u8, after: u8) -> bool {
    // First bytes of the white space and the signs beyond ASCII.
    matches!(after, b'\t'..=b'\r' | b' ' | 0xc2 | 0xe1..=0xe3 | 0xef)
        || matches!(before, b'\n' | b'\r')
}

/// Places that are looked at together where no cut is for long.
const DULL: usize = 32;

/// Whether no cut is before the second of these bytes nor before any of the `DULL - 1` that follow
/// it: they are all ASCII, and none is white space.
fn starts_dull(bytes: &[u8]) -> bool {
    let is_dull = |byte: u8| byte < 0x80 && byte != b' ' && !(b'\t'..=b'\r').contains(&byte);
    // To look at all of them, whatever the first, takes a few instructions.
    bytes
        .first_chunk::<{ DULL + 1 }>()
        .is_some_and(|bytes| bytes.iter().fold(true, |all, &byte| all & is_dull(byte)))
}

/// The character that begins at `at`.
fn char_at(text: &[u8], at: usize) -> Option<char> {
    let length = match text.get(at)? {
        0..=0x7f => 1,
        0xc2..=0xdf => 2,
        0xe0..=0xef => 3,
        0xf0..=0xf4 => 4,
        _ => return None,
    };
    let bytes = text.get(at..at + length)?;
    std::str::from_utf8(bytes).ok()?.chars().next()
}

/// The character that ends at `at`.
fn char_before(text: &[u8], at: usize) -> Option<char> {
    let near = at.saturating_sub(4)..at;
    let start = near.rev().find(|&start| text[start] & 0xc0 != 0x80)?;
    char_at(text, start).filter(|character| start + character.len_utf8() == at)
}
