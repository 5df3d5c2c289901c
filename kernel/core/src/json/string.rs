//! Strings of JSON, and what escapes stand for.

use super::cursor::{Cursor, Fault};

impl Cursor<'_> {
    /// Passes a string and hands on its parts.
    pub(super) fn string(&mut self, mut part: impl FnMut(&[u8])) -> Result<(), Fault> {
        let begin = self.at;
        self.at += 1;
        loop {
            let rest = &self.line[self.at..];
            let plain = &rest[..plain_length(rest)];
            part(plain);
            self.at += plain.len();
            match self.peek() {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(());
                }
                Some(b'\\') => self.at += 1,
                Some(_) => {
                    return Err(self.fault("there is a control character within a string"));
                }
                None => {
                    self.at = begin;
                    return Err(self.fault("there is a string without an end"));
                }
            }
            self.escape(&mut part)?;
        }
    }

    /// Passes what follows a backslash, and hands on what it stands for.
    fn escape(&mut self, part: &mut impl FnMut(&[u8])) -> Result<(), Fault> {
        let byte = match self.peek() {
            Some(byte @ (b'"' | b'\\' | b'/')) => byte,
            Some(b'n') => b'\n',
            Some(b't') => b'\t',
            Some(b'r') => b'\r',
            Some(b'b') => 8,
            Some(b'f') => 12,
            Some(b'u') => {
                let code = self.code_point()?;
                encode(code, part);
                return Ok(());
            }
            _ => return Err(self.fault("there is an escape that JSON has not")),
        };
        self.at += 1;
        part(&[byte]);
        Ok(())
    }

    /// Passes `uXXXX`, and the other half of a pair of surrogates if it follows.
    fn code_point(&mut self) -> Result<u32, Fault> {
        let first = self.unit()?;
        if !(0xd800..0xdc00).contains(&first) || !self.line[self.at..].starts_with(b"\\u") {
            return Ok(first);
        }
        let behind = self.at;
        self.at += 1;
        let second = self.unit()?;
        if (0xdc00..0xe000).contains(&second) {
            return Ok(0x1_0000 + ((first - 0xd800) << 10) + (second - 0xdc00));
        }
        self.at = behind;
        Ok(first)
    }

    /// Passes `uXXXX`.
    fn unit(&mut self) -> Result<u32, Fault> {
        if let Some(&[_, a, b, c, d]) = self.line[self.at..].first_chunk() {
            let [a, b, c, d] = [a, b, c, d].map(|digit| HEXADECIMAL[usize::from(digit)]);
            if a | b | c | d < 16 {
                self.at += 5;
                return Ok(u32::from(a) << 12 | u32::from(b) << 8 | u32::from(c << 4 | d));
            }
        }
        Err(self.fault("there is a \\u without four hexadecimal digits"))
    }
}

/// How many bytes come before a quote, a backslash or a control character.
///
/// Eight at once: text has a quote or an escape every few dozen bytes, so that a search that is
/// called for each takes longer.
#[inline]
fn plain_length(bytes: &[u8]) -> usize {
    const EACH: u64 = u64::MAX / 255;
    let mut length = 0;
    for word in bytes.chunks_exact(8) {
        let mut eight = [0; 8];
        eight.copy_from_slice(word);
        let word = u64::from_le_bytes(eight);
        let less = |word: u64, limit: u8| word.wrapping_sub(EACH * u64::from(limit));
        let quote = less(word ^ (EACH * u64::from(b'"')), 1);
        let backslash = less(word ^ (EACH * u64::from(b'\\')), 1);
        let control = less(word, b' ');
        // The high bit of a byte that is one of these; and maybe of some that come after it.
        let found = (quote | backslash | control) & !word & (EACH << 7);
        if found != 0 {
            return length + found.trailing_zeros() as usize / 8;
        }
        length += 8;
    }
    let is_plain = |&&byte: &&u8| byte >= b' ' && byte != b'"' && byte != b'\\';
    length + bytes[length..].iter().take_while(is_plain).count()
}

/// Hands on a character's UTF-8; that of a surrogate as if it were one.
///
/// Each length by itself, as copying a number of bytes that is known takes no call.
#[inline]
#[allow(clippy::cast_possible_truncation, reason = "six bits each, or fewer")]
fn encode(code: u32, part: &mut impl FnMut(&[u8])) {
    let last = |shift: u32| 0x80 | (code >> shift & 0x3f) as u8;
    match code {
        0..0x80 => part(&[code as u8]),
        0x80..0x800 => part(&[0xc0 | (code >> 6) as u8, last(0)]),
        0x800..0x1_0000 => part(&[0xe0 | (code >> 12) as u8, last(6), last(0)]),
        _ => part(&[0xf0 | (code >> 18) as u8, last(12), last(6), last(0)]),
    }
}

/// The value of each hexadecimal digit; more than 15 for what is none.
const HEXADECIMAL: [u8; 256] = {
    let mut values = [0xff; 256];
    let mut value = 0;
    while value < 16 {
        values[b"0123456789abcdef"[value as usize] as usize] = value;
        values[b"0123456789ABCDEF"[value as usize] as usize] = value;
        value += 1;
    }
    values
};
