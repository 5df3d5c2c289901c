//! Text into ids.
//!
//! The scanner's pre-tokens go through a cache of whole pre-tokens (`cache`, by `batch`); what is
//! not in there is merged (`greedy`) by the pairs of a [`Vocabulary`]. Special tokens divide a
//! text into pieces, each scanned alone and in blocks, as [`count`](crate::count) does.
//!
//! ```
//! use std::ops::ControlFlow;
//!
//! use bpefleet_core::count::Errors;
//! use bpefleet_core::encode::{Encoder, Options, Output, Vocabulary};
//! use bpefleet_core::scan::Pattern;
//!
//! let mut ranks: Vec<_> = (0..=255).map(|byte| (vec![byte], u32::from(byte))).collect();
//! ranks.extend([(b"lo".to_vec(), 256), (b"low".to_vec(), 257)]);
//! let vocabulary = Vocabulary::from_ranks(&ranks)?;
//! let encoder = Encoder::new(vocabulary, Some(Pattern::Gpt2), &[("<|end|>", 300)])?;
//! let options = Options {
//!     special: encoder.special(),
//!     errors: Errors::Strict,
//!     output: Output::Ids,
//!     threads: 1,
//! };
//! let mut go_on = |_done| ControlFlow::Continue(());
//! let text = b"low<|end|>lol";
//! let encoded = encoder.documents(text, &[0, 10, 13], &options, &mut go_on)?;
//! assert_eq!(encoded.ids, [257, 300, 256, 108]);
//! assert_eq!(encoded.ends, [2, 4]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod batch;
mod cache;
mod chain;
mod documents;
mod gathered;
mod greedy;
mod key;
mod lane;
mod merges;
mod pairs;
mod special;
#[cfg(test)]
mod tests;
mod tokens;
mod unknown;
mod vocabulary;

use std::ops::ControlFlow;
use std::sync::{Mutex, PoisonError};

pub use documents::{Options, Output};
pub use gathered::Encoded;
pub use special::Special;
pub use vocabulary::{Vocabulary, VocabularyError, MOST_TOKENS};

use crate::count::CountError;
use crate::cuts::CutRule;
use crate::scan::Pattern;
use crate::specials::SpecialsError;
use batch::Desk;
use documents::Documents;

/// Encodes text by a vocabulary, a split rule and special tokens.
///
/// Threads share it; each call takes a cache, or makes one, and leaves it for the next.
pub struct Encoder {
    vocabulary: Vocabulary,
    pattern: Option<Pattern>,
    special: Special,
    #[allow(
        clippy::vec_box,
        reason = "a call takes one and brings it back, and they are large"
    )]
    desks: Mutex<Vec<Box<Desk>>>,
}

impl Encoder {
    /// An encoder. Without a pattern, what lies between special tokens is one pre-token, of any
    /// bytes.
    ///
    /// # Errors
    /// [`SpecialsError`] for special tokens that cannot be searched for.
    pub fn new(
        vocabulary: Vocabulary,
        pattern: Option<Pattern>,
        special: &[(&str, u32)],
    ) -> Result<Self, SpecialsError> {
        Ok(Self {
            vocabulary,
            pattern,
            special: Special::new(pattern.map(CutRule::from), special)?,
            desks: Mutex::default(),
        })
    }

    /// All its special tokens.
    #[must_use]
    pub fn special(&self) -> &Special {
        &self.special
    }

    /// Those of its special tokens that are among `tokens`.
    ///
    /// # Errors
    /// [`SpecialsError`] for special tokens that cannot be searched for.
    pub fn special_among(&self, tokens: &[&str]) -> Result<Special, SpecialsError> {
        let ids = tokens
            .iter()
            .filter_map(|&token| Some((token, self.special.id(token.as_bytes())?)));
        Special::new(self.pattern.map(CutRule::from), &ids.collect::<Vec<_>>())
    }

    /// The ids of documents: of `data[offsets[i]..offsets[i + 1]]`, each scanned alone. `tick` is
    /// called now and then, in this thread, with the number of bytes done.
    ///
    /// # Errors
    /// [`CountError`], with the place in `data` of what is not UTF-8, the first there is.
    ///
    /// # Panics
    /// Where offsets descend or lie outside; see [`offsets`](crate::offsets).
    pub fn documents(
        &self,
        data: &[u8],
        offsets: &[usize],
        options: &Options<'_>,
        tick: &mut dyn FnMut(usize) -> ControlFlow<()>,
    ) -> Result<Encoded, CountError> {
        Documents { data, offsets }.encode(self, options, tick)
    }

    /// The merges that the vocabulary comes to: the ids of each two neighbours that ever become a
    /// token, in the order in which they do. There are none for tokens that are never made.
    #[must_use]
    pub fn merges(&self) -> Vec<(u32, u32)> {
        self.vocabulary.merges()
    }

    /// The number of tokens, without the special ones.
    #[must_use]
    pub fn len(&self) -> usize {
        self.vocabulary.len()
    }

    /// Whether there is no token, which cannot be: each byte has one.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Bytes held: of the vocabulary, and of the caches that no call is using.
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        let desks = self.desks.lock().unwrap_or_else(PoisonError::into_inner);
        let desks = desks.iter().map(|desk| desk.memory_bytes());
        self.vocabulary.memory_bytes() + desks.sum::<usize>()
    }

    /// Calls with a desk of one's own, for a text of so many bytes.
    fn at_desk<T>(&self, text: usize, call: impl FnOnce(&mut Desk) -> T) -> T {
        let desks = || self.desks.lock().unwrap_or_else(PoisonError::into_inner);
        let kept = desks().pop();
        let mut desk = kept.unwrap_or_else(|| Box::new(Desk::new(&self.vocabulary, text)));
        let result = call(&mut desk);
        desks().push(desk);
        result
    }
}
