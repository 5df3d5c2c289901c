//! Payloads come back as they were, and nothing but a sound one is folded.

mod common;

use bpefleet_core::payload::{check, encode, fold, Limits, PayloadError};
use bpefleet_core::table::{CountTable, Overflow};
use common::payloads::{self, Claim, DIGEST, HEADER, MAX};
use common::{map, Random};

fn table(entries: &[(&[u8], u64)]) -> CountTable {
    let mut table = CountTable::new();
    for (pretoken, count) in entries {
        table.add(pretoken, *count).expect("fits");
    }
    table
}

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

/// The error of folding `payload`; the table must be as before.
fn refused(payload: &[u8]) -> PayloadError {
    let mut table = small();
    let before = map(&table);
    let error = fold(payload, &DIGEST, &MAX, &mut table).expect_err("not sound");
    assert_eq!(map(&table), before);
    error
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
        let mut back = CountTable::new();
        let told = fold(&payload, &DIGEST, &MAX, &mut back).expect("sound");
        assert_eq!(map(&back), map(&table));
        assert_eq!(
            (told.pretokens, told.unique()),
            (table.pretokens(), table.len() as u64)
        );
        assert_eq!(check(&payload, &DIGEST, &MAX), Ok(told));
        fold(&payload, &DIGEST, &MAX, &mut back).expect("sound");
        assert_eq!(back.pretokens(), 2 * table.pretokens());
        assert_eq!(back.len(), table.len());
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
    let whole = words.iter().fold(CountTable::new(), |mut table, word| {
        table.add(word, 1).expect("fits");
        table
    });
    let mut folded = CountTable::new();
    for part in words.chunks(700).rev() {
        let entries: Vec<_> = part.iter().map(|word| (&word[..], 1)).collect();
        folded.fold(&table(&entries)).expect("fits");
    }
    assert_eq!(encode(&whole, &DIGEST), encode(&folded, &DIGEST));
}

#[test]
fn the_largest_count() {
    let payload = encode(&table(&[(b"a", u64::MAX)]), &DIGEST);
    let mut back = CountTable::new();
    fold(&payload, &DIGEST, &MAX, &mut back).expect("sound");
    assert_eq!(back.get(b"a"), u64::MAX);
    let again = fold(&payload, &DIGEST, &MAX, &mut back);
    assert_eq!(again, Err(PayloadError::Overflow(Overflow)));
    assert_eq!(back.get(b"a"), u64::MAX);
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
        let mut table = CountTable::new();
        if fold(&forged, &DIGEST, &MAX, &mut table).is_ok() {
            assert_eq!(map(&table).values().sum::<u64>(), 1304);
        } else {
            assert!(table.is_empty());
        }
    }
}

#[test]
fn others_are_refused_by_name() {
    let payload = encode(&small(), &DIGEST);
    let error = fold(&payload, &[8; 32], &MAX, &mut CountTable::new()).expect_err("other digest");
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
        pretoken: 21,
    };
    assert!(fold(&payload, &DIGEST, &fits, &mut CountTable::new()).is_ok());
    let bytes = fits.bytes - 1;
    let (entries, pretoken) = (fits.entries - 1, fits.pretoken - 1);
    let refused = |limits| {
        let mut table = CountTable::new();
        let error = fold(&payload, &DIGEST, &limits, &mut table).expect_err("too large");
        assert!(table.is_empty());
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
        refused(Limits { pretoken, ..fits }),
        "21 bytes of one pre-token, but 20 are allowed"
    );
}

#[test]
fn contradictions_are_refused() {
    assert!(fold(
        &forged(b"\x11a", 1, 1, 0, 0),
        &DIGEST,
        &MAX,
        &mut CountTable::new()
    )
    .is_ok());
    assert!(malformed(&forged(b"\x11a", 2, 1, 0, 0)), "wrong total");
    assert!(
        malformed(&forged(b"\x11a\x11a", 2, 2, 0, 0)),
        "repeated key"
    );
    let orders = [b"\x11a\x11b", b"\x11b\x11a"];
    let sound = |order: &&&[u8; 4]| {
        fold(
            &forged(&order[..], 2, 2, 0, 0),
            &DIGEST,
            &MAX,
            &mut CountTable::new(),
        )
        .is_ok()
    };
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
