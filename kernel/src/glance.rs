//! `glance`: a first look at many files.

use std::path::PathBuf;

use bpefleet_core::glance;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

use crate::errors::guarded;

/// Look at files of a folder, several side by side: size, time of change, beginning.
///
/// The GIL is released meanwhile.
///
/// Args:
///     folder: Where they are.
///     names: Which.
///     certain: First bytes that are those of text, whatever follows, but for NUL.
///     head: How many bytes of a file are its beginning.
///
/// Returns:
///     For each file a byte, which is 0 if it takes another look: it is no regular file, is empty,
///     cannot be read, or has a NUL byte at its beginning. Its bytes; when it changed, nanoseconds
///     since the epoch: native integers of 8 bytes. And by index the beginnings that are not
///     certain to be those of text.
#[pyfunction]
#[pyo3(name = "glance")]
#[allow(clippy::type_complexity, reason = "a tuple for Python")]
pub(crate) fn look_at(
    py: Python<'_>,
    folder: PathBuf,
    names: Vec<String>,
    certain: Vec<u8>,
    head: usize,
) -> PyResult<(
    Bound<'_, PyBytes>,
    Bound<'_, PyBytes>,
    Bound<'_, PyBytes>,
    Bound<'_, PyDict>,
)> {
    guarded(|| {
        let found = py.detach(|| glance::glance(&folder, &names, &certain, head));
        let heads = PyDict::new(py);
        let (mut known, mut sizes, mut changed) = (vec![], vec![], vec![]);
        for (index, seen) in found.iter().enumerate() {
            known.push(u8::from(seen.is_some()));
            let (size, at) = seen
                .as_ref()
                .map_or((0, 0), |seen| (seen.size, seen.changed));
            sizes.extend(size.to_ne_bytes());
            changed.extend(at.to_ne_bytes());
            if let Some(head) = seen.as_ref().and_then(|seen| seen.head.as_deref()) {
                heads.set_item(index, PyBytes::new(py, head))?;
            }
        }
        let [known, sizes, changed] = [known, sizes, changed].map(|of| PyBytes::new(py, &of));
        Ok((known, sizes, changed, heads))
    })
}
