//! Which two tokens become which.
//!
//! Tokens have numbers here: a byte is its own, and what is made of two has a higher one the later
//! it is made. So the number of what two neighbours become is also their rank.

use crate::prefetch::{prefer_large, prefetch};

/// Bits of a number: two neighbours and what they become fill a slot.
const BITS: u32 = 21;

/// What neighbours become that do not merge; the number of no token.
pub(super) const NEVER: u32 = (1 << BITS) - 1;

/// Slots in a line.
const WIDTH: usize = 8;

/// Slots in a line that are used, were all lines used alike: one in twenty is full.
const USED: usize = 4;

/// A line of the first cache: from the highest bit on, each slot has the number of the left, of
/// the right, and of what they become. Zero is vacant: no two become the number of a byte.
#[derive(Clone, Copy, Default)]
#[repr(C, align(64))]
struct Line([u64; WIDTH]);

/// Two neighbours to what they become.
///
/// Most neighbours are no pair, and whether they are cannot be foreseen: a wrong guess takes
/// longer than to compare all slots of a line. So a question is one line and no guess, but for
/// those whose line is full.
pub(super) struct Pairs {
    lines: Vec<Line>,
    /// Of two bytes: a pre-token begins with looking up all of its own.
    bytes: Vec<u32>,
}

impl Pairs {
    /// Room for so many pairs.
    pub(super) fn with_capacity(pairs: usize) -> Self {
        let size = pairs / USED + 2;
        let mut lines = Vec::with_capacity(size);
        prefer_large(lines.spare_capacity_mut());
        lines.resize(size, Line::default());
        Self {
            lines,
            bytes: vec![NEVER; 1 << 16],
        }
    }

    /// Adds a pair that is not there, one of those that there is room for: neighbours, and the
    /// number of what they become.
    pub(super) fn add(&mut self, left: u32, right: u32, made: u32) {
        let key = key(left, right);
        let mut at = self.home(key);
        let vacant = loop {
            let slots = &mut self.lines[at].0;
            if let Some(vacant) = slots.iter_mut().find(|slot| **slot == 0) {
                break vacant;
            }
            at = self.after(at);
        };
        *vacant = key | u64::from(made);
        if let (Ok(left), Ok(right)) = (u8::try_from(left), u8::try_from(right)) {
            self.bytes[usize::from(left) << 8 | usize::from(right)] = made;
        }
    }

    /// What two bytes become.
    #[inline]
    pub(super) fn of_bytes(&self, left: u8, right: u8) -> u32 {
        self.bytes[usize::from(left) << 8 | usize::from(right)]
    }

    /// The line where two neighbours are looked for; it is fetched from memory meanwhile.
    #[inline]
    pub(super) fn fetch(&self, left: u32, right: u32) -> usize {
        let home = self.home(key(left, right));
        prefetch(&self.lines, home);
        home
    }

    /// What two neighbours become, by their line.
    #[inline]
    pub(super) fn get(&self, home: usize, left: u32, right: u32) -> u32 {
        let key = key(left, right);
        let line = &self.lines[home];
        let made = line.get(key);
        if line.is_full() {
            return self.behind(home, key);
        }
        // [`NEVER`] for 0, without a branch.
        made.wrapping_sub(1).min(NEVER - 1) + 1
    }

    /// What neighbours become whose line is full.
    #[cold]
    fn behind(&self, home: usize, key: u64) -> u32 {
        let mut at = home;
        loop {
            let made = self.lines[at].get(key);
            if made != 0 {
                return made;
            }
            if !self.lines[at].is_full() {
                return NEVER;
            }
            at = self.after(at);
        }
    }

    /// All of them: neighbours, and the number of what they become.
    pub(super) fn iter(&self) -> impl Iterator<Item = (u32, u32, u32)> + '_ {
        let slots = self.lines.iter().flat_map(|line| line.0);
        slots.filter(|&slot| slot != 0).map(|slot| {
            let number = |at: u32| {
                #[allow(clippy::cast_possible_truncation, reason = "a number")]
                {
                    (slot >> (at * BITS)) as u32 & NEVER
                }
            };
            (number(2), number(1), number(0))
        })
    }

    /// Bytes held.
    pub(super) fn memory_bytes(&self) -> usize {
        size_of_val(&self.lines[..]) + size_of_val(&self.bytes[..])
    }

    /// The line where a pair belongs.
    #[inline]
    fn home(&self, key: u64) -> usize {
        /// Odd; the upper bits of its product with a key hang on all bits of the key.
        const MULTIPLIER: u64 = 0x9e37_79b9_7f4a_7c15;
        let mixed = (key >> BITS).wrapping_mul(MULTIPLIER) >> 32;
        #[allow(clippy::cast_possible_truncation, reason = "less than there are lines")]
        {
            ((mixed * self.lines.len() as u64) >> 32) as usize
        }
    }

    fn after(&self, line: usize) -> usize {
        if line + 1 == self.lines.len() {
            0
        } else {
            line + 1
        }
    }
}

impl Line {
    /// What neighbours become, 0 if that is not here. All slots, whether it was found or not.
    #[inline]
    fn get(&self, key: u64) -> u32 {
        let made = self.0.iter().fold(0, |made, slot| {
            let other = slot ^ key;
            made | if other < 1 << BITS { other } else { 0 }
        });
        #[allow(clippy::cast_possible_truncation, reason = "a number")]
        {
            made as u32
        }
    }

    #[inline]
    fn is_full(&self) -> bool {
        self.0[WIDTH - 1] != 0
    }
}

/// The upper bits of a slot.
#[inline]
fn key(left: u32, right: u32) -> u64 {
    (u64::from(left) << BITS | u64::from(right)) << BITS
}
