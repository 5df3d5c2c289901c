//! `Counts`: the count table as a Python class.

use bpefleet_core::count::{self, Errors};
use bpefleet_core::offsets;
use bpefleet_core::payload::{self, Digest, Limits};
use bpefleet_core::scan::Pattern;
use bpefleet_core::specials::Specials;
use bpefleet_core::table::CountTable;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList};

use crate::bytes::{texts, unsearchable, Bytes, Memory, Token};
use crate::errors::{from_count, from_overflow, from_payload, guarded};
use crate::ticker::Ticker;

/// Pre-tokens and how often each occurred.
///
/// While a call of one thread works on it, a call of another raises `RuntimeError`.
#[pyclass(module = "bpefleet.kernel", name = "Counts")]
pub(crate) struct Counts {
    pub(crate) table: CountTable,
}

#[pymethods]
impl Counts {
    #[new]
    fn new() -> Self {
        Self {
            table: CountTable::new(),
        }
    }

    fn __len__(&self) -> usize {
        self.table.len()
    }

    /// Occurrences of all pre-tokens together.
    #[getter]
    fn pretokens(&self) -> u64 {
        self.table.pretokens()
    }

    /// Bytes of memory held by the table.
    #[getter]
    fn memory(&self) -> usize {
        self.table.memory_bytes()
    }

