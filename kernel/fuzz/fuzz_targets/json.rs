//! The texts of JSON Lines are those that serde finds. The first byte chooses the field.

#![no_main]

use bpefleet_core::json::texts;
use libfuzzer_sys::fuzz_target;
use serde_json::{Map, Value};

const FIELDS: [&[&str]; 3] = [&["a"], &["a", "b"], &[""]];

/// The text of a record; nothing if it has none, or else if it has something else there.
fn text(record: Map<String, Value>, field: &[&str]) -> Result<Option<String>, ()> {
    let mut value = Value::Object(record);
    for key in field {
        match value {
            Value::Object(mut members) => value = members.remove(*key).unwrap_or(Value::Null),
            Value::Null => return Ok(None),
            _ => return Err(()),
        }
    }
    match value {
        Value::String(text) => Ok(Some(text)),
        Value::Null => Ok(None),
        _ => Err(()),
    }
}

/// Whether a line may hold what serde refuses: words and surrogates as Python has them, bytes that
/// are not UTF-8, a byte order mark, more depth than serde allows.
fn is_beyond_serde(line: &[u8]) -> bool {
    let holds = |part: &[u8]| line.windows(part.len()).any(|window| window == part);
    let opens = line.iter().filter(|byte| matches!(byte, b'{' | b'['));
    holds(b"NaN")
        || holds(b"Infinity")
        || holds(b"\\u")
        || std::str::from_utf8(line).is_err()
        || line.starts_with(b"\xef\xbb\xbf")
        || opens.count() > 100
}

fuzz_target!(|input: &[u8]| {
    let Some((&choice, lines)) = input.split_first() else {
        return;
    };
    let field = FIELDS[usize::from(choice) % FIELDS.len()];
    let (mut expected, mut offset) = (Vec::new(), 0);
    for (number, line) in lines.split(|&byte| byte == b'\n').enumerate() {
        let found = texts(line, field);
        if !line.trim_ascii().is_empty() {
            match serde_json::from_slice::<Value>(line) {
                Ok(Value::Object(record)) => match (text(record, field), &found) {
                    (Ok(text), Ok(found)) => {
                        assert_eq!(found.absent, u64::from(text.is_none()));
                        assert_eq!(found.data, text.unwrap_or_default().as_bytes());
                    }
                    (text, found) => assert!(text.is_err() && found.is_err()),
                },
                Ok(_) => assert!(found.is_err()),
                Err(_) => assert!(found.is_err() || is_beyond_serde(line)),
            }
        }
        // And the lines together are what each of them is.
        match found {
            Ok(found) => expected.extend(found.data),
            Err(error) => {
                let all = texts(lines, field).expect_err("a line of it is bad");
                assert_eq!((all.offset, all.line), (offset, number));
                assert_eq!(all.reason, error.reason);
                return;
            }
        }
        offset += line.len() + 1;
    }
    assert_eq!(texts(lines, field).map(|found| found.data), Ok(expected));
});
