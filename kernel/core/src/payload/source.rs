//! A payload that is read from its front, some entries at a time, and checked on the way.

use super::body::{BAD_ENTRY, OUT_OF_ORDER, TRAILING, WRONG_TOTAL};
use super::cursor::Cursor;
use super::form::{Entry, Form};
use super::{Info, PayloadError};

/// Entries that are read at once where their hashes differ: several times as many as expected.
const MOST: usize = 1024;

/// Entries that are passed over at once, of which one is looked at.
const STRIDE: u64 = 64;

/// The body of a payload, as a window that moves forward.
pub(super) trait Input {
    /// The bytes from the place reached on; at least as many as a few hundred entries take, or all
    /// there are, once `prepare` was called.
    fn window(&self) -> &[u8];
    /// Moves the place reached, within the window.
    fn advance(&mut self, bytes: usize);
    /// Whether the window reaches to the end of the body.
    fn is_whole(&self) -> bool;
    /// Makes the window longer if it is short, or if `more` are needed in any case.
    fn prepare(&mut self, more: bool) -> Result<(), PayloadError>;
    /// Looks at what can be checked only once everything was read.
    fn finish(&mut self) -> Result<(), PayloadError>;
}

/// A body in memory, of which everything else is checked already.
impl Input for &[u8] {
    fn window(&self) -> &[u8] {
        self
    }

    fn advance(&mut self, bytes: usize) {
        *self = &self[bytes..];
    }

    fn is_whole(&self) -> bool {
        true
    }

    fn prepare(&mut self, _: bool) -> Result<(), PayloadError> {
        Ok(())
    }

    fn finish(&mut self) -> Result<(), PayloadError> {
        Ok(())
    }
}

/// A payload that is read.
pub(super) struct Source<I> {
    input: I,
    pub(super) info: Info,
    /// How often each of its counts counts.
    pub(super) weight: u64,
    /// What is left of the header's total. No sum of counts exceeds the totals', which fit as
    /// they are weighted.
    left: u64,
    /// Entries of this width that were not taken yet.
    entries: u64,
    /// Whether the window ended too early.
    hungry: bool,
}

/// Entries that were read, and not taken yet.
pub(super) struct Found<P> {
    pub(super) entries: Vec<Entry<P>>,
    /// The last hash up to which these are all. `None` if that is known of none.
    pub(super) known: Option<u64>,
    pub(super) taken: Taken,
}

/// What it takes to go on behind some entries.
pub(super) struct Taken {
    bytes: usize,
    pub(super) entries: usize,
    left: u64,
    hungry: bool,
}

impl<I: Input> Source<I> {
    pub(super) fn new(input: I, info: Info, weight: u64) -> Self {
        Self {
            input,
            left: info.pretokens,
            info,
            weight,
            entries: 0,
            hungry: false,
        }
    }

    /// Begins with a width of so many entries.
    pub(super) fn begin(&mut self, entries: u64) {
        self.entries = entries;
    }

    /// Whether all entries of the width were taken.
    pub(super) fn is_spent(&self) -> bool {
        self.entries == 0
    }

    /// To be called before reading.
    pub(super) fn prepare(&mut self) -> Result<(), PayloadError> {
        self.input.prepare(std::mem::take(&mut self.hungry))
    }

