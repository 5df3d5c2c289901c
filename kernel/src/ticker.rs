//! Signals and progress, seen to from inside a loop that runs without the GIL.

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use pyo3::prelude::*;

/// Often enough for a progress bar and for Ctrl-C, seldom enough to cost nothing.
const INTERVAL: Duration = Duration::from_millis(100);

/// Handles pending signals and calls the progress callback, about ten times a second.
pub(crate) struct Ticker {
    progress: Option<Py<PyAny>>,
    last: Instant,
    raised: Option<PyErr>,
}

impl Ticker {
    pub(crate) fn new(progress: Option<Py<PyAny>>) -> Self {
        Self {
            progress,
            last: Instant::now(),
            raised: None,
        }
    }

    /// To be called by the loop; says to break off when a handler or the callback raised. `report`
    /// calls the callback.
    pub(crate) fn tick(
        &mut self,
        report: impl FnOnce(Python<'_>, &Py<PyAny>) -> PyResult<Py<PyAny>>,
    ) -> ControlFlow<()> {
        if self.last.elapsed() < INTERVAL {
            return ControlFlow::Continue(());
        }
        let result = Python::attach(|py| {
            py.check_signals()?;
            self.progress
                .as_ref()
                .map_or(Ok(()), |call| report(py, call).map(drop))
        });
        self.last = Instant::now();
        match result {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => {
                self.raised = Some(error);
                ControlFlow::Break(())
            }
        }
    }

    /// What made `tick` say to break off.
    pub(crate) fn into_raised(self) -> Option<PyErr> {
        self.raised
    }
}
