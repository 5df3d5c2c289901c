//! A heartbeat for long loops: reports progress by the clock, looks at the clock by the work.

use std::time::{Duration, Instant};

use super::{Merge, MergeError, Progress};

/// Time between two reports; none in tests, which must not depend on how fast the machine is.
const INTERVAL: Duration = Duration::from_millis(if cfg!(test) { 0 } else { 66 });

/// Work between two looks at the clock, in slots or postings visited: a few milliseconds.
const STRIDE: usize = 1 << 18;

/// Work put down for a merge besides its postings.
const MERGE_WORK: usize = 64;

pub(super) struct Pulse<'f, 'p> {
    report: &'f mut Progress<'p>,
    made: Vec<Merge>,
    work: usize,
    last: Instant,
}

impl<'f, 'p> Pulse<'f, 'p> {
    pub(super) fn new(report: &'f mut Progress<'p>) -> Self {
        Self {
            report,
            made: Vec::new(),
            work: 0,
            last: Instant::now(),
        }
    }

    /// Notes one more merge.
    pub(super) fn merged(&mut self, merge: Merge) -> Result<(), MergeError> {
        self.made.push(merge);
        self.work(MERGE_WORK)
    }

    /// The merges so far.
    pub(super) fn made(&self) -> &[Merge] {
        &self.made
    }

    /// All merges, in the end.
    pub(super) fn take_made(&mut self) -> Vec<Merge> {
        std::mem::take(&mut self.made)
    }

    /// Notes `amount` slots or postings visited, and reports when it is time.
    #[inline]
    pub(super) fn work(&mut self, amount: usize) -> Result<(), MergeError> {
        self.work += amount;
        if self.work < STRIDE {
            return Ok(());
        }
        self.work = 0;
        self.beat()
    }

    #[cold]
    fn beat(&mut self) -> Result<(), MergeError> {
        if self.last.elapsed() < INTERVAL {
            return Ok(());
        }
        self.last = Instant::now();
        if (self.report)(&self.made).is_break() {
            return Err(MergeError::Cancelled);
        }
        Ok(())
    }
}
