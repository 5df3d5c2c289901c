//! A sample of a file's documents: which are taken depends on where each is, and on nothing else.
//!
//! Hence the same ones for any chunks, any workers and any order, and nothing need be remembered.

use std::ops::Range;

use memchr::memchr;

use crate::specials::Specials;

/// The share and the hash have so many bits: a plan's numbers have no more.
const SHARE_BITS: u32 = 52;

/// Takes some of the documents of a file.
///
/// The hash of a place is output number `place`, from 0, of the `SplitMix64` generator
/// (<https://prng.di.unimi.it/splitmix64.c>) that is seeded with `seed`. A document is taken if
/// the upper 52 bits of its place's hash are less than `share`: so of 2⁵² documents about `share`.
///
/// ```
/// use bpefleet_core::sample::Sampler;
///
/// let half = Sampler::new(5, 1 << 51);
/// assert_eq!(half.rows(0..10), [0, 2, 3, 4, 5, 8]);
/// // What is taken does not depend on where one begins.
/// assert_eq!(half.rows(5..10), [5, 8]);
/// assert_eq!(Sampler::new(5, 0).rows(0..10), [0u64; 0]);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Sampler {
    seed: u64,
    share: u64,
}

/// What was taken of some bytes: stretches of them, end to end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Taken {
    /// All of them.
    pub data: Vec<u8>,
    /// Stretch `i` is `data[offsets[i]..offsets[i + 1]]`.
    pub offsets: Vec<usize>,
    /// Where in what it was taken from each begins.
    pub starts: Vec<usize>,
    /// Whether what is at the end is taken.
    pub last: bool,
}

impl Taken {
    fn new() -> Self {
        Self {
            data: Vec::new(),
            offsets: vec![0],
            starts: Vec::new(),
            last: false,
        }
    }

    fn push(&mut self, start: usize, stretch: &[u8]) {
        if !stretch.is_empty() {
            self.data.extend_from_slice(stretch);
            self.offsets.push(self.data.len());
            self.starts.push(start);
        }
    }
}

impl Sampler {
    /// A sampler of the documents of a file.
    #[must_use]
    pub fn new(seed: u64, share: u64) -> Self {
        Self { seed, share }
    }

    /// Whether the document at `place` is taken.
    #[inline]
    #[must_use]
    pub fn takes(&self, place: u64) -> bool {
        hash(self.seed, place) >> (u64::BITS - SHARE_BITS) < self.share
    }

    /// Which of some rows are taken.
    #[must_use]
    pub fn rows(&self, rows: Range<u64>) -> Vec<u64> {
        rows.filter(|&row| self.takes(row)).collect()
    }

    /// The lines that are taken. The place of a line is where it begins: `at` for the first.
    ///
    /// ```
    /// use bpefleet_core::sample::Sampler;
    ///
    /// let taken = Sampler::new(5, 1 << 51).lines(b"{0}\n{1}\n{2}\n{3}\n", 100);
    /// assert_eq!(taken.data, b"{0}\n{2}\n{3}\n");
    /// assert_eq!((taken.offsets, taken.starts), (vec![0, 4, 12], vec![0, 8]));
    /// ```
    #[must_use]
    pub fn lines(&self, lines: &[u8], at: u64) -> Taken {
        let mut taken = Taken::new();
        let (mut from, mut start) = (0, 0);
        while start < lines.len() {
            let line = &lines[start..];
            let length = memchr(b'\n', line).map_or(line.len(), |newline| newline + 1);
            if !self.takes(at + start as u64) {
                taken.push(from, &lines[from..start]);
                from = start + length;
            }
            start += length;
        }
        taken.push(from, &lines[from..]);
        taken
    }

    /// What is taken of the pieces between special tokens. The place of a piece is where it
    /// begins: `at` for the first, but if that goes on from a block before, `first` says whether
    /// it is taken.
    ///
    /// ```
    /// use bpefleet_core::sample::Sampler;
    /// use bpefleet_core::specials::Specials;
    ///
    /// let specials = Specials::new(&["|"])?;
    /// let taken = Sampler::new(6, 1 << 51).pieces(b"one|two|three", 0, &specials, Some(true));
    /// assert_eq!((&taken.data[..], taken.last), (&b"onethree"[..], true));
    /// assert_eq!((taken.offsets, taken.starts), (vec![0, 3, 8], vec![0, 8]));
    /// # Ok::<(), bpefleet_core::specials::SpecialsError>(())
    /// ```
    #[must_use]
    pub fn pieces(
        &self,
        text: &[u8],
        at: u64,
        specials: &Specials,
        mut first: Option<bool>,
    ) -> Taken {
        let mut taken = Taken::new();
        for (start, piece) in specials.pieces(text) {
            let carried = first.take();
            taken.last = carried.unwrap_or_else(|| self.takes(at + start as u64));
            if taken.last {
                taken.push(start, piece);
            }
        }
        taken
    }
}

/// Output number `place` of `SplitMix64`, seeded with `seed`.
#[inline]
fn hash(seed: u64, place: u64) -> u64 {
    let state = seed.wrapping_add(place.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    let mixed = (state ^ state >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ mixed >> 31
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first outputs for the seed 1234567, as other implementations give them.
    #[test]
    fn hashes_are_those_of_splitmix64() {
        let found: Vec<_> = (0..3).map(|place| hash(1_234_567, place)).collect();
        let known: [u64; 3] = [
            6_457_827_717_110_365_317,
            3_203_168_211_198_807_973,
            9_817_491_932_198_370_423,
        ];
        assert_eq!(found, known);
    }
}
