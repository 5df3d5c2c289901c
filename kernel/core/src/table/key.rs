//! Pre-tokens as machine words: the keys of the count table.
//!
//! A pre-token of 1 to 15 bytes fits in a word together with its length, which sits in the last
//! byte: `b" the"` is ` the` then zeros then 4. So equality is one comparison, no key equals the
//! empty slot (all zeros: length 0), and a key needs no memory outside its slot. Two widths, as
//! most pre-tokens of running text have at most 7 bytes: [`Short`] holds those in 8 bytes,
//! [`Mid`] holds 8 to 15 bytes in 16.
//!
//! The hashes are fixed: the same in every process and on every machine, for a payload lists its
//! entries in hash order. They fold a 128-bit product, as wyhash does. Text cannot cancel the
//! multiplier: `SEED` is no part of valid UTF-8, hence `word ^ SEED` is never 0 for a word of text.

/// A word that holds a pre-token; `Default` is the empty slot.
pub(crate) trait Key: Copy + Default + Ord {
    /// The shortest pre-token of this width.
    const MIN: usize;
    /// The longest pre-token of this width.
    const MAX: usize;

    /// Packs `text[start..end]`; reads on beyond `end` where the text does, which is faster.
    fn read(text: &[u8], start: usize, end: usize) -> Self;
    /// Packs `bytes`, whose length must be within `MIN..=MAX`.
    fn pack(bytes: &[u8]) -> Self;
    /// The pre-token; empty for the empty slot.
    fn bytes(&self) -> &[u8];
    /// The pre-token, padding and length.
    fn padded(&self) -> &[u8];
    /// The fixed hash; its upper bits choose the slot.
    fn hash(self) -> u64;

    /// Whether this is the empty slot.
    #[inline]
    fn is_empty(self) -> bool {
        self == Self::default()
    }
}

/// 1 to 7 bytes.
#[derive(Clone, Copy, Default, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Short([u8; 8]);

/// 8 to 15 bytes.
#[derive(Clone, Copy, Default, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Mid([u8; 16]);

/// The longest pre-token that fits in a word.
pub(crate) const LONGEST_KEY: usize = Mid::MAX;

/// Odd digits of pi; 0xff and 0xfe occur nowhere in UTF-8.
const SEED: u64 = 0xff13_198a_2e03_70fe;
const MULTIPLIER: u64 = 0xa409_3822_299f_31d1;

/// Keeps the lowest `index` bytes of a word.
const LOW_BYTES: [u64; 9] = {
    let mut masks = [0; 9];
    let mut length = 1;
    while length <= 8 {
        masks[length] = u64::MAX >> (64 - 8 * length);
        length += 1;
    }
    masks
};

/// Folds the product of two words: every input bit reaches the upper bits of the result.
#[inline]
fn folded_product(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    #[allow(clippy::cast_possible_truncation, reason = "both halves are used")]
    {
        (product >> 64) as u64 ^ product as u64
    }
}

/// The 8 bytes of `text` from `start`, or `None` at its end.
#[inline]
fn word(text: &[u8], start: usize) -> Option<u64> {
    let bytes = text.get(start..)?.first_chunk::<8>()?;
    Some(u64::from_le_bytes(*bytes))
}

impl Short {
    #[inline]
    fn new(word: u64, length: usize) -> Self {
        Self((word | (length as u64) << 56).to_le_bytes())
    }
}

impl Key for Short {
    const MIN: usize = 1;
    const MAX: usize = 7;

    #[inline]
    fn read(text: &[u8], start: usize, end: usize) -> Self {
        let length = end - start;
        match word(text, start) {
            Some(word) => Self::new(word & LOW_BYTES[length & 7], length),
            None => Self::pack(&text[start..end]),
        }
    }

    #[inline]
    fn pack(bytes: &[u8]) -> Self {
        let mut word = [0; 8];
        word[..bytes.len()].copy_from_slice(bytes);
        Self::new(u64::from_le_bytes(word), bytes.len())
    }

    #[inline]
    fn bytes(&self) -> &[u8] {
        &self.0[..usize::from(self.0[7]).min(Self::MAX)]
    }

    #[inline]
    fn padded(&self) -> &[u8] {
        &self.0
    }

    #[inline]
    fn hash(self) -> u64 {
        folded_product(u64::from_le_bytes(self.0) ^ SEED, MULTIPLIER)
    }
}

impl Mid {
    #[inline]
    fn new(low: u64, high: u64, length: usize) -> Self {
        let word = u128::from(low) | u128::from(high) << 64 | (length as u128) << 120;
        Self(word.to_le_bytes())
    }

    #[inline]
    fn halves(self) -> (u64, u64) {
        let word = u128::from_le_bytes(self.0);
        #[allow(clippy::cast_possible_truncation, reason = "the lower half")]
        (word as u64, (word >> 64) as u64)
    }
}

impl Key for Mid {
    const MIN: usize = 8;
    const MAX: usize = 15;

    #[inline]
    fn read(text: &[u8], start: usize, end: usize) -> Self {
        let length = end - start;
        match (word(text, start), word(text, start + 8)) {
            (Some(low), Some(high)) => Self::new(low, high & LOW_BYTES[(length - 8) & 7], length),
            _ => Self::pack(&text[start..end]),
        }
    }

    #[inline]
    fn pack(bytes: &[u8]) -> Self {
        let mut word = [0; 16];
        word[..bytes.len()].copy_from_slice(bytes);
        let (low, high) = Self(word).halves();
        Self::new(low, high, bytes.len())
    }

    #[inline]
    fn bytes(&self) -> &[u8] {
        &self.0[..usize::from(self.0[15]).min(Self::MAX)]
    }

    #[inline]
    fn padded(&self) -> &[u8] {
        &self.0
    }

    #[inline]
    fn hash(self) -> u64 {
        let (low, high) = self.halves();
        folded_product(low ^ SEED, high ^ MULTIPLIER)
    }
}
