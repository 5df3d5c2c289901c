//! Payloads come back as they were, and nothing but a sound one is folded.

mod common;

use bpefleet_core::payload::{check, encode, fold, Limits, PayloadError, SAMPLE};
use bpefleet_core::table::{CountTable, Overflow};
use common::payloads::{self, table_of, Claim, DIGEST, HEADER, MAX};
use common::{map, Random};

fn table(entries: &[(&[u8], u64)]) -> CountTable {
    let mut table = CountTable::new();
    for (pretoken, count) in entries {
        table.add(pretoken, *count).expect("fits");
    }
    table
}

/// Bytes of the text that `small` counts.
const TEXT: u64 = 4 * 3 + 15 + 1000 + 21 * 300;

fn small() -> CountTable {
    table(&[
        (b" the", 3),
        (b" accomplishment", 1),
        (b"a", 1000),
        (b"a very long pre-token", 300),
    ])
}

fn forged(body: &[u8], pretokens: u64, short: u64, mid: u64, long: u64) -> Vec<u8> {
    payloads::forged(body, pretokens, Claim { short, mid, long })
}

/// The error of folding `payload`: alone, beside others, and as `check` tells it.
fn refused(payload: &[u8]) -> PayloadError {
    let sound = encode(&small(), &DIGEST);
    let alone = fold(&[payload], &DIGEST).map(|_| ());
    let alone = alone.expect_err("not sound").error;
    let beside = fold(&[&sound[..], payload, &sound], &DIGEST).map(|_| ());
    let beside = beside.expect_err("not sound");
    assert_eq!((beside.index, &beside.error), (1, &alone));
    assert_eq!(check(payload, &DIGEST, &MAX), Err(alone.clone()));
    alone
}

fn folds(payload: &[u8]) -> bool {
    payloads::assert_canonical_or_refused(payload)
}

fn malformed(payload: &[u8]) -> bool {
    matches!(refused(payload), PayloadError::Malformed(_))
}

#[test]
fn round_trip() {
    for entries in [0u64, 1, 10, 50_000] {
        let mut random = Random::new(entries);
        let mut table = CountTable::new();
        for _ in 0..entries {
            let length = 1 + random.below(50);
            let count = *random.choose(&[1, 2, 14, 15, 16, 17, 127, 143, 144, 1 << 20, 1 << 40]);
            table
                .add(&random.bytes(length, b"ab\x00\xff"), count)
                .expect("fits");
        }
        let payload = encode(&table, &DIGEST);
        let back = fold(&[&payload], &DIGEST).expect("sound");
        assert_eq!(map(&table_of(&back)), map(&table));
        assert_eq!(back.payload(), payload);
        let twice = fold(&[&payload, &payload], &DIGEST).expect("sound");
        assert_eq!(twice.info().pretokens, 2 * table.pretokens());
        assert_eq!(table_of(&twice).len(), table.len());
    }
}

#[test]
fn equal_counts_give_equal_bytes() {
    let mut random = Random::new(1);
    let words: Vec<_> = (0..5000)
        .map(|_| {
            let length = 1 + random.below(20);
            random.bytes(length, b"abc")
        })
        .collect();
    let encoded = |words: &[Vec<u8>]| {
        let entries: Vec<_> = words.iter().map(|word| (&word[..], 1)).collect();
        encode(&table(&entries), &DIGEST)
    };
    let parts: Vec<_> = words.chunks(70).rev().map(encoded).collect();
    let folded = fold(&parts, &DIGEST).expect("sound");
    assert_eq!(folded.payload(), encoded(&words));
}

#[test]
fn nothing_is_folded_into_nothing() {
    let none: [&[u8]; 0] = [];
    let folded = fold(&none, &DIGEST).expect("sound");
    assert_eq!(
        (folded.iter().count(), folded.payload()),
        (0, &encode(&CountTable::new(), &DIGEST)[..])
    );
    let empty = [
        encode(&CountTable::new(), &DIGEST),
        encode(&small(), &DIGEST),
    ];
    assert_eq!(fold(&empty, &DIGEST).expect("sound").payload(), empty[1]);
}

