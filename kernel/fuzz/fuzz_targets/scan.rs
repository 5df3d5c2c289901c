//! Scanning equals a regex engine. The first byte chooses the pattern, the others are the text.

#![no_main]

use bpefleet_core::scan::Pattern;
use libfuzzer_sys::fuzz_target;

#[path = "../../core/tests/common/mod.rs"]
mod common;

use common::regexes::{assert_cut_as_by_regex, is_comparable};

fuzz_target!(|input: &[u8]| {
    let Some((&choice, text)) = input.split_first() else {
        return;
    };
    let pattern = Pattern::ALL[usize::from(choice) % Pattern::ALL.len()];
    let mut text = String::from_utf8_lossy(text).into_owned();
    text.retain(is_comparable);
    assert_cut_as_by_regex(pattern, &text);
});
