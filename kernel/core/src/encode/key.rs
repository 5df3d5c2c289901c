//! Pre-tokens as words of 16 bytes: the keys of the cache.
//!
//! One of at most 15 bytes is its own key, with its length in the last byte: equality is one
//! comparison and proves that the bytes are equal. A longer one has its hash and its length for a
//! key, marked by a last byte that is no length: equality is a guess that its bytes must confirm.

use xxhash_rust::xxh3::xxh3_64;

/// See the module; `Default` is the key of nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Key(u128);

/// The longest pre-token that is its own key.
pub(super) const LONGEST: usize = 15;

/// Where the last byte begins.
const LAST: u32 = 120;

/// Odd digits of pi; 0xff and 0xfe occur nowhere in UTF-8, so text does not cancel the first.
const SEED: u64 = 0xff13_198a_2e03_70fe;
const MULTIPLIER: u64 = 0xa409_3822_299f_31d1;

/// Keeps the lowest `index` bytes.
const LOW_BYTES: [u128; LONGEST + 1] = {
    let mut masks = [0; LONGEST + 1];
    let mut length = 1;
    while length <= LONGEST {
        masks[length] = u128::MAX >> (128 - 8 * length);
        length += 1;
    }
    masks
};

impl Key {
    /// The key of `text[start..end]`, which has at most [`LONGEST`] bytes; reads on beyond `end`
    /// where the text does, which is faster.
    #[inline]
    pub(super) fn short(text: &[u8], start: usize, end: usize) -> Self {
        let length = end - start;
        let bytes = match text.get(start..).and_then(|rest| rest.first_chunk::<16>()) {
            Some(bytes) => u128::from_le_bytes(*bytes) & LOW_BYTES[length & LONGEST],
            None => padded(&text[start..end]),
        };
        Self(bytes | (length as u128) << LAST)
    }

    /// The key of a longer pre-token.
    #[inline]
    pub(super) fn long(pretoken: &[u8]) -> Self {
        let hash = u128::from(xxh3_64(pretoken));
        #[allow(clippy::cast_possible_truncation, reason = "a guess needs no more")]
        let length = u128::from(pretoken.len() as u32);
        Self(hash | length << 64 | 0xff << LAST)
    }

    /// Its bytes, if it is that of a short pre-token, and how many of them are.
    #[inline]
    pub(super) fn bytes(self) -> ([u8; 16], Option<usize>) {
        let bytes = self.0.to_le_bytes();
        let length = usize::from(bytes[LONGEST]);
        (bytes, (length <= LONGEST).then_some(length))
    }

    /// The fixed hash: every bit of the key reaches its upper bits.
    #[inline]
    pub(super) fn hash(self) -> u64 {
        #[allow(clippy::cast_possible_truncation, reason = "both halves are used")]
        let (low, high) = (self.0 as u64, (self.0 >> 64) as u64);
        let product = u128::from(low ^ SEED) * u128::from(high ^ MULTIPLIER);
        #[allow(clippy::cast_possible_truncation, reason = "both halves are used")]
        {
            (product >> 64) as u64 ^ product as u64
        }
    }
}

#[cold]
fn padded(bytes: &[u8]) -> u128 {
    let mut word = [0; 16];
    word[..bytes.len()].copy_from_slice(bytes);
    u128::from_le_bytes(word)
}
