//! The masks of a window in AVX2, which x86-64 machines have had since about 2013.
//!
//! That the machine has AVX2 is all that is unsafe here, and what every function demands. Since
//! Rust 1.87 the intrinsics are safe where that is so; for older compilers the functions are
//! `unsafe` as wholes.
#![allow(unsafe_op_in_unsafe_fn)]

use std::arch::x86_64::{
    __m256i, _mm256_add_epi8, _mm256_cmpeq_epi8, _mm256_cmpgt_epi8, _mm256_movemask_epi8,
    _mm256_set1_epi8, _mm256_set_epi64x,
};

use crate::scan::masks::{Ascii, Window};

/// Proof that the machine has AVX2, and the BMI and LZCNT that came with it.
#[derive(Clone, Copy, Debug)]
pub(in crate::scan) struct Avx2(());

impl Avx2 {
    /// The proof, if the machine gives it.
    pub(in crate::scan) fn detect() -> Option<Self> {
        let found = is_x86_feature_detected!("avx2")
            && is_x86_feature_detected!("bmi1")
            && is_x86_feature_detected!("bmi2")
            && is_x86_feature_detected!("lzcnt");
        found.then_some(Self(()))
    }
}

/// The masks of a window.
///
/// Not inlined: seeing comparisons and masks together, LLVM 22 moves the o200k
/// family's algebra from words of bits into vectors of bytes, at 0.6 times the speed.
/// The call costs the other families 2 to 5 %.
///
/// # Safety
///
/// The machine has AVX2, as an [`Avx2`] proves.
#[inline(never)]
#[target_feature(enable = "avx2")]
pub(in crate::scan) unsafe fn classify(window: &Window) -> Ascii {
    let halves = [load(window, 0), load(window, 32)];
    let equal = |byte: u8| mask(halves, |half| _mm256_cmpeq_epi8(half, all(byte)));
    let within = |least: u8, most: u8| mask(halves, |half| range(half, least, most));
    Ascii {
        upper: within(b'A', b'Z'),
        lower: within(b'a', b'z'),
        number: within(b'0', b'9'),
        white: equal(b' ') | within(b'\t', b'\r'),
        newline: equal(b'\n') | equal(b'\r'),
        blank: equal(b' '),
        apostrophe: equal(b'\''),
        slash: equal(b'/'),
        wide: mask(halves, |half| half),
        lead: within(0xc0, 0xff),
    }
}

/// Which bytes of a window have each bit: the mask of the highest, then of the next one
/// in its place.
///
/// # Safety
///
/// The machine has AVX2, as an [`Avx2`] proves.
#[inline]
#[target_feature(enable = "avx2")]
pub(in crate::scan) unsafe fn transpose(kinds: &Window) -> [u64; 8] {
    let mut halves = [load(kinds, 0), load(kinds, 32)];
    let mut bits = [0; 8];
    for bit in bits.iter_mut().rev() {
        *bit = mask(halves, |half| half);
        halves = halves.map(|half| _mm256_add_epi8(half, half));
    }
    bits
}

/// Half a window. The load intrinsics take pointers: 4 % faster, and unsafe in another way.
#[inline]
#[target_feature(enable = "avx2")]
unsafe fn load(window: &Window, at: usize) -> __m256i {
    let word = |number: usize| {
        let mut bytes = [0; 8];
        bytes.copy_from_slice(&window[at + 8 * number..][..8]);
        i64::from_le_bytes(bytes)
    };
    _mm256_set_epi64x(word(3), word(2), word(1), word(0))
}

#[inline]
#[target_feature(enable = "avx2")]
unsafe fn all(byte: u8) -> __m256i {
    _mm256_set1_epi8(i8::from_ne_bytes([byte]))
}

/// The bytes from `least` to `most`: moved to be the greatest of the signed bytes,
/// which are the only kind that AVX2 compares.
#[inline]
#[target_feature(enable = "avx2")]
unsafe fn range(half: __m256i, least: u8, most: u8) -> __m256i {
    let moved = _mm256_add_epi8(half, all(0x7f_u8.wrapping_sub(most)));
    _mm256_cmpgt_epi8(moved, all(0x7f - (most - least) - 1))
}

#[inline]
#[target_feature(enable = "avx2")]
unsafe fn mask(halves: [__m256i; 2], test: impl Fn(__m256i) -> __m256i) -> u64 {
    let signs = |half| _mm256_movemask_epi8(test(half)).to_ne_bytes();
    let bits = |half| u64::from(u32::from_ne_bytes(signs(half)));
    bits(halves[0]) | bits(halves[1]) << 32
}
