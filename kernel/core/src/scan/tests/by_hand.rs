//! Cases that tell the rules apart, worked out by hand from the regular expressions.

use super::{ends, pieces, Pattern};
use Pattern::{Cl100k, Gpt2, Gpt4, Llama3, Nanochat, O200k, Qwen2, Tekken};

fn check(patterns: &[Pattern], text: &str, expected: &[&str]) {
    for &pattern in patterns {
        let found = ends(pattern, text);
        assert_eq!(
            pieces(text, &found),
            expected,
            "{} on {text:?}",
            pattern.name()
        );
    }
}

const CL100K_FAMILY: [Pattern; 5] = [Cl100k, Gpt4, Nanochat, Llama3, Qwen2];
const O200K_FAMILY: [Pattern; 2] = [O200k, Tekken];

#[test]
fn empty_text_has_no_pretokens() {
    check(&Pattern::ALL, "", &[]);
}

#[test]
fn space_goes_with_the_word_after_it() {
    check(&Pattern::ALL, "a  b", &["a", " ", " b"]);
    check(&Pattern::ALL, "  x", &[" ", " x"]);
    check(&[Gpt2], "a\tb\u{a0}c", &["a", "\t", "b", "\u{a0}", "c"]);
    check(&CL100K_FAMILY, "a\tb\u{a0}c", &["a", "\tb", "\u{a0}c"]);
    check(&O200K_FAMILY, "a\tb\u{a0}c", &["a", "\tb", "\u{a0}c"]);
}

#[test]
fn white_space_at_the_end_of_the_text() {
    check(&Pattern::ALL, "a   ", &["a", "   "]);
    check(&[Gpt2, Cl100k], "a\n  ", &["a", "\n  "]);
    check(
        &[Gpt4, Nanochat, Llama3, Qwen2, O200k, Tekken],
        "a\n  ",
        &["a", "\n", "  "],
    );
}

#[test]
fn newlines() {
    check(&[Gpt2], "\n\n  x", &["\n\n ", " x"]);
    check(&CL100K_FAMILY, "\n\n  x", &["\n\n", " ", " x"]);
    check(&O200K_FAMILY, "\n\n  x", &["\n\n", " ", " x"]);
    check(&CL100K_FAMILY, " \r\n \n\t1", &[" \r\n \n", "\t", "1"]);
    check(&[Gpt2], "a.\n\nb", &["a", ".", "\n", "\n", "b"]);
    check(&CL100K_FAMILY, "a.\n\nb", &["a", ".\n\n", "b"]);
    check(&CL100K_FAMILY, ".\n \nb", &[".\n", " \n", "b"]);
}

#[test]
fn separators_below_space_are_not_white_space() {
    check(&[Gpt2], " \u{1c}\u{1f}\u{85}", &[" \u{1c}\u{1f}", "\u{85}"]);
}

#[test]
fn contractions() {
    check(
        &[Gpt2],
        "it's we'll 's",
        &["it", "'s", " we", "'ll", " '", "s"],
    );
    check(&[Gpt2], "'Sa", &["'", "Sa"]);
    check(
        &CL100K_FAMILY,
        "'Sa'sb 'x",
        &["'S", "a", "'s", "b", " '", "x"],
    );
    check(
        &CL100K_FAMILY,
        "a'\u{17f}b'vE'rx",
        &["a", "'\u{17f}", "b", "'vE", "'rx"],
    );
    check(&[O200k], "a'\u{17f}b'vE'rx", &["a'\u{17f}", "b'vE", "'rx"]);
    check(&[O200k], "a's's's", &["a's", "'s's"]);
    check(&[Tekken], "a's's's", &["a", "'s", "'s", "'s"]);
    check(&[O200k], "1's'S", &["1", "'s'S"]);
}

#[test]
fn numbers() {
    check(&[Gpt2], "a 12345", &["a", " 12345"]);
    check(
        &[Cl100k, Gpt4, Llama3, O200k],
        "12345 6",
        &["123", "45", " ", "6"],
    );
    check(&[Nanochat], "12345", &["12", "34", "5"]);
    check(&[Qwen2, Tekken], "123", &["1", "2", "3"]);
    check(&[Cl100k], "٠١٢٣½", &["٠١٢", "٣½"]);
}

#[test]
fn one_sign_goes_with_the_letters_after_it() {
    check(&CL100K_FAMILY, ".a..b .c", &[".a", "..", "b", " .", "c"]);
    check(&O200K_FAMILY, ".a..b .c", &[".a", "..", "b", " .", "c"]);
}

#[test]
fn slashes_end_a_run_of_signs() {
    check(&O200K_FAMILY, "foo/bar//\n", &["foo", "/bar", "//\n"]);
    check(&O200K_FAMILY, "*/\n//x", &["*/\n//", "x"]);
    check(&O200K_FAMILY, ".\n/*a", &[".\n/", "*a"]);
    check(&CL100K_FAMILY, ".\n/x", &[".\n", "/x"]);
}

#[test]
fn case_cuts_words() {
    check(
        &O200K_FAMILY,
        "HelloWorld HTMLParser",
        &["Hello", "World", " HTMLParser"],
    );
    check(&O200K_FAMILY, "日本AB", &["日本", "AB"]);
    check(&O200K_FAMILY, "日Ab", &["日Ab"]);
    check(&O200K_FAMILY, "A日Bc", &["A日Bc"]);
    check(&O200K_FAMILY, "A日B", &["A日", "B"]);
    check(&O200K_FAMILY, "a日B", &["a日", "B"]);
    check(&O200K_FAMILY, "ǅǅa", &["ǅǅa"]);
}

#[test]
fn marks_are_letters_or_signs_by_what_precedes_them() {
    check(&O200K_FAMILY, "e\u{301}A\u{301}", &["e\u{301}", "A\u{301}"]);
    check(&O200K_FAMILY, "\u{301}A", &["\u{301}", "A"]);
    check(&O200K_FAMILY, "\u{301}Aa", &["\u{301}Aa"]);
    check(&O200K_FAMILY, ".\u{301}.", &[".\u{301}", "."]);
    check(&O200K_FAMILY, "..\u{301}.a", &["..\u{301}.", "a"]);
    check(&O200K_FAMILY, " .\u{301}a", &[" .\u{301}", "a"]);
    check(&CL100K_FAMILY, "e\u{301}a", &["e", "\u{301}a"]);
    check(&[Gpt2], "e\u{301}a", &["e", "\u{301}", "a"]);
}

#[test]
fn names_lead_back_to_their_patterns() {
    for pattern in Pattern::ALL {
        assert_eq!(Pattern::from_name(pattern.name()), Some(pattern));
    }
    assert_eq!(Pattern::from_name("GPT2"), None);
}
