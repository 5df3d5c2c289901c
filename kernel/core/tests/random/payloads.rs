//! Payloads come back, and damaged ones are folded only if they are the payload of something.

use bpefleet_core::payload::{check, encode};

use crate::common::payloads::{
    assert_canonical_or_refused, forged, total, Claim, DIGEST, HEADER, MAX,
};
use crate::common::Random;
use crate::rounds::rounds;

/// Changes some bytes of a body, its length, or what is claimed of it.
fn damage(body: &mut Vec<u8>, claim: &mut Claim, random: &mut Random) {
    for _ in 0..random.below(3) {
        if let Some(last) = body.len().checked_sub(1) {
            let at = random.below(last + 1);
            body[at] ^= 1 << random.below(8);
        }
    }
    match random.below(8) {
        0 => body.truncate(random.below(body.len() + 1)),
        1 => body.extend(random.pretoken()),
        2 => claim.short = claim.short.wrapping_sub(1),
        3 => claim.mid += 1,
        4 => {
            // Every entry again, which repeats a key where there was but one.
            body.extend_from_within(..);
            claim.short *= 2;
            claim.mid *= 2;
            claim.long *= 2;
        }
        _ => {}
    }
}

#[test]
fn damaged_payloads_are_canonical_or_refused() {
    let mut folded = 0;
    rounds(|random| {
        let most = *random.choose(&[3, 60]);
        let (table, _) = random.table(most);
        let payload = encode(&table, &DIGEST);
        assert!(assert_canonical_or_refused(&payload));

        let mut body = payload[HEADER..payload.len() - 8].to_vec();
        let told = check(&payload, &DIGEST, &MAX).expect("sound");
        let (short, mid, long) = (told.short, told.mid, told.long);
        let mut claim = Claim { short, mid, long };
        damage(&mut body, &mut claim, random);
        let pretokens = total(&body, claim).unwrap_or(told.pretokens);
        let damaged = forged(&body, pretokens, claim);
        folded += u32::from(damaged != payload && assert_canonical_or_refused(&damaged));
    });
    assert!(folded > 0, "no damage got as far as the table");
}

#[test]
fn random_bytes_are_canonical_or_refused() {
    rounds(|random| {
        let length = random.below(400);
        let bytes: Vec<_> = (0..=255).collect();
        let body = random.bytes(length, &bytes);
        assert_canonical_or_refused(&body);
        let mut claims = || random.below(4) as u64;
        let (short, mid, long) = (claims(), claims(), claims());
        let claim = Claim { short, mid, long };
        let pretokens = total(&body, claim).unwrap_or(0);
        assert_canonical_or_refused(&forged(&body, pretokens, claim));
    });
}
