//! The texts of JSON Lines as a Python class.

use bpefleet_core::json;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::bytes::Bytes;
use crate::errors::{from_line, guarded};

/// Keys of a field at most: each that a record has takes stack.
const MOST_KEYS: usize = 100;

/// The texts of some records, as `Counts.count_documents` takes them.
#[pyclass(module = "bpefleet.kernel", name = "JsonTexts", frozen)]
pub(crate) struct JsonTexts {
    /// The texts, one after the other.
    #[pyo3(get)]
    data: Py<PyBytes>,
    /// Text i is `data[offsets[i]:offsets[i + 1]]`: native integers of 8 bytes.
    #[pyo3(get)]
    offsets: Py<PyBytes>,
    /// Where in the lines the record of each text begins: native integers of 8 bytes.
    #[pyo3(get)]
    starts: Py<PyBytes>,
    /// All records, those without a text too.
    #[pyo3(get)]
    records: u64,
    /// Records without a text: the field is missing or null.
    #[pyo3(get)]
    absent: u64,
    /// The keys of the first record, each once; none where there is no record.
    #[pyo3(get)]
    fields: Vec<String>,
}

/// Read one field of each record of JSON Lines.
///
/// The grammar is that of Python's `json`: `NaN` is a value, of repeated keys the last counts. A
/// surrogate without its other half takes the three bytes that it would have as a character, so
/// that the text is not UTF-8. Bytes that are not UTF-8 are handed on within a text and allowed in
/// other strings. The GIL is released meanwhile.
///
/// Args:
///     data: Whole lines; the last may lack its newline. Blank ones are skipped.
///     field: The keys that lead to the text, from the outermost in; 100 at most. A record's own
///         key that is all of them with dots between comes first.
///
/// Raises:
///     JsonLineError: A line is no JSON object, or has something else there than a string or null,
///         or something else than an object or null on the way.
///     ValueError: `field` is empty, or too long.
#[pyfunction]
pub(crate) fn json_texts(
    py: Python<'_>,
    data: Bytes<'_>,
    field: Vec<String>,
) -> PyResult<JsonTexts> {
    if !(1..=MOST_KEYS).contains(&field.len()) {
        let text = format!("a field has 1 to {MOST_KEYS} keys, not {}", field.len());
        return Err(PyValueError::new_err(text));
    }
    let field: Vec<_> = field.iter().map(String::as_str).collect();
    let data = data.as_ref();
    guarded(|| {
        let texts = py
            .detach(|| json::texts(data, &field))
            .map_err(|error| from_line(py, &error))?;
        Ok(JsonTexts {
            data: PyBytes::new(py, &texts.data).unbind(),
            offsets: native(py, &texts.offsets)?,
            starts: native(py, &texts.starts)?,
            records: texts.records,
            absent: texts.absent,
            fields: texts.fields,
        })
    })
}

/// Native integers of 8 bytes; all are less than 2**63, as memory is.
pub(crate) fn native(py: Python<'_>, places: &[usize]) -> PyResult<Py<PyBytes>> {
    let bytes = PyBytes::new_with(py, places.len() * 8, |bytes| {
        for (word, &place) in bytes.chunks_exact_mut(8).zip(places) {
            word.copy_from_slice(&(place as u64).to_ne_bytes());
        }
        Ok(())
    })?;
    Ok(bytes.unbind())
}
