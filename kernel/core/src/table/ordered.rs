//! Open addressing whose slots stay sorted by hash.
//!
//! The home of an entry is its hash scaled to the number of homes, so homes grow with hashes; and
//! an insertion shifts the larger hashes of its cluster one slot on. Hence the occupied slots,
//! read from first to last, are in hash order: growing is one walk over both tables, folding walks
//! the destination forward, and a payload needs no sort. Looking up is plain linear probing.
//!
//! There is no wrapping around: a tail follows the homes, and a table whose last cluster runs over
//! the tail grows.
//!
//! **Reserve before inserting in hash order.** Entries that arrive in hash order fill the front of
//! the table first. Were the table to grow only when full, its front would have been one long
//! cluster by then, and each insertion a walk along it: quadratic time. With room for all of them
//! reserved, each stretch of homes only ever receives what it holds in the end.

/// What a slot must tell.
pub(crate) trait Slot: Copy + Default {
    /// Whether nothing is here; true of the default.
    fn is_vacant(&self) -> bool;
}

/// Where a lookup ended.
pub(crate) enum Place {
    /// The entry is in this slot.
    Taken(usize),
    /// The entry is absent; the cluster of its home ends at this vacant slot.
    Vacant(usize),
    /// The entry is absent and the tail is full.
    Full,
}

/// Slots in hash order.
pub(crate) struct Ordered<S> {
    slots: Vec<S>,
    homes: usize,
    used: usize,
}

/// Slots after the last home. More than a table of the smallest size can hold, and far more than
/// the clusters of random hashes overrun at `MAX_LOAD`.
const TAIL: usize = 128;
const FEWEST_HOMES: usize = 128;

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
    pub(crate) fn with_room(entries: usize) -> Self {
        let homes = (entries + entries / 2).max(FEWEST_HOMES);
        Self {
            slots: vec![S::default(); homes + TAIL],
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

    #[inline]
    pub(crate) fn window<const N: usize>(&mut self, home: usize) -> Option<&mut [S; N]> {
        self.slots.get_mut(home..)?.first_chunk_mut::<N>()
    }

    /// A slot, for changing what does not move it.
    #[inline]
    pub(crate) fn slot_mut(&mut self, at: usize) -> Option<&mut S> {
        self.slots.get_mut(at)
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
        let home = self.home(hash);
        for (step, slot) in self
            .slots
            .get(home..)
            .unwrap_or_default()
            .iter()
            .enumerate()
        {
            if same(slot) {
                return Place::Taken(home + step);
            }
            if slot.is_vacant() {
                return Place::Vacant(home + step);
            }
        }
        Place::Full
    }

    /// Puts a new entry into the cluster that ends at `vacant`, a place just given by `find`.
    /// `follows` tells whether an entry comes after the new one.
    #[inline(never)]
    pub(crate) fn insert(&mut self, vacant: usize, entry: S, follows: impl Fn(&S) -> bool) {
        let mut at = vacant;
        while at > 0 && !self.slots[at - 1].is_vacant() && follows(&self.slots[at - 1]) {
            self.slots[at] = self.slots[at - 1];
            at -= 1;
        }
        self.slots[at] = entry;
        self.used += 1;
    }

    /// Makes room for `entries` more; `hash` gives an entry's hash.
    pub(crate) fn reserve(&mut self, entries: usize, hash: impl Fn(&S) -> u64) {
        if self.room() < entries {
            let doubled = self.used * 2;
            self.rebuild(doubled.max(self.used + entries), hash);
        }
    }

    /// Doubles the table, also when it is not full: for a tail that is.
    #[cold]
    pub(crate) fn grow(&mut self, hash: impl Fn(&S) -> u64) {
        self.rebuild(self.homes * 2, hash);
    }

    /// Moves the entries to a table with room for `entries`, in order, hence without a comparison.
    fn rebuild(&mut self, entries: usize, hash: impl Fn(&S) -> u64) {
        let mut room = entries;
        loop {
            let mut bigger = Self::with_room(room);
            if self.iter().all(|entry| bigger.append(*entry, hash(entry))) {
                *self = bigger;
                return;
            }
            room *= 2;
        }
    }

    /// Puts an entry that comes after all others; false when the tail is full.
    fn append(&mut self, entry: S, hash: u64) -> bool {
        let home = self.home(hash);
        let free = self.slots[home..].iter().position(S::is_vacant);
        if let Some(step) = free {
            self.slots[home + step] = entry;
            self.used += 1;
        }
        free.is_some()
    }
}
