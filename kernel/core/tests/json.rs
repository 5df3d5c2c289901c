//! The texts of JSON Lines, and what is none. The grammar as a whole is compared with Python's.

use std::fmt::Write as _;

use bpefleet_core::json::{texts, Texts};

/// The texts of `lines` at `text`.
fn found(lines: &str) -> Vec<String> {
    divided(&texts(lines.as_bytes(), &["text"]).expect(lines))
}

fn divided(texts: &Texts) -> Vec<String> {
    assert_eq!(texts.offsets.len(), texts.starts.len() + 1);
    assert_eq!(texts.offsets.last(), Some(&texts.data.len()));
    assert_eq!(texts.records, texts.starts.len() as u64 + texts.absent);
    texts
        .offsets
        .windows(2)
        .map(|text| String::from_utf8_lossy(&texts.data[text[0]..text[1]]).into_owned())
        .collect()
}

/// Why the first line is none.
fn reason(line: &str) -> String {
    let error = texts(line.as_bytes(), &["a", "b"]).expect_err(line);
    assert_eq!((error.offset, error.line), (0, 0), "{line}");
    error.reason
}

#[test]
fn lines_of_every_kind() {
    assert_eq!(found(""), [""; 0]);
    assert_eq!(found("\n \r\n\t\n"), [""; 0]);
    assert_eq!(found("{\"text\":\"a\"}"), ["a"]);
    assert_eq!(
        found("{\"text\":\"a\"}\r\n\n  {\"x\":1, \"text\" : \"\" } \r\n{}\n{\"text\":null}"),
        ["a", ""]
    );
    assert_eq!(
        found("\u{feff}{\"text\":\"a\"}\n\u{feff}\n\u{feff}{\"text\":\"b\"}"),
        ["a", "b"]
    );
}

#[test]
fn what_is_told_of_the_lines() {
    let lines = b"\n{\"a\":1,\"\\u0062\":[{\"c\":2}],\"a\":3}\n{\"text\":\"x\"}\n{\"d\":{}}";
    let texts = texts(lines, &["text"]).expect("three records");
    assert_eq!((texts.records, texts.absent), (3, 2));
    assert_eq!(texts.fields, ["a", "b"]);
    assert_eq!(texts.starts, [34]);
    assert_eq!(&lines[34..35], b"{");
    assert_eq!(texts.data, b"x");
}

