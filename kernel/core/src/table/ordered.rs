//! Open addressing whose slots stay sorted by hash.
//!
//! The home of an entry is its hash scaled to the number of homes, so homes grow with hashes; and
//! an insertion shifts the larger hashes of its cluster one slot on. Hence the occupied slots,
//! read from first to last, are in hash order: growing is one walk over both tables, and a payload
//! needs no sort. Looking up is plain linear probing.
//!
//! There is no wrapping around: a tail of slots follows the homes, and gets longer when the last
//! cluster runs over it.
//!
//! Growing writes all of the new table, whose pages the system has yet to map, and that takes
//! longer than to move the entries. On counting 30 MB of text, large pages gained 5 % (multilingual)
//! and growing fourfold while small another 1 % (multilingual) to 5 % (English).
//!
//! **Do not insert in hash order.** Such entries fill the front of the table first, and by the time
//! that it grows its front is one long cluster, and each insertion a walk along it: quadratic time.
//! Payloads are in hash order, and are folded without a table.

use crate::prefetch::prefer_large;

/// What a slot must tell.
pub(crate) trait Slot: Copy + Default {
    /// Whether nothing is here; true of the default.
    fn is_vacant(&self) -> bool;
}

/// Where a lookup ended.
pub(crate) enum Place {
    /// The entry is in this slot.
    Taken(usize),
    /// The entry is absent; the cluster of its home ends before this slot, which is vacant or
    /// just beyond the last.
    Vacant(usize),
}

/// Slots in hash order.
pub(crate) struct Ordered<S> {
    slots: Vec<S>,
    homes: usize,
    used: usize,
}

/// Slots by which the tail grows, at first and whenever it is full; clusters of random hashes are
/// shorter at the greatest load.
const TAIL: usize = 128;
const FEWEST_HOMES: usize = 128;

/// With fewer entries than this a table grows fourfold, half as often: a few megabytes for time. On
/// 30 MB of multilingual text (o200k) counting is 1.14 times as fast as with a quarter of it.
const SMALL: usize = 1 << 17;

impl<S> Default for Ordered<S> {
    fn default() -> Self {
        Self {
            slots: Vec::new(),
            homes: 0,
            used: 0,
        }
    }
}

impl<S: Slot> Ordered<S> {
    /// Vacant slots with room for `entries`.
    #[cold]
    fn with_room(entries: usize) -> Self {
        let homes = (entries + entries / 2).max(FEWEST_HOMES);
        let mut slots = Vec::with_capacity(homes + TAIL);
        prefer_large(slots.spare_capacity_mut());
        slots.resize(homes + TAIL, S::default());
        Self {
            slots,
            homes,
            used: 0,
        }
    }

    /// The number of entries.
    pub(crate) fn len(&self) -> usize {
        self.used
    }

    /// How many more entries fit under the greatest load, two thirds.
    pub(crate) fn room(&self) -> usize {
        (self.homes / 3 * 2).saturating_sub(self.used)
    }

    /// Bytes held.
    pub(crate) fn memory_bytes(&self) -> usize {
        self.slots.capacity() * size_of::<S>()
    }

