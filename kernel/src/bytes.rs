//! Arguments: bytes that stay as they are while the GIL is released, and tokens.

use std::borrow::Cow;
use std::ops::Range;

use bpefleet_core::specials::SpecialsError;
use pyo3::buffer::{PyBuffer, PyUntypedBuffer};
use pyo3::exceptions::{PyBufferError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

/// An argument that supports the buffer protocol.
///
/// `bytes` cannot change and are read in place. Whatever else could be changed by another thread,
/// or another process in the case of a mapped file, so it is copied.
pub(crate) enum Bytes<'py> {
    InPlace(Bound<'py, PyBytes>),
    Copied(Vec<u8>),
}

impl<'py> FromPyObject<'_, 'py> for Bytes<'py> {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        if let Ok(bytes) = object.cast::<PyBytes>() {
            return Ok(Self::InPlace(bytes.to_owned()));
        }
        let buffer = PyBuffer::<u8>::get(&object)?;
        Ok(Self::Copied(buffer.to_vec(object.py())?))
    }
}

impl AsRef<[u8]> for Bytes<'_> {
    fn as_ref(&self) -> &[u8] {
        match self {
            Self::InPlace(bytes) => bytes.as_bytes(),
            Self::Copied(bytes) => bytes,
        }
    }
}

/// An argument whose memory is read, whatever its items are; some of it only.
pub(crate) enum Memory<'py> {
    InPlace(Bound<'py, PyBytes>),
    Other(PyUntypedBuffer),
}

impl<'py> FromPyObject<'_, 'py> for Memory<'py> {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        if let Ok(bytes) = object.cast::<PyBytes>() {
            return Ok(Self::InPlace(bytes.to_owned()));
        }
        let buffer = PyUntypedBuffer::get(&object)?;
        if buffer.is_c_contiguous() {
            Ok(Self::Other(buffer))
        } else {
            Err(PyBufferError::new_err("the buffer is not contiguous"))
        }
    }
}

impl Memory<'_> {
    /// Bytes of all.
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::InPlace(bytes) => bytes.as_bytes().len(),
            Self::Other(buffer) => buffer.len_bytes(),
        }
    }

    /// Those of `range`, which lies within; copied where they could change, as for [`Bytes`].
    pub(crate) fn read(&self, _py: Python<'_>, range: Range<usize>) -> Cow<'_, [u8]> {
        match self {
            Self::InPlace(bytes) => Cow::Borrowed(&bytes.as_bytes()[range]),
            Self::Other(_) if range.is_empty() => Cow::Borrowed(&[]),
            Self::Other(buffer) => {
                let (start, length) = (buffer.buf_ptr().cast_const().cast::<u8>(), self.len());
                // SAFETY: a contiguous buffer, which is held, has so many bytes from there on, and
                // nobody changes them while they are copied, as this thread has the GIL.
                let all = unsafe { std::slice::from_raw_parts(start, length) };
                Cow::Owned(all[range].to_vec())
            }
        }
    }
}

/// A pre-token or special token: `bytes`, or `str` for its UTF-8.
#[derive(FromPyObject)]
pub(crate) enum Token {
    #[pyo3(transparent)]
    Text(String),
    #[pyo3(transparent)]
    Bytes(Vec<u8>),
}

impl Token {
    pub(crate) fn as_bytes(&self) -> &[u8] {
        match self {
            Self::Text(text) => text.as_bytes(),
            Self::Bytes(bytes) => bytes,
        }
    }
}

/// Special tokens as text.
pub(crate) fn texts(tokens: &[Token]) -> PyResult<Vec<&str>> {
    tokens
        .iter()
        .map(|token| std::str::from_utf8(token.as_bytes()))
        .collect::<Result<_, _>>()
        .map_err(|_| PyValueError::new_err("a special token is not UTF-8"))
}

/// The exception for special tokens that cannot be searched for.
pub(crate) fn unsearchable(error: &SpecialsError) -> PyErr {
    PyValueError::new_err(error.to_string())
}