#[test]
fn a_record_s_own_key_with_dots_comes_before_the_way() {
    for (line, expected) in [
        (r#"{"a":{"b":"way"},"a.b":"own"}"#, Some("own")),
        (r#"{"a.b":"own","a":{"b":"way"}}"#, Some("own")),
        (r#"{"\u0061.b":"own","a":5}"#, Some("own")),
        (r#"{"a":{"b":"way"},"a.b":null}"#, None),
        (r#"{"a.b":null,"a":{"b":"way"}}"#, None),
        (r#"{"a.b":"first","a.b":"own"}"#, Some("own")),
        (r#"{"a":{"a.b":"inner","b":"way"}}"#, Some("way")),
        (r#"{"a":{"b":"way"}}"#, Some("way")),
    ] {
        let read = texts(line.as_bytes(), &["a", "b"]).expect(line);
        assert_eq!(
            divided(&read).first().map(String::as_str),
            expected,
            "{line}"
        );
    }
    assert_eq!(
        reason(r#"{"a.b":5}"#),
        "has a number as \"a.b\", neither a string nor null"
    );
}

#[test]
fn characters_written_as_escapes_with_anything_between() {
    let characters = ["a", "ä", "ж", "字", "😀", "\u{7ff}", "\u{800}", "\u{ffff}"];
    for between in [
        "", " ", ", ", "123456", "1234567", "12345678", "\n", "\"", "é", "\\u",
    ] {
        for length in [1, 2, 21, 22, 40, 100] {
            let words = characters.iter().cycle().take(length);
            let text = words
                .map(|character| character.repeat(3))
                .collect::<Vec<_>>();
            let text = text.join(between);
            let mut line = String::from("{\"text\":\"");
            for character in text.chars() {
                if between.contains(character) && character.is_ascii() {
                    match character {
                        '\n' => line.push_str("\\n"),
                        '"' | '\\' => line.extend(['\\', character]),
                        _ => line.push(character),
                    }
                } else {
                    for unit in character.encode_utf16(&mut [0; 2]) {
                        write!(line, "\\u{unit:04X}").expect("room");
                    }
                }
            }
            line.push_str("\"}");
            assert_eq!(found(&line), [text], "{line}");
        }
    }
    let bad = r#"{"a":{"b":"\u0436\u0436\u0436 \u043g........"}}"#;
    assert_eq!(
        reason(bad),
        "is no JSON: there is a \\u without four hexadecimal digits at its byte 31"
    );
}

#[test]
fn escapes() {
    assert_eq!(
        found(r#"{"text":"\"\\\/\b\f\n\r\t\u0000\u00e9\u6f22\ud83d\uDE00x"}"#),
        ["\"\\/\u{8}\u{c}\n\r\t\0é漢\u{1f600}x"]
    );
    let surrogates: [(&str, &[u8]); 5] = [
        (r"\ud800\ud7ff", b"\xed\xa0\x80\xed\x9f\xbf"),
        (r"\udc00\udbff", b"\xed\xb0\x80\xed\xaf\xbf"),
        (r"\ud83d\ud83d\ude00", b"\xed\xa0\xbd\xf0\x9f\x98\x80"),
        (r"\ud83d\u0041", b"\xed\xa0\xbdA"),
        (r"\ud83d\n", b"\xed\xa0\xbd\n"),
    ];
    for (escaped, expected) in surrogates {
        let line = format!(r#"{{"text":"{escaped}"}}"#);
        let read = texts(line.as_bytes(), &["text"]).expect("a text");
        assert_eq!(read.data, expected, "{line}");
    }
}

#[test]
fn the_last_of_repeated_keys_counts() {
    assert_eq!(found(r#"{"text":"a","text":"b"}"#), ["b"]);
    assert_eq!(found(r#"{"text":5,"te\u0078t":"b"}"#), ["b"]);
    assert_eq!(
        found("{\"text\":\"a\",\"text\":null}\n{\"text\":\"c\"}"),
        ["c"]
    );
    let nested = r#"{"a":{"b":"x"},"a":{"c":1}}"#;
    assert_eq!(
        texts(nested.as_bytes(), &["a", "b"])
            .expect("record")
            .absent,
        1
    );
}

#[test]
fn keys_of_every_kind() {
    for (key, line) in [
        ("", r#"{"":"x"}"#),
        ("a\"b\\", r#"{"a":"y","a\"b\\":"x"}"#),
        ("é", r#"{"\u00e9":"x"}"#),
        ("\n", r#"{"\n":"x"}"#),
        ("text", r#"{"textual":1,"tex":2,"text":"x"}"#),
    ] {
        assert_eq!(
            divided(&texts(line.as_bytes(), &[key]).expect(line)),
            ["x"],
            "{line}"
        );
    }
}

#[test]
fn values_of_every_kind_are_skipped() {
    let values = [
        "0",
        "-0",
        "1e999",
        "-12.5E+3",
        "123456789012345678901234567890",
        "NaN",
        "Infinity",
        "-Infinity",
        "true",
        "false",
        "null",
        "[]",
        "{}",
        r#""\u00e9\"""#,
        "[ ]",
        "{ }",
        r#"[1, [2, {"text": "no"}], {"a" : [ ] , "b":{"text":5}}, "x"]"#,
    ];
    for value in values {
        assert_eq!(
            found(&format!(r#"{{"x" : {value} , "text":"a","y":{value}}}"#)),
            ["a"]
        );
    }
    let deep = "[".repeat(1_000_000) + &"]".repeat(1_000_000);
    assert_eq!(found(&format!(r#"{{"x":{deep},"text":"a"}}"#)), ["a"]);
}

#[test]
fn a_line_that_is_no_object() {
    for (line, kind) in [
        ("5", "a number"),
        ("\"a\"", "a string"),
        ("[{}]", "an array"),
        ("null", "null"),
        ("true", "a boolean"),
        ("NaN", "a number"),
    ] {
        assert_eq!(reason(line), format!("is no JSON object but {kind}"));
    }
}

#[test]
fn a_field_of_another_kind() {
    assert_eq!(
        reason(r#"{"a":{"b":[]}}"#),
        r#"has an array as "a.b", neither a string nor null"#
    );
    assert_eq!(reason(r#"{"a":"x"}"#), r#"has a string as "a", no object"#);
    assert_eq!(
        reason(r#"{"a":{"b":"x"},"a":0}"#),
        r#"has a number as "a", no object"#
    );
    for absent in [r#"{"a":null}"#, r#"{"a":{"b":null}}"#, r#"{"a":{}}"#, "{}"] {
        assert_eq!(
            texts(absent.as_bytes(), &["a", "b"]).expect(absent).absent,
            1
        );
    }
}

#[test]
fn a_line_that_is_no_json() {
    for (line, what, at) in [
        ("x", "there is no value", 0),
        ("\u{feff}{\"a\"}", "there is no colon after a key", 7),
        ("{", "there is neither a key nor the end of the object", 1),
        ("{,", "there is neither a key nor the end of the object", 1),
        ("{\"a", "there is a string without an end", 1),
        (
            "{\"a\":1",
            "there is neither a comma nor an end after a value",
            6,
        ),
        ("{\"a\":1,}", "there is no key after a comma", 7),
        ("{\"a\":1}{", "something follows the object", 7),
        ("{\"a\":[1,]}", "there is no value", 8),
        (
            "{\"a\":[1}",
            "there is neither a comma nor an end after a value",
            7,
        ),
        ("{\"a\":-}", "there is no value", 6),
        (
            "{\"a\":01}",
            "there is neither a comma nor an end after a value",
            6,
        ),
        ("{\"a\":1.}", "there is no digit in a number", 7),
        ("{\"a\":1e}", "there is no digit in a number", 7),
        ("{\"a\":nul}", "there is no value", 5),
        (
            "{\"a\":\"x\ty\"}",
            "there is a control character within a string",
            7,
        ),
        ("{\"a\":\"\\x\"}", "there is an escape that JSON has not", 7),
        (
            "{\"a\":\"\\u12g4\"}",
            "there is a \\u without four hexadecimal digits",
            7,
        ),
        (
            "{\"a\":\"\\u12\"}",
            "there is a \\u without four hexadecimal digits",
            7,
        ),
        (
            "{\"a\":\"\\ud83d\\u12\"}",
            "there is a \\u without four hexadecimal digits",
            13,
        ),
        ("{\"a\":\"\\", "there is an escape that JSON has not", 7),
    ] {
        assert_eq!(
            reason(line),
            format!("is no JSON: {what} at its byte {at}"),
            "{line}"
        );
    }
}

#[test]
fn the_first_bad_line_is_named() {
    let lines = b"{}\n\n{\"a\":1}\r\n{\"a\":{\"b\":2}}\nx";
    let error = texts(lines, &["c", "d"]).expect_err("the last line");
    assert_eq!((error.offset, error.line), (27, 4));
    assert!(error
        .to_string()
        .starts_with("the line at byte 27 is no JSON"));
}
