//! Runs of characters: what the alternatives of the split rules are made of.
//!
//! A character at a time, in the words of the regular expressions; the functions
//! that take `start` return where their match ends. The text is UTF-8 and every
//! position is where a character begins, or the end of the text.

use super::class::{class_at, Class, NEWLINE, NUMBER, WHITE};

/// The class of the character at `at`, or no class at the end of the text.
#[inline(always)]
pub(super) fn class_or_end(text: &[u8], at: usize) -> Class {
    if at < text.len() {
        class_at(text, at).0
    } else {
        0
    }
}

/// `[set]*`
#[inline(always)]
pub(super) fn run_end(text: &[u8], start: usize, set: Class) -> usize {
    let mut at = start;
    while at < text.len() {
        let (class, len) = class_at(text, at);
        if class & set == 0 {
            break;
        }
        at += len;
    }
    at
}

/// `\p{N}{1,most}` at a number whose length is `len`.
#[inline(always)]
pub(super) fn number_end(text: &[u8], start: usize, len: usize, most: usize) -> usize {
    let mut at = start + len;
    for _ in 1..most {
        if at == text.len() {
            break;
        }
        let (class, len) = class_at(text, at);
        if class & NUMBER == 0 {
            break;
        }
        at += len;
    }
    at
}

/// `\s+(?!\S)|\s+`: all of a run that ends the text, else all but its last
/// character, which is left for the word to come, unless there is no other.
#[inline(always)]
pub(super) fn white_end(text: &[u8], start: usize) -> usize {
    white_run(text, start).without_last()
}

/// `\s*[\r\n]+|\s+(?!\S)|\s+`: up to the last newline of the run if it has one, else
/// [`white_end`]. With `whole_tail`, a run that ends the text is not cut: `\s++$`
/// comes first.
#[inline(always)]
pub(super) fn line_end(text: &[u8], start: usize, whole_tail: bool) -> usize {
    let run = white_run(text, start);
    if whole_tail && run.end == text.len() {
        run.end
    } else {
        run.newline_end.unwrap_or_else(|| run.without_last())
    }
}

struct WhiteRun {
    start: usize,
    /// Where its last character begins.
    last: usize,
    end: usize,
    /// Where its last newline ends.
    newline_end: Option<usize>,
    ends_text: bool,
}

impl WhiteRun {
    #[inline(always)]
    fn without_last(&self) -> usize {
        if self.ends_text || self.last == self.start {
            self.end
        } else {
            self.last
        }
    }
}

#[inline(always)]
fn white_run(text: &[u8], start: usize) -> WhiteRun {
    let (mut at, mut last, mut newline_end) = (start, start, None);
    while at < text.len() {
        let (class, len) = class_at(text, at);
        if class & WHITE == 0 {
            break;
        }
        last = at;
        at += len;
        if class == NEWLINE {
            newline_end = Some(at);
        }
    }
    WhiteRun {
        start,
        last,
        end: at,
        newline_end,
        ends_text: at == text.len(),
    }
}

/// `[sdmt]|ll|ve|re`: the length of the contraction that `letters`, the text after
/// an apostrophe, begins with.
#[inline(always)]
pub(super) fn contraction(letters: &[u8]) -> Option<usize> {
    match *letters {
        [b's' | b'd' | b'm' | b't', ..] => Some(1),
        [b'l', b'l', ..] | [b'v' | b'r', b'e', ..] => Some(2),
        _ => None,
    }
}

/// `(?i:[sdmt]|ll|ve|re)`: [`contraction`] in any case, which for `s` is also the
/// long s, U+017F.
#[inline(always)]
pub(super) fn contraction_of_any_case(letters: &[u8]) -> Option<usize> {
    match *letters {
        [b's' | b'd' | b'm' | b't' | b'S' | b'D' | b'M' | b'T', ..] => Some(1),
        [b'l' | b'L', b'l' | b'L', ..]
        | [b'v' | b'r' | b'V' | b'R', b'e' | b'E', ..]
        | [0xc5, 0xbf, ..] => Some(2),
        _ => None,
    }
}
