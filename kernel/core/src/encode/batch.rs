//! From the scanner through the cache to ids.
//!
//! Pre-tokens wait in a batch while their buckets are fetched from memory; a full batch is looked
//! up in one short loop, in the order of the text.

#![allow(
    clippy::inline_always,
    reason = "the scanner's loop and this are one loop"
)]

use std::ops::Range;

use super::cache::{Cache, INLINE, LONGEST_KEPT, STORED};
use super::key::{Key, LONGEST};
use super::vocabulary::Vocabulary;
use crate::prefetch::prefer_large;
use crate::scan::Sink;

/// Pre-tokens per batch: enough to hide a fetch from memory, and for several to be merged in turns.
const BATCH: usize = 768;

/// Ids that wait to be written.
const RECENT: usize = 256;

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
    pub(super) fn with_capacity(number: usize) -> Self {
        let mut ids = Vec::with_capacity(number);
        prefer_large(ids.spare_capacity_mut());
        Self {
            ids,
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
    /// Where they end in the text; each begins where the one before ends.
    ends: [usize; BATCH],
}

impl Desk {
    /// Bytes held.
    pub(super) fn memory_bytes(&self) -> usize {
        size_of::<Self>() + self.cache.memory_bytes()
    }

    pub(super) fn new(vocabulary: &Vocabulary, text: usize) -> Self {
        Self {
            cache: Cache::new(vocabulary.tokens(), text),
            scratch: Vec::new(),
            keys: [Key::default(); BATCH],
            ends: [0; BATCH],
        }
    }
}

/// Encodes what the scanner finds.
pub(super) struct Batch<'b, I> {
    vocabulary: &'b Vocabulary,
    desk: &'b mut Desk,
    waiting: usize,
    /// Where the first that waits begins in the text.
    start: usize,
    pub(super) ids: I,
}

impl<'b, I: Ids> Batch<'b, I> {
    pub(super) fn new(vocabulary: &'b Vocabulary, desk: &'b mut Desk, ids: I) -> Self {
        Self {
            vocabulary,
            desk,
            waiting: 0,
            start: 0,
            ids,
        }
    }

    /// Looks up what waits. To be called at the end of each text given to the scanner.
    pub(super) fn flush(&mut self, text: &[u8]) {
        self.look_up(text);
        self.start = 0;
    }

    #[inline(never)]
    fn look_up(&mut self, text: &[u8]) {
        let mut learned = false;
        let mut start = self.start;
        for at in 0..self.waiting.min(BATCH) {
            let key = self.desk.keys[at];
            let end = self.desk.ends[at];
            let pretoken = start..end;
            start = end;
            let Some(entry) = self.desk.cache.near(key) else {
                self.far(at, pretoken, text, &mut learned);
                continue;
            };
            if entry.inline() <= INLINE {
                self.ids.few(&entry.four(), entry.inline());
                continue;
            }
            match self.desk.cache.stored(entry, &text[pretoken.clone()]) {
                Some((ids, number)) => self.ids.few::<STORED>(ids, number),
                None => self.far(at, pretoken, text, &mut learned),
            }
        }
        self.ids.settle();
        self.start = start;
        self.waiting = 0;
    }

    /// Looks up what is not inline, or not in its first bucket, or not in the cache.
    #[inline(never)]
    fn far(&mut self, at: usize, pretoken: Range<usize>, text: &[u8], learned: &mut bool) {
        let key = self.desk.keys[at];
        if !*learned && self.desk.cache.find(key).is_none() {
            *learned = true;
            self.learn(at, pretoken.start, text);
        }
        let pretoken = &text[pretoken];
        let Desk { cache, scratch, .. } = &mut *self.desk;
        cache.promote(key);
        let found = cache.find(key);
        if let Some(ids) = found.and_then(|entry| cache.ids(entry, pretoken)) {
            self.ids.many(ids);
            return;
        }
        let known = found.is_some();
        let ids = self.vocabulary.encode(pretoken, scratch);
        self.ids.many(ids);
        if !known && pretoken.len() <= LONGEST_KEPT {
            cache.insert(key, pretoken, ids, self.vocabulary.tokens());
        }
    }

    /// Puts into the cache what waits from `first` on, where it begins, and is not there.
    #[cold]
    fn learn(&mut self, first: usize, start: usize, text: &[u8]) {
        let Desk {
            cache, keys, ends, ..
        } = &mut *self.desk;
        let tokens = self.vocabulary.tokens();
        let (mut places, mut unknown) = (Vec::new(), Vec::new());
        let mut start = start;
        for at in first..self.waiting.min(BATCH) {
            let pretoken = &text[start..ends[at]];
            start = ends[at];
            if pretoken.len() > LONGEST_KEPT || cache.find(keys[at]).is_some() {
                continue;
            }
            if !Cache::tells(pretoken) {
                if let Some(id) = tokens.get(pretoken) {
                    cache.insert(keys[at], pretoken, &[id], tokens);
                    continue;
                }
            }
            places.push(at);
            unknown.push(pretoken);
        }
        self.vocabulary.merge_each(&unknown, |which, ids| {
            let key = keys[places[which]];
            if cache.find(key).is_none() {
                cache.insert(key, unknown[which], ids, tokens);
            }
        });
    }
}

impl<I: Ids> Sink for Batch<'_, I> {
    #[inline(always)]
    fn pretoken(&mut self, text: &[u8], start: usize, end: usize) {
        let key = if end - start <= LONGEST {
            Key::short(text, start, end)
        } else {
            Key::long(&text[start..end])
        };
        self.desk.cache.prefetch(key);
        self.desk.keys[self.waiting] = key;
        self.desk.ends[self.waiting] = end;
        self.waiting += 1;
        if self.waiting == BATCH {
            self.look_up(text);
        }
    }
}
