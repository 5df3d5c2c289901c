//! The tokens by symbol: their lengths, their bytes, and the order among tied pairs.
//!
//! Inside the merge loop a *symbol* is a token's id plus one, so that zero is free to be the
//! separator between words, and fresh memory is all separators.
//!
//! Comparing spellings is rare but not rare enough to chase pointers for: the first eight bytes
//! of each token are kept as one big-endian number, and only equal numbers of different tokens
//! need the bytes themselves.

use std::cmp::Ordering;
use std::ops::Range;

use super::TieBreak;

/// Between words.
pub(super) const SEPARATOR: u32 = 0;

/// Symbols there are before the first merge: the separator and the bytes.
pub(super) const INITIAL: usize = 257;

/// The symbol of a byte.
pub(super) fn symbol(byte: u8) -> u32 {
    u32::from(byte) + 1
}

/// The id of a symbol's token.
pub(super) fn id(symbol: u32) -> u32 {
    symbol - 1
}

pub(super) struct Tokens {
    lengths: Vec<u32>,
    /// Where each spelling starts in `bytes`.
    starts: Vec<usize>,
    bytes: Vec<u8>,
    prefixes: Vec<u64>,
    max_length: u32,
}

impl Tokens {
    /// The separator (one slot long, like a byte) and the 256 bytes.
    pub(super) fn new(max_length: Option<usize>) -> Self {
        let bytes: Vec<u8> = (0..=255).collect();
        Self {
            lengths: vec![1; INITIAL],
            starts: (0..1).chain(0..256).collect(),
            prefixes: [0]
                .into_iter()
                .chain(bytes.iter().map(|&b| u64::from(b) << 56))
                .collect(),
            bytes,
            max_length: max_length.map_or(u32::MAX, |most| u32::try_from(most).unwrap_or(u32::MAX)),
        }
    }

    /// In bytes, which is in slots of the arena.
    #[inline]
    pub(super) fn length(&self, symbol: u32) -> u32 {
        self.lengths[symbol as usize]
    }

    /// Whether the two may become one token. Both lie side by side in the arena, so that the
    /// sum of their lengths fits.
    #[inline]
    pub(super) fn may_join(&self, left: u32, right: u32) -> bool {
        self.length(left) + self.length(right) <= self.max_length
    }

    /// Adds the token that `left` and `right` make, and returns its symbol.
    pub(super) fn join(&mut self, left: u32, right: u32) -> u32 {
        let start = self.bytes.len();
        for part in [self.range(left), self.range(right)] {
            self.bytes.extend_from_within(part);
        }
        let mut prefix = [0; 8];
        for (to, from) in prefix.iter_mut().zip(&self.bytes[start..]) {
            *to = *from;
        }
        let length = self.length(left) + self.length(right);
        let symbol = u32::try_from(self.lengths.len()).expect("no more symbols than slots");
        self.lengths.push(length);
        self.starts.push(start);
        self.prefixes.push(u64::from_be_bytes(prefix));
        symbol
    }

    fn range(&self, symbol: u32) -> Range<usize> {
        let start = self.starts[symbol as usize];
        start..start + self.length(symbol) as usize
    }

    /// Whether `rule` puts the pair `first` before `second`.
    pub(super) fn precedes(&self, rule: TieBreak, first: (u32, u32), second: (u32, u32)) -> bool {
        match rule {
            TieBreak::LexMax => self.spelling_order(first, second) == Ordering::Greater,
            TieBreak::LexMin => self.spelling_order(first, second) == Ordering::Less,
            TieBreak::RawId => first < second,
            TieBreak::Hf => {
                (hf_rank(first.0), hf_rank(first.1)) < (hf_rank(second.0), hf_rank(second.1))
            }
        }
    }

    fn spelling_order(&self, first: (u32, u32), second: (u32, u32)) -> Ordering {
        self.compare(first.0, second.0)
            .then_with(|| self.compare(first.1, second.1))
    }

    fn compare(&self, one: u32, other: u32) -> Ordering {
        if one == other {
            return Ordering::Equal;
        }
        self.prefixes[one as usize]
            .cmp(&self.prefixes[other as usize])
            .then_with(|| self.bytes[self.range(one)].cmp(&self.bytes[self.range(other)]))
    }
}

/// Bytes in the order of the code points that GPT-2's `bytes_to_unicode` (openai/gpt-2,
/// `src/encoder.py`) gives them, then the merges.
fn hf_rank(symbol: u32) -> u32 {
    match id(symbol) {
        byte @ (33..=126 | 161..=172 | 174..=255) => byte,
        byte @ 0..=32 => 256 + byte,
        byte @ 127..=160 => 256 + 33 + (byte - 127),
        173 => 256 + 67,
        merged => merged + 68,
    }
}
