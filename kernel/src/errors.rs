//! The kernel's exceptions.

use std::any::Any;
use std::panic::{catch_unwind, AssertUnwindSafe};

use bpefleet_core::count::CountError;
use bpefleet_core::json::LineError;
use bpefleet_core::payload;
use bpefleet_core::table::Overflow;
use pyo3::create_exception;
use pyo3::exceptions::{PyException, PyOSError};
use pyo3::prelude::*;

create_exception!(
    bpefleet.kernel,
    KernelError,
    PyException,
    "The base of the kernel's exceptions; `index` says with which of several payloads it came."
);
create_exception!(
    bpefleet.kernel,
    InvalidUtf8,
    KernelError,
    "The data is not UTF-8; `offset` is the place of the first bad byte in it."
);
create_exception!(
    bpefleet.kernel,
    JsonLineError,
    KernelError,
    "A line is no record: `offset` and `line` say which, `reason` why."
);
create_exception!(
    bpefleet.kernel,
    PayloadError,
    KernelError,
    "A payload is damaged, too large, or made by another version or for another digest."
);
create_exception!(
    bpefleet.kernel,
    CountOverflow,
    KernelError,
    "The pre-tokens in all would be 2**64 or more."
);
create_exception!(
    bpefleet.kernel,
    MergeTooLarge,
    KernelError,
    "The counts are more than the merge loop can number."
);
create_exception!(
    bpefleet.kernel,
    KernelPanic,
    KernelError,
    "A bug in the kernel. The objects in use may be half changed: discard them."
);

/// Runs `call`; a panic in it becomes a [`KernelPanic`].
///
/// `PyO3` would raise `PanicException`, a `BaseException`, which passes every `except Exception`
/// of a worker that is to report the failure.
pub(crate) fn guarded<T>(call: impl FnOnce() -> PyResult<T>) -> PyResult<T> {
    catch_unwind(AssertUnwindSafe(call))
        .unwrap_or_else(|panic| Err(KernelPanic::new_err(text(panic.as_ref()))))
}

/// What a panic says.
fn text(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().copied();
    let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    format!(
        "a bug in the kernel: {}",
        text.unwrap_or("panic without a message")
    )
}

/// The exception for an error of counting. `cancelled` is what made the ticker cancel.
pub(crate) fn from_count(py: Python<'_>, error: CountError, cancelled: Option<PyErr>) -> PyErr {
    let text = error.to_string();
    match error {
        CountError::InvalidUtf8 { offset } => {
            let exception = InvalidUtf8::new_err(text);
            match exception.value(py).setattr("offset", offset) {
                Ok(()) => exception,
                Err(other) => other,
            }
        }
        CountError::Overflow(_) => CountOverflow::new_err(text),
        CountError::Cancelled => cancelled.unwrap_or_else(|| KernelError::new_err(text)),
    }
}

pub(crate) fn from_line(py: Python<'_>, error: &LineError) -> PyErr {
    let exception = JsonLineError::new_err(error.to_string());
    let value = exception.value(py);
    let told = value
        .setattr("offset", error.offset)
        .and_then(|()| value.setattr("line", error.line))
        .and_then(|()| value.setattr("reason", &error.reason));
    match told {
        Ok(()) => exception,
        Err(other) => other,
    }
}

pub(crate) fn from_overflow(overflow: Overflow) -> PyErr {
    CountOverflow::new_err(overflow.to_string())
}

pub(crate) fn from_payload(error: &payload::PayloadError) -> PyErr {
    match error {
        payload::PayloadError::Overflow(overflow) => from_overflow(*overflow),
        payload::PayloadError::Unreadable { code } => {
            from_system(&std::io::Error::from_raw_os_error(*code))
        }
        error => PayloadError::new_err(error.to_string()),
    }
}

/// The exception for an error of the system.
pub(crate) fn from_system(error: &std::io::Error) -> PyErr {
    let text = error.to_string();
    let reason = text.split(" (os error").next().unwrap_or_default();
    match error.raw_os_error() {
        Some(code) => PyOSError::new_err((code, reason.to_owned())),
        None => PyOSError::new_err(text),
    }
}
