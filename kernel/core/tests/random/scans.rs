//! Scanning equals a regex engine on any characters, next to the edges of blocks and of the text.

use bpefleet_core::scan::Pattern;

use crate::common::regexes::assert_cut_as_by_regex;
use crate::rounds::rounds;

#[test]
fn every_pattern_cuts_as_its_regex() {
    rounds(|random| {
        let length = random.length_near_blocks();
        let text = random.text(length);
        for pattern in Pattern::ALL {
            assert_cut_as_by_regex(pattern, &text);
        }
    });
}
