//! Where text may be cut so that its parts count as the whole does.
//!
//! The one place that says so: for the chunks of a run, the blocks in which a segment is read,
//! the blocks in which a text is counted, and the stretches in which a stream is encoded.
//!
//! [`CutRule`] is what a split rule allows between ordinary characters, proven in [`rule`];
//! [`Cutter`] adds the special tokens, before which any rule may be cut and within which none.

pub mod rule;
#[cfg(test)]
mod tests;

pub use rule::CutRule;

use crate::specials::{Specials, SpecialsError};

/// Bytes of a character at most: what a rule looks at on both sides of a place.
const CHARACTER: usize = 4;

/// Finds the cuts of a split rule and its special tokens.
///
/// Pieces between special tokens are scanned alone, so the start of one is a cut for any rule.
/// But tokens may overlap, and which are taken depends on where the search begins. Hence a place
/// within an occurrence of a token is none, be it taken or not.
///
/// ```
/// use bpefleet_core::cuts::{CutRule, Cutter};
///
/// let text = b"one<|end|>two three";
/// let words = Cutter::new(CutRule::from_name("gpt2"), &["<|end|>"])?;
/// assert_eq!(words.first(text, 1, text.len()), Some(3));
/// assert_eq!(words.last(text, 1, text.len()), Some(13));
/// // Of a rule that nothing is known of, only the special tokens are.
/// let unknown = Cutter::new(None, &["<|end|>"])?;
/// assert_eq!(unknown.last(text, 1, text.len()), Some(3));
/// # Ok::<(), bpefleet_core::specials::SpecialsError>(())
/// ```
#[derive(Debug)]
pub struct Cutter {
    rule: Option<CutRule>,
    specials: Specials,
}

impl Cutter {
    /// Prepares the search; without a rule, for special tokens alone.
    ///
    /// # Errors
    /// [`SpecialsError`] for special tokens that cannot be searched for.
    pub fn new(rule: Option<CutRule>, specials: &[&str]) -> Result<Self, SpecialsError> {
        let specials = Specials::new(specials)?;
        Ok(Self { rule, specials })
    }

    /// The special tokens.
    pub(crate) fn specials(&self) -> &Specials {
        &self.specials
    }

    /// Bytes on both sides of a place that decide whether it is a cut.
    #[must_use]
    pub fn reach(&self) -> usize {
        self.specials.longest().max(CHARACTER)
    }

    /// The first cut in `data[from..to]`, as an offset in `data`; never 0.
    ///
    /// Where the text goes on beyond `data`, the range must stay [`Self::reach`] away from that
    /// end.
    #[must_use]
    pub fn first(&self, data: &[u8], from: usize, to: usize) -> Option<usize> {
        let to = to.min(data.len());
        let mut at = from.max(1);
        let mut ruled = at;
        let mut by_rule = None;
        while at < to {
            if by_rule.is_none() || ruled < at {
                by_rule = Some(self.rule.and_then(|rule| rule.first(data, at, to)));
                ruled = by_rule.flatten().unwrap_or(to);
            }
            let place = self.token_start(data, at, ruled).unwrap_or(ruled);
            if place < to && !self.is_within_token(data, place) {
                return Some(place);
            }
            at = place + 1;
        }
        None
    }

    /// The last cut in `data[from..to]`, likewise.
    #[must_use]
    pub fn last(&self, data: &[u8], from: usize, to: usize) -> Option<usize> {
        let from = from.max(1);
        let mut end = to.min(data.len());
        let by_rule = loop {
            let place = self.rule.and_then(|rule| rule.last(data, from, end));
            match place {
                Some(place) if self.is_within_token(data, place) => end = place,
                _ => break place,
            }
        };
        let mut last = by_rule;
        let mut at = by_rule.map_or(from, |place| place + 1);
        let to = to.min(data.len());
        while let Some(place) = self.token_start(data, at, to) {
            if !self.is_within_token(data, place) {
                last = Some(place);
            }
            at = place + 1;
        }
        last
    }

    /// The first occurrence of a special token that begins in `data[from..to]`: its start.
    fn token_start(&self, data: &[u8], from: usize, to: usize) -> Option<usize> {
        if from >= to {
            return None;
        }
        let end = data.len().min(to + self.specials.longest());
        let (start, _) = self.specials.find(&data[..end], from)?;
        (start < to).then_some(start)
    }

    /// Whether an occurrence of a special token begins before `place` and ends after it.
    fn is_within_token(&self, data: &[u8], place: usize) -> bool {
        let longest = self.specials.longest();
        let end = data.len().min(place + longest);
        let mut at = place.saturating_sub(longest);
        // The longest that begins at a place is found: if that does not reach over, none does.
        while let Some((start, stop)) = self.specials.find(&data[..end], at) {
            if start >= place {
                return false;
            }
            if stop > place {
                return true;
            }
            at = start + 1;
        }
        false
    }
}
