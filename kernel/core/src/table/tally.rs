//! From the scanner into the table.
//!
//! The scanner's tokens wait in two small rings, one for each width of word, while their slots
//! are fetched; a full ring is counted in one short loop. Longer pre-tokens are counted at once.

use super::key::{Key, Mid, Short};
use super::CountTable;
use crate::scan::Sink;

/// Tokens per ring: enough work to hide a fetch from memory, few enough to stay in the first
/// cache (64 × 8 and 64 × 16 bytes).
const RING: usize = 64;

/// Counts what the scanner finds.
pub(crate) struct Tally<'t> {
    table: &'t mut CountTable,
    short: [Short; RING],
    shorts: usize,
    mid: [Mid; RING],
    mids: usize,
    pretokens: u64,
}

impl<'t> Tally<'t> {
    /// Counts into `table`, whose total must have room for all tokens to come.
    pub(crate) fn new(table: &'t mut CountTable) -> Self {
        table.reserve(RING, RING, 0);
        Self {
            pretokens: table.pretokens(),
            table,
            short: [Short::default(); RING],
            shorts: 0,
            mid: [Mid::default(); RING],
            mids: 0,
        }
    }

    #[inline(never)]
    fn count_short(&mut self) {
        for &key in &self.short[..self.shorts] {
            self.table.short.add(key, 1);
        }
        self.pretokens += self.shorts as u64;
        self.shorts = 0;
        self.table.short.reserve(RING);
    }

    #[inline(never)]
    fn count_mid(&mut self) {
        for &key in &self.mid[..self.mids] {
            self.table.mid.add(key, 1);
        }
        self.pretokens += self.mids as u64;
        self.mids = 0;
        self.table.mid.reserve(RING);
    }
}

impl Sink for Tally<'_> {
    #[inline]
    fn pretoken(&mut self, text: &[u8], start: usize, end: usize) {
        match end - start {
            0 => {}
            Short::MIN..=Short::MAX => {
                let key = Short::read(text, start, end);
                self.table.short.prefetch(key);
                self.short[self.shorts] = key;
                self.shorts += 1;
                if self.shorts == RING {
                    self.count_short();
                }
            }
            Mid::MIN..=Mid::MAX => {
                let key = Mid::read(text, start, end);
                self.table.mid.prefetch(key);
                self.mid[self.mids] = key;
                self.mids += 1;
                if self.mids == RING {
                    self.count_mid();
                }
            }
            _ => {
                self.table.long.add(&text[start..end], 1);
                self.pretokens += 1;
            }
        }
    }
}

impl Drop for Tally<'_> {
    /// Counts what still waits, and sets the table's total.
    fn drop(&mut self) {
        self.count_short();
        self.count_mid();
        self.table.set_total(self.pretokens);
    }
}
