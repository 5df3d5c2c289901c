//! Merges synthetic pre-tokens, and tells the time and the memory that takes.
//!
//! ```text
//! cargo run --release --example synthetic -- WORDS MERGES THREADS [BETA [BYTES]]
//! ```
//!
//! See `words` for their law. Words are unique, and come in an order that has nothing to do with
//! their counts, as in a payload. Nothing but WORDS, BETA and BYTES decides on them.
//!
//! BYTES more, drawn evenly, end each word. Their pairs are too rare for a few dozen merges and get
//! no postings, so that a slot takes less than half of the memory: 2^32 slots, the most that a
//! shard can have, are 41 million words with 90 bytes more.

use std::collections::HashSet;
use std::hash::{BuildHasherDefault, Hasher};
use std::ops::ControlFlow;
use std::time::Instant;

use bpefleet_core::merge::{Merge, Options, Shards, TieBreak};

mod words;
use words::{count, cpu, spell, status, syllables, Random, BETA};

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
    fn generate(words: u64, beta: f64, more: usize) -> Self {
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
                word.extend((0..more).map(|_| random.next().to_be_bytes()[0]));
                if seen.insert(hash(&word)) {
                    break;
                }
            }
            packed.push(u8::try_from(word.len()).expect("short"));
            packed.extend_from_slice(&word);
            packed.extend_from_slice(&count(rank, words, beta).to_le_bytes());
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

fn hash(word: &[u8]) -> u64 {
    word.iter().fold(0xFF13_198A_2E03_70FE, |hash, &byte| {
        let hash = (hash ^ u64::from(byte)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        hash ^ hash >> 29
    })
}

#[expect(clippy::cast_precision_loss, reason = "printed with few digits")]
fn main() {
    let mut arguments = std::env::args().skip(1).map(|text| text.parse());
    let mut number = |fallback| match arguments.next() {
        Some(number) => number.expect("WORDS MERGES THREADS are numbers"),
        None => fallback,
    };
    let (different, merges, threads) = (number(1_000_000), number(32_000), number(1));
    let beta = std::env::args().nth(4);
    let beta = beta.map_or(BETA, |text| text.parse().expect("BETA is a number"));
    let more = std::env::args().nth(5);
    let more = more.map_or(0, |text| text.parse().expect("BYTES is a number"));
    let words = Words::generate(different, beta, more);
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
    let mut marks = vec![300, 1000, 3000, 10_000].into_iter().peekable();
    let mut times = Vec::new();
    let mut progress = |made: &[Merge]| {
        if marks.next_if(|&mark| made.len() >= mark).is_some() {
            times.push((made.len(), cpu().0 - before.0));
        }
        ControlFlow::Continue(())
    };
    let shards = Shards::build(words.iter(), threads, &mut progress).expect("it fits");
    drop(words);
    let (built, number) = (start.elapsed().as_secs_f64(), shards.number());
    let outcome = shards.merge(&options, &mut progress).expect("unique words");
    let all = start.elapsed().as_secs_f64();
    let after = cpu();
    let sum = outcome.merges.iter().fold(0u64, |sum, merge| {
        let next = sum ^ u64::from(merge.left) << 32 ^ u64::from(merge.right) ^ merge.count << 8;
        next.wrapping_mul(0x9E37_79B9_7F4A_7C15)
    });
    let peak = status("VmHWM");
    println!(
        "{different} words of {:.1} slots in {number} shards, {} merges: built {built:.2} s, all {all:.2} s; CPU {:.2} s in the first thread, {:.2} s in all; {:.2?}; peak {} MB, {:.0} bytes a word; words {} MB; {sum:016x}",
        length as f64 / different as f64,
        outcome.merges.len(),
        after.0 - before.0,
        after.1 - before.1,
        times,
        peak >> 10,
        peak as f64 * 1024.0 / different as f64,
        held >> 10,
    );
}
