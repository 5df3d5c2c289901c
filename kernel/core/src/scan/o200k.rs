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
use super::run::{class_or_end, contraction_of_any_case, line_end, number_end, run_end};
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
