//! `Encoded`: what documents come to, as a Python class.

use bpefleet_core::encode;
use pyo3::prelude::*;

use crate::integers::Integers;

/// Ids of documents.
#[pyclass(module = "bpefleet.kernel", name = "Encoded", frozen)]
pub(crate) struct Encoded {
    ids: Py<Integers>,
    ends: Py<Integers>,
    replaced: u64,
}

impl Encoded {
    /// What encoding came to, where Python finds it.
    pub(crate) fn of(py: Python<'_>, encoded: encode::Encoded) -> PyResult<Self> {
        Ok(Self {
            ids: Py::new(py, Integers::ids(encoded.ids))?,
            ends: Py::new(py, Integers::ends(encoded.ends))?,
            replaced: encoded.replaced,
        })
    }
}

#[pymethods]
impl Encoded {
    /// All ids, document after document: 32 bits each. None if they were only counted.
    #[getter]
    fn ids(&self, py: Python<'_>) -> Py<Integers> {
        self.ids.clone_ref(py)
    }

    /// For each document the number of ids up to its end: 64 bits each.
    #[getter]
    fn ends(&self, py: Python<'_>) -> Py<Integers> {
        self.ends.clone_ref(py)
    }

    /// Sequences of bytes that were not UTF-8, and replaced.
    #[getter]
    fn replaced(&self) -> u64 {
        self.replaced
    }
}
