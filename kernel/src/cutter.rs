//! `Cutter`: the search for cuts as a Python class.

use bpefleet_core::cuts::{self, CutRule};
use pyo3::prelude::*;

use crate::bytes::{texts, unsearchable, Bytes, Token};
use crate::errors::guarded;

/// Finds the places where text may be cut, so that its parts count as the whole does.
///
/// These are the starts of special tokens, and for the rules in `CUT_RULES` places between two
/// characters: before white space, behind newlines, and between a Han or kana letter and a
/// sign. No place within an occurrence of a special token is one.
///
/// Args:
///     pattern: The name of a split rule. Of one that is not in `CUT_RULES` text is cut at
///         special tokens only.
///     special_tokens: As `str`, or their UTF-8 as `bytes`.
///
/// Raises:
///     ValueError: An empty special token, or one that is not UTF-8.
#[pyclass(module = "bpefleet.kernel", name = "Cutter", frozen)]
pub(crate) struct Cutter {
    cutter: cuts::Cutter,
}

#[pymethods]
impl Cutter {
    #[new]
    #[pyo3(signature = (pattern, special_tokens = Vec::new()))]
    fn new(pattern: &str, special_tokens: Vec<Token>) -> PyResult<Self> {
        let rule = CutRule::from_name(pattern);
        let cutter = cuts::Cutter::new(rule, &texts(&special_tokens)?);
        Ok(Self {
            cutter: cutter.map_err(|error| unsearchable(&error))?,
        })
    }

    /// Bytes on both sides of a place that decide whether it is a cut.
    #[getter]
    fn reach(&self) -> usize {
        self.cutter.reach()
    }

    /// The first cut in `data[start:end]`. The GIL is released meanwhile.
    ///
    /// Args:
    ///     data: UTF-8, or what should be; any buffer. It must hold `reach` bytes on both sides of
    ///         the range, or begin or end with the text.
    ///     start: Offset in `data`, bytes.
    ///     end: Likewise; beyond the end of `data` it means that end.
    ///
    /// Returns:
    ///     Its offset in `data`, never 0; None if there is none.
    fn first(
        &self,
        py: Python<'_>,
        data: Bytes<'_>,
        start: usize,
        end: usize,
    ) -> PyResult<Option<usize>> {
        let data = data.as_ref();
        guarded(|| Ok(py.detach(|| self.cutter.first(data, start, end))))
    }

    /// The last cut in `data[start:end]`. The GIL is released meanwhile.
    ///
    /// Args:
    ///     data: As for `first`.
    ///     start: Offset in `data`, bytes.
    ///     end: Likewise.
    ///
    /// Returns:
    ///     Its offset in `data`, never 0; None if there is none.
    fn last(
        &self,
        py: Python<'_>,
        data: Bytes<'_>,
        start: usize,
        end: usize,
    ) -> PyResult<Option<usize>> {
        let data = data.as_ref();
        guarded(|| Ok(py.detach(|| self.cutter.last(data, start, end))))
    }
}
