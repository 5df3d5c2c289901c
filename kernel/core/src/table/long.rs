//! Counts of the pre-tokens that are too long for a word.
//!
//! Their bytes follow each other in one arena, in order of arrival. An entry (24 bytes) holds
//! where they start, their hash and count; they end where the next ones start. A slot (8 bytes)
//! holds the number of an entry and half of its hash, which alone decides on the home: entries are
//! read only where the halves are equal, and growing reads none. Whole hashes are compared before
//! bytes, so that bytes are as good as never compared in vain.
//!
//! Slot, entry and bytes are three places in memory, each known from the one before. So a batch
//! asks in turn for all slots, all entries ([`Longs::likely`]) and all bytes. Halves and asking
//! took counting from 42 to 36 ns per long pre-token on 30 MB of multilingual text (o200k).

use xxhash_rust::xxh3::xxh3_64;

use super::ordered::{Ordered, Place, Slot};
use crate::prefetch::prefetch;

/// What a slot holds: half of an entry's hash and the entry's number plus one; 0 is vacant.
#[derive(Clone, Copy, Default)]
struct Label {
    half: u32,
    number: u32,
}

impl Slot for Label {
    #[inline]
    fn is_vacant(&self) -> bool {
        self.number == 0
    }
}

impl Label {
    /// Where the entry is, if the slot is not vacant.
    #[inline]
    fn entry(self) -> Option<usize> {
        (self.number as usize).checked_sub(1)
    }

    /// What the home hangs on: in the place of a hash, its upper half.
    #[inline]
    fn spread(self) -> u64 {
        spread(self.half)
    }
}

/// The upper half of a hash.
#[inline]
fn half(hash: u64) -> u32 {
    (hash >> 32) as u32
}

#[inline]
fn spread(half: u32) -> u64 {
    u64::from(half) << 32
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
    index: Ordered<Label>,
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
        self.index.reserve(more, |label| label.spread());
    }

    /// Starts fetching the slot of a hash.
    #[inline]
    pub(crate) fn prefetch(&self, hash: u64) {
        prefetch(self.index.slots(), self.index.home(spread(half(hash))));
    }

    /// The first entry whose half of a hash is that of `hash`: its own, as good as always. Starts
    /// fetching it.
    #[inline]
    pub(crate) fn likely(&self, hash: u64) -> Option<usize> {
        let half = half(hash);
        let at = match self.index.find(spread(half), |label| label.half == half) {
            Place::Taken(at) => self.index.slots()[at].entry(),
            Place::Vacant(_) => None,
        }?;
        prefetch(&self.entries, at);
        Some(at)
    }

    /// Starts fetching the bytes of an entry.
    #[inline]
    pub(crate) fn prefetch_bytes(&self, entry: usize) {
        prefetch(&self.bytes, self.entries[entry].start);
    }

    /// [`Self::add`], given what [`Self::likely`] said of the hash, however many additions ago:
    /// entries keep their numbers.
    #[inline]
    pub(crate) fn add_likely(&mut self, likely: Option<usize>, addition: &Addition<'_>) {
        if let Some(at) = likely {
            if self.is(at, addition.hash, addition.pretoken) {
                self.entries[at].count += addition.count;
                return;
            }
        }
        self.add(addition);
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

    /// Whether an entry is that of a pre-token.
    #[inline]
    fn is(&self, at: usize, hash: u64, pretoken: &[u8]) -> bool {
        self.entries[at].hash == hash && self.pretoken(at) == pretoken
    }

    /// The entry in a slot.
    fn entry_in(&self, slot: usize) -> Option<usize> {
        self.index.slots().get(slot)?.entry()
    }

    fn find(&self, pretoken: &[u8], hash: u64) -> Place {
        let half = half(hash);
        self.index.find(spread(half), |label| {
            label.half == half && label.entry().is_some_and(|at| self.is(at, hash, pretoken))
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
        let half = half(hash);
        let mut index = std::mem::take(&mut self.index);
        index.insert(vacant, Label { half, number }, |other| {
            let follows = |at: usize| (self.entries[at].hash, self.pretoken(at)) > (hash, pretoken);
            other.half > half || other.half == half && other.entry().is_some_and(follows)
        });
        self.index = index;
    }
}

#[cfg(test)]
mod tests {
    use super::{half, hash, Addition, Longs};

    /// Enough for some hashes to agree in their upper halves.
    const PRETOKENS: usize = 300_000;

    fn addition(pretoken: &[u8]) -> Addition<'_> {
        Addition {
            hash: hash(pretoken),
            pretoken,
            count: 1,
        }
    }

    #[test]
    fn half_a_hash_decides_nothing_alone() {
        let pretokens: Vec<_> = (0..PRETOKENS)
            .map(|number| format!("pre-token number {number}").into_bytes())
            .collect();
        let mut longs = Longs::default();
        for pretoken in &pretokens {
            let addition = addition(pretoken);
            let likely = longs.likely(addition.hash);
            longs.add_likely(likely, &addition);
        }
        assert_eq!(longs.len(), PRETOKENS);
        let hashes: Vec<_> = longs.additions().map(|addition| addition.hash).collect();
        assert!(hashes.is_sorted());
        let alike = |pair: &&[u64]| half(pair[0]) == half(pair[1]);
        assert!(hashes.windows(2).filter(alike).count() > 0);
        for pretoken in &pretokens {
            let addition = addition(pretoken);
            let likely = longs.likely(addition.hash);
            longs.add_likely(likely, &addition);
            assert_eq!(longs.get(pretoken), 2);
        }
    }
}
