//! A vocabulary as Python gives it: tokens, merges, special tokens.

use bpefleet_core::encode::Vocabulary;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyIterator};

/// The vocabulary of these ranks, or of these merges.
pub(crate) fn read(
    ranks: &Bound<'_, PyAny>,
    merges: Option<&[(Vec<u8>, Vec<u8>)]>,
    ignore_merges: bool,
) -> PyResult<Vocabulary> {
    // Bytes in a row, as the vocabulary may come without an object for each token.
    let (mut bytes, mut ends) = (Vec::new(), Vec::new());
    for item in items(ranks)? {
        let (token, id): (Bound<'_, PyAny>, Bound<'_, PyAny>) = item?.extract()?;
        bytes.extend_from_slice(token.cast::<PyBytes>()?.as_bytes());
        ends.push((bytes.len(), id.extract::<u32>()?));
    }
    let mut start = 0;
    let tokens: Vec<_> = ends
        .into_iter()
        .map(|(end, id)| (&bytes[std::mem::replace(&mut start, end)..end], id))
        .collect();
    let vocabulary = ranks.py().detach(|| match merges {
        Some(merges) => {
            let merges: Vec<_> = merges.iter().map(|(a, b)| (&a[..], &b[..])).collect();
            Vocabulary::from_merges(&tokens, &merges, ignore_merges)
        }
        None => Vocabulary::from_ranks(&tokens),
    });
    vocabulary.map_err(|error| PyValueError::new_err(error.to_string()))
}

/// Special tokens with their ids.
pub(crate) fn special_tokens(mapping: Option<&Bound<'_, PyAny>>) -> PyResult<Vec<(String, u32)>> {
    let found = mapping.map(items).transpose()?.into_iter().flatten();
    found.map(|item| item?.extract()).collect()
}

/// The items of a mapping, one after the other.
fn items<'py>(mapping: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyIterator>> {
    mapping.call_method0("items")?.try_iter()
}
