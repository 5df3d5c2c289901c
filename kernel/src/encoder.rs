//! `Encoder`: text into ids, as a Python class.

use std::ops::ControlFlow;

use bpefleet_core::count::{CountError, Errors};
use bpefleet_core::encode::{self, Options, Output, Special};
use bpefleet_core::offsets;
use bpefleet_core::scan::Pattern;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyList, PyString};

use crate::bytes::{unsearchable, Bytes, Memory};
use crate::counts::{errors_of, pattern_of};
use crate::encoded::Encoded;
use crate::errors::{from_count, guarded};
use crate::integers::Integers;
use crate::ticker::Ticker;
use crate::vocabulary;

/// Text of fewer bytes is encoded with the GIL held: to release it takes as long.
const SHORT: usize = 1 << 10;

/// Encodes text by a vocabulary, a split rule and special tokens.
///
/// Threads may share it. Each call uses a cache of its own, of 44 MiB at the most, which stays for
/// the next call; it is larger only for a vocabulary of more than 262,144 tokens.
///
/// Args:
///     ranks: Token to id; each byte is a token. By tiktoken's rule a pre-token that is a token is
///         that token; of any other those neighbours merge first whose joined bytes have the
///         lowest id.
///     pattern: A name in `PATTERNS`; empty if what lies between special tokens is one pre-token.
///     special_tokens: Special token to id.
///     merges: Pairs of tokens. If given, neighbours merge in this order, as in Hugging Face's
///         tokenizers, and a pre-token that is a token is not looked for.
///     ignore_merges: With `merges`: do look for it, as `ignore_merges` of Hugging Face has it.
///
/// Raises:
///     ValueError: No such pattern, an empty special token, a byte without a token, two tokens
///         with one id, a merge of what is no token, or more than two million tokens.
///     OverflowError: An id is negative or needs more than 32 bits.
#[pyclass(module = "bpefleet.kernel", name = "Encoder", frozen)]
pub(crate) struct Encoder {
    encoder: encode::Encoder,
}

#[pymethods]
impl Encoder {
    #[new]
    #[pyo3(signature = (ranks, pattern, special_tokens = None, *, merges = None, ignore_merges = false))]
    fn new(
        ranks: &Bound<'_, PyAny>,
        pattern: &str,
        special_tokens: Option<&Bound<'_, PyAny>>,
        merges: Option<Vec<(Vec<u8>, Vec<u8>)>>,
        ignore_merges: bool,
    ) -> PyResult<Self> {
        let pattern = Some(pattern).filter(|name| !name.is_empty());
        let pattern: Option<Pattern> = pattern.map(pattern_of).transpose()?;
        let special = vocabulary::special_tokens(special_tokens)?;
        let special: Vec<_> = special
            .iter()
            .map(|(token, id)| (&token[..], *id))
            .collect();
        guarded(|| {
            let vocabulary = vocabulary::read(ranks, merges.as_deref(), ignore_merges)?;
            let encoder = encode::Encoder::new(vocabulary, pattern, &special);
            Ok(Self {
                encoder: encoder.map_err(|error| unsearchable(&error))?,
            })
        })
    }

    /// The number of tokens, without the special ones.
    fn __len__(&self) -> usize {
        self.encoder.len()
    }

    /// Bytes of memory held: of the vocabulary, and of the caches that no call is using.
    #[getter]
    fn memory(&self) -> usize {
        self.encoder.memory_bytes()
    }

    /// The merges that the vocabulary comes to.
    ///
    /// Returns:
    ///     The ids of each two neighbours that ever become a token, in the order in which they do.
    ///     A token that merging never makes has none.
    fn merges(&self, py: Python<'_>) -> Vec<(u32, u32)> {
        py.detach(|| self.encoder.merges())
    }

