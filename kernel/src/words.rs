//! `Words` and `TokenBytes`: how tokens divide words, as Python classes.

use bpefleet_core::{offsets, words};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::bytes::Memory;
use crate::errors::{guarded, InvalidUtf8};
use crate::integers::Integers;

/// The bytes of tokens by their ids.
///
/// Args:
///     tokens: Id and bytes of each.
#[pyclass(module = "bpefleet.kernel", name = "TokenBytes", frozen)]
pub(crate) struct TokenBytes(words::TokenBytes);

#[pymethods]
impl TokenBytes {
    #[new]
    fn new(tokens: Vec<(u32, Vec<u8>)>) -> Self {
        let tokens = tokens.iter().map(|(id, bytes)| (*id, &bytes[..]));
        Self(words::TokenBytes::new(tokens))
    }
}

/// The words of documents, by the word boundaries of UAX #29.
///
/// A word is what lies between two boundaries and has a letter or a digit in it. Document i is
/// `data[offsets[i]:offsets[i + 1]]`. The GIL is released meanwhile.
///
/// Args:
///     data: UTF-8.
///     offsets: Native signed integers of 8 bytes.
///
/// Raises:
///     InvalidUtf8: A document is not UTF-8.
///     ValueError: Offsets that descend or lie outside `data`.
#[pyclass(module = "bpefleet.kernel", name = "Words", frozen)]
pub(crate) struct Words {
    data: Py<PyBytes>,
    words: words::Words,
}

#[pymethods]
impl Words {
    #[new]
    fn new(py: Python<'_>, data: Bound<'_, PyBytes>, offsets: Memory<'_>) -> PyResult<Self> {
        guarded(|| {
            let places = offsets.read(py, 0..offsets.len());
            let bytes = data.as_bytes();
            let places = offsets::offsets(&places, size_of::<u64>(), bytes.len())
                .map_err(|error| PyValueError::new_err(error.to_string()))?;
            let words = py.detach(|| words::Words::new(bytes, &places));
            let words = words.map_err(|offset| {
                let error = InvalidUtf8::new_err(format!("invalid UTF-8 at byte {offset}"));
                match error.value(py).setattr("offset", offset) {
                    Ok(()) => error,
                    Err(other) => other,
                }
            })?;
            let data = data.unbind();
            Ok(Self { data, words })
        })
    }

    /// Characters (code points) of each document: 64 bits each.
    #[getter]
    fn characters(&self) -> Integers {
        Integers::ends(self.words.characters().to_vec())
    }

    /// Words of each document: 64 bits each.
    #[getter]
    fn words(&self) -> Integers {
        Integers::ends(self.words.words())
    }

    /// Words of each document within which a token ends.
    ///
    /// Args:
    ///     places: Where in the data each token ends: native integers of 64 bits.
    ///     ends: How many tokens there are up to the end of each document, likewise.
    ///
    /// Raises:
    ///     ValueError: `ends` are not those of so many documents and tokens.
    fn continued(
        &self,
        py: Python<'_>,
        places: Memory<'_>,
        ends: Memory<'_>,
    ) -> PyResult<Integers> {
        guarded(|| {
            let places = wide(&places.read(py, 0..places.len()));
            let ends = self.ends(py, &ends, places.len())?;
            Ok(Integers::ends(
                py.detach(|| self.words.continued(&places, &ends)),
            ))
        })
    }

    /// Where in the data each token ends, and for each document whether their bytes are its.
    ///
    /// Args:
    ///     tokens: The vocabulary.
    ///     ids: The ids of all documents: native integers of 32 bits.
    ///     ends: As for `continued`.
    ///
    /// Returns:
    ///     Places as `continued` takes them; and 0 or 1 for each document, 64 bits each.
    ///
    /// Raises:
    ///     ValueError: As for `continued`.
    fn places(
        &self,
        py: Python<'_>,
        tokens: &TokenBytes,
        ids: Memory<'_>,
        ends: Memory<'_>,
    ) -> PyResult<(Integers, Integers)> {
        guarded(|| {
            let ids = ids.read(py, 0..ids.len());
            let word = |bytes: &[u8]| bytes.try_into().map_or(0, u32::from_ne_bytes);
            let ids: Vec<u32> = ids.chunks_exact(size_of::<u32>()).map(word).collect();
            let ends = self.ends(py, &ends, ids.len())?;
            let data = self.data.bind(py).as_bytes();
            let (places, same) = py.detach(|| self.words.places(data, &tokens.0, &ids, &ends));
            let same = same.into_iter().map(u64::from).collect();
            Ok((Integers::ends(places), Integers::ends(same)))
        })
    }
}

impl Words {
    fn ends(&self, py: Python<'_>, ends: &Memory<'_>, tokens: usize) -> PyResult<Vec<u64>> {
        let ends = wide(&ends.read(py, 0..ends.len()));
        let last = ends.last().copied().unwrap_or(0);
        if ends.len() != self.words.characters().len() || !ends.is_sorted() || last != tokens as u64
        {
            return Err(PyValueError::new_err(
                "the ends are not those of so many documents and tokens",
            ));
        }
        Ok(ends)
    }
}

fn wide(bytes: &[u8]) -> Vec<u64> {
    let words = bytes.chunks_exact(size_of::<u64>());
    let word = |bytes: &[u8]| bytes.try_into().map_or(0, u64::from_ne_bytes);
    words.map(word).collect()
}
