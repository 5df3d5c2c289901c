//! From the scanner through the cache to ids.
//!
//! Pre-tokens wait in a batch while their buckets are fetched from memory; a full batch is looked
//! up in one short loop, in the order of the text.

#![allow(
    clippy::inline_always,
    reason = "the scanner's loop and this are one loop"
)]

use super::cache::{Cache, INLINE, LONGEST_KEPT, STORED};
use super::key::{Key, LONGEST};
use super::vocabulary::Vocabulary;
use crate::scan::Sink;

/// Pre-tokens per batch: enough to hide a fetch from memory.
const BATCH: usize = 64;

/// Ids that wait to be written.
const RECENT: usize = 4 * BATCH;

/// Takes the ids of a text in order.
pub(super) trait Ids {
    /// The first `number` of these.
    fn few<const N: usize>(&mut self, ids: &[u32; N], number: u32);
    /// All of these.
    fn many(&mut self, ids: &[u32]);
    /// Called after at most [`BATCH`] calls of the others.
    fn settle(&mut self) {}
    /// How many were taken, as of the last call of `settle`.
    fn taken(&self) -> u64;
}

/// Ids as they come.
pub(super) struct List {
    pub(super) ids: Vec<u32>,
    /// Where some are copied without asking how many they are.
    recent: [u32; RECENT],
    used: usize,
}

impl List {
    /// A list with room for so many.
    pub(super) fn with_capacity(ids: usize) -> Self {
        Self {
            ids: Vec::with_capacity(ids),
            recent: [0; RECENT],
            used: 0,
        }
    }
}

impl Ids for List {
    #[inline(always)]
    fn few<const N: usize>(&mut self, ids: &[u32; N], number: u32) {
        if self.used + N > RECENT {
            self.settle();
        }
        self.recent[self.used..self.used + N].copy_from_slice(ids);
        self.used += number as usize;
    }

    fn many(&mut self, ids: &[u32]) {
        self.settle();
        self.ids.extend_from_slice(ids);
    }

    fn settle(&mut self) {
        self.ids.extend_from_slice(&self.recent[..self.used]);
        self.used = 0;
    }

    fn taken(&self) -> u64 {
        self.ids.len() as u64
    }
}

/// How many ids there are.
#[derive(Default)]
pub(super) struct Number(u64);

impl Ids for Number {
    #[inline(always)]
    fn few<const N: usize>(&mut self, _ids: &[u32; N], number: u32) {
        self.0 += u64::from(number);
    }

    fn many(&mut self, ids: &[u32]) {
        self.0 += ids.len() as u64;
    }

    fn taken(&self) -> u64 {
        self.0
    }
}

/// What a thread needs to encode, kept from one text to the next.
pub(super) struct Desk {
    pub(super) cache: Cache,
    scratch: Vec<u32>,
    keys: [Key; BATCH],
    /// Start and end in the text, of pre-tokens that are too long for their keys to tell.
    spans: [(usize, usize); BATCH],
}

impl Desk {
    /// Bytes held.
    pub(super) fn memory_bytes(&self) -> usize {
        size_of::<Self>() + self.cache.memory_bytes()
    }

    pub(super) fn new() -> Self {
        Self {
            cache: Cache::new(),
            scratch: Vec::new(),
            keys: [Key::default(); BATCH],
            spans: [(0, 0); BATCH],
        }
    }
}

/// Encodes what the scanner finds.
pub(super) struct Batch<'b, I> {
    vocabulary: &'b Vocabulary,
    desk: &'b mut Desk,
    waiting: usize,
    pub(super) ids: I,
}

impl<'b, I: Ids> Batch<'b, I> {
    pub(super) fn new(vocabulary: &'b Vocabulary, desk: &'b mut Desk, ids: I) -> Self {
        Self {
            vocabulary,
            desk,
            waiting: 0,
            ids,
        }
    }

    /// Looks up what waits. To be called at the end of each text given to the scanner.
    #[inline(never)]
    pub(super) fn flush(&mut self, text: &[u8]) {
        for at in 0..self.waiting.min(BATCH) {
            let key = self.desk.keys[at];
            let Some(entry) = self.desk.cache.near(key) else {
                self.far(key, at, text);
                continue;
            };
            if entry.inline() <= INLINE {
                self.ids.few(&entry.four(), entry.inline());
                continue;
            }
            let (start, end) = if key.is_long() {
                self.desk.spans[at]
            } else {
                (0, 0)
            };
            match self.desk.cache.stored(entry, &text[start..end]) {
                Some((ids, number)) => self.ids.few::<STORED>(ids, number),
                None => self.far(key, at, text),
            }
        }
        self.ids.settle();
        self.waiting = 0;
    }

    /// Looks up what is not inline, or not in its first bucket, or not in the cache.
    #[inline(never)]
    fn far(&mut self, key: Key, at: usize, text: &[u8]) {
        let (bytes, short) = key.bytes();
        let (start, end) = self.desk.spans[at];
        let pretoken = short.map_or_else(|| &text[start..end], |length| &bytes[..length]);
        let Desk { cache, scratch, .. } = &mut *self.desk;
        let found = cache.find(key);
        if let Some(ids) = found.and_then(|entry| cache.ids(entry, pretoken)) {
            self.ids.many(ids);
            return;
        }
        let known = found.is_some();
        let ids = self.vocabulary.encode(pretoken, scratch);
        self.ids.many(ids);
        if !known && pretoken.len() <= LONGEST_KEPT {
            cache.insert(key, pretoken, ids);
        }
    }
}

impl<I: Ids> Sink for Batch<'_, I> {
    #[inline(always)]
    fn pretoken(&mut self, text: &[u8], start: usize, end: usize) {
        let key = if end - start <= LONGEST {
            Key::short(text, start, end)
        } else {
            self.desk.spans[self.waiting] = (start, end);
            Key::long(&text[start..end])
        };
        self.desk.cache.prefetch(key);
        self.desk.keys[self.waiting] = key;
        self.waiting += 1;
        if self.waiting == BATCH {
            self.flush(text);
        }
    }
}
