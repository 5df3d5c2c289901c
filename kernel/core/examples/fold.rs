//! Writes payloads of synthetic pre-tokens, as a ledger has them, and folds them into one.
//!
//! ```text
//! cargo run --release --example fold -- write FOLDER WORDS PARTS [BETA]
//! cargo run --release --example fold -- fold FOLDER
//! ```
//!
//! See `words` for the law of their counts. A word that occurs less often than there are parts is
//! in as many of them as it occurs, the others are in all. Different ranks are spelled alike now
//! and then, so that there are somewhat fewer words than WORDS. The second command tells the time
//! and the memory that folding takes, and where the result is: `FOLDER/folded`.

use std::fs::File;
use std::num::NonZeroU64;
use std::path::Path;
use std::time::Instant;

use bpefleet_core::payload::{encode, fold_files, PayloadFile};
use bpefleet_core::table::CountTable;

mod words;
use words::{count, cpu, spell, status, syllables, Random, BETA};

const DIGEST: [u8; 32] = [0; 32];
/// Parts between one that has a word and the next that has it.
const STRIDE: u64 = 7;

fn main() -> std::io::Result<()> {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    let number = |text: &String| text.parse().expect("WORDS PARTS are numbers");
    match &arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["write", folder, _, _, beta @ ..] if beta.len() < 2 => {
            let (words, parts) = (number(&arguments[2]), number(&arguments[3]));
            let beta = beta.first();
            let beta = beta.map_or(BETA, |text| text.parse().expect("BETA is a number"));
            std::fs::create_dir_all(folder)?;
            (0..parts).try_for_each(|part| {
                let payload = encode(&table(part, words, parts, beta), &DIGEST);
                std::fs::write(Path::new(folder).join(format!("part-{part:05}")), payload)
            })
        }
        ["fold", folder] => fold(Path::new(folder)),
        _ => panic!("say write FOLDER WORDS PARTS [BETA], or fold FOLDER"),
    }
}

/// What one of the parts counts.
fn table(part: u64, words: u64, parts: u64, beta: f64) -> CountTable {
    let syllables = syllables();
    let mut table = CountTable::new();
    let mut word = Vec::new();
    let mut add = |rank: u64, count| {
        let seed = (rank + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let mut random = Random(seed ^ seed >> 31);
        spell(rank, &syllables, &mut random, &mut word);
        table.add(&word, count).expect("it fits");
    };
    // Ranks ascend as counts fall: where they get too few for all parts, and for one more.
    let below = |least: u64| {
        let (mut low, mut high) = (0, words);
        while low < high {
            let middle = low.midpoint(high);
            if count(middle, words, beta) >= least {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low
    };
    let everywhere = below(parts);
    for rank in 0..everywhere {
        add(rank, count(rank, words, beta) / parts);
    }
    for occurrence in 0..parts - 1 {
        let behind = below(occurrence + 1);
        let first = (part + parts * STRIDE - occurrence * STRIDE % parts) % parts;
        let skipped = everywhere.saturating_sub(first).div_ceil(parts) * parts;
        for rank in (first + skipped..behind).step_by(usize::try_from(parts).expect("few")) {
            add(rank, 1);
        }
    }
    table
}

#[expect(clippy::cast_precision_loss, reason = "printed with few digits")]
fn fold(folder: &Path) -> std::io::Result<()> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.file_name().is_some_and(|name| name != "folded") {
            files.push(PayloadFile {
                path,
                start: 0,
                weight: NonZeroU64::MIN,
            });
        }
    }
    let out = folder.join("folded");
    File::create(&out)?;
    let read: u64 = files
        .iter()
        .filter_map(|file| Some(file.path.metadata().ok()?.len()))
        .sum();
    let (start, before) = (Instant::now(), cpu());
    let info = fold_files(&files, &DIGEST, &out, 0, 1).expect("sound payloads");
    let (took, after) = (start.elapsed().as_secs_f64(), cpu());
    println!(
        "{} payloads of {} MB: {} different pre-tokens of {} in {} MB; {took:.1} s, CPU {:.1} s; \
         peak {} MB of memory",
        files.len(),
        read >> 20,
        info.unique(),
        info.pretokens,
        info.raw_size >> 20,
        after.1 - before.1,
        status("VmHWM") as f64 / 1024.0,
    );
    Ok(())
}
