//! The family of `o200k_base`: Llama 4, Mistral's Tekken.
//!
//! Its words are cut at changes of case. Write `U` for `[\p{Lu}\p{Lt}]`, `l` for
//! `\p{Ll}` and `c` for `[\p{Lm}\p{Lo}\p{M}]`, which is in both bracketed sets. The
//! two alternatives `P?[Uc]*[lc]+` and `P?[Uc]+[lc]*` then come to this, for a word
//! whose letters begin at `w`:
//!
//! - `[Uc]*` takes the longest run; say it ends at `r`.
//! - An `l` at `r`: `[lc]+` takes the longest run from there, which ends the word.
//! - Else `[lc]+` must win its characters back from `[Uc]*`, which gives one at a
//!   time until the last is a `c`: the word ends after the last `c` of the run.
//! - No `c` either: the first alternative fails, and the second one ends at `r`.
//!
//! The leading `P` may be a mark. That never changes the end: if more letters follow
//! the mark it is the first of the run either way, and if a word cannot be made
//! of what follows, the mark is a word of its own by the first alternative.

use super::class::{class_at, Class, CASELESS, LOWER, MARK, NEWLINE, NUMBER, OTHER, UPPER};
use super::masks::{first, flood, Ascii, Masks, Window, WINDOW};
use super::run::{class_or_end, contraction_of_any_case, line_end, number_end, run_end};
use super::starts::{number_starts, white_starts};
use super::window::Cuts;
use super::Family;

/// Numbers have at most `DIGITS` digits; words take a contraction if `CONTRACTIONS`.
pub(super) struct O200k<const DIGITS: usize, const CONTRACTIONS: bool>;

/// `c` above.
const EITHER: Class = CASELESS | MARK;
/// What a word is made of.
const WORD: Class = UPPER | LOWER | EITHER;
/// `[^\s\p{L}\p{N}]`
const SIGN: Class = OTHER | MARK;

impl<const DIGITS: usize, const CONTRACTIONS: bool> Family for O200k<DIGITS, CONTRACTIONS> {
    #[inline(always)]
    fn pretoken_end(text: &[u8], start: usize) -> usize {
        let (class, len) = class_at(text, start);
        let next = start + len;
        if class & WORD != 0 {
            return Self::word_end(text, start);
        }
        if class & NUMBER != 0 {
            return number_end(text, start, len, DIGITS);
        }
        let after = class_or_end(text, next);
        if class != NEWLINE && after & WORD != 0 {
            return Self::word_end(text, next);
        }
        if class == OTHER || text[start] == b' ' && after == OTHER {
            return tail_end(text, run_end(text, next, SIGN));
        }
        line_end(text, start, false)
    }

    /// As in the cl100k family, but for what is cut within words and for slashes, which
    /// are signs before the first newline after signs and part of their tail behind it.
    ///
    /// Two neighbourhoods are odd, since what they mean is decided further off: a mark
    /// after a sign (a letter if the sign is the first of its pre-token, else a sign),
    /// and `cU` (one word if an `l` ends this run of `[Uc]`, else two).
    #[inline(always)]
    fn cuts(masks: &Masks, window: &Window) -> Cuts {
        let Ascii {
            newline,
            blank,
            apostrophe,
            slash,
            wide,
            ..
        } = masks.ascii;
        let either = masks.caseless | masks.mark;
        let word = masks.upper | masks.lower | either;
        let tail = flood(newline | slash, masks.other << 1 & newline);
        let sign = masks.other & !tail;
        let gap = masks.white & !newline;
        let signs = first(sign) & !(blank << 1);
        let words = first(word) & !(gap << 1) & !masks.next(signs);
        let mut starts = signs
            | words
            | masks.upper & masks.lower << 1
            | number_starts::<DIGITS>(masks)
            | white_starts(masks.white, newline, tail);
        if CONTRACTIONS {
            let quotes = apostrophe & word << 1 & (masks.upper | masks.lower) >> 1;
            starts = join_contractions(starts, quotes, window);
        }
        let wide_numbers = if DIGITS == 1 { 0 } else { masks.number };
        let odd_marks = masks.mark & masks.other << 1;
        let odd_uppers = masks.upper & either << 1;
        Cuts {
            starts,
            odd: (masks.white | wide_numbers) & wide | odd_marks | odd_uppers,
        }
    }
}

/// Gives words the contractions that begin at `quotes`, but for a quote where such a
/// word ends: that one begins the next.
#[inline(always)]
fn join_contractions(mut starts: u64, mut quotes: u64, window: &Window) -> u64 {
    while quotes != 0 {
        let quote = quotes.trailing_zeros() as usize;
        quotes &= quotes - 1;
        if let Some(letters) = contraction_of_any_case(&window[quote + 1..]) {
            let end = quote + 1 + letters;
            let bit = if end < WINDOW { 1 << end } else { 0 };
            starts = starts & !(((1 << (letters + 1)) - 1) << quote) | bit;
            quotes &= !bit;
        }
    }
    starts
}

impl<const DIGITS: usize, const CONTRACTIONS: bool> O200k<DIGITS, CONTRACTIONS> {
    #[inline(always)]
    fn word_end(text: &[u8], start: usize) -> usize {
        let end = letters_end(text, start);
        if CONTRACTIONS && text.get(end) == Some(&b'\'') {
            let letters = contraction_of_any_case(&text[end + 1..]);
            return letters.map_or(end, |letters| end + 1 + letters);
        }
        end
    }
}

#[inline(always)]
fn letters_end(text: &[u8], start: usize) -> usize {
    let (mut at, mut either_end) = (start, None);
    while at < text.len() {
        let (class, len) = class_at(text, at);
        if class == LOWER {
            return run_end(text, at + len, LOWER | EITHER);
        }
        if class & (UPPER | EITHER) == 0 {
            break;
        }
        at += len;
        if class & EITHER != 0 {
            either_end = Some(at);
        }
    }
    either_end.unwrap_or(at)
}

/// `[\r\n/]*`
#[inline(always)]
fn tail_end(text: &[u8], start: usize) -> usize {
    let tail = text[start..]
        .iter()
        .take_while(|byte| matches!(byte, b'\r' | b'\n' | b'/'));
    start + tail.count()
}
