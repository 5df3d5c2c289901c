//! Where special tokens are in a text.

use aho_corasick::{AhoCorasick, Input, MatchKind};
use memchr::memmem::Finder;

/// A special token that cannot be searched for. See [`Specials`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SpecialsError {
    /// A special token without bytes would be everywhere.
    Empty,
    /// Together they need a search automaton that cannot be built; the reason.
    Unsearchable(String),
}

impl std::fmt::Display for SpecialsError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Empty => write!(f, "a special token must not be empty"),
            Self::Unsearchable(why) => write!(f, "too many or too long special tokens: {why}"),
        }
    }
}

impl std::error::Error for SpecialsError {}

/// The special tokens of a run, ready to be searched for.
///
/// The leftmost occurrence counts; of several that start at one place, the longest. The search
/// goes on after its end.
///
/// ```
/// use bpefleet_core::specials::{Specials, SpecialsError};
///
/// assert!(Specials::new(&["<|endoftext|>", "<|pad|>"]).is_ok());
/// assert_eq!(Specials::new(&[""]).err(), Some(SpecialsError::Empty));
/// ```
#[derive(Debug)]
pub struct Specials {
    search: Search,
    longest: usize,
}

#[derive(Debug)]
enum Search {
    None,
    One(Box<Finder<'static>>),
    Several(AhoCorasick),
}

impl Specials {
    /// Prepares the search for `tokens`.
    ///
    /// # Errors
    /// [`SpecialsError`] for an empty token or more than can be searched for.
    pub fn new(tokens: &[&str]) -> Result<Self, SpecialsError> {
        if tokens.iter().any(|token| token.is_empty()) {
            return Err(SpecialsError::Empty);
        }
        let search = match tokens {
            [] => Search::None,
            [token] => Search::One(Box::new(Finder::new(token).into_owned())),
            _ => Search::Several(
                AhoCorasick::builder()
                    .match_kind(MatchKind::LeftmostLongest)
                    .build(tokens)
                    .map_err(|error| SpecialsError::Unsearchable(error.to_string()))?,
            ),
        };
        let longest = tokens.iter().map(|token| token.len()).max();
        Ok(Self {
            search,
            longest: longest.unwrap_or(0),
        })
    }

    /// Bytes of the longest; 0 if there are none.
    pub(crate) fn longest(&self) -> usize {
        self.longest
    }

    /// The pieces of `data` between special tokens, with their starts; empty ones too.
    pub(crate) fn pieces<'d>(&'d self, data: &'d [u8]) -> Pieces<'d> {
        Pieces {
            specials: self,
            data,
            from: Some(0),
        }
    }

    /// The first special token at or after `from`: start and end.
    pub(crate) fn find(&self, data: &[u8], from: usize) -> Option<(usize, usize)> {
        match &self.search {
            Search::None => None,
            Search::One(finder) => {
                let start = from + finder.find(&data[from..])?;
                Some((start, start + finder.needle().len()))
            }
            Search::Several(automaton) => {
                let found = automaton.find(Input::new(data).range(from..))?;
                Some((found.start(), found.end()))
            }
        }
    }
}

/// See [`Specials::pieces`].
pub(crate) struct Pieces<'d> {
    specials: &'d Specials,
    data: &'d [u8],
    from: Option<usize>,
}

impl<'d> Iterator for Pieces<'d> {
    type Item = (usize, &'d [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        let start = self.from?;
        let special = self.specials.find(self.data, start);
        self.from = special.map(|(_, end)| end);
        let end = special.map_or(self.data.len(), |(start, _)| start);
        Some((start, &self.data[start..end]))
    }
}