    /// The entries, in hash order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &S> + Clone {
        self.slots.iter().filter(|slot| !slot.is_vacant())
    }

    /// All slots, for prefetching.
    #[inline]
    pub(crate) fn slots(&self) -> &[S] {
        &self.slots
    }

    /// `N` slots from `at` on, for changing what does not move an entry; `None` at the end.
    #[inline]
    pub(crate) fn window<const N: usize>(&mut self, at: usize) -> Option<&mut [S; N]> {
        self.slots.get_mut(at..)?.first_chunk_mut()
    }

    /// Where an entry with this hash is, unless others took the slot before.
    #[inline]
    pub(crate) fn home(&self, hash: u64) -> usize {
        #[allow(clippy::cast_possible_truncation, reason = "less than `homes`")]
        {
            ((u128::from(hash) * self.homes as u128) >> 64) as usize
        }
    }

    /// Finds the entry of this hash for which `same` holds.
    #[inline]
    pub(crate) fn find(&self, hash: u64, same: impl Fn(&S) -> bool) -> Place {
        let mut at = self.home(hash);
        while let Some(slot) = self.slots.get(at) {
            if same(slot) {
                return Place::Taken(at);
            }
            if slot.is_vacant() {
                break;
            }
            at += 1;
        }
        Place::Vacant(at)
    }

    /// Puts a new entry into the cluster that ends at `vacant`, a place just given by `find`.
    /// `follows` tells whether an entry comes after the new one: by hash, and something else that
    /// orders entries of equal hash.
    #[inline(never)]
    pub(crate) fn insert(&mut self, vacant: usize, entry: S, follows: impl Fn(&S) -> bool) {
        self.lengthen_to(vacant);
        let mut at = vacant;
        while at > 0 && !self.slots[at - 1].is_vacant() && follows(&self.slots[at - 1]) {
            self.slots[at] = self.slots[at - 1];
            at -= 1;
        }
        self.slots[at] = entry;
        self.used += 1;
    }

    /// Adds an entry of this hash behind all others, none of which comes after it. Returns the
    /// first slot that the next can take; `first` is what the call before returned, 0 at first.
    #[inline]
    fn append(&mut self, first: usize, hash: u64, entry: S) -> usize {
        let at = self.home(hash).max(first);
        self.lengthen_to(at);
        self.slots[at] = entry;
        self.used += 1;
        at + 1
    }

    /// Makes the tail longer if there is no slot `at` its end.
    #[inline]
    fn lengthen_to(&mut self, at: usize) {
        if at == self.slots.len() {
            // Exactly: to double the memory for a few slots of the tail would be waste.
            self.slots.reserve_exact(TAIL);
            self.slots.resize(at + TAIL, S::default());
        }
    }

    /// Makes room for `entries` more; `hash` gives an entry's hash.
    pub(crate) fn reserve(&mut self, entries: usize, hash: impl Fn(&S) -> u64) {
        if self.room() < entries {
            let times = if self.used < SMALL { 4 } else { 2 };
            let room = (self.used * times).max(self.used + entries);
            let mut bigger = Self::with_room(room);
            let mut next = 0;
            for entry in self.iter() {
                next = bigger.append(next, hash(entry), *entry);
            }
            *self = bigger;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Ordered, Place, Slot};

    #[derive(Clone, Copy, Default)]
    struct Entry {
        hash: u64,
        number: u64,
    }

    impl Slot for Entry {
        fn is_vacant(&self) -> bool {
            self.number == 0
        }
    }

    /// Puts entries of these hashes into a table, which grows as it must.
    fn filled(hashes: impl Iterator<Item = u64>) -> Ordered<Entry> {
        let mut table = Ordered::default();
        for (number, hash) in (1..).zip(hashes) {
            table.reserve(1, |entry: &Entry| entry.hash);
            let Place::Vacant(at) = table.find(hash, |entry| entry.number == number) else {
                panic!("{number} is there already")
            };
            let new = (hash, number);
            table.insert(at, Entry { hash, number }, |entry| {
                (entry.hash, entry.number) > new
            });
        }
        table
    }

    #[test]
    fn slots_are_in_order_and_entries_are_found() {
        for seed in [1, 0x9e37_79b9_7f4a_7c15] {
            let hashes = (1..20_000u64).map(|number| number.wrapping_mul(seed));
            let table = filled(hashes);
            assert!(table
                .iter()
                .is_sorted_by_key(|entry| (entry.hash, entry.number)));
            assert_eq!(table.iter().count(), table.len());
            for wanted in table.iter() {
                let found = table.find(wanted.hash, |entry| entry.number == wanted.number);
                assert!(matches!(found, Place::Taken(_)));
            }
        }
    }

    #[test]
    fn equal_hashes_take_time_not_memory() {
        for hash in [0, u64::MAX / 2, u64::MAX] {
            let table = filled(std::iter::repeat_n(hash, 2000));
            assert!(table.iter().map(|entry| entry.number).eq(1..=2000));
            assert!(table.memory_bytes() < 16 * 4 * 4000);
        }
    }
}
