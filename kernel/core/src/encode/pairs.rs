//! Which two tokens become which, and what comes first.

use crate::prefetch::prefer_large;

/// What merging two neighbours makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Joined {
    /// The least comes first; [`NEVER`] for neighbours that do not merge.
    pub(super) rank: u32,
    /// The token that they become.
    pub(super) id: u32,
}

/// The rank of neighbours that do not merge; of no pair.
pub(super) const NEVER: u32 = u32::MAX;

const NONE: Joined = Joined { rank: NEVER, id: 0 };

#[derive(Clone, Copy)]
struct Slot {
    left: u32,
    right: u32,
    joined: Joined,
}

/// Ids of two neighbours to what they become: open addressing, at most half full.
pub(super) struct Pairs {
    slots: Vec<Slot>,
    /// Brings a hash down to a slot.
    shift: u32,
}

impl Pairs {
    /// A table of pairs; of two for the same neighbours the later counts.
    pub(super) fn new(pairs: &[(u32, u32, Joined)]) -> Self {
        let size = (2 * pairs.len()).next_power_of_two().max(2);
        let mut slots = Vec::with_capacity(size);
        prefer_large(slots.spare_capacity_mut());
        let vacant = Slot {
            left: 0,
            right: 0,
            joined: NONE,
        };
        slots.resize(size, vacant);
        let shift = u64::BITS - size.trailing_zeros();
        let mut table = Self { slots, shift };
        for &(left, right, joined) in pairs {
            let at = table.find(left, right);
            table.slots[at] = Slot {
                left,
                right,
                joined,
            };
        }
        table
    }

    /// What two neighbours become.
    #[inline]
    pub(super) fn get(&self, left: u32, right: u32) -> Joined {
        self.slots[self.find(left, right)].joined
    }

    /// Bytes held.
    pub(super) fn memory_bytes(&self) -> usize {
        size_of_val(&self.slots[..])
    }

    /// The slot of two neighbours, or the vacant one where they would be.
    #[inline]
    fn find(&self, left: u32, right: u32) -> usize {
        /// Odd; the upper bits of its product with a key hang on all bits of the key.
        const MULTIPLIER: u64 = 0x9e37_79b9_7f4a_7c15;
        let mask = self.slots.len() - 1;
        let key = u64::from(left) << 32 | u64::from(right);
        let mixed = (key ^ key >> 29).wrapping_mul(MULTIPLIER);
        #[allow(clippy::cast_possible_truncation, reason = "less than there are slots")]
        let mut at = (mixed >> self.shift) as usize & mask;
        loop {
            let slot = &self.slots[at];
            if slot.left == left && slot.right == right || slot.joined.rank == NEVER {
                return at;
            }
            at = (at + 1) & mask;
        }
    }
}
