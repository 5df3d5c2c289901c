//! The entries of a payload: the three widths one after the other, each in hash order.

use super::cursor::Cursor;
use super::form::{self, Form, Long, Word};
use super::{demand_at_most, Info, Limits, PayloadError};
use crate::table::key::{Key, Mid, Short};
use crate::table::words::Words;
use crate::table::CountTable;

/// How many of its least hashes [`check`](super::check) notes.
pub const SAMPLE: usize = 2048;

pub(super) const BAD_ENTRY: PayloadError = PayloadError::Malformed("an entry that cannot be read");
pub(super) const OUT_OF_ORDER: PayloadError =
    PayloadError::Malformed("entries out of order or repeated");
pub(super) const TRAILING: PayloadError = PayloadError::Malformed("bytes after the last entry");
pub(super) const WRONG_TOTAL: PayloadError =
    PayloadError::Malformed("the counts do not add up to the total");

/// Appends the entries of `table`.
pub(super) fn write(table: &CountTable, out: &mut Vec<u8>) {
    write_words(&table.short, out);
    write_words(&table.mid, out);
    for (pretoken, count) in table.long.iter() {
        Long::write(pretoken, count, out);
    }
}

fn write_words<K: Key>(words: &Words<K>, out: &mut Vec<u8>) {
    for entry in words.iter() {
        Word::write(entry.key, entry.count, out);
    }
}

/// Checks that the body holds exactly what the header says, and counts no more text than allowed.
/// Adds to what is known of it: the text, and the [`SAMPLE`] least hashes.
pub(super) fn check(body: &[u8], info: &mut Info, limits: &Limits) -> Result<(), PayloadError> {
    let mut cursor = Cursor::new(body);
    let mut total = Some(0u64);
    let mut text = 0u64;
    let mut least = Vec::new();
    let mut sum = |length: u64, count: u64| {
        total = total.and_then(|total| total.checked_add(count));
        text = text.saturating_add(length.saturating_mul(count));
    };
    check_width::<Word<Short>>(&mut cursor, info.short, &mut sum, &mut least)?;
    check_width::<Word<Mid>>(&mut cursor, info.mid, &mut sum, &mut least)?;
    check_width::<Long>(&mut cursor, info.long, &mut sum, &mut least)?;
    if !cursor.is_at_end() {
        return Err(TRAILING);
    }
    if total != Some(info.pretokens) {
        return Err(WRONG_TOTAL);
    }
    demand_at_most(limits.text, text, "bytes of text")?;
    least.sort_unstable();
    least.truncate(SAMPLE);
    (info.text, info.least_hashes) = (text, least);
    Ok(())
}

fn check_width<F: Form>(
    cursor: &mut Cursor<'_>,
    entries: u64,
    sum: &mut impl FnMut(u64, u64),
    least: &mut Vec<u64>,
) -> Result<(), PayloadError> {
    let enough = least.len() + SAMPLE;
    let mut before = None;
    for _ in 0..entries {
        let entry = F::read(cursor).ok_or(BAD_ENTRY)?;
        let place = Some(entry.place());
        if place <= before {
            return Err(OUT_OF_ORDER);
        }
        before = place;
        if least.len() < enough {
            least.push(entry.hash);
        }
        sum(F::length(entry.pretoken), entry.count);
    }
    Ok(())
}

/// The pre-tokens of a body that was checked, with their counts.
#[derive(Clone)]
pub(super) struct Pretokens<'b> {
    cursor: Cursor<'b>,
    words: u64,
}

impl<'b> Pretokens<'b> {
    pub(super) fn new(body: &'b [u8], info: &Info) -> Self {
        Self {
            cursor: Cursor::new(body),
            words: info.short + info.mid,
        }
    }
}

impl<'b> Iterator for Pretokens<'b> {
    type Item = (&'b [u8], u64);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        let Some(words) = self.words.checked_sub(1) else {
            return form::long_word(&mut self.cursor);
        };
        self.words = words;
        let ((start, end), count) = form::word(&mut self.cursor)?;
        Some((&self.cursor.bytes()[start..end], count))
    }
}
