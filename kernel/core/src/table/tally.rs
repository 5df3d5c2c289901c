//! From the scanner into the table.
//!
//! Tokens wait in three small batches, one for each width, while their slots are fetched from
//! memory; a full batch is counted in one short loop. Fetching ahead took the table from 9.9 to
//! 7.4 ns per pre-token on 32 MiB of English (gpt2), batches of long ones from 22 to 19 ns on
//! multilingual text; on code, whose table stays in the cache, all this is neutral. Fetching from
//! within the batches instead, some keys ahead, or sorting into widths without a branch was slower.

#![allow(
    clippy::inline_always,
    reason = "the scanner's loop and this are one loop"
)]

use super::key::{Key, Mid, Short};
use super::long::{self, Addition};
use super::CountTable;
use crate::scan::Sink;

/// Pre-tokens per batch: enough work to hide a fetch from memory, few enough to stay in the first
/// cache (64 × 8 and 64 × 16 bytes).
const BATCH: usize = 64;

/// Bytes of a batch of long pre-tokens; one that is longer makes a batch of its own.
const LONG_BYTES: usize = 4096;

/// Counts what the scanner finds.
pub(crate) struct Tally<'t> {
    table: &'t mut CountTable,
    short: [Short; BATCH],
    shorts: usize,
    mid: [Mid; BATCH],
    mids: usize,
    /// Hash, and start and end in `long_bytes`.
    long: Vec<(u64, usize, usize)>,
    long_bytes: Vec<u8>,
    pretokens: u64,
}

impl<'t> Tally<'t> {
    /// Counts into `table`, whose total must have room for all pre-tokens to come.
    pub(crate) fn new(table: &'t mut CountTable) -> Self {
        table.reserve(BATCH, BATCH, BATCH);
        Self {
            pretokens: table.pretokens(),
            table,
            short: [Short::default(); BATCH],
            shorts: 0,
            mid: [Mid::default(); BATCH],
            mids: 0,
            long: Vec::with_capacity(BATCH),
            long_bytes: Vec::with_capacity(LONG_BYTES),
        }
    }

    #[inline(never)]
    fn count_short(&mut self) {
        for &key in &self.short[..self.shorts] {
            self.table.short.add(key, 1);
        }
        self.pretokens += self.shorts as u64;
        self.shorts = 0;
        self.table.short.reserve(BATCH);
    }

    #[inline(never)]
    fn count_mid(&mut self) {
        for &key in &self.mid[..self.mids] {
            self.table.mid.add(key, 1);
        }
        self.pretokens += self.mids as u64;
        self.mids = 0;
        self.table.mid.reserve(BATCH);
    }

    #[inline(never)]
    fn push_long(&mut self, pretoken: &[u8]) {
        let hash = long::hash(pretoken);
        self.table.long.prefetch(hash);
        let start = self.long_bytes.len();
        self.long_bytes.extend_from_slice(pretoken);
        self.long.push((hash, start, self.long_bytes.len()));
        if self.long.len() == BATCH || self.long_bytes.len() >= LONG_BYTES {
            self.count_long();
        }
    }

    fn count_long(&mut self) {
        let longs = &mut self.table.long;
        let mut likely = [None; BATCH];
        for (likely, &(hash, ..)) in likely.iter_mut().zip(&self.long) {
            *likely = longs.likely(hash);
        }
        for entry in likely.into_iter().flatten() {
            longs.prefetch_bytes(entry);
        }
        for (likely, &(hash, start, end)) in likely.into_iter().zip(&self.long) {
            let pretoken = &self.long_bytes[start..end];
            let addition = Addition {
                hash,
                pretoken,
                count: 1,
            };
            longs.add_likely(likely, &addition);
        }
        self.pretokens += self.long.len() as u64;
        self.long.clear();
        self.long_bytes.clear();
    }
}

impl Sink for Tally<'_> {
    #[inline(always)]
    fn pretoken(&mut self, text: &[u8], start: usize, end: usize) {
        match end - start {
            0 => {}
            Short::MIN..=Short::MAX => {
                let key = Short::read(text, start, end);
                self.table.short.prefetch(key);
                self.short[self.shorts] = key;
                self.shorts += 1;
                if self.shorts == BATCH {
                    self.count_short();
                }
            }
            Mid::MIN..=Mid::MAX => {
                let key = Mid::read(text, start, end);
                self.table.mid.prefetch(key);
                self.mid[self.mids] = key;
                self.mids += 1;
                if self.mids == BATCH {
                    self.count_mid();
                }
            }
            _ => self.push_long(&text[start..end]),
        }
    }
}

impl Drop for Tally<'_> {
    /// Counts what still waits, and sets the table's total.
    fn drop(&mut self) {
        self.count_short();
        self.count_mid();
        self.count_long();
        self.table.set_total(self.pretokens);
    }
}
