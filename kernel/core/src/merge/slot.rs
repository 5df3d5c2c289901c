//! What a slot of the arena holds: a symbol in 16 bits while they do, in 32 from then on.
//!
//! Half as many bytes are half as many cache lines: with 16 bits 4 million synthetic words take
//! a quarter less memory at the peak.

use super::tokens::INITIAL;

/// A symbol as the arena has it.
pub(super) trait Slot: Copy + Default + PartialEq + Send {
    /// Neither the first nor the last slot of a symbol.
    const INSIDE: Self;

    /// It as a slot has it; what is too large is not asked for ([`SHORT_MERGES`]).
    fn of(symbol: u32) -> Self;

    /// It as all others have it.
    fn symbol(self) -> u32;
}

impl Slot for u16 {
    const INSIDE: Self = Self::MAX;

    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "it fits")]
    fn of(symbol: u32) -> Self {
        debug_assert!(symbol < u32::from(Self::INSIDE), "it fits");
        symbol as Self
    }

    #[inline]
    fn symbol(self) -> u32 {
        u32::from(self)
    }
}

impl Slot for u32 {
    const INSIDE: Self = Self::MAX;

    #[inline]
    fn of(symbol: u32) -> Self {
        symbol
    }

    #[inline]
    fn symbol(self) -> u32 {
        self
    }
}

/// Merges for whose symbols 16 bits suffice; few in tests, which are to get past them.
pub(super) const SHORT_MERGES: usize = if cfg!(test) {
    7
} else {
    u16::INSIDE as usize - INITIAL
};
