//! `store_ids`: ids as files of tokens have them.

use bpefleet_core::stored::{documents, text, Stored, StoredError, Width};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::bytes::Memory;
use crate::errors::guarded;
use crate::integers::Integers;

/// Ids as they are stored, little-endian, and where documents end in them.
///
/// The GIL is released meanwhile.
///
/// Args:
///     ids: Native integers of 4 bytes, as `Encoded.ids`.
///     ends: Where documents end, as `Encoded.ends`: each is followed by the separator. None: the
///         ids are of a text, in which each separator ends a document.
///     width: Bytes of a stored id, 2 or 4.
///     separator: The id that ends documents; None for none.
///
/// Returns:
///     The bytes, and for each document that ends the number of ids up to its end, separators
///     included.
///
/// Raises:
///     ValueError: An id needs more bytes; ends that descend or lie behind the ids; another width.
///     BufferError: A buffer is not contiguous.
#[pyfunction]
#[pyo3(signature = (ids, ends, width, separator))]
pub(crate) fn store_ids<'py>(
    py: Python<'py>,
    ids: Memory<'py>,
    ends: Option<Memory<'py>>,
    width: usize,
    separator: Option<u32>,
) -> PyResult<(Bound<'py, PyBytes>, Integers)> {
    let width = match width {
        2 => Width::Two,
        4 => Width::Four,
        _ => return Err(PyValueError::new_err("an id takes 2 or 4 bytes")),
    };
    guarded(|| {
        let read = ids.read(py, 0..ids.len());
        let ends = ends.as_ref().map(|ends| ends.read(py, 0..ends.len()));
        let found = py.detach(|| match &ends {
            Some(ends) => documents(&read, ends, width, separator),
            None => text(&read, width, separator),
        });
        let Stored { bytes, ends } = found.map_err(|error| match error {
            StoredError::Wide(id) => PyValueError::new_err(format!("the id {id} is too wide")),
            StoredError::Ends => PyValueError::new_err("ends that descend or lie behind the ids"),
        })?;
        Ok((PyBytes::new(py, &bytes), Integers::ends(ends)))
    })
}
