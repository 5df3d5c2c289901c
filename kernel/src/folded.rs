//! `FoldedCounts`: payloads added up, as a Python class.

use std::num::NonZeroU64;

use bpefleet_core::payload::{self, FoldError, Folded};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList};

use crate::bytes::Bytes;
use crate::counts::{digest_of, sorted_items};
use crate::errors::{from_payload, guarded};

/// The counts of several payloads together.
///
/// Folding reads and writes every payload once, from front to back; the GIL is released meanwhile.
///
/// Args:
///     payloads: What `Counts.encode` gave, in any order; `bytes` are read in place, any other
///         buffer is copied first.
///     digest: The digest they must be bound to, 32 bytes.
///     weights: For each payload how often its counts count, 1 or more; None: once.
///
/// Raises:
///     PayloadError: One is damaged, or of another version or digest; `index` says which.
///     CountOverflow: With that of `index`, the counts would no longer fit.
///     OverflowError: A weight is negative or needs more than 64 bits.
///     ValueError: The digest has another length, a weight is 0, or there are not as many of them
///         as payloads.
#[pyclass(module = "bpefleet.kernel", name = "FoldedCounts")]
pub(crate) struct FoldedCounts {
    pub(crate) folded: Folded,
}

#[pymethods]
impl FoldedCounts {
    #[new]
    #[pyo3(signature = (payloads, digest, weights = None))]
    fn new(
        py: Python<'_>,
        payloads: Vec<Bytes<'_>>,
        digest: &[u8],
        weights: Option<Vec<NonZeroU64>>,
    ) -> PyResult<Self> {
        let digest = digest_of(digest)?;
        let weights = weights.unwrap_or_else(|| vec![NonZeroU64::MIN; payloads.len()]);
        if weights.len() != payloads.len() {
            let (weights, payloads) = (weights.len(), payloads.len());
            let text = format!("{weights} weights for {payloads} payloads");
            return Err(PyValueError::new_err(text));
        }
        let payloads: Vec<&[u8]> = payloads.iter().map(AsRef::as_ref).collect();
        let payloads: Vec<_> = payloads.into_iter().zip(weights).collect();
        guarded(|| {
            let folded = py
                .detach(|| payload::fold_weighted(&payloads, &digest))
                .map_err(|error| from_fold(py, &error))?;
            Ok(Self { folded })
        })
    }

    fn __len__(&self) -> usize {
        usize::try_from(self.folded.info().unique()).unwrap_or(usize::MAX)
    }

    /// Occurrences of all pre-tokens together.
    #[getter]
    fn pretokens(&self) -> u64 {
        self.folded.info().pretokens
    }

    /// The counts as a payload: the bytes that `Counts.encode` gives for equal counts.
    #[getter]
    fn payload<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, self.folded.payload())
    }

    /// All pre-tokens with their counts, sorted by bytes.
    ///
    /// Returns:
    ///     A list of as many pairs as there are different pre-tokens.
    fn items<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        sorted_items(py, || self.folded.iter())
    }
}

fn from_fold(py: Python<'_>, error: &FoldError) -> PyErr {
    let exception = from_payload(&error.error);
    match exception.value(py).setattr("index", error.index) {
        Ok(()) => exception,
        Err(other) => other,
    }
}
