//! The way to one field of a record.

use std::collections::HashSet;

use super::cursor::{Cursor, Fault};

/// What a line has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Found {
    /// No record.
    Blank,
    /// A record whose field is missing or null.
    Absent,
    /// A record whose text was read.
    Text,
}

/// What is where a field should be. Said only when the record is read, as a later one of the same
/// name could take its place.
enum Value {
    Absent,
    Text,
    /// A value of another kind, after so many keys of the way.
    Wrong(&'static str, usize),
}

/// Which key comes next.
enum Key {
    /// The whole way, written as one key.
    Whole,
    /// The next of the way.
    Next,
    Other,
}

/// Reads one field of each record.
pub(super) struct Reader<'f> {
    field: &'f [&'f str],
    /// The way as one key, with dots, where it has several: a record's own comes before the way.
    whole: Option<String>,
    /// What is open while a value is skipped; and a key that is written with escapes.
    open: Vec<u8>,
    key: Vec<u8>,
}

impl<'f> Reader<'f> {
    pub(super) fn new(field: &'f [&'f str]) -> Self {
        Self {
            field,
            whole: (field.len() > 1).then(|| field.join(".")),
            open: Vec::new(),
            key: Vec::new(),
        }
    }

    /// Adds the text of a line's record to `out`; else says why there can be none.
    pub(super) fn read(&mut self, line: &[u8], out: &mut Vec<u8>) -> Result<Found, String> {
        let mut cursor = Cursor::new(line);
        cursor.white();
        if cursor.peek().is_none() {
            return Ok(Found::Blank);
        }
        if cursor.peek() != Some(b'{') {
            let kind = cursor.kind();
            return Err(
                match cursor.skip(&mut self.open).and_then(|()| cursor.end()) {
                    Ok(()) => format!("is no JSON object but {kind}"),
                    Err(fault) => no_json(&fault),
                },
            );
        }
        let start = out.len();
        let value = self
            .value(&mut cursor, 0, out, start)
            .and_then(|value| cursor.end().map(|()| value))
            .map_err(|fault| no_json(&fault))?;
        match value {
            Value::Text => Ok(Found::Text),
            Value::Absent => {
                out.truncate(start);
                Ok(Found::Absent)
            }
            Value::Wrong(kind, depth) => Err(self.wrong(kind, depth)),
        }
    }

    /// What is at the rest of the way, after `depth` of its keys; a text is `out` from `start`.
    fn value(
        &mut self,
        cursor: &mut Cursor,
        depth: usize,
        out: &mut Vec<u8>,
        start: usize,
    ) -> Result<Value, Fault> {
        let kind = cursor.kind();
        match (cursor.peek(), self.field.get(depth)) {
            (Some(b'"'), None) => {
                out.truncate(start);
                cursor.string(|part| out.extend_from_slice(part))?;
                Ok(Value::Text)
            }
            (Some(b'{'), Some(key)) => {
                let mut value = Value::Absent;
                let mut has_whole = false;
                let mut more = cursor.open_object()?;
                while more {
                    let found = self.key(cursor, key, depth == 0)?;
                    cursor.colon()?;
                    match found {
                        Key::Whole => {
                            has_whole = true;
                            value = self.value(cursor, self.field.len(), out, start)?;
                        }
                        Key::Next if !has_whole => {
                            value = self.value(cursor, depth + 1, out, start)?;
                        }
                        Key::Next | Key::Other => cursor.skip(&mut self.open)?,
                    }
                    more = cursor.goes_on(b'}')?;
                }
                Ok(value)
            }
            (first, _) => {
                cursor.skip(&mut self.open)?;
                Ok(match first {
                    Some(b'n') => Value::Absent,
                    _ => Value::Wrong(kind, depth),
                })
            }
        }
    }

    /// Reads a key, and says whether it is this one; or, at the top, the whole way.
    fn key(&mut self, cursor: &mut Cursor, key: &str, is_top: bool) -> Result<Key, Fault> {
        let whole = self.whole.as_deref().filter(|_| is_top);
        if cursor.takes_key(key) {
            return Ok(Key::Next);
        }
        if whole.is_some_and(|whole| cursor.takes_key(whole)) {
            return Ok(Key::Whole);
        }
        self.key.clear();
        cursor.string(|part| self.key.extend_from_slice(part))?;
        Ok(if self.key == key.as_bytes() {
            Key::Next
        } else if whole.is_some_and(|whole| self.key == whole.as_bytes()) {
            Key::Whole
        } else {
            Key::Other
        })
    }

    /// The keys of a record that was read already, each once.
    pub(super) fn keys(&mut self, line: &[u8]) -> Vec<String> {
        let mut keys = Vec::new();
        let mut cursor = Cursor::new(line);
        let _ = self.read_keys(&mut cursor, &mut keys);
        let mut seen = HashSet::new();
        keys.retain(|key| seen.insert(key.clone()));
        keys
    }

    fn read_keys(&mut self, cursor: &mut Cursor, keys: &mut Vec<String>) -> Result<(), Fault> {
        cursor.white();
        let mut more = cursor.open_object()?;
        while more {
            self.key.clear();
            cursor.string(|part| self.key.extend_from_slice(part))?;
            keys.push(String::from_utf8_lossy(&self.key).into_owned());
            cursor.colon()?;
            cursor.skip(&mut self.open)?;
            more = cursor.goes_on(b'}')?;
        }
        Ok(())
    }

    fn wrong(&self, kind: &str, depth: usize) -> String {
        let place = self.field[..depth].join(".");
        let wanted = if depth == self.field.len() {
            "neither a string nor null"
        } else {
            "no object"
        };
        format!("has {kind} as {place:?}, {wanted}")
    }
}

fn no_json(fault: &Fault) -> String {
    format!("is no JSON: {} at its byte {}", fault.what, fault.at)
}
