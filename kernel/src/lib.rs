//! The Python side of the kernel: the module `bpefleet.kernel._kernel`.
//!
//! Thin on purpose: arguments in, one call into `bpefleet_core` with the GIL released, result or
//! exception out. What every call shares lives beside it: [`bytes`] (buffers that nobody can
//! change meanwhile), [`ticker`] (signals and progress), [`errors`] (exceptions, and panics made
//! into one).

#![allow(
    clippy::doc_markdown,
    reason = "the docs of what Python sees are Python's docstrings"
)]
#![allow(
    clippy::needless_pass_by_value,
    reason = "arguments arrive by value from Python"
)]

mod bytes;
mod counts;
mod cutter;
mod encoded;
mod encoder;
mod errors;
mod folded;
mod glance;
mod integers;
mod json;
mod merge;
mod sampler;
mod stored;
mod ticker;
mod vocabulary;
mod words;

use pyo3::prelude::*;

/// Scan, count, fold, merge, encode: the compiled half of bpefleet. Import `bpefleet.kernel`.
#[pymodule]
mod _kernel {
    use bpefleet_core::{cuts::CutRule, merge::TieBreak, payload, scan};
    use pyo3::prelude::*;
    use pyo3::types::{PyDict, PyTuple};

    #[pymodule_export]
    use crate::counts::{Counts, PayloadInfo};
    #[pymodule_export]
    use crate::cutter::Cutter;
    #[pymodule_export]
    use crate::encoded::Encoded;
    #[pymodule_export]
    use crate::encoder::Encoder;
    #[pymodule_export]
    use crate::errors::{
        CountOverflow, InvalidUtf8, JsonLineError, KernelError, KernelPanic, MergeTooLarge,
        PayloadError,
    };
    #[pymodule_export]
    use crate::folded::{check_file, fold_files, fold_ranges, FoldedCounts};
    #[pymodule_export]
    use crate::glance::look_at;
    #[pymodule_export]
    use crate::integers::Integers;
    #[pymodule_export]
    use crate::json::{json_texts, JsonTexts};
    #[pymodule_export]
    use crate::merge::{merge, Merged};
    #[pymodule_export]
    use crate::sampler::{Sampler, Taken};
    #[pymodule_export]
    use crate::stored::store_ids;
    #[pymodule_export]
    use crate::words::{TokenBytes, Words};

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        let py = module.py();
        let patterns = PyDict::new(py);
        for pattern in scan::Pattern::ALL {
            patterns.set_item(pattern.name(), pattern.regex())?;
        }
        module.add("PATTERNS", patterns)?;
        module.add(
            "TIE_BREAKS",
            PyTuple::new(py, TieBreak::ALL.map(TieBreak::name))?,
        )?;
        module.add("CUT_RULES", PyTuple::new(py, CutRule::NAMES)?)?;
        module.add("UNICODE_VERSION", scan::UNICODE_VERSION)?;
        module.add("VERSION", env!("CARGO_PKG_VERSION"))?;
        module.add("FORMAT_VERSION", payload::FORMAT_VERSION)?;
        module.add("SAMPLE", payload::SAMPLE)?;
        // Told by instances; here so that the classes have them.
        py.get_type::<InvalidUtf8>().setattr("offset", 0)?;
        let line_error = py.get_type::<JsonLineError>();
        line_error.setattr("offset", 0)?;
        line_error.setattr("line", 0)?;
        line_error.setattr("reason", "")?;
        py.get_type::<KernelError>().setattr("index", 0)
    }
}
