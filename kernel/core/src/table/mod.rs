//! How often each pre-token occurred: the structure that counting is about.
//!
//! * `key` — most pre-tokens fit in a machine word together with their length: no allocation, no
//!   pointer, equality in one comparison. Those of up to 7 bytes take slots of 16 bytes, four to a
//!   cache line; those of up to 15 take 24.
//! * `ordered` — open addressing whose slots stay in hash order: a payload needs no sort.
//! * `words` — looking up compares the first four slots at once, without branches.
//! * `long` — the others, in an arena.
//! * `tally` — from the scanner into the table, in batches, while slots are fetched ahead.
//!
//! Invariants: no count is 0; `pretokens` is the sum of all counts and fits in 64 bits, so no
//! count can wrap; iteration depends on the pre-tokens alone.
//!
//! Memory per different pre-token: 24 to 48 bytes (short), 36 to 72 (mid), about 45 to 90 and the
//! bytes themselves (long), less and more as a table is full or has just grown; twice the most in
//! small tables, which grow fourfold. Measured with gpt2 on about 100 MB each: 44 bytes on English,
//! 43 on code, 60 on multilingual text.

pub(crate) mod key;
pub(crate) mod long;
mod ordered;
pub(crate) mod tally;
pub(crate) mod words;

use key::{Key, Mid, Short};
use long::{Addition, Longs};
use words::Words;

/// The sum of all counts would exceed 64 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Overflow;

impl std::fmt::Display for Overflow {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "more than {} pre-tokens in all: the counts do not fit in 64 bits",
            u64::MAX
        )
    }
}

impl std::error::Error for Overflow {}

/// Pre-tokens and how often each occurred.
///
/// ```
/// use bpefleet_core::table::{CountTable, Overflow};
///
/// let mut table = CountTable::new();
/// table.add(b" the", 2)?;
/// table.add(b" internationalisation", 1)?;
/// table.add(b" the", 1)?;
/// assert_eq!((table.len(), table.pretokens()), (2, 4));
/// assert_eq!((table.get(b" the"), table.get(b" a")), (3, 0));
/// assert!(table.iter().any(|(pretoken, count)| pretoken == b" the" && count == 3));
/// // What does not fit is refused, and nothing of it is added.
/// assert_eq!(table.add(b" a", u64::MAX), Err(Overflow));
/// assert_eq!(table.pretokens(), 4);
/// # Ok::<(), Overflow>(())
/// ```
#[derive(Default)]
pub struct CountTable {
    pub(crate) short: Words<Short>,
    pub(crate) mid: Words<Mid>,
    pub(crate) long: Longs,
    pretokens: u64,
}

impl CountTable {
    /// A table without entries, which holds no memory yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The number of different pre-tokens.
    #[must_use]
    pub fn len(&self) -> usize {
        self.short.len() + self.mid.len() + self.long.len()
    }

    /// Whether nothing was counted.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The number of pre-tokens counted: the sum of all counts.
    #[must_use]
    pub fn pretokens(&self) -> u64 {
        self.pretokens
    }

    /// Bytes of memory held.
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        self.short.memory_bytes() + self.mid.memory_bytes() + self.long.memory_bytes()
    }

    /// How often a pre-token occurred.
    #[must_use]
    pub fn get(&self, pretoken: &[u8]) -> u64 {
        match pretoken.len() {
            0 => 0,
            Short::MIN..=Short::MAX => self.short.get(Short::pack(pretoken)),
            Mid::MIN..=Mid::MAX => self.mid.get(Mid::pack(pretoken)),
            _ => self.long.get(pretoken),
        }
    }

    /// The pre-tokens and their counts, in an order that depends on nothing but the pre-tokens.
    pub fn iter(&self) -> impl Iterator<Item = (&[u8], u64)> + Clone {
        let short = self
            .short
            .iter()
            .map(|entry| (entry.key.bytes(), entry.count));
        let mid = self
            .mid
            .iter()
            .map(|entry| (entry.key.bytes(), entry.count));
        short.chain(mid).chain(self.long.iter())
    }

    /// Adds `count` occurrences of a pre-token. An empty one is none, and 0 occurrences are none.
    ///
    /// # Errors
    /// [`Overflow`] when the sum of all counts would not fit; nothing is added then.
    pub fn add(&mut self, pretoken: &[u8], count: u64) -> Result<(), Overflow> {
        if pretoken.is_empty() || count == 0 {
            return Ok(());
        }
        self.pretokens = self.total_with(count)?;
        match pretoken.len() {
            Short::MIN..=Short::MAX => {
                self.short.reserve(1);
                self.short.add(Short::pack(pretoken), count);
            }
            Mid::MIN..=Mid::MAX => {
                self.mid.reserve(1);
                self.mid.add(Mid::pack(pretoken), count);
            }
            _ => self.long.add(&Addition {
                hash: long::hash(pretoken),
                pretoken,
                count,
            }),
        }
        Ok(())
    }

    /// Makes room for new pre-tokens of each width.
    pub(crate) fn reserve(&mut self, short: usize, mid: usize, long: usize) {
        self.short.reserve(short);
        self.mid.reserve(mid);
        self.long.reserve(long);
    }

    /// The sum of all counts if `more` were added.
    ///
    /// No count exceeds the sum of all. So when the sum fits in 64 bits, each addition to a count
    /// does, and none of them needs a check of its own.
    pub(crate) fn total_with(&self, more: u64) -> Result<u64, Overflow> {
        self.pretokens.checked_add(more).ok_or(Overflow)
    }

    /// Sets the sum of all counts, after additions that `total_with` allowed.
    pub(crate) fn set_total(&mut self, pretokens: u64) {
        self.pretokens = pretokens;
    }
}
