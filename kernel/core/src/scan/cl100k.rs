//! The family of `cl100k_base`: GPT-4, nanochat, Llama 3, Qwen.
//!
//! `\s*[\r\n]` (gpt4) and `\s*[\r\n]+` (llama3) match the same: either way the last
//! newline of the run is the last character. The members differ in how many digits a
//! number has, and in whether a run of white space that ends the text is cut.

use super::class::{class_at, Class, LETTER, MARK, NEWLINE, NUMBER, OTHER, SPACE};
use super::masks::{first, flood, Ascii, Masks, Window};
use super::run::{class_or_end, contraction_of_any_case, line_end, number_end, run_end};
use super::starts::{cut_contractions, number_starts, white_starts};
use super::window::Cuts;
use super::Family;

/// Numbers have at most `DIGITS` digits; `WHOLE_TAIL` is the alternative `\s++$`.
pub(super) struct Cl100k<const DIGITS: usize, const WHOLE_TAIL: bool>;

/// `[^\s\p{L}\p{N}]`
const SIGN: Class = OTHER | MARK;

impl<const DIGITS: usize, const WHOLE_TAIL: bool> Family for Cl100k<DIGITS, WHOLE_TAIL> {
    #[inline(always)]
    fn pretoken_end(text: &[u8], start: usize) -> usize {
        let (class, len) = class_at(text, start);
        let next = start + len;
        if class & LETTER != 0 {
            return run_end(text, next, LETTER);
        }
        if class & NUMBER != 0 {
            return number_end(text, start, len, DIGITS);
        }
        if text[start] == b'\'' {
            if let Some(letters) = contraction_of_any_case(&text[next..]) {
                return next + letters;
            }
        }
        let after = class_or_end(text, next);
        if class != NEWLINE && after & LETTER != 0 {
            return run_end(text, next, LETTER);
        }
        if class & SIGN != 0 || text[start] == b' ' && after & SIGN != 0 {
            let signs = run_end(text, next, SIGN);
            return run_end(text, signs, NEWLINE);
        }
        debug_assert!(class & (SPACE | NEWLINE) != 0);
        line_end(text, start, WHOLE_TAIL)
    }

    /// The last white character before a letter goes with it, as does a lone sign; the
    /// last blank before signs goes with them, and newlines go with the signs before.
    #[inline(always)]
    fn cuts(masks: &Masks, window: &Window) -> Cuts {
        let Ascii {
            newline,
            blank,
            apostrophe,
            wide,
            ..
        } = masks.ascii;
        let letter = masks.upper | masks.lower | masks.caseless;
        let sign = masks.other | masks.mark;
        let tail = flood(newline, sign << 1 & newline);
        let gap = masks.white & !newline;
        let signs = first(sign) & !(blank << 1);
        let letters = first(letter) & !(gap << 1) & !masks.next(signs);
        let starts = signs
            | letters
            | number_starts::<DIGITS>(masks)
            | white_starts(masks.white, newline, tail);
        let quotes = apostrophe & signs & letter >> 1;
        let wide_numbers = if DIGITS == 1 { 0 } else { masks.number };
        Cuts {
            starts: cut_contractions(starts, quotes, window, contraction_of_any_case),
            odd: (masks.white | wide_numbers) & wide,
        }
    }
}
