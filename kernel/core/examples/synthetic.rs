//! Merges synthetic pre-tokens, and tells the time and the memory that takes.
//!
//! ```text
//! cargo run --release --example synthetic -- WORDS MERGES THREADS
//! ```
//!
//! **Counts** follow Zipf's law with two slopes (Ferrer i Cancho and Solé, 2001): 1 for the most
//! frequent 20,000 words, then 1/β, which makes the different words of a text grow as its length to
//! the power of β, Heaps' law. β is 0.72, between 0.63 measured on 400 MB of English and 0.82 on
//! 90 MB in many scripts. **Spellings** are syllables of skewed frequency, more of them in rarer
//! words. Words are unique, and come in an order that has nothing to do with their counts, as in a
//! payload. Nothing but WORDS decides on them.

use std::collections::HashSet;
use std::hash::{BuildHasherDefault, Hasher};
use std::ops::ControlFlow;
use std::time::Instant;

use bpefleet_core::merge::{Merge, Options, Shards, TieBreak};

/// The ranks with slope 1.
const HEAD: f64 = 20_000.0;
const BETA: f64 = 0.72;

/// xorshift64*, seeded.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }

    fn below(&mut self, limit: u64) -> u64 {
        (self.next() >> 33) % limit
    }

    /// Smaller numbers are likelier: the lesser of two.
    #[expect(clippy::cast_possible_truncation, reason = "far below 2^32")]
    fn skewed(&mut self, limit: usize) -> usize {
        self.below(limit as u64).min(self.below(limit as u64)) as usize
    }
}

/// Hashes are their own.
#[derive(Default)]
struct Itself(u64);

impl Hasher for Itself {
    fn write(&mut self, _: &[u8]) {
        unreachable!("only numbers are hashed")
    }

    fn write_u64(&mut self, hash: u64) {
        self.0 = hash;
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

/// Words one after the other: length, bytes, and the count in eight bytes.
struct Words(Vec<u8>);

impl Words {
    fn generate(words: u64) -> Self {
        let syllables = syllables();
        let mut seen = HashSet::<u64, BuildHasherDefault<Itself>>::default();
        let mut random = Random(0x9E37_79B9_7F4A_7C15);
        let size = words.next_power_of_two();
        let mut packed = Vec::new();
        let mut word = Vec::new();
        for number in 0..size {
            let rank = number.wrapping_mul(0x9E37_79B9_7F4A_7C15) & (size - 1);
            if rank >= words {
                continue;
            }
            loop {
                spell(rank, &syllables, &mut random, &mut word);
                if seen.insert(hash(&word)) {
                    break;
                }
            }
            packed.push(u8::try_from(word.len()).expect("short"));
            packed.extend_from_slice(&word);
            packed.extend_from_slice(&count(rank, words).to_le_bytes());
        }
        Self(packed)
    }

    fn iter(&self) -> impl Iterator<Item = (&[u8], u64)> + Clone {
        let mut rest = &self.0[..];
        std::iter::from_fn(move || {
            let (&length, tail) = rest.split_first()?;
            let (word, tail) = tail.split_at(usize::from(length));
            let (count, tail) = tail.split_first_chunk()?;
            rest = tail;
            Some((word, u64::from_le_bytes(*count)))
        })
    }
}

/// Of one to four letters, the frequent ones shorter.
fn syllables() -> Vec<Vec<u8>> {
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

fn spell(rank: u64, syllables: &[Vec<u8>], random: &mut Random, word: &mut Vec<u8>) {
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

fn hash(word: &[u8]) -> u64 {
    word.iter().fold(0xFF13_198A_2E03_70FE, |hash, &byte| {
        let hash = (hash ^ u64::from(byte)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        hash ^ hash >> 29
    })
}

#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a law of statistics"
)]
fn count(rank: u64, words: u64) -> u64 {
    let (rank, words) = ((rank + 1) as f64, words as f64);
    let tail = |rank: f64| (words / rank).powf(1.0 / BETA);
    if rank < HEAD {
        (tail(HEAD.min(words)) * HEAD / rank) as u64
    } else {
        tail(rank) as u64
    }
}

/// A line of this process's status, in kB.
fn status(name: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix(name));
    line.and_then(|line| line.trim_matches([':', '\t', ' ', 'k', 'B']).parse().ok())
        .unwrap_or(0)
}

/// Seconds that this thread has had a processor, and those that all threads had.
#[expect(clippy::cast_precision_loss, reason = "seconds")]
fn cpu() -> (f64, f64) {
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

#[expect(clippy::cast_precision_loss, reason = "printed with few digits")]
fn main() {
    let mut arguments = std::env::args().skip(1).map(|text| text.parse());
    let mut number = |fallback| match arguments.next() {
        Some(number) => number.expect("WORDS MERGES THREADS are numbers"),
        None => fallback,
    };
    let (count, merges, threads) = (number(1_000_000), number(32_000), number(1));
    let words = Words::generate(count);
    let length: usize = words.iter().map(|(word, _)| word.len() + 1).sum();
    let threads = usize::try_from(threads).expect("few");
    let options = Options {
        merges: usize::try_from(merges).expect("few"),
        tie_break: TieBreak::LexMax,
        min_frequency: 0,
        max_token_length: None,
    };
    let held = status("VmRSS");
    // The peak is reset, as the generator's is of no interest.
    let _ = std::fs::write("/proc/self/clear_refs", "5");
    let (start, before) = (Instant::now(), cpu());
    let mut marks = vec![1000, 3000, 10_000, usize::MAX].into_iter().peekable();
    let mut times = Vec::new();
    let mut progress = |made: &[Merge]| {
        if marks.next_if(|&mark| made.len() >= mark).is_some() {
            times.push((made.len(), start.elapsed().as_secs_f64()));
        }
        ControlFlow::Continue(())
    };
    let shards = Shards::build(words.iter(), threads, &mut progress).expect("it fits");
    drop(words);
    let built = start.elapsed().as_secs_f64();
    let outcome = shards.merge(&options, &mut progress).expect("unique words");
    let all = start.elapsed().as_secs_f64();
    let after = cpu();
    let sum = outcome.merges.iter().fold(0u64, |sum, merge| {
        let next = sum ^ u64::from(merge.left) << 32 ^ u64::from(merge.right) ^ merge.count << 8;
        next.wrapping_mul(0x9E37_79B9_7F4A_7C15)
    });
    let peak = status("VmHWM");
    println!(
        "{count} words of {:.1} slots, {} merges: built {built:.2} s, all {all:.2} s; CPU {:.2} s in the first thread, {:.2} s in all; {:.2?}; peak {} MB, {:.0} bytes a word; words {} MB; {sum:016x}",
        length as f64 / count as f64,
        outcome.merges.len(),
        after.0 - before.0,
        after.1 - before.1,
        times,
        peak >> 10,
        peak as f64 * 1024.0 / count as f64,
        held >> 10,
    );
}
