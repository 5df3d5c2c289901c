//! Tokens by their bytes.

use xxhash_rust::xxh3::xxh3_64;

struct Token {
    end: usize,
    id: u32,
}

/// Bytes to id, for any number of tokens of any length. Filled once, then looked up.
pub(super) struct Tokens {
    bytes: Vec<u8>,
    all: Vec<Token>,
    /// Half of the hash, and the number of the token plus one; 0 is vacant.
    slots: Vec<(u32, u32)>,
    /// Brings a hash down to a slot.
    shift: u32,
    /// Bits of hashes, of which most bytes that are no token have none.
    filter: Vec<u64>,
    longest: usize,
}

/// Bits of the filter for each token.
const BITS: usize = 8;

impl Tokens {
    /// Room for so many tokens.
    pub(super) fn with_capacity(tokens: usize) -> Self {
        let slots = (2 * tokens).next_power_of_two().max(2);
        Self {
            bytes: Vec::new(),
            all: Vec::with_capacity(tokens),
            slots: vec![(0, 0); slots],
            shift: u64::BITS - slots.trailing_zeros(),
            filter: vec![0; (BITS * tokens).next_power_of_two().max(64) / 64],
            longest: 0,
        }
    }

    /// Adds a token, one of those that there is room for; `false` if its bytes are there already.
    pub(super) fn add(&mut self, bytes: &[u8], id: u32) -> bool {
        let hash = xxh3_64(bytes);
        let Err(vacant) = self.find(bytes, hash) else {
            return false;
        };
        self.bytes.extend_from_slice(bytes);
        let end = self.bytes.len();
        self.all.push(Token { end, id });
        let number = u32::try_from(self.all.len()).expect("an id each, of 32 bits");
        self.slots[vacant] = (half(hash), number);
        let (word, bit) = self.filtered(hash);
        self.filter[word] |= bit;
        self.longest = self.longest.max(bytes.len());
        true
    }

    /// The id of a token.
    pub(super) fn get(&self, bytes: &[u8]) -> Option<u32> {
        if bytes.len() > self.longest {
            return None;
        }
        let hash = xxh3_64(bytes);
        let (word, bit) = self.filtered(hash);
        if self.filter[word] & bit == 0 {
            return None;
        }
        let found = self.find(bytes, hash).ok()?;
        Some(self.all[found].id)
    }

    /// All tokens with their ids.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&[u8], u32)> {
        let ids = self.all.iter().map(|token| token.id);
        (0..self.all.len()).map(|at| self.token(at)).zip(ids)
    }

    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.all.len()
    }

    /// Bytes held.
    pub(super) fn memory_bytes(&self) -> usize {
        let tokens = self.all.capacity() * size_of::<Token>();
        let tables = size_of_val(&self.slots[..]) + size_of_val(&self.filter[..]);
        self.bytes.capacity() + tokens + tables
    }

    /// Where the filter has the bit of a hash: by the lowest bits, as the slot is by the highest.
    #[inline]
    fn filtered(&self, hash: u64) -> (usize, u64) {
        #[allow(clippy::cast_possible_truncation, reason = "the lower bits")]
        let at = hash as usize & (64 * self.filter.len() - 1);
        (at / 64, 1 << (at % 64))
    }

    fn token(&self, at: usize) -> &[u8] {
        let start = at.checked_sub(1).map_or(0, |before| self.all[before].end);
        &self.bytes[start..self.all[at].end]
    }

    /// Which token it is, or the slot where it would be.
    #[inline]
    fn find(&self, bytes: &[u8], hash: u64) -> Result<usize, usize> {
        let mask = self.slots.len() - 1;
        #[allow(clippy::cast_possible_truncation, reason = "less than there are slots")]
        let mut slot = (hash >> self.shift) as usize;
        loop {
            let (label, number) = self.slots[slot & mask];
            match (number as usize).checked_sub(1) {
                None => return Err(slot & mask),
                Some(at) if label == half(hash) && self.token(at) == bytes => return Ok(at),
                Some(_) => slot += 1,
            }
        }
    }
}

/// The half of a hash that does not choose the slot.
#[inline]
fn half(hash: u64) -> u32 {
    #[allow(clippy::cast_possible_truncation, reason = "the lower half")]
    {
        hash as u32
    }
}
