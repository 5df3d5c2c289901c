//! `FoldedCounts`: payloads added up, as a Python class.

use std::num::{NonZeroU64, NonZeroUsize};
use std::path::PathBuf;
use std::thread::available_parallelism;

use bpefleet_core::payload::{self, Digest, FileError, FoldError, Folded, PayloadFile};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList};

use crate::bytes::Bytes;
use crate::counts::{digest_of, sorted_items, PayloadInfo};
use crate::errors::{from_payload, from_system, guarded};

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
    /// With no pre-token in common.
    pub(crate) parts: Vec<Folded>,
    digest: Digest,
}

/// Entries of payloads, with so many of which another thread folds faster.
const ENTRIES_A_THREAD: u64 = 4_000_000;
/// Each thread reads all payloads: more of them share ever less.
const MOST_THREADS: usize = 4;

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
        let weights = weights_of(weights, payloads.len())?;
        let payloads: Vec<&[u8]> = payloads.iter().map(AsRef::as_ref).collect();
        let payloads: Vec<_> = payloads.into_iter().zip(weights).collect();
        guarded(|| {
            let folded = py
                .detach(|| payload::fold_weighted(&payloads, &digest))
                .map_err(|error| from_fold(py, &error))?;
            let parts = vec![folded];
            Ok(Self { parts, digest })
        })
    }

    /// The counts of payloads in files, read in blocks: the result alone is in memory.
    ///
    /// Args:
    ///     files: For each its path, and how many bytes there are before the payload, which ends
    ///         with the file.
    ///     digest: As above.
    ///     weights: As above.
    ///
    /// Raises:
    ///     PayloadError: As above.
    ///     CountOverflow: As above.
    ///     OSError: A file cannot be read, or is no regular file; `index` says which.
    ///     OverflowError: As above.
    ///     ValueError: As above.
    #[staticmethod]
    #[pyo3(signature = (files, digest, weights = None))]
    fn of_files(
        py: Python<'_>,
        files: Vec<(PathBuf, u64)>,
        digest: &[u8],
        weights: Option<Vec<NonZeroU64>>,
    ) -> PyResult<Self> {
        let (digest, files) = (digest_of(digest)?, files_of(files, weights)?);
        guarded(|| {
            let parts = py
                .detach(|| payload::fold_into_memory(&files, &digest, threads(&files)))
                .map_err(|error| from_fold(py, &error))?;
            Ok(Self { parts, digest })
        })
    }

    fn __len__(&self) -> usize {
        usize::try_from(self.unique()).unwrap_or(usize::MAX)
    }

    /// Occurrences of all pre-tokens together.
    #[getter]
    fn pretokens(&self) -> u64 {
        self.parts.iter().map(|part| part.info().pretokens).sum()
    }

    /// The counts as a payload: the bytes that `Counts.encode` gives for equal counts.
    #[getter]
    fn payload<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        if let [all] = &self.parts[..] {
            return Ok(PyBytes::new(py, all.payload()));
        }
        let parts: Vec<_> = self.parts.iter().map(Folded::payload).collect();
        let all = guarded(|| {
            py.detach(|| payload::fold(&parts, &self.digest))
                .map_err(|error| from_fold(py, &error))
        })?;
        Ok(PyBytes::new(py, all.payload()))
    }

    /// All pre-tokens with their counts, sorted by bytes.
    ///
    /// Returns:
    ///     A list of as many pairs as there are different pre-tokens.
    fn items<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        sorted_items(py, || self.iter())
    }
}

impl FoldedCounts {
    /// Different pre-tokens.
    pub(crate) fn unique(&self) -> u64 {
        self.parts.iter().map(|part| part.info().unique()).sum()
    }

    /// The pre-tokens and their counts, in an order that depends on nothing but the pre-tokens.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&[u8], u64)> + Clone {
        self.parts.iter().flat_map(Folded::iter)
    }
}

/// How many threads are worth it for these payloads, by their size.
fn threads(files: &[PayloadFile]) -> usize {
    /// Bytes of an entry, about.
    const ENTRY: u64 = 12;

    let sizes = files.iter().filter_map(|file| file.path.metadata().ok());
    let bytes: u64 = sizes.map(|about| about.len()).sum();
    let cores = available_parallelism().map_or(1, NonZeroUsize::get);
    let most = usize::try_from(bytes / ENTRY / ENTRIES_A_THREAD).unwrap_or(usize::MAX);
    most.min(cores).clamp(1, MOST_THREADS)
}

