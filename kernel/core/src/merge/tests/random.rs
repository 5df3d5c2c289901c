//! Words drawn at random.

use super::Words;

/// xorshift64*, seeded.
pub(super) struct Random(pub(super) u64);

impl Random {
    pub(super) fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 33) % limit
    }

    pub(super) fn index(&mut self, limit: usize) -> usize {
        usize::try_from(self.below(limit as u64)).expect("below a usize")
    }

    pub(super) fn words(&mut self) -> Words {
        let alphabet: Vec<u8> = match self.below(3) {
            0 => b"ab"[..].into(),
            1 => b"abc "[..].into(),
            _ => vec![0, 0x20, 0x7F, 0xAD, 0xFF, b'z'],
        };
        let letters = 1 + self.index(alphabet.len());
        let longest = [3, 8, 30, 90][self.index(4)];
        let most = [1, 3, 1000, 1 << 18][self.index(4)];
        let mut words = Words::new();
        for _ in 0..=self.below(20) {
            let mut word = Vec::new();
            for _ in 0..self.index(longest) {
                let letter = alphabet[self.index(letters)];
                let run = if self.below(8) == 0 { self.index(9) } else { 1 };
                word.extend([letter].repeat(run));
            }
            words.insert(word, self.below(most + 1));
        }
        words
    }

    pub(super) fn shuffled<'w>(&mut self, words: &'w Words) -> Vec<(&'w [u8], u64)> {
        let mut list: Vec<_> = words
            .iter()
            .map(|(word, &count)| (&word[..], count))
            .collect();
        for end in (1..list.len()).rev() {
            list.swap(end, self.index(end + 1));
        }
        list
    }
}
