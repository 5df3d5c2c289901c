//! `Sampler`: which documents of a file are taken, as a Python class.

use bpefleet_core::sample;
use bpefleet_core::specials::Specials;
use pyo3::exceptions::PyOverflowError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::bytes::{texts, unsearchable, Bytes, Token};
use crate::errors::guarded;
use crate::json::native;

/// Takes some of a file's documents: by a hash of where each is, and nothing else.
///
/// The hash of a place is output number `place` of the SplitMix64 generator that is seeded with
/// `seed`. A document is taken if its upper 52 bits are less than `share`.
///
/// Args:
///     seed: 64 bits: which file it is.
///     share: The share that is taken, times 2**52.
///
/// Raises:
///     OverflowError: A number is negative or needs more than 64 bits.
#[pyclass(module = "bpefleet.kernel", name = "Sampler", frozen)]
pub(crate) struct Sampler(sample::Sampler);

#[pymethods]
impl Sampler {
    #[new]
    fn new(seed: u64, share: u64) -> Self {
        Self(sample::Sampler::new(seed, share))
    }

    /// The rows that are taken of those from `first` on, as places behind that.
    ///
    /// Args:
    ///     first: The number of the first row.
    ///     count: How many rows there are.
    ///
    /// Returns:
    ///     Native integers of 8 bytes.
    fn rows(&self, py: Python<'_>, first: u64, count: u64) -> PyResult<Py<PyBytes>> {
        let end = first
            .checked_add(count)
            .ok_or_else(|| PyOverflowError::new_err("no table has so many rows"))?;
        guarded(|| {
            let taken = py.detach(|| {
                let rows = self.0.rows(first..end).into_iter();
                let behind = rows.map(|row| usize::try_from(row - first).unwrap_or(usize::MAX));
                behind.collect::<Vec<_>>()
            });
            native(py, &taken)
        })
    }

    /// The lines that are taken; a line's place is where it begins.
    ///
    /// Args:
    ///     data: Whole lines; the last may lack its newline.
    ///     at: The place of the first.
    ///
    /// Returns:
    ///     Stretches of lines.
    fn lines(&self, py: Python<'_>, data: Bytes<'_>, at: u64) -> PyResult<Taken> {
        let data = data.as_ref();
        guarded(|| Taken::new(py, &py.detach(|| self.0.lines(data, at))))
    }

    /// What is taken of the pieces between special tokens; a piece's place is where it begins.
    ///
    /// Args:
    ///     data: A text, or a block of one that ends where a `Cutter` allows it.
    ///     at: The place of its first byte.
    ///     special_tokens: As for `Counts.count`.
    ///     first: Whether the piece that goes on from the block before is taken; None if a piece
    ///         begins here.
    ///
    /// Returns:
    ///     Pieces.
    fn pieces(
        &self,
        py: Python<'_>,
        data: Bytes<'_>,
        at: u64,
        special_tokens: Vec<Token>,
        first: Option<bool>,
    ) -> PyResult<Taken> {
        let data = data.as_ref();
        let specials = Specials::new(&texts(&special_tokens)?);
        let specials = specials.map_err(|error| unsearchable(&error))?;
        guarded(|| Taken::new(py, &py.detach(|| self.0.pieces(data, at, &specials, first))))
    }
}

/// What was taken of some bytes: stretches of them, end to end.
#[pyclass(module = "bpefleet.kernel", name = "Taken", frozen)]
pub(crate) struct Taken {
    /// All of them.
    #[pyo3(get)]
    data: Py<PyBytes>,
    /// Stretch i is `data[offsets[i]:offsets[i + 1]]`: native integers of 8 bytes.
    #[pyo3(get)]
    offsets: Py<PyBytes>,
    /// Where in what it was taken from each begins: native integers of 8 bytes.
    #[pyo3(get)]
    starts: Py<PyBytes>,
    /// Whether the last piece, which the next block goes on with, is taken.
    #[pyo3(get)]
    last: bool,
}

impl Taken {
    fn new(py: Python<'_>, taken: &sample::Taken) -> PyResult<Self> {
        Ok(Self {
            data: PyBytes::new(py, &taken.data).unbind(),
            offsets: native(py, &taken.offsets)?,
            starts: native(py, &taken.starts)?,
            last: taken.last,
        })
    }
}
