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
use super::unknown::Unknown;
use super::vocabulary::Vocabulary;
use crate::prefetch::prefer_large;
use crate::scan::Sink;

/// Pre-tokens per batch: enough to hide a fetch from memory, and few enough for what was fetched
/// to be in the first cache still.
const BATCH: usize = 128;

/// Takes the ids of a text in order.
pub(super) trait Ids {
    /// The first `number` of these.
    fn few<const N: usize>(&mut self, ids: &[u32; N], number: u32);
    /// All of these.
    fn many(&mut self, ids: &[u32]);
    /// Puts ids into gaps that were left.
    fn fill(&mut self, unknown: &Unknown);
    /// How many were taken.
    fn taken(&self) -> u64;
}

/// Ids as they come.
pub(super) struct List {
    pub(super) ids: Vec<u32>,
}

impl List {
    /// A list with room for so many, in this memory if that is enough.
    pub(super) fn new(memory: Vec<u32>, number: usize) -> Self {
        let mut ids = memory;
        ids.clear();
        if ids.capacity() < number {
            ids.reserve_exact(number);
            prefer_large(ids.spare_capacity_mut());
        }
        Self { ids }
    }
}

impl Ids for List {
    /// Copies all of them, without asking how many there are.
    #[inline(always)]
    fn few<const N: usize>(&mut self, ids: &[u32; N], number: u32) {
        let length = self.ids.len();
        if self.ids.capacity() - length < N {
            self.ids.reserve(N);
        }
        let places = &mut self.ids.spare_capacity_mut()[..N];
        for (place, id) in places.iter_mut().zip(ids) {
            place.write(*id);
        }
        // SAFETY: `N` places behind the last were there, and written just now.
        unsafe { self.ids.set_len(length + (number as usize).min(N)) };
    }

    fn many(&mut self, ids: &[u32]) {
        self.ids.extend_from_slice(ids);
    }

    fn fill(&mut self, unknown: &Unknown) {
        let mut end = self.ids.len();
        self.ids.resize(end + unknown.missing(), 0);
        let mut to = self.ids.len();
        for (gap, ids) in unknown.gaps() {
            to -= end - gap.place;
            self.ids.copy_within(gap.place..end, to);
            end = gap.place;
            to -= ids.len();
            self.ids[to..to + ids.len()].copy_from_slice(ids);
        }
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

    fn fill(&mut self, unknown: &Unknown) {
        self.0 += unknown.missing() as u64;
    }

    fn taken(&self) -> u64 {
        self.0
    }
}

/// What a thread needs to encode, kept from one text to the next.
pub(super) struct Desk {
    pub(super) cache: Cache,
    scratch: Vec<u32>,
    unknown: Unknown,
    keys: [Key; BATCH],
    /// The first bucket of each.
    homes: [u32; BATCH],
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
            unknown: Unknown::default(),
            keys: [Key::default(); BATCH],
            homes: [0; BATCH],
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
        self.fill(text);
        self.start = 0;
    }

    #[inline(never)]
    fn look_up(&mut self, text: &[u8]) {
        let mut start = self.start;
        for at in 0..self.waiting.min(BATCH) {
            let key = self.desk.keys[at];
            let end = self.desk.ends[at];
            let pretoken = start..end;
            start = end;
            let Some(entry) = self.desk.cache.near(self.desk.homes[at], key) else {
                self.far(key, pretoken, text);
                continue;
            };
            if entry.inline() <= INLINE {
                self.ids.few(&entry.four(), entry.inline());
                continue;
            }
            match self.desk.cache.stored(entry, &text[pretoken.clone()]) {
                Some((ids, number)) => self.ids.few::<STORED>(ids, number),
                None => self.far(key, pretoken, text),
            }
        }
        self.start = start;
        self.waiting = 0;
        if self.desk.unknown.is_full() {
            self.fill(text);
        }
    }

    /// Looks up what is not inline, or not in its first bucket, or not in the cache.
    #[inline(never)]
    fn far(&mut self, key: Key, place: Range<usize>, text: &[u8]) {
        let pretoken = &text[place.clone()];
        let tokens = self.vocabulary.tokens();
        let Desk {
            cache,
            scratch,
            unknown,
            ..
        } = &mut *self.desk;
        let which = match cache.find(key) {
            Some(entry) => {
                if let Some(ids) = cache.ids(&entry, pretoken) {
                    self.ids.many(ids);
                    return;
                }
                let same = |&which: &usize| unknown.pretoken(which, text) == Some(pretoken);
                entry.awaited().filter(same)
            }
            None if pretoken.len() > LONGEST_KEPT => None,
            None => {
                if let (false, Some(id)) = (Cache::tells(pretoken), tokens.get(pretoken)) {
                    cache.insert(key, pretoken, &[id], tokens);
                    self.ids.many(&[id]);
                    return;
                }
                let which = unknown.add(key, place);
                cache.expect(key, which, tokens);
                Some(which)
            }
        };
        #[allow(clippy::cast_possible_truncation, reason = "ids in memory")]
        match which {
            Some(which) => unknown.leave(which, self.ids.taken() as usize),
            None => self.ids.many(self.vocabulary.encode(pretoken, scratch)),
        }
    }

    /// Merges what is not known, and puts the ids where they belong.
    fn fill(&mut self, text: &[u8]) {
        let Desk { cache, unknown, .. } = &mut *self.desk;
        if unknown.is_empty() {
            return;
        }
        unknown.merge(text, self.vocabulary, cache);
        self.ids.fill(unknown);
        unknown.clear();
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
        self.desk.homes[self.waiting] = self.desk.cache.fetch(key);
        self.desk.keys[self.waiting] = key;
        self.desk.ends[self.waiting] = end;
        self.waiting += 1;
        if self.waiting == BATCH {
            self.look_up(text);
        }
    }
}
