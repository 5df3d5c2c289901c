//! Encoding equals merging by definition, for any vocabulary and any bytes.
//!
//! The input is tokens, each behind a byte that tells its length, and behind them a pre-token.

#![no_main]

use std::ops::ControlFlow;

use bpefleet_core::count::Errors;
use bpefleet_core::encode::{Encoder, Options, Output, Vocabulary};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let mut rest = data;
    let mut tokens: Vec<Vec<u8>> = (0..=255).map(|byte| vec![byte]).collect();
    while let Some((&length, behind)) = rest.split_first() {
        let length = usize::from(length % 16);
        rest = behind;
        if length < 2 || length > rest.len() || tokens.len() > 300 {
            break;
        }
        let (token, behind) = rest.split_at(length);
        rest = behind;
        if !tokens.iter().any(|known| known == token) {
            tokens.push(token.to_vec());
        }
    }
    let ranks: Vec<(Vec<u8>, u32)> = tokens.into_iter().zip(0..).collect();
    let expected = by_definition(rest, &ranks);
    let vocabulary = Vocabulary::from_ranks(&ranks).expect("each byte has a token");
    let encoder = Encoder::new(vocabulary, None, &[]).expect("there is no special token");
    let options = Options {
        special: encoder.special(),
        errors: Errors::Strict,
        output: Output::Ids,
        threads: 1,
    };
    for _ in 0..2 {
        let mut go_on = |_| ControlFlow::Continue(());
        let found = encoder.documents(rest, &[0, rest.len()], &options, &mut go_on);
        assert_eq!(found.expect("any bytes are encoded").ids, expected);
    }
});

fn by_definition(pretoken: &[u8], ranks: &[(Vec<u8>, u32)]) -> Vec<u32> {
    let rank = |bytes: &[u8]| {
        let found = ranks.iter().find(|(token, _)| token == bytes);
        found.map(|&(_, rank)| rank)
    };
    if let Some(id) = rank(pretoken) {
        return vec![id];
    }
    let mut parts: Vec<Vec<u8>> = pretoken.iter().map(|&byte| vec![byte]).collect();
    while let Some((_, at)) = (1..parts.len())
        .filter_map(|at| Some((rank(&parts[at - 1..=at].concat())?, at)))
        .min()
    {
        let right = parts.remove(at);
        parts[at - 1].extend(right);
    }
    let ids = parts.iter().map(|part| rank(part));
    ids.map(|id| id.expect("each part is a token")).collect()
}
