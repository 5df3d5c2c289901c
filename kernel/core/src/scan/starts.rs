//! What the families' algebra of masks has in common.
//!
//! A set of characters is a word of bits, so `set << 1` is "behind one of the set" and
//! `set >> 1` "before one of the set", and a sum runs through a whole run of bits at
//! once. Bits beyond the window count as zeros: what hangs on them comes out wrong, and
//! the loop does not believe it.

use super::masks::{first, flood, Masks, Window, WINDOW};

/// The starts within runs of white space, for the rules that end lines: the run itself
/// but for the `tail` that signs before it took, what follows its last newline, and
/// its last character unless that is a newline.
#[inline(always)]
pub(super) fn white_starts(white: u64, newline: u64, tail: u64) -> u64 {
    let gap = white & !newline;
    let run = white & !tail;
    let mut indent = (newline & run) << 1 & gap;
    let behind = gap.wrapping_add(indent) & !gap & newline;
    if behind != 0 {
        indent = last_indents(indent, gap, newline);
    }
    first(run) | indent | gap & !(white >> 1)
}

/// Those of `indent` whose run of `gap` does not lead to another newline.
#[cold]
fn last_indents(indent: u64, gap: u64, newline: u64) -> u64 {
    let mut last = 0;
    let mut left = indent;
    while left != 0 {
        let bit = left & left.wrapping_neg();
        left ^= bit;
        let end = flood(gap, bit).wrapping_add(bit);
        if end & newline == 0 {
            last |= bit;
        }
    }
    last
}

/// The starts of numbers of at most `DIGITS` digits; wide digits count as they should
/// only if `DIGITS` is one.
#[inline(always)]
pub(super) fn number_starts<const DIGITS: usize>(masks: &Masks) -> u64 {
    let number = masks.number;
    if DIGITS == 1 {
        return number & !masks.continuation;
    }
    let mut starts = first(number);
    // Digits with as many digits right before them: in the run of what a start
    // `DIGITS` bytes before begins.
    let inside = (1..=DIGITS).fold(number, |inside, back| inside & number << back);
    let mut next = starts << DIGITS & inside;
    while next != 0 {
        starts |= next;
        next = next << DIGITS & inside;
    }
    starts
}

/// Cuts out the contractions that begin at `quotes`, all of which are starts.
#[inline(always)]
pub(super) fn cut_contractions(
    mut starts: u64,
    mut quotes: u64,
    window: &Window,
    contraction: impl Fn(&[u8]) -> Option<usize>,
) -> u64 {
    while quotes != 0 {
        let quote = quotes.trailing_zeros() as usize;
        quotes &= quotes - 1;
        if let Some(letters) = contraction(&window[quote + 1..]) {
            starts &= !(2 << quote);
            let end = quote + 1 + letters;
            starts |= if end < WINDOW { 1 << end } else { 0 };
        }
    }
    starts
}
