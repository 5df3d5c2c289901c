//! Text into counts: the worker's loop.
//!
//! A text is a file's, or each of many documents'. Special tokens divide it into pieces, each
//! scanned alone. Long pieces are cut further,
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

impl CountError {
    /// The same with an offset in what begins so many bytes before the data.
    #[must_use]
    pub fn behind(self, bytes: usize) -> Self {
        match self {
            Self::InvalidUtf8 { offset } => Self::InvalidUtf8 {
                offset: bytes + offset,
            },
            other => other,
        }
    }
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

/// Bytes between ticks at least: texts may be short, and a tick asks for the time.
pub(crate) const TICK: usize = 64 << 10;

/// Counts the pre-tokens of `data` into `table`; returns how many ill-formed sequences were
/// replaced. `tick` is called now and then with the number of bytes done.
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
    let mut counter = Counter::new(pattern, specials, errors, table, data.len(), tick)?;
    counter.text(data, 0)?;
    Ok(counter.replaced)
}

/// Counts the pre-tokens of documents, each scanned alone; otherwise as [`count`] does. Document
/// `i` is `data[offsets[i]..offsets[i + 1]]`. The bytes that `tick` is told, and the offset of an
/// error, are places in `data`.
///
/// # Errors
/// [`CountError`]; the table then holds the counts of some part of the data.
///
/// # Panics
/// Where offsets descend or lie outside; see [`offsets`](crate::offsets).
///
/// # Examples
/// ```
/// use std::ops::ControlFlow;
///
/// use bpefleet_core::count::{count_documents, Errors};
/// use bpefleet_core::scan::Pattern;
/// use bpefleet_core::specials::Specials;
/// use bpefleet_core::table::CountTable;
///
/// let (text, documents) = (b"a cat sat", &[0, 4, 9]);
/// let specials = Specials::new(&[])?;
/// let mut table = CountTable::new();
/// let (pattern, errors) = (Pattern::Gpt2, Errors::Strict);
/// let mut go_on = |_done| ControlFlow::Continue(());
/// count_documents(text, documents, pattern, &specials, errors, &mut table, &mut go_on)?;
/// assert_eq!((table.get(b" ca"), table.get(b"t"), table.get(b" sat")), (1, 1, 1));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn count_documents(
    data: &[u8],
    offsets: &[usize],
    pattern: Pattern,
    specials: &Specials,
    errors: Errors,
    table: &mut CountTable,
    tick: &mut dyn FnMut(usize) -> ControlFlow<()>,
) -> Result<u64, CountError> {
    let mut counter = Counter::new(pattern, specials, errors, table, data.len(), tick)?;
    for document in offsets.windows(2) {
        counter.text(&data[document[0]..document[1]], document[0])?;
    }
    Ok(counter.replaced)
}

/// Counts texts into a table, and tells how far it is.
struct Counter<'c> {
    pattern: Pattern,
    specials: &'c Specials,
    errors: Errors,
    tally: Tally<'c>,
    tick: &'c mut dyn FnMut(usize) -> ControlFlow<()>,
    told: usize,
    replaced: u64,
}

impl<'c> Counter<'c> {
    /// A counter for texts of so many `bytes` together.
    fn new(
        pattern: Pattern,
        specials: &'c Specials,
        errors: Errors,
        table: &'c mut CountTable,
        bytes: usize,
        tick: &'c mut dyn FnMut(usize) -> ControlFlow<()>,
    ) -> Result<Self, CountError> {
        // Pre-tokens have at least one byte (three bytes when replaced, for at least one given).
        table
            .total_with(bytes as u64 * 3)
            .map_err(CountError::Overflow)?;
        Ok(Self {
            pattern,
            specials,
            errors,
            tally: Tally::new(table),
            tick,
            told: 0,
            replaced: 0,
        })
    }

    /// Counts a text that starts at the offset `at`.
    fn text(&mut self, text: &[u8], at: usize) -> Result<(), CountError> {
        for (start, piece) in self.specials.pieces(text) {
            for (offset, block) in Blocks::new(piece, self.pattern) {
                let offset = at + start + offset;
                let (text, replaced) = decode(block, offset, self.errors)?;
                self.replaced += replaced;
                scan(self.pattern, &text, &mut self.tally);
                self.tell(offset + block.len())?;
            }
        }
        Ok(())
    }

    /// Calls the tick where enough was done since it was called.
    fn tell(&mut self, done: usize) -> Result<(), CountError> {
        if done - self.told < TICK {
            return Ok(());
        }
        self.told = done;
        match (self.tick)(done) {
            ControlFlow::Continue(()) => Ok(()),
            ControlFlow::Break(()) => Err(CountError::Cancelled),
        }
    }
}

/// The text of a block that starts at `offset`, and how many sequences were replaced.
pub(crate) fn decode(
    block: &[u8],
    offset: usize,
    errors: Errors,
) -> Result<(Cow<'_, str>, u64), CountError> {
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
pub(crate) struct Blocks<'d> {
    piece: &'d [u8],
    rule: CutRule,
    from: usize,
}

impl<'d> Blocks<'d> {
    pub(crate) fn new(piece: &'d [u8], pattern: Pattern) -> Self {
        Self {
            piece,
            rule: pattern.into(),
            from: 0,
        }
    }
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
