//! JSON's grammar, over the bytes of one line.

const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// What is wrong, and where in the line.
#[derive(Debug)]
pub(super) struct Fault {
    pub(super) what: &'static str,
    pub(super) at: usize,
}

/// A place in a line. Where a method finds a fault, it is of no use any more.
pub(super) struct Cursor<'l> {
    line: &'l [u8],
    at: usize,
}

impl<'l> Cursor<'l> {
    /// At the beginning of a line, or behind the byte order mark there.
    pub(super) fn new(line: &'l [u8]) -> Self {
        let at = if line.starts_with(BYTE_ORDER_MARK) {
            BYTE_ORDER_MARK.len()
        } else {
            0
        };
        Self { line, at }
    }

    /// The next byte, if there is one.
    pub(super) fn peek(&self) -> Option<u8> {
        self.line.get(self.at).copied()
    }

    /// What kind of value begins here, with its article.
    pub(super) fn kind(&self) -> &'static str {
        match self.peek() {
            Some(b'"') => "a string",
            Some(b'{') => "an object",
            Some(b'[') => "an array",
            Some(b't' | b'f') => "a boolean",
            Some(b'n') => "null",
            _ => "a number",
        }
    }

    /// Passes white space.
    pub(super) fn white(&mut self) {
        while let Some(b' ' | b'\t' | b'\r' | b'\n') = self.peek() {
            self.at += 1;
        }
    }

    /// The line must end here, but for white space.
    pub(super) fn end(&mut self) -> Result<(), Fault> {
        self.white();
        match self.peek() {
            None => Ok(()),
            Some(_) => Err(self.fault("something follows the object")),
        }
    }

    /// Passes the brace that begins an object; whether a key follows.
    pub(super) fn open_object(&mut self) -> Result<bool, Fault> {
        self.at += 1;
        self.white();
        match self.peek() {
            Some(b'"') => Ok(true),
            Some(b'}') => {
                self.at += 1;
                Ok(false)
            }
            _ => Err(self.fault("there is neither a key nor the end of the object")),
        }
    }

    /// Passes what is between a key and its value.
    pub(super) fn colon(&mut self) -> Result<(), Fault> {
        self.white();
        if !self.takes(b':') {
            return Err(self.fault("there is no colon after a key"));
        }
        self.white();
        Ok(())
    }

    /// Passes the comma after a value, up to the next key or value: true; or else the end of what
    /// `close` closes.
    pub(super) fn goes_on(&mut self, close: u8) -> Result<bool, Fault> {
        self.white();
        if self.takes(close) {
            return Ok(false);
        }
        if !self.takes(b',') {
            return Err(self.fault("there is neither a comma nor an end after a value"));
        }
        self.white();
        if close == b'}' && self.peek() != Some(b'"') {
            return Err(self.fault("there is no key after a comma"));
        }
        Ok(true)
    }

    /// Passes this key if it comes next, written without escapes.
    pub(super) fn takes_key(&mut self, key: &str) -> bool {
        let (start, end) = (self.at + 1, self.at + 1 + key.len());
        let is_next = self.line.get(start..end) == Some(key.as_bytes())
            && self.line.get(end) == Some(&b'"')
            && !key
                .bytes()
                .any(|byte| matches!(byte, b'"' | b'\\') || byte < b' ');
        if is_next {
            self.at = end + 1;
        }
        is_next
    }

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

    /// Passes a value. `open` is for what is open meanwhile, so that depth takes no stack.
    pub(super) fn skip(&mut self, open: &mut Vec<u8>) -> Result<(), Fault> {
        open.clear();
        loop {
            let goes_deeper = match self.peek() {
                Some(b'{') => {
                    self.open_object()? && {
                        self.key()?;
                        open.push(b'}');
                        true
                    }
                }
                Some(b'[') => {
                    self.at += 1;
                    self.white();
                    !self.takes(b']') && {
                        open.push(b']');
                        true
                    }
                }
                _ => self.scalar().map(|()| false)?,
            };
            if goes_deeper {
                continue;
            }
            loop {
                let Some(&close) = open.last() else {
                    return Ok(());
                };
                if self.goes_on(close)? {
                    if close == b'}' {
                        self.key()?;
                    }
                    break;
                }
                open.pop();
            }
        }
    }

    /// Passes a key that nobody wants, up to its value.
    fn key(&mut self) -> Result<(), Fault> {
        self.string(|_| ())?;
        self.colon()
    }

    /// Passes a value that has no parts.
    fn scalar(&mut self) -> Result<(), Fault> {
        const WORDS: [&[u8]; 6] = [
            b"null",
            b"true",
            b"false",
            b"NaN",
            b"Infinity",
            b"-Infinity",
        ];
        if self.peek() == Some(b'"') {
            return self.string(|_| ());
        }
        let rest = &self.line[self.at..];
        if let Some(word) = WORDS.into_iter().find(|word| rest.starts_with(word)) {
            self.at += word.len();
            return Ok(());
        }
        self.number()
    }

    /// Passes a number of any size.
    fn number(&mut self) -> Result<(), Fault> {
        self.takes(b'-');
        if !self.takes(b'0') && !self.digits() {
            return Err(self.fault("there is no value"));
        }
        if self.takes(b'.') && !self.digits() {
            return Err(self.fault("there is no digit in a number"));
        }
        if self.takes(b'e') || self.takes(b'E') {
            let _ = self.takes(b'+') || self.takes(b'-');
            if !self.digits() {
                return Err(self.fault("there is no digit in a number"));
            }
        }
        Ok(())
    }

    /// Passes digits; whether there is one.
    fn digits(&mut self) -> bool {
        let start = self.at;
        while self.peek().is_some_and(|byte| byte.is_ascii_digit()) {
            self.at += 1;
        }
        self.at > start
    }

    /// Passes this byte if it is the next.
    fn takes(&mut self, byte: u8) -> bool {
        let is_next = self.peek() == Some(byte);
        self.at += usize::from(is_next);
        is_next
    }

    fn fault(&self, what: &'static str) -> Fault {
        Fault { what, at: self.at }
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