/// Fold payloads in files into one, in memory that does not grow with them.
///
/// Each is read once, from front to back, and checked on the way; of large ones each of several
/// threads reads all. Equal counts give equal bytes: those of `FoldedCounts.payload`. The GIL is
/// released meanwhile.
///
/// Args:
///     files: For each its path, and how many bytes there are before the payload, which ends with
///         the file.
///     digest: The digest they must be bound to, 32 bytes.
///     out: The file that gets the payload, which must be there; after an exception it has a part
///         of it.
///     start: Bytes that it has already; the payload is written behind them.
///     weights: For each file how often its counts count, 1 or more; None: once.
///
/// Returns:
///     What the new payload says of itself.
///
/// Raises:
///     PayloadError: One is damaged, or of another version or digest; `index` says which.
///     CountOverflow: With that of `index`, the counts would no longer fit.
///     OSError: A file cannot be read, or is no regular file: `index` says which. Or `out` cannot
///         be written: then it is -1.
///     OverflowError: A number is negative or needs more than 64 bits.
///     ValueError: The digest has another length, a weight is 0, or there are not as many of them
///         as files.
#[pyfunction]
#[pyo3(signature = (files, digest, out, start, *, weights = None))]
pub(crate) fn fold_files(
    py: Python<'_>,
    files: Vec<(PathBuf, u64)>,
    digest: &[u8],
    out: PathBuf,
    start: u64,
    weights: Option<Vec<NonZeroU64>>,
) -> PyResult<PayloadInfo> {
    let (digest, files) = (digest_of(digest)?, files_of(files, weights)?);
    guarded(|| {
        py.detach(|| payload::fold_files(&files, &digest, &out, start, threads(&files)))
            .map(PayloadInfo)
            .map_err(|error| from_file(py, &error))
    })
}

/// Fold payloads in files into several, each of a range of hashes, in one go.
///
/// All ranges are of about one length. Together, the new payloads are what `fold_files` gives.
///
/// Args:
///     files: As there.
///     digest: As there.
///     outs: The files that get the payloads, which must be there, and empty; one or more.
///
/// Returns:
///     What each new payload says of itself.
///
/// Raises:
///     PayloadError: As there.
///     CountOverflow: As there.
///     OSError: As there.
///     ValueError: The digest has another length, or there is no range.
#[pyfunction]
pub(crate) fn fold_ranges(
    py: Python<'_>,
    files: Vec<(PathBuf, u64)>,
    digest: &[u8],
    outs: Vec<PathBuf>,
) -> PyResult<Vec<PayloadInfo>> {
    let (digest, files) = (digest_of(digest)?, files_of(files, None)?);
    if outs.is_empty() {
        return Err(PyValueError::new_err("there is no range"));
    }
    guarded(|| {
        py.detach(|| payload::fold_ranges(&files, &digest, &outs))
            .map(|infos| infos.into_iter().map(PayloadInfo).collect())
            .map_err(|error| from_file(py, &error))
    })
}

/// Check a payload in a file to its end, likewise. The GIL is released meanwhile.
///
/// Args:
///     path: The file.
///     start: Bytes before the payload, which ends with the file.
///     digest: The digest it must be bound to, 32 bytes.
///
/// Returns:
///     What the payload says of itself.
///
/// Raises:
///     PayloadError: It is damaged, or of another version or digest.
///     OSError: The file cannot be read, or is no regular file.
///     ValueError: The digest has another length.
#[pyfunction]
pub(crate) fn check_file(
    py: Python<'_>,
    path: PathBuf,
    start: u64,
    digest: &[u8],
) -> PyResult<PayloadInfo> {
    let digest = digest_of(digest)?;
    let weight = NonZeroU64::MIN;
    let file = PayloadFile {
        path,
        start,
        weight,
    };
    guarded(|| {
        py.detach(|| payload::check_file(&file, &digest))
            .map(PayloadInfo)
            .map_err(|error| from_payload(&error))
    })
}

fn weights_of(weights: Option<Vec<NonZeroU64>>, payloads: usize) -> PyResult<Vec<NonZeroU64>> {
    let weights = weights.unwrap_or_else(|| vec![NonZeroU64::MIN; payloads]);
    if weights.len() == payloads {
        return Ok(weights);
    }
    let weights = weights.len();
    let text = format!("{weights} weights for {payloads} payloads");
    Err(PyValueError::new_err(text))
}

fn files_of(
    files: Vec<(PathBuf, u64)>,
    weights: Option<Vec<NonZeroU64>>,
) -> PyResult<Vec<PayloadFile>> {
    let weights = weights_of(weights, files.len())?;
    let files = files.into_iter().zip(weights);
    let file = |((path, start), weight)| PayloadFile {
        path,
        start,
        weight,
    };
    Ok(files.map(file).collect())
}

fn from_file(py: Python<'_>, error: &FileError) -> PyErr {
    match error {
        FileError::Payload(error) => from_fold(py, error),
        FileError::Output(error) => indexed(py, from_system(error), -1),
    }
}

fn from_fold(py: Python<'_>, error: &FoldError) -> PyErr {
    let index = i64::try_from(error.index).unwrap_or(i64::MAX);
    indexed(py, from_payload(&error.error), index)
}

fn indexed(py: Python<'_>, exception: PyErr, index: i64) -> PyErr {
    match exception.value(py).setattr("index", index) {
        Ok(()) => exception,
        Err(other) => other,
    }
}
