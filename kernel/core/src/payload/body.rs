//! The entries of a payload.
//!
//! A pre-token that fits in a word is one byte (its length in the upper four bits, its count in
//! the lower four where that is 1 to 15, else 0), the count minus 16 as a varint where it is
//! larger, then the pre-token's bytes. A longer one is its length minus 16 and its count minus 1,
//! both varints, then its bytes. No form exists for a count of 0.

use std::iter;

use super::cursor::{write_varint, Cursor};
use super::{demand_at_most, Info, Limits, PayloadError};
use crate::table::key::{Key, Mid, Short, LONGEST_KEY};
use crate::table::long::{self, Addition};
use crate::table::words::Words;
use crate::table::CountTable;

/// The largest count that fits in the first byte.
const MAX_INLINE: u64 = 15;
const SHORTEST_LONG: usize = LONGEST_KEY + 1;

/// Appends the entries of `table`.
pub(super) fn write(table: &CountTable, out: &mut Vec<u8>) {
    write_words(&table.short, out);
    write_words(&table.mid, out);
    for (pretoken, count) in table.long.iter() {
        write_varint((pretoken.len() - SHORTEST_LONG) as u64, out);
        write_varint(count - 1, out);
        out.extend_from_slice(pretoken);
    }
}

fn write_words<K: Key>(words: &Words<K>, out: &mut Vec<u8>) {
    for entry in words.iter() {
        let pretoken = entry.key.bytes();
        let length = pretoken.len().to_le_bytes()[0] << 4;
        if entry.count <= MAX_INLINE {
            out.push(length | entry.count.to_le_bytes()[0]);
        } else {
            out.push(length);
            write_varint(entry.count - MAX_INLINE - 1, out);
        }
        // The whole key and then without its padding: a copy of fixed size is faster.
        let end = out.len() + pretoken.len();
        out.extend_from_slice(entry.key.padded());
        out.truncate(end);
    }
}

/// Checks that the body holds exactly what the header says, and no pre-token beyond the limits.
pub(super) fn check(body: &[u8], info: &Info, limits: &Limits) -> Result<(), PayloadError> {
    let mut cursor = Cursor::new(body);
    let mut total = Some(0u64);
    let mut sum = |count| total = total.and_then(|total| total.checked_add(count));
    check_words::<Short>(&mut cursor, info.short, &mut sum)?;
    check_words::<Mid>(&mut cursor, info.mid, &mut sum)?;
    check_longs(&mut cursor, info.long, limits.pretoken, &mut sum)?;
    if !cursor.is_at_end() {
        return Err(PayloadError::Malformed("bytes after the last entry"));
    }
    if total != Some(info.pretokens) {
        return Err(PayloadError::Malformed(
            "the counts do not add up to the total",
        ));
    }
    Ok(())
}

fn check_words<K: Key>(
    cursor: &mut Cursor<'_>,
    entries: u64,
    sum: &mut impl FnMut(u64),
) -> Result<(), PayloadError> {
    let mut last = None;
    for _ in 0..entries {
        let (key, count) = next_word::<K>(cursor).ok_or(BAD_ENTRY)?;
        let place = Some((key.hash(), key));
        if place <= last {
            return Err(OUT_OF_ORDER);
        }
        last = place;
        sum(count);
    }
    Ok(())
}

fn check_longs(
    cursor: &mut Cursor<'_>,
    entries: u64,
    longest: u64,
    sum: &mut impl FnMut(u64),
) -> Result<(), PayloadError> {
    let mut last = None;
    for _ in 0..entries {
        let (pretoken, count) = next_long(cursor).ok_or(BAD_ENTRY)?;
        demand_at_most(longest, pretoken.len() as u64, "bytes of one pre-token")?;
        let place = Some((long::hash(pretoken), pretoken));
        if place <= last {
            return Err(OUT_OF_ORDER);
        }
        last = place;
        sum(count);
    }
    Ok(())
}

const BAD_ENTRY: PayloadError = PayloadError::Malformed("an entry that cannot be read");
const OUT_OF_ORDER: PayloadError = PayloadError::Malformed("entries out of order or repeated");

/// Adds the counts of a body that was checked.
pub(super) fn fold(body: &[u8], info: &Info, table: &mut CountTable) -> Result<(), PayloadError> {
    let mut cursor = Cursor::new(body);
    let size = |entries| usize::try_from(entries).map_err(|_| BAD_ENTRY);
    fold_words(&mut cursor, size(info.short)?, &mut table.short);
    fold_words(&mut cursor, size(info.mid)?, &mut table.mid);
    table.long.reserve(size(info.long)?);
    for _ in 0..info.long {
        let (pretoken, count) = next_long(&mut cursor).ok_or(BAD_ENTRY)?;
        let hash = long::hash(pretoken);
        table.long.add(&Addition {
            hash,
            pretoken,
            count,
        });
    }
    Ok(())
}

fn fold_words<K: Key>(cursor: &mut Cursor<'_>, entries: usize, words: &mut Words<K>) {
    words.fold(entries, iter::from_fn(|| next_word(cursor)).take(entries));
}

/// The next entry of a width; `None` for bytes that are none.
#[inline]
fn next_word<K: Key>(cursor: &mut Cursor<'_>) -> Option<(K, u64)> {
    let first = cursor.byte()?;
    let length = usize::from(first >> 4);
    let count = match u64::from(first) & MAX_INLINE {
        0 => cursor.varint()?.checked_add(MAX_INLINE + 1)?,
        inline => inline,
    };
    if !(K::MIN..=K::MAX).contains(&length) {
        return None;
    }
    let (start, end) = cursor.span(length)?;
    Some((K::read(cursor.bytes(), start, end), count))
}

/// The next long entry; `None` for bytes that are none.
#[inline]
fn next_long<'b>(cursor: &mut Cursor<'b>) -> Option<(&'b [u8], u64)> {
    let length = usize::try_from(cursor.varint()?).ok()?;
    let count = cursor.varint()?.checked_add(1)?;
    let (start, end) = cursor.span(length.checked_add(SHORTEST_LONG)?)?;
    Some((&cursor.bytes()[start..end], count))
}