#[test]
fn many_pretokens_of_one_hash() {
    // What makes the product, hence the hash, of 8 to 15 bytes zero.
    const SEED: [u8; 8] = 0xff13_198a_2e03_70fe_u64.to_le_bytes();
    let words = |numbers: std::ops::Range<u32>| -> Vec<_> {
        numbers
            .map(|number| [&SEED[..], &number.to_be_bytes()].concat())
            .chain([b"accomplishment".to_vec()])
            .collect()
    };
    let encoded = |words: &[Vec<u8>], count| {
        let entries: Vec<_> = words.iter().map(|word| (&word[..], count)).collect();
        encode(&table(&entries), &DIGEST)
    };
    let parts = [
        encoded(&words(0..2000), 1),
        encoded(&words(1000..1500), 2),
        encoded(&words(0..0), 4),
    ];
    let folded = table_of(&fold(&parts, &DIGEST).expect("sound"));
    assert_eq!(folded.len(), 2001);
    let counts = [999, 1000, 1499, 1500].map(|number| folded.get(&words(number..2000)[0]));
    assert_eq!(counts, [1, 3, 3, 1]);
    assert_eq!(folded.get(b"accomplishment"), 7);
}

#[test]
fn the_largest_count() {
    let most = encode(&table(&[(b"a", u64::MAX)]), &DIGEST);
    let back = fold(&[&most], &DIGEST).expect("sound");
    assert_eq!(table_of(&back).get(b"a"), u64::MAX);
    let more = encode(&table(&[(b"b", 1)]), &DIGEST);
    let error = fold(&[&most, &more], &DIGEST).map(|_| ());
    let error = error.expect_err("too many");
    assert_eq!(
        (error.index, error.error),
        (1, PayloadError::Overflow(Overflow))
    );
}

#[test]
fn least_hashes_tell_how_many_differ() {
    let word = |number: usize| match number % 3 {
        0 => format!("{number}"),
        1 => format!("pre-token {number:04}"),
        _ => format!("a long pre-token, number {number}"),
    };
    let payload = |range: std::ops::Range<usize>| {
        let words: Vec<_> = range.map(word).collect();
        let entries: Vec<_> = words.iter().map(|word| (word.as_bytes(), 1)).collect();
        encode(&table(&entries), &DIGEST)
    };
    let least = |payload: &[u8]| check(payload, &DIGEST, &MAX).expect("sound").least_hashes;
    assert_eq!(least(&payload(0..300)).len(), 300);
    let (one, two, both) = (
        least(&payload(0..6000)),
        least(&payload(5000..9000)),
        least(&payload(0..9000)),
    );
    let mut together = [one, two].concat();
    together.sort_unstable();
    together.dedup();
    together.truncate(SAMPLE);
    assert_eq!(together, both);
}

#[test]
fn every_truncation_is_refused() {
    let payload = encode(&small(), &DIGEST);
    for size in 0..payload.len() {
        assert_eq!(refused(&payload[..size]), PayloadError::Truncated { size });
    }
    assert_eq!(
        refused(&[&payload[..], b"x"].concat()),
        PayloadError::Checksum
    );
}

#[test]
fn every_flipped_bit_is_refused() {
    let payload = encode(&small(), &DIGEST);
    for bit in 0..payload.len() * 8 {
        let mut flipped = payload.clone();
        flipped[bit / 8] ^= 1 << (bit % 8);
        refused(&flipped);
    }
}

#[test]
fn random_damage_under_a_fitting_checksum_never_panics() {
    let payload = encode(&small(), &DIGEST);
    let body = &payload[HEADER..payload.len() - 8];
    for seed in 0..20_000 {
        let mut random = Random::new(seed);
        let mut damaged = body.to_vec();
        for _ in 0..=random.below(4) {
            let at = random.below(damaged.len());
            damaged[at] = u8::try_from(random.below(256)).expect("a byte");
        }
        damaged.truncate(1 + random.below(damaged.len() + 20));
        let numbers: Vec<_> = (0..3).map(|_| random.below(4) as u64).collect();
        let forged = forged(&damaged, 1304, numbers[0], numbers[1], numbers[2]);
        folds(&forged);
    }
}

