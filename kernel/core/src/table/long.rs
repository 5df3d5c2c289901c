//! Counts of the pre-tokens that are too long for a word.
//!
//! Their bytes follow each other in one arena, in order of arrival. An entry (24 bytes) holds
//! where they start, their hash and count; they end where the next ones start. A slot (4 bytes)
//! holds the number of an entry. Hashes are compared before bytes, so that bytes are as good as
//! never compared in vain.

use xxhash_rust::xxh3::xxh3_64;

use super::ordered::{Ordered, Place, Slot};
use crate::prefetch::prefetch;

/// The number of an entry plus one; 0 is vacant.
#[derive(Clone, Copy, Default)]
struct Number(u32);

impl Slot for Number {
    #[inline]
    fn is_vacant(&self) -> bool {
        self.0 == 0
    }
}

impl Number {
    /// Where the entry is, if the slot is not vacant.
    #[inline]
    fn entry(self) -> Option<usize> {
        (self.0 as usize).checked_sub(1)
    }
}

struct Entry {
    hash: u64,
    start: usize,
    count: u64,
}

/// Occurrences to be added.
#[derive(Clone, Copy)]
pub(crate) struct Addition<'p> {
    /// The [`hash`] of `pretoken`.
    pub(crate) hash: u64,
    pub(crate) pretoken: &'p [u8],
    pub(crate) count: u64,
}

/// The counts of long pre-tokens.
#[derive(Default)]
pub(crate) struct Longs {
    bytes: Vec<u8>,
    entries: Vec<Entry>,
    index: Ordered<Number>,
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
        self.additions()
            .map(|addition| (addition.pretoken, addition.count))
    }

    /// The same with hashes.
    pub(crate) fn additions(&self) -> impl Iterator<Item = Addition<'_>> + Clone {
        let entries = self.index.iter().filter_map(|slot| slot.entry());
        entries.map(|at| {
            let Entry { hash, count, .. } = self.entries[at];
            Addition {
                hash,
                pretoken: self.pretoken(at),
                count,
            }
        })
    }

    /// The count of a pre-token, 0 when absent.
    pub(crate) fn get(&self, pretoken: &[u8]) -> u64 {
        match self.find(pretoken, hash(pretoken)) {
            Place::Taken(at) => self.entry_in(at).map_or(0, |at| self.entries[at].count),
            Place::Vacant(_) => 0,
        }
    }

    /// Makes room for `more` new pre-tokens.
    pub(crate) fn reserve(&mut self, more: usize) {
        let entries = &self.entries;
        self.index.reserve(more, |slot| hash_in(entries, *slot));
    }

    /// Starts fetching the slot of a hash.
    pub(crate) fn prefetch(&self, hash: u64) {
        prefetch(self.index.slots(), self.index.home(hash));
    }

    /// Adds to a count. The sum must fit, which the table's total proves.
    pub(crate) fn add(&mut self, addition: &Addition<'_>) {
        match self.find(addition.pretoken, addition.hash) {
            Place::Taken(at) => {
                if let Some(at) = self.entry_in(at) {
                    self.entries[at].count += addition.count;
                }
            }
            Place::Vacant(at) if self.index.room() > 0 => self.insert(at, addition),
            Place::Vacant(_) => {
                self.reserve(1);
                self.add(addition);
            }
        }
    }

    /// The bytes of an entry.
    fn pretoken(&self, at: usize) -> &[u8] {
        let next = self.entries.get(at + 1);
        let end = next.map_or(self.bytes.len(), |next| next.start);
        &self.bytes[self.entries[at].start..end]
    }

    /// The entry in a slot.
    fn entry_in(&self, slot: usize) -> Option<usize> {
        self.index.slots().get(slot)?.entry()
    }

    fn find(&self, pretoken: &[u8], hash: u64) -> Place {
        self.index.find(hash, |slot| {
            let Some(at) = slot.entry() else { return false };
            self.entries[at].hash == hash && self.pretoken(at) == pretoken
        })
    }

    fn insert(&mut self, vacant: usize, addition: &Addition<'_>) {
        let &Addition {
            hash,
            pretoken,
            count,
        } = addition;
        let start = self.bytes.len();
        self.bytes.extend_from_slice(pretoken);
        self.entries.push(Entry { hash, start, count });
        // 2^32 long pre-tokens would take more than 150 GB.
        let number = u32::try_from(self.entries.len()).expect("fewer than 2^32 long pre-tokens");
        let mut index = std::mem::take(&mut self.index);
        index.insert(vacant, Number(number), |other| {
            let place = other
                .entry()
                .map(|at| (self.entries[at].hash, self.pretoken(at)));
            place > Some((hash, pretoken))
        });
        self.index = index;
    }
}

/// The hash of the entry in an occupied slot.
fn hash_in(entries: &[Entry], slot: Number) -> u64 {
    slot.entry().map_or(0, |at| entries[at].hash)
}
