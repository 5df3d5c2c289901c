//! Files are folded as what is in memory, whatever of them is read at a time.

use std::num::NonZeroU64;
use std::path::{Path, PathBuf};

use xxhash_rust::xxh3::xxh3_64;

use super::body::OUT_OF_ORDER;
use super::files::{opened_in, FileError, PayloadFile};
use super::fold::{fold_sources, FoldError, ALL};
use super::header::{HEADER_BYTES, TRAILER_BYTES};
use super::{
    check, check_file, encode, fold, fold_files, fold_into_memory, fold_ranges, fold_weighted,
    Digest, Folded, Limits, PayloadError,
};
use crate::table::CountTable;

const DIGEST: Digest = [7; 32];

/// A folder that goes with the test.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("bpefleet-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).expect("a folder");
        Self(path)
    }

    fn put(&self, name: &str, payload: &[u8], weight: u64) -> PayloadFile {
        let path = self.0.join(name);
        std::fs::write(&path, [&b"head\n"[..], payload].concat()).expect("a file");
        let weight = NonZeroU64::new(weight).expect("not 0");
        PayloadFile {
            path,
            start: 5,
            weight,
        }
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// `SplitMix64`, seeded.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        (mixed >> 33) % limit
    }

    fn payload(&mut self) -> Vec<u8> {
        let mut table = CountTable::new();
        let most = [0, 3, 60, 900, 3000][self.index(5)];
        for _ in 0..most {
            let length = [3, 12, 40, 700][self.index(40).min(3)];
            let length = 1 + self.below(length);
            let word: Vec<u8> = (0..length).map(|_| b"ab\xff"[self.index(3)]).collect();
            let count = [1, 15, 16, 1 << 40][self.index(4)];
            table.add(&word, count).expect("it fits");
        }
        encode(&table, &DIGEST)
    }

    fn index(&mut self, limit: u64) -> usize {
        usize::try_from(self.below(limit)).expect("few")
    }
}

/// A sound checksum over a thousand entries, of which one is the first once more.
fn repeated(other: usize) -> Vec<u8> {
    let mut table = CountTable::new();
    for word in 0..1000 {
        table
            .add(format!("{word:08}").as_bytes(), 1)
            .expect("it fits");
    }
    let mut payload = encode(&table, &DIGEST);
    let end = payload.len() - TRAILER_BYTES;
    let entry = (end - HEADER_BYTES) / 1000;
    let first = HEADER_BYTES..HEADER_BYTES + entry;
    payload.copy_within(first, HEADER_BYTES + other * entry);
    let checksum = xxh3_64(&payload[..end]);
    payload[end..].copy_from_slice(&checksum.to_le_bytes());
    payload
}

fn written(path: &Path) -> Vec<u8> {
    std::fs::read(path).expect("written")[5..].to_vec()
}

