//! The texts of JSON Lines: of each record one field, end to end in one buffer.
//!
//! * `cursor` — JSON's grammar: skips whatever is not asked for.
//! * `string` — its strings, and what escapes stand for.
//! * `record` — the way to the field in one record.
//!
//! The grammar is that of Python's `json` module, so that what the one reads the other does:
//! `NaN` and `Infinity` are values, of repeated keys the last counts, a lone surrogate is a
//! character. Three things are allowed beyond it: any depth, any bytes within a string, and a byte
//! order mark before a record. No part of a line is copied but the text; nothing is allocated for
//! a record.

mod cursor;
mod record;
mod string;

use std::fmt;

use memchr::memchr;
use record::{Found, Reader};

/// The texts of some records. See [`texts`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Texts {
    /// The texts, one after the other: UTF-8 as far as the lines are, but a surrogate that has no
    /// other half takes the three bytes that it would have if it were a character.
    pub data: Vec<u8>,
    /// Text `i` is `data[offsets[i]..offsets[i + 1]]`.
    pub offsets: Vec<usize>,
    /// Where in the lines the record of each text begins.
    pub starts: Vec<usize>,
    /// All records, those without a text too.
    pub records: u64,
    /// Records without a text: the field is missing or null.
    pub absent: u64,
    /// The keys of the first record, each once.
    pub fields: Vec<String>,
}

/// A line that is no record with a text, or without one. See [`texts`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LineError {
    /// Where the line begins, bytes.
    pub offset: usize,
    /// How many lines are before it.
    pub line: usize,
    /// What the line is or has, in words that go on after "the line".
    pub reason: String,
}

impl fmt::Display for LineError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the line at byte {} {}", self.offset, self.reason)
    }
}

impl std::error::Error for LineError {}

/// Reads what is at `field`, a way of keys, in each line of `lines`; the last may lack its
/// newline, and blank ones are skipped. A record's own key that is all of the way, with dots between,
/// comes before the way.
///
/// # Errors
/// [`LineError`] for a line that is no JSON object, whose field is neither a string nor null, or
/// where the way to it leads through something other than objects and null.
///
/// ```
/// use bpefleet_core::json::texts;
///
/// let found = texts(b"{\"text\": \"one\"}\n\n{\"text\": null}\n{\"text\": \"\\u00e9\"}", &["text"])?;
/// assert_eq!((&found.data[..], &found.offsets[..]), ("oneé".as_bytes(), &[0, 3, 5][..]));
/// assert_eq!((found.records, found.absent), (3, 1));
///
/// let found = texts(b"{\"a\": {\"b\": \"way\"}, \"a.b\": \"own\"}", &["a", "b"])?;
/// assert_eq!(found.data, b"own");
///
/// let error = texts(b"{}\n{\"text\": 5}", &["text"]).unwrap_err();
/// assert_eq!(
///     error.to_string(),
///     "the line at byte 3 has a number as \"text\", neither a string nor null"
/// );
/// # Ok::<(), bpefleet_core::json::LineError>(())
/// ```
pub fn texts(lines: &[u8], field: &[&str]) -> Result<Texts, LineError> {
    let mut texts = Texts {
        // Enough, as no escape is shorter than what it stands for; what is not used costs nothing.
        data: Vec::with_capacity(lines.len()),
        offsets: vec![0],
        ..Texts::default()
    };
    let mut reader = Reader::new(field);
    for (number, (offset, line)) in Lines::new(lines).enumerate() {
        let error = |reason| LineError {
            offset,
            line: number,
            reason,
        };
        let found = reader.read(line, &mut texts.data).map_err(error)?;
        match found {
            Found::Blank => continue,
            Found::Text => {
                texts.offsets.push(texts.data.len());
                texts.starts.push(offset);
            }
            Found::Absent => texts.absent += 1,
        }
        if texts.records == 0 {
            texts.fields = reader.keys(line);
        }
        texts.records += 1;
    }
    Ok(texts)
}

/// The lines of a text without their newlines, and where they begin.
struct Lines<'d> {
    data: &'d [u8],
    at: usize,
}

impl<'d> Lines<'d> {
    fn new(data: &'d [u8]) -> Self {
        Self { data, at: 0 }
    }
}

impl<'d> Iterator for Lines<'d> {
    type Item = (usize, &'d [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        let start = self.at;
        let rest = &self.data[start..];
        if rest.is_empty() {
            return None;
        }
        let length = memchr(b'\n', rest).unwrap_or(rest.len());
        self.at = self.data.len().min(start + length + 1);
        Some((start, &rest[..length]))
    }
}
