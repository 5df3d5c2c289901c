//! Text into counts: the worker's loop.
//!
//! Special tokens divide the text into pieces, each scanned alone. Long pieces are cut further,
//! into blocks that fit in the cache, at the pattern's [cuts](crate::cuts): so that a block is
//! still in the cache after its UTF-8 was checked, and so that progress can be told and counting
//! stopped.

use std::borrow::Cow;
use std::fmt;
use std::ops::ControlFlow;

use crate::cuts::CutRule;
use crate::scan::{scan, Pattern};
use crate::specials::Specials;
use crate::table::tally::Tally;
use crate::table::{CountTable, Overflow};

/// What to do with bytes that are not UTF-8.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Errors {
    /// Stop at the first one.
    Strict,
    /// Count U+FFFD for each maximal part of an ill-formed sequence, as Python's
    /// `errors="replace"` does (Unicode, section 3.9, "Substitution of Maximal Subparts").
    Replace,
}

/// Why a text was not counted to its end. Part of it may have been.
///
/// ```
/// use bpefleet_core::count::CountError;
///
/// let error = CountError::InvalidUtf8 { offset: 3 };
/// assert_eq!(error.to_string(), "invalid UTF-8 at byte 3");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CountError {
    /// The byte at this offset does not start or continue a character.
    InvalidUtf8 {
        /// Offset of the first bad byte in the data.
        offset: usize,
    },
    /// The counts would not fit.
    Overflow(Overflow),
    /// The caller's tick said so.
    Cancelled,
}

impl fmt::Display for CountError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::InvalidUtf8 { offset } => write!(f, "invalid UTF-8 at byte {offset}"),
            Self::Overflow(overflow) => overflow.fmt(f),
            Self::Cancelled => write!(f, "counting was cancelled"),
        }
    }
}

impl std::error::Error for CountError {}

/// Bytes of a block: a fraction of the second cache, as the table wants the rest.
const BLOCK: usize = 128 << 10;

/// Counts the pre-tokens of `data` into `table`; returns how many ill-formed sequences were
/// replaced. `tick` is called after each block with the number of bytes done.
///
/// # Errors
/// [`CountError`]; the table then holds the counts of some part of the data.
///
/// # Examples
/// ```
/// use std::ops::ControlFlow;
///
/// use bpefleet_core::count::{count, CountError, Errors};
/// use bpefleet_core::scan::Pattern;
/// use bpefleet_core::specials::Specials;
/// use bpefleet_core::table::CountTable;
///
/// let specials = Specials::new(&["<|end|>"])?;
/// let mut table = CountTable::new();
/// let mut go_on = |_done| ControlFlow::Continue(());
/// let text = b"a cat<|end|>a \xffcat";
/// let mut counted =
///     |errors| count(text, Pattern::Gpt2, &specials, errors, &mut table, &mut go_on);
/// assert_eq!(counted(Errors::Strict), Err(CountError::InvalidUtf8 { offset: 14 }));
///
/// let mut table = CountTable::new();
/// let replaced = count(text, Pattern::Gpt2, &specials, Errors::Replace, &mut table, &mut go_on)?;
/// assert_eq!((replaced, table.get(b"a"), table.get(b" cat")), (1, 2, 1));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn count(
    data: &[u8],
    pattern: Pattern,
    specials: &Specials,
    errors: Errors,
    table: &mut CountTable,
    tick: &mut dyn FnMut(usize) -> ControlFlow<()>,
) -> Result<u64, CountError> {
    // Pre-tokens have at least one byte (three bytes when replaced, for at least one of `data`).
    let most = data.len() as u64 * 3;
    table.total_with(most).map_err(CountError::Overflow)?;
    let mut tally = Tally::new(table);
    let mut replaced = 0;
    for (start, piece) in specials.pieces(data) {
        let blocks = Blocks {
            piece,
            rule: pattern.into(),
            from: 0,
        };
        for (offset, block) in blocks {
            let (text, bad) = decode(block, start + offset, errors)?;
            replaced += bad;
            scan(pattern, &text, &mut tally);
            if tick(start + offset + block.len()).is_break() {
                return Err(CountError::Cancelled);
            }
        }
    }
    Ok(replaced)
}

/// The text of a block that starts at `offset`, and how many sequences were replaced.
fn decode(block: &[u8], offset: usize, errors: Errors) -> Result<(Cow<'_, str>, u64), CountError> {
    match simdutf8::compat::from_utf8(block) {
        Ok(text) => Ok((Cow::Borrowed(text), 0)),
        Err(error) if errors == Errors::Strict => {
            let offset = offset + error.valid_up_to();
            Err(CountError::InvalidUtf8 { offset })
        }
        Err(_) => {
            let (text, replaced) = replace(block);
            Ok((Cow::Owned(text), replaced))
        }
    }
}

/// `block` with U+FFFD for each ill-formed sequence, and their number.
fn replace(block: &[u8]) -> (String, u64) {
    let mut text = String::with_capacity(block.len() + block.len() / 8);
    let mut replaced = 0;
    for chunk in block.utf8_chunks() {
        text.push_str(chunk.valid());
        if !chunk.invalid().is_empty() {
            text.push(char::REPLACEMENT_CHARACTER);
            replaced += 1;
        }
    }
    (text, replaced)
}

/// A piece in blocks of about `BLOCK` bytes, with their offsets.
struct Blocks<'d> {
    piece: &'d [u8],
    rule: CutRule,
    from: usize,
}

impl<'d> Iterator for Blocks<'d> {
    type Item = (usize, &'d [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        let (start, end) = (self.from, self.piece.len());
        if start == end {
            return None;
        }
        self.from = self
            .rule
            .first(self.piece, start + BLOCK, end)
            .unwrap_or(end);
        Some((start, &self.piece[start..self.from]))
    }
}
