//! How an entry is written.
//!
//! A pre-token that fits in a word is one byte (its length in the upper four bits, its count in
//! the lower four where that is 1 to 15, else 0), the count minus 16 as a varint where it is
//! larger, then the pre-token's bytes. A longer one is its length minus 16 and its count minus 1,
//! both varints, then its bytes. No form exists for a count of 0.

use std::marker::PhantomData;

use super::cursor::{write_varint, Cursor};
use crate::table::key::{Key, LONGEST_KEY};
use crate::table::long;

/// The largest count that fits in the first byte.
const MAX_INLINE: u64 = 15;
const SHORTEST_LONG: usize = LONGEST_KEY + 1;

/// A pre-token with its hash and count.
#[derive(Clone, Copy)]
pub(super) struct Entry<P> {
    pub(super) hash: u64,
    pub(super) pretoken: P,
    pub(super) count: u64,
}

impl<P: Copy + Ord> Entry<P> {
    /// What entries are ordered by.
    #[inline]
    pub(super) fn place(&self) -> (u64, P) {
        (self.hash, self.pretoken)
    }
}

/// One of the three widths.
pub(super) trait Form {
    /// A pre-token of this width in a payload of lifetime `'b`.
    type Pretoken<'b>: Copy + Ord;

    /// The next entry; `None` for bytes that are none.
    fn read<'b>(cursor: &mut Cursor<'b>) -> Option<Entry<Self::Pretoken<'b>>>;
    /// Passes over the next entry: its count.
    fn pass(cursor: &mut Cursor<'_>) -> Option<u64>;
    /// Appends an entry.
    fn write(pretoken: Self::Pretoken<'_>, count: u64, out: &mut Vec<u8>);
    /// Bytes of a pre-token.
    fn length(pretoken: Self::Pretoken<'_>) -> u64;
}

/// Pre-tokens that fit in a `K`.
pub(super) struct Word<K>(PhantomData<K>);

impl<K: Key> Form for Word<K> {
    type Pretoken<'b> = K;

    #[inline]
    fn read(cursor: &mut Cursor<'_>) -> Option<Entry<K>> {
        let ((start, end), count) = word(cursor)?;
        if !(K::MIN..=K::MAX).contains(&(end - start)) {
            return None;
        }
        let pretoken = K::read(cursor.bytes(), start, end);
        Some(Entry {
            hash: pretoken.hash(),
            pretoken,
            count,
        })
    }

    #[inline]
    fn pass(cursor: &mut Cursor<'_>) -> Option<u64> {
        word(cursor).map(|(_, count)| count)
    }

    #[inline]
    fn write(pretoken: K, count: u64, out: &mut Vec<u8>) {
        let bytes = pretoken.bytes();
        let length = bytes.len().to_le_bytes()[0] << 4;
        if count <= MAX_INLINE {
            out.push(length | count.to_le_bytes()[0]);
        } else {
            out.push(length);
            write_varint(count - MAX_INLINE - 1, out);
        }
        // The whole key and then without its padding: a copy of fixed size is faster.
        let end = out.len() + bytes.len();
        out.extend_from_slice(pretoken.padded());
        out.truncate(end);
    }

    #[inline]
    fn length(pretoken: K) -> u64 {
        pretoken.bytes().len() as u64
    }
}

/// Pre-tokens that fit in no word.
pub(super) struct Long;

impl Form for Long {
    type Pretoken<'b> = &'b [u8];

    #[inline]
    fn read<'b>(cursor: &mut Cursor<'b>) -> Option<Entry<&'b [u8]>> {
        let (pretoken, count) = long_word(cursor)?;
        Some(Entry {
            hash: long::hash(pretoken),
            pretoken,
            count,
        })
    }

    #[inline]
    fn pass(cursor: &mut Cursor<'_>) -> Option<u64> {
        long_word(cursor).map(|(_, count)| count)
    }

    #[inline]
    fn write(pretoken: &[u8], count: u64, out: &mut Vec<u8>) {
        write_varint((pretoken.len() - SHORTEST_LONG) as u64, out);
        write_varint(count - 1, out);
        out.extend_from_slice(pretoken);
    }

    #[inline]
    fn length(pretoken: &[u8]) -> u64 {
        pretoken.len() as u64
    }
}

/// Where the next pre-token that fits in a word starts and ends, and its count.
#[inline]
pub(super) fn word(cursor: &mut Cursor<'_>) -> Option<((usize, usize), u64)> {
    let first = cursor.byte()?;
    let count = match u64::from(first) & MAX_INLINE {
        0 => cursor.varint()?.checked_add(MAX_INLINE + 1)?,
        inline => inline,
    };
    Some((cursor.span(usize::from(first >> 4))?, count))
}

/// The next pre-token that fits in no word, and its count.
#[inline]
pub(super) fn long_word<'b>(cursor: &mut Cursor<'b>) -> Option<(&'b [u8], u64)> {
    let length = usize::try_from(cursor.varint()?).ok()?;
    let count = cursor.varint()?.checked_add(1)?;
    let (start, end) = cursor.span(length.checked_add(SHORTEST_LONG)?)?;
    Some((&cursor.bytes()[start..end], count))
}
