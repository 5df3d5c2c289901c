//! Which bytes of a window are which ASCII characters.
//!
//! Two ways to the same masks. [`portable`] has no intrinsic in it: a loop over bytes
//! and two over words, written so that compilers turn them into whatever vector
//! instructions the target has always. [`avx2`] compares 32 bytes at a time and takes
//! the mask of each comparison as it is; where the machine has AVX2 the whole scan is
//! 1.7 to 1.9 times as fast with it on ASCII. The same in AVX-512 gained another 5 %
//! and was left out, as was a table of 256 kinds in the portable way (0.7 times).

use super::masks::{Ascii, Window, WINDOW};

#[cfg(target_arch = "x86_64")]
pub(super) mod avx2;

// The kinds of ASCII characters, a bit each; the two that are shared are told apart
// by WHITE, so that eight bits are enough.
const UPPER: u8 = 1;
const LOWER: u8 = 1 << 1;
const NUMBER: u8 = 1 << 2;
const WHITE: u8 = 1 << 3;
/// A newline if white, else a slash.
const BREAK: u8 = 1 << 4;
/// U+0020 if white, else an apostrophe.
const JOIN: u8 = 1 << 5;
const WIDE: u8 = 1 << 6;
const LEAD: u8 = 1 << 7;

/// The masks of a window, on any machine: a byte of kinds for each byte of text, then
/// [`transpose`].
#[inline(always)]
pub(super) fn portable(window: &Window) -> Ascii {
    let mut kinds = [0; size_of::<Window>()];
    for (kind, &byte) in kinds.iter_mut().zip(&window[..WINDOW]) {
        *kind = kinds_of(byte);
    }
    let [upper, lower, number, white, breaks, joins, wide, lead] = transpose(&kinds);
    Ascii {
        upper,
        lower,
        number,
        white,
        newline: breaks & white,
        blank: joins & white,
        apostrophe: joins & !white,
        slash: breaks & !white,
        wide,
        lead,
    }
}

/// Which bytes of a window have each bit: the matrix of 64 bytes by 8 bits turned into
/// one of 8 by 64.
#[inline(always)]
pub(super) fn transpose(kinds: &Window) -> [u64; 8] {
    let mut words = [0; 8];
    for (word, group) in words.iter_mut().zip(kinds.chunks_exact(8)) {
        let mut bytes = [0; 8];
        bytes.copy_from_slice(group);
        *word = u64::from_le_bytes(bytes);
    }
    transpose_bits(&mut words);
    transpose_bytes(words)
}

/// Without a branch or a table, so that it can be done to many bytes at once.
#[inline(always)]
fn kinds_of(byte: u8) -> u8 {
    let within = |least: u8, most: u8| byte.wrapping_sub(least) <= most - least;
    let bit = |is: bool, kind: u8| if is { kind } else { 0 };
    bit(within(b'A', b'Z'), UPPER)
        | bit(within(b'a', b'z'), LOWER)
        | bit(within(b'0', b'9'), NUMBER)
        | bit(within(b'\t', b'\r'), WHITE)
        | bit(byte == b'\n', BREAK)
        | bit(byte == b'\r', BREAK)
        | bit(byte == b'/', BREAK)
        | bit(byte == b' ', WHITE | JOIN)
        | bit(byte == b'\'', JOIN)
        | bit(byte >= 0x80, WIDE)
        | bit(byte >= 0xc0, LEAD)
}

/// Transposes each word as a matrix of 8 by 8 bits, a byte a row: single bits, then
/// squares of 2 by 2, then of 4 by 4 change places across the diagonal.
#[inline(always)]
fn transpose_bits(words: &mut [u64; 8]) {
    for (shift, mask) in [
        (7, 0x00aa_00aa_00aa_00aa),
        (14, 0x0000_cccc_0000_cccc),
        (28, 0x0000_0000_f0f0_f0f0),
    ] {
        for word in words.iter_mut() {
            let moved = (*word ^ (*word >> shift)) & mask;
            *word ^= moved ^ (moved << shift);
        }
    }
}

/// Transposes eight words as a matrix of 8 by 8 bytes.
#[inline(always)]
fn transpose_bytes(words: [u64; 8]) -> [u64; 8] {
    let mut columns = [[0; 8]; 8];
    for (row, word) in words.into_iter().enumerate() {
        for (column, byte) in columns.iter_mut().zip(word.to_le_bytes()) {
            column[row] = byte;
        }
    }
    columns.map(u64::from_le_bytes)
}
