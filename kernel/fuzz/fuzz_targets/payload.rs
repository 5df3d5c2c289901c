//! Payloads are folded only if they are the one payload of some table. The first byte tells
//! whether the others are a payload, or three claims and a body with a fitting checksum.

#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../../core/tests/common/mod.rs"]
mod common;

use common::payloads::{assert_canonical_or_refused, forged, total, Claim};

fuzz_target!(|input: &[u8]| {
    match input {
        [1, short, mid, long, body @ ..] => {
            let [short, mid, long] = [short, mid, long].map(|&number| u64::from(number));
            let claim = Claim { short, mid, long };
            let pretokens = total(body, claim).unwrap_or(0);
            assert_canonical_or_refused(&forged(body, pretokens, claim));
        }
        [_, payload @ ..] => {
            assert_canonical_or_refused(payload);
        }
        [] => {}
    }
});
