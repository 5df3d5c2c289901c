//! The GPT-2 rule.

use super::class::{class_at, Class, LETTER, MARK, NUMBER, OTHER, WHITE};
use super::masks::{first, Masks, Window};
use super::run::{class_or_end, contraction, run_end, white_end};
use super::starts::cut_contractions;
use super::window::Cuts;
use super::Family;

/// Letters, numbers, and the rest, each with the space before it.
pub(super) struct Gpt2;

/// `[^\s\p{L}\p{N}]`
const SIGN: Class = OTHER | MARK;

impl Family for Gpt2 {
    #[inline(always)]
    fn pretoken_end(text: &[u8], start: usize) -> usize {
        let (class, len) = class_at(text, start);
        let next = start + len;
        if class & WHITE != 0 {
            let after = class_or_end(text, next);
            return if text[start] == b' ' && after & !WHITE != 0 {
                run_end(text, next, kind(after))
            } else {
                white_end(text, start)
            };
        }
        if text[start] == b'\'' {
            if let Some(letters) = contraction(&text[next..]) {
                return next + letters;
            }
        }
        run_end(text, next, kind(class))
    }

    /// A run of any kind is a pre-token, but for the last character of white space: a
    /// blank goes with what follows, any other is a pre-token of its own.
    #[inline(always)]
    fn cuts(masks: &Masks, window: &Window) -> Cuts {
        let letter = masks.upper | masks.lower | masks.caseless;
        let sign = masks.other | masks.mark;
        let white = masks.white;
        let runs = first(letter) | first(masks.number) | first(sign);
        let starts = runs & !(masks.ascii.blank << 1) | first(white) | white & !(white >> 1);
        let quotes = masks.ascii.apostrophe & first(sign) & !(masks.ascii.blank << 1);
        Cuts {
            starts: cut_contractions(starts, quotes & letter >> 1, window, contraction),
            odd: white & masks.ascii.wide,
        }
    }
}

/// The set that a run goes on with whose first character has this class.
#[inline(always)]
fn kind(class: Class) -> Class {
    if class & LETTER != 0 {
        LETTER
    } else if class & NUMBER != 0 {
        NUMBER
    } else {
        SIGN
    }
}
