//! Arguments: bytes that stay as they are while the GIL is released, and tokens.

use bpefleet_core::specials::SpecialsError;
use pyo3::buffer::PyBuffer;
use pyo3::exceptions::PyValueError;
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
