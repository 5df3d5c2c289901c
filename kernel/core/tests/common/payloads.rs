//! What holds for any bytes that claim to be a payload.

use bpefleet_core::payload::{check, encode, fold, Digest, Folded, Limits, FORMAT_VERSION};
use bpefleet_core::table::CountTable;
use xxhash_rust::xxh3::xxh3_64;

use super::map;

/// What all payloads of the tests are bound to.
pub const DIGEST: Digest = [7; 32];
/// Payloads may be as large as they like.
pub const MAX: Limits = Limits::NONE;
/// Bytes before the body.
pub const HEADER: usize = 88;

/// How many entries of each width a header claims.
#[derive(Clone, Copy, Debug)]
pub struct Claim {
    /// Pre-tokens of 1 to 7 bytes.
    pub short: u64,
    /// Pre-tokens of 8 to 15 bytes.
    pub mid: u64,
    /// Longer ones.
    pub long: u64,
}

/// A payload with a body and claims of its own, and a checksum that fits.
pub fn forged(body: &[u8], pretokens: u64, claim: Claim) -> Vec<u8> {
    let mut payload = b"bpefleet".to_vec();
    payload.extend_from_slice(&FORMAT_VERSION.to_le_bytes());
    payload.extend_from_slice(&[0; 4]);
    payload.extend_from_slice(&DIGEST);
    let Claim { short, mid, long } = claim;
    for number in [pretokens, short, mid, long, body.len() as u64] {
        payload.extend_from_slice(&number.to_le_bytes());
    }
    payload.extend_from_slice(body);
    let checksum = xxh3_64(&payload);
    payload.extend_from_slice(&checksum.to_le_bytes());
    payload
}

/// What was folded, as a table.
pub fn table_of(folded: &Folded) -> CountTable {
    let mut table = CountTable::new();
    for (pretoken, count) in folded.iter() {
        table.add(pretoken, count).expect("the sum fits");
    }
    assert_eq!(table.len() as u64, folded.info().unique());
    assert_eq!(table.pretokens(), folded.info().pretokens);
    table
}

/// Folding, alone and beside another, either gives the one table that is written as these bytes,
/// or refuses. Returns whether the payload was folded.
pub fn assert_canonical_or_refused(payload: &[u8]) -> bool {
    let nothing = encode(&CountTable::new(), &DIGEST);
    let beside = fold(&[&nothing[..], payload], &DIGEST);
    let Ok(folded) = fold(&[payload], &DIGEST) else {
        assert_eq!(beside.map(|_| ()).map_err(|error| error.index), Err(1));
        assert!(check(payload, &DIGEST, &MAX).is_err());
        return false;
    };
    assert!(check(payload, &DIGEST, &MAX).is_ok());
    let table = table_of(&folded);
    map(&table);
    assert_eq!(encode(&table, &DIGEST), payload);
    assert_eq!(folded.payload(), payload);
    assert_eq!(
        beside
            .map_err(|error| error.error)
            .expect("sound")
            .payload(),
        payload
    );
    true
}

/// The counts of a body added up, without asking whether anything else is right about it; `None`
/// if it ends too early or they do not fit. So that a forgery is not refused for its total alone.
pub fn total(body: &[u8], claim: Claim) -> Option<u64> {
    let (mut rest, mut total) = (body, 0_u64);
    for _ in 0..claim.short.checked_add(claim.mid)? {
        let first = byte(&mut rest)?;
        let count = match first & 15 {
            0 => varint(&mut rest)?.checked_add(16)?,
            inline => u64::from(inline),
        };
        rest = rest.get(usize::from(first >> 4)..)?;
        total = total.checked_add(count)?;
    }
    for _ in 0..claim.long {
        let length = varint(&mut rest)?.checked_add(16)?;
        total = total.checked_add(varint(&mut rest)?.checked_add(1)?)?;
        rest = rest.get(usize::try_from(length).ok()?..)?;
    }
    Some(total)
}

fn byte(rest: &mut &[u8]) -> Option<u8> {
    let (&first, tail) = rest.split_first()?;
    *rest = tail;
    Some(first)
}

fn varint(rest: &mut &[u8]) -> Option<u64> {
    let mut value = 0;
    for shift in (0..64).step_by(7) {
        let byte = byte(rest)?;
        value |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Some(value);
        }
    }
    None
}