#[test]
fn others_are_refused_by_name() {
    let payload = encode(&small(), &DIGEST);
    let error = fold(&[&payload], &[8; 32]).map(|_| ());
    let error = error.expect_err("other digest").error;
    assert!(
        error.to_string().contains("made for digest 0707"),
        "{error}"
    );
    assert!(error.to_string().contains("not 0808"), "{error}");

    let mut newer = payload.clone();
    newer[8] = 2;
    assert_eq!(refused(&newer), PayloadError::Version { found: 2 });
    assert_eq!(refused(b"PK\x03\x04 and more"), PayloadError::NotAPayload);
}

#[test]
fn what_exceeds_a_limit_is_refused() {
    let payload = encode(&small(), &DIGEST);
    let fits = Limits {
        bytes: payload.len() as u64,
        entries: 4,
        text: TEXT,
    };
    assert!(check(&payload, &DIGEST, &fits).is_ok());
    let bytes = fits.bytes - 1;
    let (entries, text) = (fits.entries - 1, fits.text - 1);
    let refused = |limits| {
        let error = check(&payload, &DIGEST, &limits).expect_err("too large");
        error.to_string()
    };
    assert_eq!(
        refused(Limits { bytes, ..fits }),
        format!("{} bytes, but {bytes} are allowed", payload.len())
    );
    assert_eq!(
        refused(Limits { entries, ..fits }),
        "4 different pre-tokens, but 3 are allowed"
    );
    assert_eq!(
        refused(Limits { text, ..fits }),
        format!("{TEXT} bytes of text, but {text} are allowed")
    );
}

#[test]
fn contradictions_are_refused() {
    assert!(folds(&forged(b"\x11a", 1, 1, 0, 0)));
    assert!(malformed(&forged(b"\x11a", 2, 1, 0, 0)), "wrong total");
    assert!(
        malformed(&forged(b"\x11a\x11a", 2, 2, 0, 0)),
        "repeated key"
    );
    let orders = [b"\x11a\x11b", b"\x11b\x11a"];
    let sound = |order: &&&[u8; 4]| folds(&forged(&order[..], 2, 2, 0, 0));
    assert_eq!(orders.iter().filter(sound).count(), 1, "only in hash order");
    assert!(
        malformed(&forged(b"\x11a\x00", 1, 1, 0, 0)),
        "trailing byte"
    );
    assert!(malformed(&forged(b"\x11a", 1, 2, 0, 0)), "fewer entries");
    assert!(
        malformed(&forged(b"\x11a", 1, u64::MAX, 0, 0)),
        "absurdly many entries"
    );
    assert!(malformed(&forged(b"\x11a", 1, 0, 0, 0)), "more entries");
    assert!(
        malformed(&forged(b"\x01", 1, 1, 0, 0)),
        "an empty pre-token"
    );
    assert!(
        malformed(&forged(b"\x81abcdefgh", 1, 1, 0, 0)),
        "too long for its width"
    );
    assert!(
        malformed(&forged(b"\x11a", 1, 0, 1, 0)),
        "too short for its width"
    );
    assert!(
        malformed(&forged(b"\x10\x80\x00a", 16, 1, 0, 0)),
        "a count in a longer form"
    );
    let huge = [&b"\x10"[..], &[0xff; 9], b"\x01a"].concat();
    assert!(
        malformed(&forged(&huge, 15, 1, 0, 0)),
        "a count beyond 64 bits"
    );
    let endless = [&[0xff; 9][..], b"\x01\x00x"].concat();
    assert!(
        malformed(&forged(&endless, 1, 0, 0, 1)),
        "a length beyond the address space"
    );
}
