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
    pub(super) line: &'l [u8],
    pub(super) at: usize,
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

    pub(super) fn fault(&self, what: &'static str) -> Fault {
        Fault { what, at: self.at }
    }
}
