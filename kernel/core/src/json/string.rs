//! Strings of JSON, and what escapes stand for.

use super::cursor::{Cursor, Fault};

/// Bytes of characters that are handed on together, at the most.
const RUN: usize = 64;

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
            Some(b'u') => return self.code_points(part),
            _ => return Err(self.fault("there is an escape that JSON has not")),
        };
        self.at += 1;
        part(&[byte]);
        Ok(())
    }

    /// Passes `uXXXX` and what follows in that form, and hands on some characters at a time.
    ///
    /// Text in other scripts than Latin is written so, but for what is between its words: a few
    /// plain bytes between two such escapes are taken, too.
    fn code_points(&mut self, part: &mut impl FnMut(&[u8])) -> Result<(), Fault> {
        let mut run = [0; RUN];
        let (mut at, mut length) = (self.at - 1, 0);
        while let Some(&next) = self.line[at..].first_chunk::<8>() {
            let (bytes, width) = if let [b'\\', b'u', a, b, c, d, ..] = next {
                let code = hexadecimal([a, b, c, d]);
                if matches!(code, 0xd800..0xe000 | NO_DIGITS..) {
                    break;
                }
                at += 6;
                encoded(code)
            } else {
                let word = u64::from_le_bytes(next);
                let plain = before(special(word));
                if next.get(plain..plain + 2) != Some(b"\\u") {
                    break;
                }
                at += plain;
                (word, plain)
            };
            run[length..][..8].copy_from_slice(&bytes.to_le_bytes());
            length += width;
            if length > RUN - 8 {
                part(&run[..length]);
                length = 0;
            }
        }
        if at >= self.at {
            self.at = at;
            part(&run[..length]);
            return Ok(());
        }
        let (bytes, width) = encoded(self.code_point()?);
        part(&bytes.to_le_bytes()[..width]);
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
            let code = hexadecimal([a, b, c, d]);
            if code < NO_DIGITS {
                self.at += 5;
                return Ok(code);
            }
        }
        Err(self.fault("there is a \\u without four hexadecimal digits"))
    }
}

/// The number that four hexadecimal digits are; [`NO_DIGITS`] or more if they are none.
#[inline]
fn hexadecimal([a, b, c, d]: [u8; 4]) -> u32 {
    let [first, second, third, last] = &HEXADECIMAL;
    first[usize::from(a)] | second[usize::from(b)] | third[usize::from(c)] | last[usize::from(d)]
}

/// How many bytes come before a quote, a backslash or a control character.
///
/// Eight at once: text has a quote or an escape every few dozen bytes, so that a search that is
/// called for each takes longer.
#[inline]
fn plain_length(bytes: &[u8]) -> usize {
    let mut length = 0;
    for word in bytes.chunks_exact(8) {
        let mut eight = [0; 8];
        eight.copy_from_slice(word);
        let found = special(u64::from_le_bytes(eight));
        if found != 0 {
            return length + before(found);
        }
        length += 8;
    }
    let is_plain = |&&byte: &&u8| byte >= b' ' && byte != b'"' && byte != b'\\';
    length + bytes[length..].iter().take_while(is_plain).count()
}

/// Of eight bytes, the first of them the lowest, the high bit of each that is a quote, a backslash
/// or a control character; and maybe of some that come after such a one.
#[inline]
fn special(word: u64) -> u64 {
    const EACH: u64 = u64::MAX / 255;
    let less = |word: u64, limit: u8| word.wrapping_sub(EACH * u64::from(limit));
    let quote = less(word ^ (EACH * u64::from(b'"')), 1);
    let backslash = less(word ^ (EACH * u64::from(b'\\')), 1);
    let control = less(word, b' ');
    (quote | backslash | control) & !word & (EACH << 7)
}

/// How many bytes come before the first that [`special`] found; 8 if there is none.
#[inline]
fn before(found: u64) -> usize {
    found.trailing_zeros() as usize / 8
}

/// A character's UTF-8 from the lowest byte on, that of a surrogate as if it were one, and how long
/// it is.
#[inline]
fn encoded(code: u32) -> (u64, usize) {
    let last = |shift: u32| 0x80 | code >> shift & 0x3f;
    let (bytes, width) = match code {
        0..0x80 => (code, 1),
        0x80..0x800 => (0xc0 | code >> 6 | last(0) << 8, 2),
        0x800..0x1_0000 => (0xe0 | code >> 12 | last(6) << 8 | last(0) << 16, 3),
        _ => (
            0xf0 | code >> 18 | last(12) << 8 | last(6) << 16 | last(0) << 24,
            4,
        ),
    };
    (bytes.into(), width)
}

/// More than four hexadecimal digits can be.
const NO_DIGITS: u32 = 1 << 16;

/// The value of each hexadecimal digit in each of four places; [`NO_DIGITS`] for what is none.
const HEXADECIMAL: [[u32; 256]; 4] = {
    let mut values = [[NO_DIGITS; 256]; 4];
    let mut place = 0;
    while place < 4 {
        let mut value = 0;
        while value < 16 {
            let number = value << (12 - 4 * place);
            values[place][b"0123456789abcdef"[value as usize] as usize] = number;
            values[place][b"0123456789ABCDEF"[value as usize] as usize] = number;
            value += 1;
        }
        place += 1;
    }
    values
};
