//! Arrays of integers that Python reads where they are, through the buffer protocol.

use std::ffi::{c_int, c_void, CStr};
use std::ptr;

use pyo3::exceptions::PyBufferError;
use pyo3::ffi;
use pyo3::prelude::*;

/// What is in an array; it never changes, nor does its place.
enum Items {
    Ids(Vec<u32>),
    Ends(Vec<u64>),
}

/// Integers in memory: `memoryview(it)`, or `numpy.asarray(it)`, reads them without a copy.
///
/// Ids have 32 bits (format `I`), ends 64 (format `Q`), in the machine's order. Nobody can change
/// them.
#[pyclass(module = "bpefleet.kernel", name = "Integers", frozen)]
pub(crate) struct Integers {
    items: Items,
    length: ffi::Py_ssize_t,
    width: ffi::Py_ssize_t,
}

impl Integers {
    pub(crate) fn ids(ids: Vec<u32>) -> Self {
        Self::new(Items::Ids(ids))
    }

    pub(crate) fn ends(ends: Vec<u64>) -> Self {
        Self::new(Items::Ends(ends))
    }

    fn new(items: Items) -> Self {
        let (length, width) = match &items {
            Items::Ids(ids) => (ids.len(), size_of::<u32>()),
            Items::Ends(ends) => (ends.len(), size_of::<u64>()),
        };
        // No memory has so many bytes that this wraps.
        #[allow(clippy::cast_possible_wrap, reason = "see above")]
        Self {
            items,
            length: length as ffi::Py_ssize_t,
            width: width as ffi::Py_ssize_t,
        }
    }

    fn start(&self) -> (*const c_void, &'static CStr) {
        match &self.items {
            Items::Ids(ids) => (ids.as_ptr().cast(), c"I"),
            Items::Ends(ends) => (ends.as_ptr().cast(), c"Q"),
        }
    }
}

#[pymethods]
impl Integers {
    fn __len__(&self) -> usize {
        self.length.unsigned_abs()
    }

    /// # Safety
    /// Python calls it with a `view` that it may fill.
    unsafe fn __getbuffer__(
        slf: Bound<'_, Self>,
        view: *mut ffi::Py_buffer,
        flags: c_int,
    ) -> PyResult<()> {
        if flags & ffi::PyBUF_WRITABLE == ffi::PyBUF_WRITABLE {
            return Err(PyBufferError::new_err("these integers cannot be changed"));
        }
        let wanted = |flag| flags & flag == flag;
        let this = slf.get();
        let (start, format) = this.start();
        // SAFETY: the view may be filled. What it points to is in `this` or static; `this` never
        // changes, and lives as long as the view, which holds a reference to it. Nobody writes
        // through the pointers that are not const: the view is said to be read-only.
        unsafe {
            (*view).buf = start.cast_mut();
            (*view).len = this.length * this.width;
            (*view).readonly = 1;
            (*view).itemsize = this.width;
            (*view).format = if wanted(ffi::PyBUF_FORMAT) {
                format.as_ptr().cast_mut()
            } else {
                ptr::null_mut()
            };
            (*view).ndim = 1;
            (*view).shape = if wanted(ffi::PyBUF_ND) {
                ptr::from_ref(&this.length).cast_mut()
            } else {
                ptr::null_mut()
            };
            (*view).strides = if wanted(ffi::PyBUF_STRIDES) {
                ptr::from_ref(&this.width).cast_mut()
            } else {
                ptr::null_mut()
            };
            (*view).suboffsets = ptr::null_mut();
            (*view).internal = ptr::null_mut();
            (*view).obj = slf.into_ptr();
        }
        Ok(())
    }
}