    /// Reads the entries with hashes of `from` to `until` into `entries`, which is empty. All with
    /// lower ones have been taken.
    pub(super) fn read<'s, F: Form>(
        &'s self,
        from: u64,
        until: u64,
        mut entries: Vec<Entry<F::Pretoken<'s>>>,
    ) -> Result<Found<F::Pretoken<'s>>, PayloadError> {
        let mut cursor = Cursor::new(self.input.window());
        let mut known = Some(until);
        let mut left = self.left;
        let (mut end, mut hungry) = (0, false);
        let mut before = None;
        while (entries.len() as u64) < self.entries {
            let Some(mut entry) = F::read(&mut cursor) else {
                if self.input.is_whole() {
                    return Err(BAD_ENTRY);
                }
                hungry = true;
                // Another entry may have the hash of the last.
                let last = entries.last().map_or(from, |entry| entry.hash);
                known = last.checked_sub(1);
                break;
            };
            let total = left.checked_sub(entry.count).ok_or(WRONG_TOTAL)?;
            let place = Some(entry.place());
            if entry.hash < from || place <= before {
                return Err(OUT_OF_ORDER);
            }
            if entry.hash > until {
                break;
            }
            if entries.len() >= MOST && entry.hash > entries[0].hash {
                known = Some(entry.hash - 1);
                break;
            }
            before = place;
            left = total;
            end = cursor.place();
            entry.count *= self.weight;
            entries.push(entry);
        }
        let taken = Taken {
            bytes: end,
            entries: entries.len(),
            left,
            hungry,
        };
        Ok(Found {
            entries,
            known,
            taken,
        })
    }

    /// Gives back those with hashes above `bound`.
    pub(super) fn give_back<F: Form>(&self, found: &mut Found<F::Pretoken<'_>>, bound: u64) {
        let keep = found.entries.partition_point(|entry| entry.hash <= bound);
        if keep == found.entries.len() {
            return;
        }
        found.entries.truncate(keep);
        let mut cursor = Cursor::new(self.input.window());
        let taken = &mut found.taken;
        (taken.left, taken.entries) = (self.left, keep);
        for _ in 0..keep {
            if let Some(entry) = F::read(&mut cursor) {
                taken.left -= entry.count;
            }
        }
        taken.bytes = cursor.place();
    }

    /// Goes on behind what was read and not given back.
    pub(super) fn take(&mut self, taken: &Taken) {
        self.input.advance(taken.bytes);
        self.entries -= taken.entries as u64;
        self.left = taken.left;
        self.hungry = taken.hungry;
    }

    /// Leaves out the entries with hashes up to `until`. Whether these are in order is not looked at.
    pub(super) fn skip<F: Form>(&mut self, until: u64) -> Result<(), PayloadError> {
        loop {
            self.prepare()?;
            let taken = self.pass::<F>(until)?;
            self.take(&taken);
            if !self.hungry {
                return Ok(());
            }
        }
    }

    /// What it takes to go on behind those of them that the window has.
    fn pass<F: Form>(&self, until: u64) -> Result<Taken, PayloadError> {
        let mut taken = Taken {
            bytes: 0,
            entries: 0,
            left: self.left,
            hungry: false,
        };
        let mut cursor = Cursor::new(self.input.window());
        let mut stride = STRIDE;
        while (taken.entries as u64) < self.entries {
            let entries = stride.min(self.entries - taken.entries as u64);
            let mut ahead = cursor.clone();
            let counts = (1..entries).try_fold(0u64, |sum, _| {
                F::pass(&mut ahead).map(|count| sum.saturating_add(count))
            });
            let found = counts.zip(F::read(&mut ahead));
            match found {
                Some((counts, last)) if last.hash <= until => {
                    let counts = counts.saturating_add(last.count);
                    taken.left = taken.left.checked_sub(counts).ok_or(WRONG_TOTAL)?;
                    taken.entries += usize::try_from(entries).unwrap_or(usize::MAX);
                    taken.bytes = ahead.place();
                    cursor = ahead;
                }
                // The border is among them, or the window's end.
                _ if entries > 1 => stride = 1,
                Some(_) => break,
                None if self.input.is_whole() => return Err(BAD_ENTRY),
                None => {
                    taken.hungry = true;
                    break;
                }
            }
        }
        Ok(taken)
    }

    /// Says that the window has to be longer.
    pub(super) fn ask(&mut self, taken: &Taken) {
        self.hungry = taken.hungry;
    }

    /// Checks that nothing is left.
    pub(super) fn finish(&mut self) -> Result<(), PayloadError> {
        if !(self.input.window().is_empty() && self.input.is_whole()) {
            return Err(TRAILING);
        }
        if self.left > 0 {
            return Err(WRONG_TOTAL);
        }
        self.input.finish()
    }
}
