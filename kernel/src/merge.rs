//! `merge`: the merge loop as a Python function.

use std::num::NonZeroUsize;
use std::ops::ControlFlow;

use bpefleet_core::merge::{Merge, MergeError, Merged as Outcome, Options, Shards, TieBreak};
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
    /// Laid out for so many threads, or for as many as are worth it.
    fn shards(
        &self,
        py: Python<'_>,
        threads: Option<usize>,
        tick: &mut (dyn FnMut(&[Merge]) -> ControlFlow<()> + Send),
    ) -> PyResult<Result<Shards, MergeError>> {
        Ok(match self {
            Self::Counted(counts) => {
                let table = &counts.try_borrow()?.table;
                let threads = threads.unwrap_or_else(|| suited(table.len() as u64));
                py.detach(|| Shards::build(table.iter(), threads, tick))
            }
            Self::Folded(counts) => {
                let folded = &*counts.try_borrow()?;
                let threads = threads.unwrap_or_else(|| suited(folded.unique()));
                py.detach(|| Shards::build(folded.iter(), threads, tick))
            }
        })
    }

    fn clear(&self) -> PyResult<()> {
        match self {
            Self::Counted(counts) => counts.try_borrow_mut()?.table = CountTable::new(),
            Self::Folded(counts) => counts.try_borrow_mut()?.parts.clear(),
        }
        Ok(())
    }
}

/// How many threads are worth it for so many pre-tokens.
fn suited(unique: u64) -> usize {
    let cores = std::thread::available_parallelism();
    Shards::suited(unique, cores.map_or(1, NonZeroUsize::get))
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
///     threads: How many share the work; as many as are worth it for the counts on the cores there
///         are if `None`. The merges are the same for any number.
///
/// Returns:
///     The merges, and how many tokens the pre-tokens are with them.
///
/// Raises:
///     MergeTooLarge: Single pre-tokens are too long.
///     CountOverflow: The sum of all counted bytes does not fit in 64 bits.
///     ValueError: No such tie rule, or no threads.
#[pyfunction]
#[pyo3(signature = (counts, merges, *, tie_break = "lexmax", min_frequency = 0, max_token_length = None, progress = None, consume = false, threads = None))]
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
    threads: Option<usize>,
) -> PyResult<Merged> {
    let tie_break = TieBreak::from_name(tie_break)
        .ok_or_else(|| PyValueError::new_err(format!("no tie rule {tie_break:?}")))?;
    if threads == Some(0) {
        return Err(PyValueError::new_err("threads must be 1 or more"));
    }
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
        let shards = counts.shards(py, threads, &mut tick)?;
        if consume && shards.is_ok() {
            counts.clear()?;
        }
        Ok(py.detach(|| shards?.merge(&options, &mut tick)))
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
        MergeError::NoThreads => KernelError::new_err(text),
        MergeError::Cancelled => cancelled.unwrap_or_else(|| KernelError::new_err(text)),
    }
}