#[test]
fn files_are_folded_in_windows_of_any_size_and_by_hashes() {
    let place = Folder::new("windows");
    let mut random = Random(1);
    for round in 0..40 {
        let payloads: Vec<_> = (0..random.below(6)).map(|_| random.payload()).collect();
        let weights: Vec<_> = payloads.iter().map(|_| 1 + random.below(3)).collect();
        let files: Vec<_> = (0..)
            .zip(payloads.iter().zip(&weights))
            .map(|(at, (payload, &weight))| place.put(&format!("{at}"), payload, weight))
            .collect();
        let weighted: Vec<_> = payloads
            .iter()
            .zip(&files)
            .map(|(payload, file)| (&payload[..], file.weight))
            .collect();
        let expected = fold_weighted(&weighted, &DIGEST).expect("sound");
        let block = [1, 30, 400, 1 << 20][round % 4];
        let mut sources = opened_in(&files, &DIGEST, block, round % 3 == 0).expect("sound");
        let folded = Folded::of(&mut sources, &DIGEST, &ALL, 0).expect("sound");
        assert_eq!(folded.payload(), expected.payload(), "{round}");

        let threads = 1 + random.index(4);
        let parts = fold_into_memory(&files, &DIGEST, threads).expect("sound");
        let parts: Vec<_> = parts.iter().map(Folded::payload).collect();
        assert_eq!(parts.len(), threads);
        assert_eq!(
            fold(&parts, &DIGEST).expect("sound").payload(),
            expected.payload()
        );

        // By stretches of hashes, and these together.
        let mut cuts: Vec<_> = (0..random.below(4))
            .map(|_| random.below(1 << 31) << 33 | random.below(9))
            .chain([u64::MAX])
            .collect();
        cuts.sort_unstable();
        cuts.dedup();
        let (mut from, mut stretches) = (0, Vec::new());
        for (at, &last) in (0..).zip(&cuts) {
            let out = place.put(&format!("out-{at}"), &[], 1);
            let mut sources = opened_in(&files, &DIGEST, block, true).expect("sound");
            let part = Folded::of(&mut sources, &DIGEST, &(from..=last), 0).expect("sound");
            std::fs::write(&out.path, [&b"head\n"[..], part.payload()].concat()).expect("a file");
            let info = part.info();
            let checked = check_file(&out, &DIGEST).expect("sound");
            assert_eq!(
                (&checked.digest, checked.raw_size),
                (&DIGEST, info.raw_size)
            );
            assert_eq!(checked.unique(), info.unique());
            assert_eq!(checked.pretokens, info.pretokens);
            let told = check(&written(&out.path), &DIGEST, &Limits::NONE).expect("sound");
            assert_eq!(checked, told);
            stretches.push(out);
            from = last.wrapping_add(1);
        }
        let parts: Vec<_> = stretches.iter().map(|file| written(&file.path)).collect();
        assert_eq!(
            fold(&parts, &DIGEST).expect("sound").payload(),
            expected.payload()
        );
        // By ranges, all at once.
        let ranges: Vec<_> = (0..=random.below(5))
            .map(|at| place.put(&format!("range-{at}"), &[], 1).path)
            .collect();
        for path in &ranges {
            std::fs::write(path, []).expect("empty");
        }
        let infos = fold_ranges(&files, &DIGEST, &ranges).expect("sound");
        let parts: Vec<_> = ranges
            .iter()
            .map(|path| std::fs::read(path).expect("written"))
            .collect();
        for (info, part) in infos.iter().zip(&parts) {
            let told = check(part, &DIGEST, &Limits::NONE).expect("sound");
            assert_eq!(*info, told);
        }
        assert_eq!(
            fold(&parts, &DIGEST).expect("sound").payload(),
            expected.payload()
        );

        let all = place.put("all", &[], 1);
        let info = fold_files(&stretches, &DIGEST, &all.path, 5, threads).expect("sound");
        assert_eq!(written(&all.path), expected.payload());
        assert_eq!(info.unique(), expected.info().unique());
    }
}

#[test]
fn damage_is_found_wherever_it_is() {
    let place = Folder::new("damage");
    let mut random = Random(5);
    let sound = place.put("sound", &random.payload(), 1);
    let payload = loop {
        let payload = random.payload();
        if payload.len() > 1000 {
            break payload;
        }
    };
    for round in 0..200 {
        let mut harmed = payload.clone();
        let at = random.index(harmed.len() as u64);
        if round % 5 == 0 {
            harmed.truncate(at);
        } else {
            harmed[at] ^= 1 << random.below(8);
        }
        let harmed = place.put("harmed", &harmed, 1);
        let block = [1, 100, 1 << 20][round % 3];
        let files = [sound.clone(), harmed];
        let folded = opened_in(&files, &DIGEST, block, true)
            .and_then(|mut sources| fold_sources(&mut sources, &DIGEST, &ALL, &mut Vec::new()));
        assert_eq!(folded.map_err(|error| error.index), Err(1), "{at}");
        assert!(check_file(&files[1], &DIGEST).is_err());
        let apart = fold_into_memory(&files, &DIGEST, 2).map(|_| ());
        assert_eq!(apart.map_err(|error| error.index), Err(1));
        let out = place.put("out", &[], 1).path;
        let told = fold_files(&files, &DIGEST, &out, 5, 3);
        assert!(matches!(
            told,
            Err(FileError::Payload(FoldError { index: 1, .. }))
        ));
    }
    // A thread that passes over others' entries may pass over its own for one that is out of place.
    for other in 400..600 {
        let files = [sound.clone(), place.put("repeated", &repeated(other), 1)];
        let threads = 1 + other % 3;
        let told = fold_into_memory(&files, &DIGEST, threads).map(|_| ());
        let expected = Err((1, OUT_OF_ORDER));
        assert_eq!(told.map_err(|error| (error.index, error.error)), expected);
        let out = place.put("out", &[], 1).path;
        let told = match fold_files(&files, &DIGEST, &out, 5, threads) {
            Err(FileError::Payload(error)) => Err((error.index, error.error)),
            told => told.map(|_| ()).map_err(|_| unreachable!("there is room")),
        };
        assert_eq!(told, expected, "{other}");
    }
    let missing = PayloadFile {
        path: place.0.join("missing"),
        ..sound
    };
    let error = PayloadError::Unreadable { code: libc::ENOENT };
    assert_eq!(check_file(&missing, &DIGEST), Err(error));
}