    /// The ids of a text.
    ///
    /// The GIL is released meanwhile, unless the text is short.
    ///
    /// Args:
    ///     text: `str`, whose lone halves of surrogate pairs become U+FFFD; or UTF-8.
    ///     allowed_special: The special tokens that become their ids, the longest of several at
    ///         one place; others are text like any other. None: all there are.
    ///
    /// Raises:
    ///     InvalidUtf8: The bytes are not UTF-8.
    #[pyo3(signature = (text, allowed_special = None))]
    fn encode<'py>(
        &self,
        text: &Bound<'py, PyAny>,
        allowed_special: Option<Vec<String>>,
    ) -> PyResult<Bound<'py, PyList>> {
        let encoded = self.text(text, allowed_special, Output::Ids)?;
        PyList::new(text.py(), encoded.ids)
    }

    /// The ids of a text as `encode` gives them, in an array.
    ///
    /// Args:
    ///     text: As for `encode`.
    ///     allowed_special: Likewise.
    ///
    /// Raises:
    ///     InvalidUtf8: The bytes are not UTF-8.
    #[pyo3(signature = (text, allowed_special = None))]
    fn encode_to_array(
        &self,
        text: &Bound<'_, PyAny>,
        allowed_special: Option<Vec<String>>,
    ) -> PyResult<Integers> {
        let encoded = self.text(text, allowed_special, Output::Ids)?;
        Ok(Integers::ids(encoded.ids))
    }

    /// How many ids a text has.
    ///
    /// Args:
    ///     text: As for `encode`.
    ///     allowed_special: Likewise.
    ///
    /// Raises:
    ///     InvalidUtf8: The bytes are not UTF-8.
    #[pyo3(signature = (text, allowed_special = None))]
    fn count(
        &self,
        text: &Bound<'_, PyAny>,
        allowed_special: Option<Vec<String>>,
    ) -> PyResult<u64> {
        let encoded = self.text(text, allowed_special, Output::Number)?;
        Ok(encoded.ends.first().copied().unwrap_or(0))
    }

    /// The ids of documents, each scanned alone.
    ///
    /// Document i is `data[offsets[i]:offsets[i + 1]]`, as in Arrow's arrays of text. The GIL is
    /// released meanwhile.
    ///
    /// Args:
    ///     data: As for `Counts.count_documents`.
    ///     offsets: Likewise.
    ///     allowed_special: As for `encode`; found within a document only.
    ///     threads: How many may work. What comes out is the same.
    ///     errors: `strict`, or `replace` to encode U+FFFD for each ill-formed sequence.
    ///     offset_bytes: Bytes of an offset, 4 or 8.
    ///     progress: Called about ten times a second with the number of bytes done. What it
    ///         raises ends the call.
    ///
    /// Raises:
    ///     InvalidUtf8: A document is not UTF-8, in strict mode; `offset` is a place in `data`.
    ///     BufferError: A buffer is not contiguous.
    ///     ValueError: Offsets that descend or lie outside `data`, or no such error mode.
    #[pyo3(signature = (data, offsets, *, allowed_special = None, threads = 1, errors = "strict", offset_bytes = 8, progress = None))]
    #[allow(clippy::too_many_arguments, reason = "they are Python's")]
    fn encode_documents(
        &self,
        py: Python<'_>,
        data: Memory<'_>,
        offsets: Memory<'_>,
        allowed_special: Option<Vec<String>>,
        threads: usize,
        errors: &str,
        offset_bytes: usize,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<Encoded> {
        let how = How {
            allowed_special,
            threads,
            errors: errors_of(errors)?,
            offset_bytes,
            output: Output::Ids,
        };
        self.documents(py, &data, &offsets, how, progress)
    }

    /// How many ids documents have: as `encode_documents`, but none are kept.
    ///
    /// Args:
    ///     data: As for `encode_documents`.
    ///     offsets: Likewise.
    ///     allowed_special: Likewise.
    ///     threads: Likewise.
    ///     errors: Likewise.
    ///     offset_bytes: Likewise.
    ///     progress: Likewise.
    ///
    /// Returns:
    ///     `ends` as of `encode_documents`; `ids` is empty.
    ///
    /// Raises:
    ///     InvalidUtf8: As for `encode_documents`.
    ///     BufferError: Likewise.
    ///     ValueError: Likewise.
    #[pyo3(signature = (data, offsets, *, allowed_special = None, threads = 1, errors = "strict", offset_bytes = 8, progress = None))]
    #[allow(clippy::too_many_arguments, reason = "they are Python's")]
    fn count_documents(
        &self,
        py: Python<'_>,
        data: Memory<'_>,
        offsets: Memory<'_>,
        allowed_special: Option<Vec<String>>,
        threads: usize,
        errors: &str,
        offset_bytes: usize,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<Encoded> {
        let how = How {
            allowed_special,
            threads,
            errors: errors_of(errors)?,
            offset_bytes,
            output: Output::Number,
        };
        self.documents(py, &data, &offsets, how, progress)
    }
}

/// What callers of `documents` may choose.
struct How {
    allowed_special: Option<Vec<String>>,
    threads: usize,
    errors: Errors,
    offset_bytes: usize,
    output: Output,
}

impl Encoder {
    /// Calls with the special tokens that are allowed.
    fn with_special<T>(
        &self,
        allowed: Option<&[String]>,
        call: impl FnOnce(&Special) -> PyResult<T>,
    ) -> PyResult<T> {
        let Some(allowed) = allowed else {
            return call(self.encoder.special());
        };
        let allowed: Vec<_> = allowed.iter().map(|token| &token[..]).collect();
        let special = self.encoder.special_among(&allowed);
        call(&special.map_err(|error| unsearchable(&error))?)
    }

    fn text(
        &self,
        text: &Bound<'_, PyAny>,
        allowed: Option<Vec<String>>,
        output: Output,
    ) -> PyResult<encode::Encoded> {
        let py = text.py();
        let (mended, bytes);
        let data = if let Ok(text) = text.cast::<PyString>() {
            if let Ok(text) = text.to_str() {
                text.as_bytes()
            } else {
                mended = mend(text)?;
                mended.to_str()?.as_bytes()
            }
        } else {
            bytes = text.extract::<Bytes<'_>>()?;
            bytes.as_ref()
        };
        guarded(|| {
            self.with_special(allowed.as_deref(), |special| {
                let options = Options {
                    special,
                    errors: Errors::Strict,
                    output,
                    threads: 1,
                };
                let mut ticker = Ticker::new(None);
                let offsets = [0, data.len()];
                let encoded = if data.len() <= SHORT {
                    let mut go_on = |_| ControlFlow::Continue(());
                    self.encoder.documents(data, &offsets, &options, &mut go_on)
                } else {
                    py.detach(|| {
                        let mut tick = |_| ticker.tick(|py, call| call.call0(py));
                        self.encoder.documents(data, &offsets, &options, &mut tick)
                    })
                };
                encoded.map_err(|error| from_count(py, error, ticker.into_raised()))
            })
        })
    }

    fn documents(
        &self,
        py: Python<'_>,
        data: &Memory<'_>,
        offsets: &Memory<'_>,
        how: How,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<Encoded> {
        let mut ticker = Ticker::new(progress);
        guarded(|| {
            let places = offsets.read(py, 0..offsets.len());
            let mut places = offsets::offsets(&places, how.offset_bytes, data.len())
                .map_err(|error| PyValueError::new_err(error.to_string()))?;
            let first = places.first().copied().unwrap_or(0);
            let last = places.last().copied().unwrap_or(0);
            let data = data.read(py, first..last);
            self.with_special(how.allowed_special.as_deref(), |special| {
                let options = Options {
                    special,
                    errors: how.errors,
                    output: how.output,
                    threads: how.threads,
                };
                let encoded = py.detach(|| {
                    for place in &mut places {
                        *place -= first;
                    }
                    let mut tick = |done| ticker.tick(|py, call| call.call1(py, (done,)));
                    self.encoder.documents(&data, &places, &options, &mut tick)
                });
                let failed =
                    |error: CountError| from_count(py, error.behind(first), ticker.into_raised());
                Encoded::of(py, encoded.map_err(failed)?)
            })
        })
    }
}

/// A text whose surrogates without their other halves are U+FFFD, as tiktoken mends it.
fn mend<'py>(text: &Bound<'py, PyString>) -> PyResult<Bound<'py, PyString>> {
    let units = text.call_method1("encode", ("utf-16", "surrogatepass"))?;
    let mended = units.call_method1("decode", ("utf-16", "replace"))?;
    Ok(mended.cast_into()?)
}
