//! Merging equals its definition. Three bytes are the options, then come the words: each ends
//! with a zero byte, and its first byte is its count.

#![no_main]

use bpefleet_core::merge::{Options, TieBreak};
use libfuzzer_sys::fuzz_target;

#[path = "../../core/tests/common/mod.rs"]
mod common;

use common::merging::{assert_merged_as_by_definition, Words};

fuzz_target!(|input: &[u8]| {
    let [rule, min_frequency, longest, words @ ..] = input else {
        return;
    };
    let rules = TieBreak::ALL.len();
    let options = Options {
        merges: 1 + usize::from(*rule) / rules,
        tie_break: TieBreak::ALL[usize::from(*rule) % rules],
        min_frequency: u64::from(*min_frequency),
        max_token_length: (*longest > 0).then_some(usize::from(*longest)),
    };
    let words = words.split(|&byte| byte == 0);
    let words: Words = words
        .filter_map(|word| word.split_first())
        .map(|(&count, word)| (word.to_vec(), u64::from(count)))
        .collect();
    assert_merged_as_by_definition(&words, &options);
});
