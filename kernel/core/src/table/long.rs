//! Counts of the pre-tokens that are too long for a word.
//!
//! Their bytes follow each other in one arena, in order of arrival; an entry holds where they
//! start (they end where the next ones start), their hash and count; a slot holds the number of
//! an entry. That is 24 bytes, 6 to 12 of index, and the pre-token itself. Comparing hashes first
//! makes a wrong comparison of bytes as good as impossible.

use xxhash_rust::xxh3::xxh3_64;

use super::ordered::{Ordered, Place, Slot};

/// The number of an entry plus one; 0 is vacant.
#[derive(Clone, Copy, Default)]
struct Index(u32);

impl Slot for Index {
    #[inline]
    fn is_vacant(&self) -> bool {
        self.0 == 0
    }
}

struct Entry {
    hash: u64,
    start: usize,
    count: u64,
}

/// The counts of long pre-tokens.
#[derive(Default)]
pub(crate) struct Longs {
    bytes: Vec<u8>,
    entries: Vec<Entry>,
    index: Ordered<Index>,
}

/// The fixed hash of a long pre-token, which orders them.
#[inline]
pub(crate) fn hash(pretoken: &[u8]) -> u64 {
    xxh3_64(pretoken)
}

impl Longs {
    /// The number of pre-tokens.
    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    /// Bytes held.
    pub(crate) fn memory_bytes(&self) -> usize {
        let entries = self.entries.capacity() * size_of::<Entry>();
        self.bytes.capacity() + entries + self.index.memory_bytes()
    }

    /// Pre-tokens and counts, by ascending hash, then bytes.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&[u8], u64)> + Clone {
        self.index.iter().filter_map(|&Index(number)| {
            let at = (number - 1) as usize;
            Some((self.pretoken(at), self.entries.get(at)?.count))
        })
    }

    /// The count of a pre-token, 0 when absent.
    pub(crate) fn get(&self, pretoken: &[u8]) -> u64 {
        match self.find(pretoken, hash(pretoken)) {
            Place::Taken(at) => self.entries[self.index.slots()[at].0 as usize - 1].count,
            Place::Vacant(_) | Place::Full => 0,
        }
    }

    /// Makes room for `more` new pre-tokens.
    pub(crate) fn reserve(&mut self, more: usize) {
        let entries = &self.entries;
        self.index
            .reserve(more, |slot| entries[slot.0 as usize - 1].hash);
    }

    /// Adds to a count. The sum must fit, which the table's total proves.
    pub(crate) fn add(&mut self, pretoken: &[u8], count: u64) {
        let hash = hash(pretoken);
        match self.find(pretoken, hash) {
            Place::Taken(at) => {
                self.entries[self.index.slots()[at].0 as usize - 1].count += count;
            }
            Place::Vacant(at) if self.index.room() > 0 => self.insert(at, pretoken, hash, count),
            Place::Vacant(_) | Place::Full => self.grow_and_add(pretoken, count),
        }
    }

    /// The bytes of an entry.
    fn pretoken(&self, at: usize) -> &[u8] {
        let end = self
            .entries
            .get(at + 1)
            .map_or(self.bytes.len(), |next| next.start);
        &self.bytes[self.entries[at].start..end]
    }

    fn find(&self, pretoken: &[u8], hash: u64) -> Place {
        self.index.find(hash, |&Index(number)| {
            let at = (number as usize).wrapping_sub(1);
            let entry = self.entries.get(at);
            entry.is_some_and(|entry| entry.hash == hash) && self.pretoken(at) == pretoken
        })
    }

    fn insert(&mut self, vacant: usize, pretoken: &[u8], hash: u64, count: u64) {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(pretoken);
        self.entries.push(Entry { hash, start, count });
        // 2^32 long pre-tokens would take more than 150 GB.
        let number = u32::try_from(self.entries.len()).expect("fewer than 2^32 long pre-tokens");
        let mut index = std::mem::take(&mut self.index);
        index.insert(vacant, Index(number), |&Index(other)| {
            let at = other as usize - 1;
            (self.entries[at].hash, self.pretoken(at)) > (hash, pretoken)
        });
        self.index = index;
    }

    #[cold]
    fn grow_and_add(&mut self, pretoken: &[u8], count: u64) {
        let entries = &self.entries;
        self.index.grow(|slot| entries[slot.0 as usize - 1].hash);
        self.add(pretoken, count);
    }
}