    /// Count the pre-tokens of a text.
    ///
    /// The GIL is released meanwhile. After an exception some part of the text is counted.
    ///
    /// Args:
    ///     data: The text as UTF-8. `bytes` are read in place; any other buffer is copied first,
    ///         since it could change meanwhile.
    ///     pattern: A name in `PATTERNS`.
    ///     special_tokens: `str`, or their UTF-8. Never counted; each ends a piece of text that is
    ///         scanned alone. The leftmost wins, and the longest of those that start at one place.
    ///     errors: `strict`, or `replace` to count U+FFFD for each ill-formed sequence, as
    ///         `bytes.decode` does.
    ///     progress: Called about ten times a second with the number of bytes done. What it
    ///         raises ends the call.
    ///
    /// Returns:
    ///     How many ill-formed sequences were replaced.
    ///
    /// Raises:
    ///     InvalidUtf8: The data is not UTF-8, in strict mode.
    ///     CountOverflow: The counts would not fit.
    ///     ValueError: No such pattern or error mode; an empty special token, or one that is not
    ///         UTF-8.
    #[pyo3(signature = (data, pattern, special_tokens = Vec::new(), *, errors = "strict", progress = None))]
    fn count(
        &mut self,
        py: Python<'_>,
        data: Bytes<'_>,
        pattern: &str,
        special_tokens: Vec<Token>,
        errors: &str,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<u64> {
        let (pattern, errors) = (pattern_of(pattern)?, errors_of(errors)?);
        let specials = specials_of(&special_tokens)?;
        let data = data.as_ref();
        let table = &mut self.table;
        let mut ticker = Ticker::new(progress);
        guarded(|| {
            py.detach(|| {
                let mut tick = |done| ticker.tick(|py, call| call.call1(py, (done,)));
                count::count(data, pattern, &specials, errors, table, &mut tick)
            })
            .map_err(|error| from_count(py, error, ticker.into_raised()))
        })
    }

    /// Count the pre-tokens of documents, each scanned alone.
    ///
    /// Document i is `data[offsets[i]:offsets[i + 1]]`, as in Arrow's arrays of text. The GIL is
    /// released meanwhile. After an exception some of the documents are counted.
    ///
    /// Args:
    ///     data: As for `count`; of what is copied, only what the documents take.
    ///     offsets: Native signed integers, from 0 or more in ascending order; one more than there
    ///         are documents, or none. Any contiguous buffer.
    ///     pattern: As for `count`.
    ///     special_tokens: As for `count`; found within a document only.
    ///     errors: As for `count`. A character divided between documents is ill-formed in both.
    ///     offset_bytes: Bytes of an offset, 4 or 8.
    ///     progress: As for `count`, with the number of bytes of documents done.
    ///
    /// Returns:
    ///     How many ill-formed sequences were replaced.
    ///
    /// Raises:
    ///     InvalidUtf8: A document is not UTF-8, in strict mode; `offset` is a place in `data`.
    ///     CountOverflow: The counts would not fit.
    ///     BufferError: A buffer is not contiguous.
    ///     ValueError: Offsets that descend or lie outside `data`; and as for `count`.
    #[pyo3(signature = (data, offsets, pattern, special_tokens = Vec::new(), *, errors = "strict", offset_bytes = 8, progress = None))]
    #[allow(clippy::too_many_arguments, reason = "they are Python's")]
    fn count_documents(
        &mut self,
        py: Python<'_>,
        data: Memory<'_>,
        offsets: Memory<'_>,
        pattern: &str,
        special_tokens: Vec<Token>,
        errors: &str,
        offset_bytes: usize,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<u64> {
        let (pattern, errors) = (pattern_of(pattern)?, errors_of(errors)?);
        let specials = specials_of(&special_tokens)?;
        let table = &mut self.table;
        let mut ticker = Ticker::new(progress);
        guarded(|| {
            let mut offsets = offsets::offsets(
                &offsets.read(py, 0..offsets.len()),
                offset_bytes,
                data.len(),
            )
            .map_err(|error| PyValueError::new_err(error.to_string()))?;
            let [first, .., last] = offsets[..] else {
                return Ok(0);
            };
            let data = data.read(py, first..last);
            py.detach(|| {
                for offset in &mut offsets {
                    *offset -= first;
                }
                let mut tick = |done| ticker.tick(|py, call| call.call1(py, (done,)));
                count::count_documents(
                    &data, &offsets, pattern, &specials, errors, table, &mut tick,
                )
            })
            .map_err(|error| from_count(py, error.behind(first), ticker.into_raised()))
        })
    }

    /// Add occurrences of one pre-token.
    ///
    /// Args:
    ///     pretoken: Its UTF-8. An empty one is none and adds nothing.
    ///     count: How many, less than 2**64.
    ///
    /// Raises:
    ///     CountOverflow: The counts would not fit.
    ///     OverflowError: `count` is negative or needs more than 64 bits.
    #[pyo3(signature = (pretoken, count = 1))]
    fn add(&mut self, pretoken: &[u8], count: u64) -> PyResult<()> {
        guarded(|| self.table.add(pretoken, count).map_err(from_overflow))
    }

    /// Add occurrences of many pre-tokens.
    ///
    /// After an exception, those before it have been added.
    ///
    /// Args:
    ///     counts: A mapping, or pairs of pre-token and count. A `str` is its UTF-8.
    ///
    /// Raises:
    ///     CountOverflow: The counts would not fit.
    ///     OverflowError: A count is negative or needs more than 64 bits.
    fn add_all(&mut self, counts: &Bound<'_, PyAny>) -> PyResult<()> {
        let mut add = |token: &Token, count| {
            guarded(|| {
                self.table
                    .add(token.as_bytes(), count)
                    .map_err(from_overflow)
            })
        };
        if let Ok(counts) = counts.cast::<PyDict>() {
            return counts
                .iter()
                .try_for_each(|(token, count)| add(&token.extract()?, count.extract()?));
        }
        let pairs = match counts.getattr_opt("items")? {
            Some(items) => items.call0()?,
            None => counts.clone(),
        };
        for pair in pairs.try_iter()? {
            let (token, count) = pair?.extract()?;
            add(&token, count)?;
        }
        Ok(())
    }

    /// How often a pre-token occurred; 0 when it did not.
    ///
    /// Args:
    ///     pretoken: Its UTF-8.
    fn get(&self, pretoken: &[u8]) -> u64 {
        self.table.get(pretoken)
    }

    /// All pre-tokens with their counts, sorted by bytes.
    ///
    /// Returns:
    ///     A list of as many pairs as there are different pre-tokens.
    fn items<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        sorted_items(py, || self.table.iter())
    }

    /// The counts as a payload: sorted, with a checksum, bound to a digest.
    ///
    /// Equal counts give equal bytes, however they came about. The GIL is released meanwhile.
    ///
    /// Args:
    ///     digest: Of what the counts depend on beside the text, 32 bytes. Only payloads of one
    ///         digest can be folded.
    ///
    /// Raises:
    ///     ValueError: The digest has another length.
    fn encode<'py>(&self, py: Python<'py>, digest: &[u8]) -> PyResult<Bound<'py, PyBytes>> {
        let digest = digest_of(digest)?;
        let table = &self.table;
        let payload = guarded(|| Ok(py.detach(|| payload::encode(table, &digest))))?;
        Ok(PyBytes::new(py, &payload))
    }

    /// Check a payload to its end: what passes can be folded. The GIL is released meanwhile.
    ///
    /// Args:
    ///     payload: What `encode` gave; any buffer.
    ///     digest: The digest it must be bound to, 32 bytes.
    ///     max_bytes: A payload of more bytes is refused. No limit, like the following, where it is
    ///         None.
    ///     max_entries: One with more different pre-tokens is refused.
    ///     max_text: One that counts more bytes of text is refused: those of all its pre-tokens,
    ///         each as often as it occurs.
    ///
    /// Returns:
    ///     What the payload says of itself.
    ///
    /// Raises:
    ///     PayloadError: It is damaged, too large, or of another version or digest.
    ///     ValueError: The digest has another length.
    #[staticmethod]
    #[pyo3(signature = (payload, digest, *, max_bytes = None, max_entries = None, max_text = None))]
    fn check_payload(
        py: Python<'_>,
        payload: Bytes<'_>,
        digest: &[u8],
        max_bytes: Option<u64>,
        max_entries: Option<u64>,
        max_text: Option<u64>,
    ) -> PyResult<PayloadInfo> {
        let digest = digest_of(digest)?;
        let limits = limits(max_bytes, max_entries, max_text);
        let payload = payload.as_ref();
        guarded(|| {
            py.detach(|| payload::check(payload, &digest, &limits))
                .map(PayloadInfo)
                .map_err(|error| from_payload(&error))
        })
    }
}

