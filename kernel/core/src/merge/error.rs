//! Why no merges could be learned.

use std::fmt;

use super::arena::MAX_SLOTS;

/// Why no merges could be learned.
///
/// ```
/// use bpefleet_core::merge::MergeError;
///
/// let text = MergeError::Repeated.to_string();
/// assert!(text.starts_with("a pre-token was given more than once"));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MergeError {
    /// The sum of count × length over the words exceeds 64 bits.
    Overflow,
    /// However they are divided, some words are longer than positions of 32 bits can address.
    TooLarge {
        /// The slots they would need: a slot per byte, and one per word.
        slots: u64,
    },
    /// A word was given more than once.
    Repeated,
    /// The system gives no more threads.
    NoThreads,
    /// `progress` asked to stop.
    Cancelled,
}

impl fmt::Display for MergeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Overflow => f.write_str(
                "the pre-tokens' counts times their lengths add up to more than 64 bits hold; \
                 divide all counts by the same number",
            ),
            Self::TooLarge { slots } => write!(
                f,
                "a part of the unique pre-tokens takes {slots} slots and none can have more than \
                 {MAX_SLOTS}; leave out the longest pre-tokens",
            ),
            Self::Repeated => f.write_str(
                "a pre-token was given more than once; add up the counts of each pre-token first",
            ),
            Self::NoThreads => f.write_str(
                "the system gives no more threads; allow the process some, or merge with one",
            ),
            Self::Cancelled => f.write_str("merging was cancelled; no merges were kept"),
        }
    }
}

impl std::error::Error for MergeError {}
