//! Reading forward through bytes that nobody vouches for.

/// A place in a slice; every read is checked.
#[derive(Clone)]
pub(super) struct Cursor<'b> {
    bytes: &'b [u8],
    at: usize,
}

impl<'b> Cursor<'b> {
    pub(super) fn new(bytes: &'b [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    /// How many bytes were read.
    #[inline]
    pub(super) fn place(&self) -> usize {
        self.at
    }

    /// Whether nothing is left.
    pub(super) fn is_at_end(&self) -> bool {
        self.at == self.bytes.len()
    }

    /// The next byte.
    #[inline]
    pub(super) fn byte(&mut self) -> Option<u8> {
        let byte = *self.bytes.get(self.at)?;
        self.at += 1;
        Some(byte)
    }

    /// The next `N` bytes.
    #[inline]
    pub(super) fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let array = *self.bytes.get(self.at..)?.first_chunk()?;
        self.at += N;
        Some(array)
    }

    /// Where the next `length` bytes are: start and end in [`Self::bytes`].
    #[inline]
    pub(super) fn span(&mut self, length: usize) -> Option<(usize, usize)> {
        let start = self.at;
        let end = start.checked_add(length)?;
        if end > self.bytes.len() {
            return None;
        }
        self.at = end;
        Some((start, end))
    }

    /// All the bytes.
    #[inline]
    pub(super) fn bytes(&self) -> &'b [u8] {
        self.bytes
    }

    /// A number written by [`write_varint`]; `None` also for one that is longer than needed or
    /// does not fit, so that each number has one form.
    #[inline]
    pub(super) fn varint(&mut self) -> Option<u64> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            let bits = u64::from(byte & 0x7f);
            if shift == 63 && bits > 1 {
                return None;
            }
            value |= bits << shift;
            if byte < 0x80 {
                return (byte > 0 || shift == 0).then_some(value);
            }
        }
        None
    }
}

/// Writes a number, seven bits to a byte from the lowest on, the highest bit saying *more*
/// (LEB128).
#[inline]
pub(super) fn write_varint(mut value: u64, out: &mut Vec<u8>) {
    while value >= 0x80 {
        out.push(value.to_le_bytes()[0] | 0x80);
        value >>= 7;
    }
    out.push(value.to_le_bytes()[0]);
}
