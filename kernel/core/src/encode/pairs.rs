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
///
/// Most neighbours are no pair, and the table is larger than the second cache. A filter of some
/// bits a pair, which is not, answers nine of ten such questions.
pub(super) struct Pairs {
    slots: Vec<Slot>,
    /// A bit for each pair, and by chance for some that are none.
    filter: Vec<u64>,
    /// Of two bytes: a pre-token begins with looking up all of its own.
    bytes: Vec<Joined>,
    /// Brings a hash down to a slot.
    shift: u32,
}

impl Pairs {
    /// A table of pairs; of two for the same neighbours the later counts. `ids` are those of bytes.
    pub(super) fn new(pairs: &[(u32, u32, Joined)], ids: &[u32; 256]) -> Self {
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
        let mut table = Self {
            slots,
            filter: vec![0; (size * BITS).div_ceil(64)],
            bytes: Vec::new(),
            shift,
        };
        for &(left, right, joined) in pairs {
            let mixed = mix(left, right);
            let (word, bit) = table.filtered(mixed);
            table.filter[word] |= bit;
            let at = table.find(mixed, left, right);
            table.slots[at] = Slot {
                left,
                right,
                joined,
            };
        }
        let rows = ids
            .iter()
            .flat_map(|&left| ids.iter().map(move |&right| (left, right)));
        table.bytes = rows.map(|(left, right)| table.get(left, right)).collect();
        table
    }

    /// What two bytes become.
    #[inline]
    pub(super) fn of_bytes(&self, left: u8, right: u8) -> Joined {
        self.bytes[usize::from(left) << 8 | usize::from(right)]
    }

    /// What two neighbours become.
    #[inline]
    pub(super) fn get(&self, left: u32, right: u32) -> Joined {
        let mixed = mix(left, right);
        let (word, bit) = self.filtered(mixed);
        if self.filter[word] & bit == 0 {
            return NONE;
        }
        self.slots[self.find(mixed, left, right)].joined
    }

    /// Bytes held.
    pub(super) fn memory_bytes(&self) -> usize {
        let tables = size_of_val(&self.slots[..]) + size_of_val(&self.filter[..]);
        tables + size_of_val(&self.bytes[..])
    }

    /// Where the filter has the bit of a hash.
    #[inline]
    fn filtered(&self, mixed: u64) -> (usize, u64) {
        #[allow(clippy::cast_possible_truncation, reason = "less than there are bits")]
        let at = (mixed >> (self.shift - BITS.trailing_zeros())) as usize;
        (at / 64, 1 << (at % 64))
    }

    /// The slot of two neighbours, whose hash is given, or the vacant one where they would be.
    #[inline]
    fn find(&self, mixed: u64, left: u32, right: u32) -> usize {
        let mask = self.slots.len() - 1;
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

/// Bits of the filter for each slot: a power of two.
const BITS: usize = 4;

/// The hash of two neighbours, by its upper bits.
#[inline]
fn mix(left: u32, right: u32) -> u64 {
    /// Odd; the upper bits of its product with a key hang on all bits of the key.
    const MULTIPLIER: u64 = 0x9e37_79b9_7f4a_7c15;
    let key = u64::from(left) << 32 | u64::from(right);
    (key ^ key >> 29).wrapping_mul(MULTIPLIER)
}