pub(crate) fn pattern_of(name: &str) -> PyResult<Pattern> {
    Pattern::from_name(name)
        .ok_or_else(|| PyValueError::new_err(format!("no native pattern {name:?}")))
}

pub(crate) fn errors_of(mode: &str) -> PyResult<Errors> {
    match mode {
        "strict" => Ok(Errors::Strict),
        "replace" => Ok(Errors::Replace),
        _ => Err(PyValueError::new_err(format!("no error mode {mode:?}"))),
    }
}

fn specials_of(tokens: &[Token]) -> PyResult<Specials> {
    Specials::new(&texts(tokens)?).map_err(|error| unsearchable(&error))
}

fn limits(bytes: Option<u64>, entries: Option<u64>, text: Option<u64>) -> Limits {
    Limits {
        bytes: bytes.unwrap_or(Limits::NONE.bytes),
        entries: entries.unwrap_or(Limits::NONE.entries),
        text: text.unwrap_or(Limits::NONE.text),
    }
}

/// What a payload says of itself.
#[pyclass(module = "bpefleet.kernel", name = "PayloadInfo", frozen)]
pub(crate) struct PayloadInfo(pub(crate) payload::Info);

#[pymethods]
impl PayloadInfo {
    /// The format version.
    #[getter]
    fn version(&self) -> u32 {
        self.0.version
    }

    /// The digest it is bound to, 32 bytes.
    #[getter]
    fn digest<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.0.digest)
    }

    /// Occurrences of all pre-tokens together.
    #[getter]
    fn pretokens(&self) -> u64 {
        self.0.pretokens
    }

    /// Different pre-tokens.
    #[getter]
    fn unique(&self) -> u64 {
        self.0.unique()
    }

    /// Bytes of the entries, without header and checksum.
    #[getter]
    fn raw_size(&self) -> u64 {
        self.0.raw_size
    }

    /// Bytes of all its pre-tokens, each as often as it occurs.
    #[getter]
    fn text(&self) -> u64 {
        self.0.text
    }

    /// The least hashes (64 bits) of its pre-tokens, ascending, `SAMPLE` at most.
    ///
    /// From those of several payloads one can tell about how many different pre-tokens they hold
    /// together.
    #[getter]
    fn least_hashes(&self) -> Vec<u64> {
        self.0.least_hashes.clone()
    }
}

/// What `words` gives, sorted by bytes.
pub(crate) fn sorted_items<'py, 'w, W>(
    py: Python<'py>,
    words: impl Fn() -> W + Sync,
) -> PyResult<Bound<'py, PyList>>
where
    W: Iterator<Item = (&'w [u8], u64)>,
{
    let sorted = guarded(|| {
        Ok(py.detach(|| {
            let mut sorted: Vec<_> = words().collect();
            sorted.sort_unstable();
            sorted
        }))
    })?;
    let items = sorted.into_iter();
    PyList::new(
        py,
        items.map(|(pretoken, count)| (PyBytes::new(py, pretoken), count)),
    )
}

pub(crate) fn digest_of(bytes: &[u8]) -> PyResult<Digest> {
    bytes.try_into().map_err(|_| {
        let expected = payload::DIGEST_BYTES;
        PyValueError::new_err(format!(
            "a digest has {expected} bytes, not {}",
            bytes.len()
        ))
    })
}
