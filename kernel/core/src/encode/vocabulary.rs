//! A vocabulary: what the bytes of a pre-token become.

use std::fmt;

use super::merges::{self, Merges};
use super::pairs::NEVER;
use super::tokens::Tokens;

/// Tokens of a vocabulary, at the most.
pub const MOST_TOKENS: usize = NEVER as usize - 256;

/// Tokens that cannot be encoded by. See [`Vocabulary`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum VocabularyError {
    /// A byte has no token: text with it would have no ids.
    NoByte(u8),
    /// A token has no bytes.
    Empty,
    /// Two tokens have the same id.
    SameId(u32),
    /// The id is `u32::MAX`, which is kept free.
    IdTooLarge,
    /// There are more tokens than [`MOST_TOKENS`].
    TooMany,
    /// The merge of this number (from 0) has a side, or a result, that is no token.
    Merge(usize),
}

impl fmt::Display for VocabularyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoByte(byte) => write!(f, "the vocabulary has no token for the byte {byte:#04x}"),
            Self::Empty => write!(f, "a token has no bytes"),
            Self::SameId(id) => write!(f, "two tokens have the id {id}"),
            Self::IdTooLarge => write!(f, "an id is {} or more", u32::MAX),
            Self::TooMany => write!(f, "there are more than {MOST_TOKENS} tokens"),
            Self::Merge(index) => {
                write!(f, "merge {index} joins or makes what is no token")
            }
        }
    }
}

impl std::error::Error for VocabularyError {}

/// Tokens with their ids, and the order in which neighbours merge.
pub struct Vocabulary {
    merges: Merges,
    /// Those that a pre-token of their bytes becomes, as nearly all of them do.
    tokens: Tokens,
    size: usize,
}

impl Vocabulary {
    /// tiktoken's rule: a pre-token that is a token is that token; of any other, those neighbours
    /// merge first whose joined bytes have the lowest id, the leftmost of several.
    ///
    /// # Errors
    /// [`VocabularyError`].
    pub fn from_ranks<T: AsRef<[u8]>>(ranks: &[(T, u32)]) -> Result<Self, VocabularyError> {
        let (bytes, tokens) = tokens_of(ranks)?;
        Ok(Self {
            merges: merges::of_ranks(&tokens, &bytes),
            size: tokens.len(),
            tokens,
        })
    }

    /// Hugging Face's rule: those neighbours merge first that come first in the list of merges,
    /// the leftmost of several. With `whole`, as its `ignore_merges` says, a pre-token that is a
    /// token is that token.
    ///
    /// # Errors
    /// [`VocabularyError`].
    pub fn from_merges<T: AsRef<[u8]>>(
        vocabulary: &[(T, u32)],
        merges: &[(T, T)],
        whole: bool,
    ) -> Result<Self, VocabularyError> {
        let (bytes, tokens) = tokens_of(vocabulary)?;
        let size = tokens.len();
        let merges = merges::of_list(&tokens, &bytes, merges).map_err(VocabularyError::Merge)?;
        let tokens = if whole {
            tokens
        } else {
            merges.those_made(&tokens)
        };
        Ok(Self {
            merges,
            tokens,
            size,
        })
    }

    /// The ids of a pre-token, in `scratch` until it is used again.
    pub(super) fn encode<'s>(&self, pretoken: &[u8], scratch: &'s mut Vec<u32>) -> &'s [u32] {
        if let Some(id) = self.tokens.get(pretoken) {
            scratch.clear();
            scratch.push(id);
            return scratch;
        }
        self.merges.encode(pretoken, scratch)
    }

    /// The ids of each two neighbours that are ever merged, in the order in which they are.
    pub(super) fn merges(&self) -> Vec<(u32, u32)> {
        self.merges.pairs()
    }

    /// The number of tokens.
    pub(super) fn len(&self) -> usize {
        self.size
    }

    /// Calls with the place of each pre-token, which is none of the tokens, and with its ids, in
    /// any order.
    pub(super) fn merge_each(&self, pretokens: &[&[u8]], each: impl FnMut(usize, &[u32])) {
        self.merges.merge_each(pretokens, each);
    }

    /// The tokens that a pre-token of their bytes becomes.
    pub(super) fn tokens(&self) -> &Tokens {
        &self.tokens
    }

    /// Bytes held.
    pub(super) fn memory_bytes(&self) -> usize {
        size_of::<Self>() + self.tokens.memory_bytes() + self.merges.memory_bytes()
    }
}

fn tokens_of<T: AsRef<[u8]>>(
    vocabulary: &[(T, u32)],
) -> Result<([u32; 256], Tokens), VocabularyError> {
    if vocabulary.len() > MOST_TOKENS {
        return Err(VocabularyError::TooMany);
    }
    let mut ids: Vec<u32> = vocabulary.iter().map(|&(_, id)| id).collect();
    ids.sort_unstable();
    if let Some(pair) = ids.windows(2).find(|pair| pair[0] == pair[1]) {
        return Err(VocabularyError::SameId(pair[0]));
    }
    if ids.last() == Some(&u32::MAX) {
        return Err(VocabularyError::IdTooLarge);
    }
    let mut tokens = Tokens::with_capacity(vocabulary.len());
    for (token, id) in vocabulary {
        if token.as_ref().is_empty() {
            return Err(VocabularyError::Empty);
        }
        tokens.add(token.as_ref(), *id);
    }
    let mut bytes = [0; 256];
    for (byte, id) in (0..=u8::MAX).zip(&mut bytes) {
        *id = tokens.get(&[byte]).ok_or(VocabularyError::NoByte(byte))?;
    }
    Ok((bytes, tokens))
}
