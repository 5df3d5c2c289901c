//! Synthetic pre-tokens, and what it costs to do something with them.
//!
//! **Counts** follow Zipf's law with two slopes (Ferrer i Cancho and Solé, 2001): 1 for the most
//! frequent 20,000 words, then 1/β, which makes the different words of a text grow as its length to
//! the power of β, Heaps' law. `python -m benchmarks heaps` fits β by least squares: by cl100k 0.68
//! to English and to code, 0.84 to many scripts, and the tails' slopes are 1.53, 1.49 and 1.23, where
//! 1/β is 1.47, 1.48 and 1.20. Unless told otherwise it is 0.72. **Spellings** are syllables of skewed frequency, more of them in rarer
//! words.

#![allow(dead_code, reason = "each example uses its part")]

/// The ranks with slope 1.
pub const HEAD: f64 = 20_000.0;
pub const BETA: f64 = 0.72;

/// xorshift64*, seeded.
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }

    pub fn below(&mut self, limit: u64) -> u64 {
        (self.next() >> 33) % limit
    }

    /// Smaller numbers are likelier: the lesser of two.
    #[expect(clippy::cast_possible_truncation, reason = "far below 2^32")]
    pub fn skewed(&mut self, limit: usize) -> usize {
        self.below(limit as u64).min(self.below(limit as u64)) as usize
    }
}

/// Of one to four letters, the frequent ones shorter.
pub fn syllables() -> Vec<Vec<u8>> {
    let mut random = Random(7);
    let mut syllables = Vec::new();
    for number in 0..2400 {
        let mut syllable = Vec::new();
        if number % 7 > 0 {
            syllable.push(b"tnshrdlcmwfgypbvkjxqz"[random.skewed(21)]);
        }
        syllable.push(b"eaoiuy"[random.skewed(6)]);
        if number > 100 && number % 3 > 0 {
            syllable.push(b"nrstldmcgpkbfvwxz"[random.skewed(17)]);
        }
        if number > 800 && number % 5 > 2 {
            syllable.push(b"tsdkeg"[random.skewed(6)]);
        }
        syllables.push(syllable);
    }
    syllables
}

pub fn spell(rank: u64, syllables: &[Vec<u8>], random: &mut Random, word: &mut Vec<u8>) {
    word.clear();
    word.push(b' ');
    // Three more for 2^24 words, and some more or fewer.
    let most = 1 + u64::from(rank.max(1).ilog2()) / 7 + random.below(2) + random.below(3);
    for _ in 0..most {
        let limit = syllables.len();
        let syllable = random.skewed(limit).min(random.skewed(limit));
        word.extend_from_slice(&syllables[syllable]);
    }
    word.truncate(250);
}

#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a law of statistics"
)]
/// How often the word of a rank occurs, if the rarest of so many does once.
pub fn count(rank: u64, words: u64, beta: f64) -> u64 {
    let (rank, words) = ((rank + 1) as f64, words as f64);
    let tail = |rank: f64| (words / rank).powf(1.0 / beta);
    if rank < HEAD {
        (tail(HEAD.min(words)) * HEAD / rank) as u64
    } else {
        tail(rank) as u64
    }
}

/// A line of this process's status, in kB.
pub fn status(name: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix(name));
    line.and_then(|line| line.trim_matches([':', '\t', ' ', 'k', 'B']).parse().ok())
        .unwrap_or(0)
}

/// Seconds that this thread has had a processor, and those that all threads had.
#[expect(clippy::cast_precision_loss, reason = "seconds")]
pub fn cpu() -> (f64, f64) {
    let read = |path| std::fs::read_to_string(path).unwrap_or_default();
    let number = |text: &str, at| {
        let word = text.split_whitespace().nth(at).unwrap_or("0");
        word.parse::<u64>().unwrap_or(0) as f64
    };
    let (thread, process) = (read("/proc/thread-self/schedstat"), read("/proc/self/stat"));
    // Ticks of user and system time; there are a hundred a second.
    let ticks = number(&process, 13) + number(&process, 14);
    (number(&thread, 0) / 1e9, ticks / 100.0)
}
