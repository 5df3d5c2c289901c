//! `merge`: the merge loop as a Python function.

use std::ops::ControlFlow;

use bpefleet_core::merge::{Arena, Merge, MergeError, Merged as Outcome, Options, TieBreak};
use bpefleet_core::payload::Folded;
use bpefleet_core::table::CountTable;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::counts::Counts;
use crate::errors::{guarded, CountOverflow, KernelError, KernelPanic, MergeTooLarge};
use crate::folded::FoldedCounts;
use crate::ticker::Ticker;

/// Counts in either form.
#[derive(FromPyObject)]
pub(crate) enum Source<'py> {
    Counted(Bound<'py, Counts>),
    Folded(Bound<'py, FoldedCounts>),
}

impl Source<'_> {
    fn arena(
        &self,
        py: Python<'_>,
        tick: &mut (dyn FnMut(&[Merge]) -> ControlFlow<()> + Send),
    ) -> PyResult<Result<Arena, MergeError>> {
        Ok(match self {
            Self::Counted(counts) => {
                let table = &counts.try_borrow()?.table;
                py.detach(|| Arena::build(table.iter(), tick))
            }
            Self::Folded(counts) => {
                let folded = &counts.try_borrow()?.folded;
                py.detach(|| Arena::build(folded.iter(), tick))
            }
        })
    }

    fn clear(&self) -> PyResult<()> {
        match self {
            Self::Counted(counts) => counts.try_borrow_mut()?.table = CountTable::new(),
            Self::Folded(counts) => counts.try_borrow_mut()?.folded = Folded::default(),
        }
        Ok(())
    }
}

/// What came of merging.
#[pyclass(module = "bpefleet.kernel", name = "Merged", frozen, eq)]
#[derive(PartialEq)]
pub(crate) struct Merged(Outcome);

#[pymethods]
impl Merged {
    /// The left id, the right id and the count of each merge, in order.
    #[getter]
    fn merges(&self) -> Vec<(u32, u32, u64)> {
        tuples(&self.0.merges)
    }

    /// Bytes of all pre-tokens, each as often as it was counted.
    #[getter]
    fn bytes(&self) -> u64 {
        self.0.bytes
    }

    /// The tokens that these become when they are encoded with all merges.
    #[getter]
    fn tokens(&self) -> u64 {
        self.0.tokens
    }
}

/// Merge the most frequent pair of neighbouring tokens, again and again.
///
/// Bytes are the ids 0 to 255; merge number i makes the id 256 + i. Fewer merges come back when no
/// pair is left, or none that occurs often enough. The GIL is released meanwhile.
///
/// Args:
///     counts: The pre-tokens: `Counts` or `FoldedCounts`.
///     merges: How many to make at most, 0 or more.
///     tie_break: Which of several most frequent pairs wins, a name in `TIE_BREAKS`.
///     min_frequency: Pairs that occur less often are not merged.
///     max_token_length: Longer tokens are not made; in bytes.
///     progress: Called about ten times a second with the merges made since the call before, in
///         the form of `Merged.merges`. What it raises ends the call.
///     consume: Take the counts away as soon as they have been read: `counts` is empty
///         afterwards, and its memory is free for the merging.
///
/// Returns:
///     The merges, and how many tokens the pre-tokens are with them.
///
/// Raises:
///     MergeTooLarge: The different pre-tokens together are too long.
///     CountOverflow: The sum of all counted bytes does not fit in 64 bits.
///     ValueError: No such tie rule.
#[pyfunction]
#[pyo3(signature = (counts, merges, *, tie_break = "lexmax", min_frequency = 0, max_token_length = None, progress = None, consume = false))]
#[allow(clippy::too_many_arguments, reason = "keywords in Python")]
pub(crate) fn merge(
    py: Python<'_>,
    counts: Source<'_>,
    merges: usize,
    tie_break: &str,
    min_frequency: u64,
    max_token_length: Option<usize>,
    progress: Option<Py<PyAny>>,
    consume: bool,
) -> PyResult<Merged> {
    let tie_break = TieBreak::from_name(tie_break)
        .ok_or_else(|| PyValueError::new_err(format!("no tie rule {tie_break:?}")))?;
    let options = Options {
        merges,
        tie_break,
        min_frequency,
        max_token_length,
    };
    let mut ticker = Ticker::new(progress);
    let mut told = 0;
    let mut tick = |made: &[Merge]| {
        ticker.tick(|py, call| {
            let new = &made[told..];
            told = made.len();
            call.call1(py, (tuples(new),))
        })
    };
    let outcome = guarded(|| {
        let arena = counts.arena(py, &mut tick)?;
        if consume && arena.is_ok() {
            counts.clear()?;
        }
        Ok(py.detach(|| arena?.merge(&options, &mut tick)))
    })?;
    outcome
        .map(Merged)
        .map_err(|error| from_merge(&error, ticker.into_raised()))
}

fn tuples(made: &[Merge]) -> Vec<(u32, u32, u64)> {
    made.iter()
        .map(|merge| (merge.left, merge.right, merge.count))
        .collect()
}

/// The exception for an error of merging. `cancelled` is what made the ticker cancel.
fn from_merge(error: &MergeError, cancelled: Option<PyErr>) -> PyErr {
    let text = error.to_string();
    match error {
        MergeError::TooLarge { .. } => MergeTooLarge::new_err(text),
        MergeError::Overflow => CountOverflow::new_err(text),
        MergeError::Repeated => KernelPanic::new_err(text),
        MergeError::Cancelled => cancelled.unwrap_or_else(|| KernelError::new_err(text)),
    }
}
