//! Which two tokens become which.
//!
//! Tokens have numbers here: a byte is its own, and what is made of two has a higher one the later
//! it is made. So the number of what two neighbours become is also their rank.

use crate::prefetch::prefer_large;

/// What neighbours become that do not merge; the number of no token.
pub(super) const NEVER: u32 = u32::MAX;

#[derive(Clone, Copy)]
struct Slot {
    left: u32,
    right: u32,
    made: u32,
}

const VACANT: Slot = Slot {
    left: 0,
    right: 0,
    made: NEVER,
};

/// Two neighbours to what they become: open addressing, two thirds full at most.
///
/// Most neighbours are no pair, and the table is larger than the second cache. A filter of some
/// bits a pair, which is not, answers nine of ten such questions.
pub(super) struct Pairs {
    slots: Vec<Slot>,
    /// A bit for each pair, and by chance for some that are none.
    filter: Vec<u64>,
    /// Brings a hash down to a bit of the filter.
    shift: u32,
    /// Of two bytes: a pre-token begins with looking up all of its own.
    bytes: Vec<u32>,
    used: usize,
}

impl Pairs {
    /// Room for so many pairs.
    pub(super) fn with_capacity(pairs: usize) -> Self {
        let size = pairs + pairs / 2 + 2;
        let mut slots = Vec::with_capacity(size);
        prefer_large(slots.spare_capacity_mut());
        slots.resize(size, VACANT);
        let bits = (BITS * pairs).next_power_of_two().max(64);
        Self {
            slots,
            filter: vec![0; bits / 64],
            shift: u64::BITS - bits.trailing_zeros(),
            bytes: vec![NEVER; 1 << 16],
            used: 0,
        }
    }

    /// Adds a pair that is not there, one of those that there is room for: neighbours, and the
    /// number of what they become.
    pub(super) fn add(&mut self, left: u32, right: u32, made: u32) {
        let mixed = mix(left, right);
        let (word, bit) = self.filtered(mixed);
        self.filter[word] |= bit;
        let at = self.find(mixed, left, right);
        self.slots[at] = Slot { left, right, made };
        self.used += 1;
        if let (Ok(left), Ok(right)) = (u8::try_from(left), u8::try_from(right)) {
            self.bytes[usize::from(left) << 8 | usize::from(right)] = made;
        }
    }

    /// What two bytes become.
    #[inline]
    pub(super) fn of_bytes(&self, left: u8, right: u8) -> u32 {
        self.bytes[usize::from(left) << 8 | usize::from(right)]
    }

    /// What two neighbours become.
    #[inline]
    pub(super) fn get(&self, left: u32, right: u32) -> u32 {
        let mixed = mix(left, right);
        let (word, bit) = self.filtered(mixed);
        if self.filter[word] & bit == 0 {
            return NEVER;
        }
        self.slots[self.find(mixed, left, right)].made
    }

    /// All of them: neighbours, and the number of what they become.
    pub(super) fn iter(&self) -> impl Iterator<Item = (u32, u32, u32)> + '_ {
        let met = self.slots.iter().filter(|slot| slot.made != NEVER);
        met.map(|slot| (slot.left, slot.right, slot.made))
    }

    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.used
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
        let at = (mixed >> self.shift) as usize;
        (at / 64, 1 << (at % 64))
    }

    /// The slot of two neighbours, whose hash is given, or the vacant one where they would be.
    #[inline]
    fn find(&self, mixed: u64, left: u32, right: u32) -> usize {
        #[allow(clippy::cast_possible_truncation, reason = "less than there are slots")]
        let mut at = (((mixed >> 32) * self.slots.len() as u64) >> 32) as usize;
        loop {
            let slot = &self.slots[at];
            if slot.left == left && slot.right == right || slot.made == NEVER {
                return at;
            }
            at += 1;
            if at == self.slots.len() {
                at = 0;
            }
        }
    }
}

/// Bits of the filter for each pair.
const BITS: usize = 8;

/// The hash of two neighbours, by its upper bits.
#[inline]
fn mix(left: u32, right: u32) -> u64 {
    /// Odd; the upper bits of its product with a key hang on all bits of the key.
    const MULTIPLIER: u64 = 0x9e37_79b9_7f4a_7c15;
    let key = u64::from(left) << 32 | u64::from(right);
    (key ^ key >> 29).wrapping_mul(MULTIPLIER)
}
