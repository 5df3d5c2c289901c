//! The class of a character: all that the split rules ask of Unicode.
//!
//! Every named pattern is written in terms of eight disjoint classes, so a class is
//! one bit of a byte and a set of classes is a byte. The table has two stages: the
//! code point without its low six bits names a block of 64 classes, and equal blocks
//! are stored once (24 KiB of classes under a 34 KiB index, of which running text
//! touches a few cache lines). Six bits is what one UTF-8 continuation byte carries:
//! the last byte of a character is the offset in its block, the bytes before it are
//! the block's number, and no code point is ever put together.

#![allow(
    clippy::large_stack_arrays,
    reason = "only the compiler makes them, for the statics"
)]

use super::unicode_tables::{BLOCKS, RUNS};

/// A set of character classes; the class of one character has one bit.
pub(super) type Class = u8;

/// `\p{Lu}` and `\p{Lt}`.
pub(super) const UPPER: Class = 1;
/// `\p{Ll}`.
pub(super) const LOWER: Class = 1 << 1;
/// `\p{Lm}` and `\p{Lo}`: letters without case.
pub(super) const CASELESS: Class = 1 << 2;
/// `\p{M}`.
pub(super) const MARK: Class = 1 << 3;
/// `\p{N}`.
pub(super) const NUMBER: Class = 1 << 4;
/// `\s` other than newlines.
pub(super) const SPACE: Class = 1 << 5;
/// `\r` and `\n`.
pub(super) const NEWLINE: Class = 1 << 6;
/// Everything else.
pub(super) const OTHER: Class = 1 << 7;

/// `\p{L}`.
pub(super) const LETTER: Class = UPPER | LOWER | CASELESS;
/// `\s`.
pub(super) const WHITE: Class = SPACE | NEWLINE;

const BLOCK: usize = 64;
const INDEX_LEN: usize = 0x11_0000 / BLOCK;

static CLASSES: [[Class; BLOCK]; BLOCKS.len()] = classes();
static INDEX: [u16; INDEX_LEN] = index();
static ASCII: [Class; 256] = ascii();

/// The class of the character at byte `at`, and its length in bytes.
///
/// `text` is UTF-8 and `at` is where one of its characters begins.
#[inline(always)]
pub(super) fn class_at(text: &[u8], at: usize) -> (Class, usize) {
    let first = text[at];
    if first < 0x80 {
        (ASCII[usize::from(first)], 1)
    } else {
        wide(usize::from(first), |offset| {
            usize::from(text[at + offset] & 0x3f)
        })
    }
}

/// The class of the character that is not ASCII and begins with the lowest of `bytes`.
#[inline(always)]
pub(super) fn wide_class(bytes: [u8; 4]) -> Class {
    let bytes = u32::from_le_bytes(bytes) as usize;
    wide(bytes & 0xff, |offset| bytes >> (8 * offset) & 0x3f).0
}

/// Class and length of a character given its first byte and the low six bits of those
/// that follow.
#[inline(always)]
fn wide(first: usize, bits: impl Fn(usize) -> usize) -> (Class, usize) {
    if first < 0xe0 {
        (lookup(first & 0x1f, bits(1)), 2)
    } else if first < 0xf0 {
        (lookup((first & 0x0f) << 6 | bits(1), bits(2)), 3)
    } else {
        (
            lookup((first & 0x07) << 12 | bits(1) << 6 | bits(2), bits(3)),
            4,
        )
    }
}

#[inline(always)]
fn lookup(block: usize, offset: usize) -> Class {
    CLASSES[usize::from(INDEX[block])][offset]
}

const fn classes() -> [[Class; BLOCK]; BLOCKS.len()] {
    let mut classes = [[OTHER; BLOCK]; BLOCKS.len()];
    let mut block = 0;
    while block < BLOCKS.len() {
        let mut offset = 0;
        while offset < BLOCK {
            classes[block][offset] = named(BLOCKS[block][offset]);
            offset += 1;
        }
        block += 1;
    }
    classes
}

const fn named(letter: u8) -> Class {
    match letter {
        b'U' => UPPER,
        b'l' => LOWER,
        b'c' => CASELESS,
        b'm' => MARK,
        b'n' => NUMBER,
        b's' => SPACE,
        b'r' => NEWLINE,
        b'.' => OTHER,
        _ => panic!("unicode_tables.rs has a letter that names no class"),
    }
}

const fn index() -> [u16; INDEX_LEN] {
    let mut index = [0; INDEX_LEN];
    let (mut at, mut run) = (0, 0);
    while run < RUNS.len() {
        let (block, times) = RUNS[run];
        let end = at + times as usize;
        while at < end {
            index[at] = block;
            at += 1;
        }
        run += 1;
    }
    assert!(
        at == INDEX_LEN,
        "unicode_tables.rs does not cover all code points"
    );
    index
}

/// Bytes from 0x80 on are not characters: the lookup that leads here has tested that.
const fn ascii() -> [Class; 256] {
    let (classes, index) = (classes(), index());
    let mut ascii = [OTHER; 256];
    let mut byte = 0;
    while byte < 0x80 {
        ascii[byte] = classes[index[byte / BLOCK] as usize][byte % BLOCK];
        byte += 1;
    }
    ascii
}
