//! Tests of what the scanners are made of: the classes and the masks.

use fancy_regex::Regex;

use super::Random;
use crate::scan::class::{
    class_at, Class, CASELESS, LOWER, MARK, NEWLINE, NUMBER, OTHER, SPACE, UPPER,
};
#[cfg(target_arch = "x86_64")]
use crate::scan::classify::avx2::{self, Avx2};
use crate::scan::classify::{portable, transpose};
use crate::scan::masks::{Ascii, Window, WINDOW};

/// What each class is, in the words of the patterns.
const CLASSES: [(Class, &str); 8] = [
    (UPPER, r"[\p{Lu}\p{Lt}]"),
    (LOWER, r"\p{Ll}"),
    (CASELESS, r"[\p{Lm}\p{Lo}]"),
    (MARK, r"\p{M}"),
    (NUMBER, r"\p{N}"),
    (SPACE, r"[^\S\r\n]"),
    (NEWLINE, r"[\r\n]"),
    (OTHER, r"[^\s\p{L}\p{M}\p{N}]"),
];

/// A lower case letter until Unicode 17 made it a caseless one.
const RECLASSED: char = '\u{295}';

/// The engine knows Unicode 16: what was assigned or changed since is left out.
#[test]
fn classes_of_all_code_points() {
    let unassigned = Regex::new(r"\p{Cn}").expect("a regex");
    let classes =
        CLASSES.map(|(class, pattern)| (class, Regex::new(pattern).expect("a class compiles")));
    let is = |regex: &Regex, text: &str| regex.is_match(text).expect("no limit is met");
    let mut compared = 0;
    for character in '\0'..=char::MAX {
        let text = character.to_string();
        let (class, len) = class_at(text.as_bytes(), 0);
        assert_eq!(len, text.len(), "{character:?}");
        if is(&unassigned, &text) || character == RECLASSED {
            continue;
        }
        for (expected, regex) in &classes {
            assert_eq!(
                class == *expected,
                is(regex, &text),
                "{character:?} in {regex}"
            );
        }
        compared += 1;
    }
    assert!(compared > 280_000, "only {compared} characters compared");
}

/// The masks of `window`, from the definition of each.
fn expected(window: &Window) -> Ascii {
    let mask = |is: fn(&u8) -> bool| {
        let bytes = window.iter().take(WINDOW);
        let bits = bytes.enumerate().filter(|(_, byte)| is(byte));
        bits.fold(0, |mask, (at, _)| mask | 1 << at)
    };
    Ascii {
        upper: mask(u8::is_ascii_uppercase),
        lower: mask(u8::is_ascii_lowercase),
        number: mask(u8::is_ascii_digit),
        white: mask(|byte| matches!(byte, b'\t'..=b'\r' | b' ')),
        newline: mask(|byte| matches!(byte, b'\r' | b'\n')),
        blank: mask(|byte| *byte == b' '),
        apostrophe: mask(|byte| *byte == b'\''),
        slash: mask(|byte| *byte == b'/'),
        wide: mask(|byte| !byte.is_ascii()),
        lead: mask(|byte| *byte >= 0xc0),
    }
}

fn check_masks(window: &Window) {
    let expected = expected(window);
    assert_eq!(portable(window), expected, "{window:?}");
    #[cfg(target_arch = "x86_64")]
    if Avx2::detect().is_some() {
        // SAFETY: the machine has just been found to have the features.
        assert_eq!(unsafe { avx2::classify(window) }, expected, "{window:?}");
    }
}

#[test]
fn masks_of_each_byte_at_each_place() {
    for place in 0..WINDOW {
        for byte in 0..=u8::MAX {
            let mut window = [0; size_of::<Window>()];
            window[place] = byte;
            check_masks(&window);
        }
    }
}

#[test]
fn transposed_random_bytes() {
    let mut random = Random(0x5eed);
    for _ in 0..10_000 {
        let bytes: Window = std::array::from_fn(|_| random.next().to_be_bytes()[0]);
        let has = |bit: usize, at: usize| u64::from(bytes[at] >> bit & 1);
        let expected: [u64; 8] =
            std::array::from_fn(|bit| (0..WINDOW).fold(0, |mask, at| mask | has(bit, at) << at));
        assert_eq!(transpose(&bytes), expected, "{bytes:?}");
        #[cfg(target_arch = "x86_64")]
        if Avx2::detect().is_some() {
            // SAFETY: the machine has just been found to have the features.
            assert_eq!(unsafe { avx2::transpose(&bytes) }, expected, "{bytes:?}");
        }
    }
}

#[test]
fn masks_of_random_bytes() {
    let mut random = Random(0x5eed);
    for _ in 0..10_000 {
        check_masks(&std::array::from_fn(|_| random.next().to_be_bytes()[0]));
    }
}
