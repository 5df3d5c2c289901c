//! A vocabulary: what the bytes of a pre-token become.

use std::fmt;

use super::greedy::{halves, merge, Scratch};
use super::pairs::{Joined, Pairs, NEVER};
use super::tokens::Tokens;

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
            Self::Merge(index) => {
                write!(f, "merge {index} joins or makes what is no token")
            }
        }
    }
}

impl std::error::Error for VocabularyError {}

/// Tokens with their ids, and the order in which neighbours merge.
pub struct Vocabulary {
    bytes: [u32; 256],
    pairs: Pairs,
    /// Pre-tokens that are the token of their bytes although merging does not make it.
    whole: Tokens,
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
        let mut ways = Vec::new();
        for (token, id) in tokens.iter() {
            for at in 1..token.len() {
                let (left, right) = token.split_at(at);
                if let (Some(left), Some(right)) = (tokens.get(left), tokens.get(right)) {
                    ways.push((left, right, Joined { rank: id, id }));
                }
            }
        }
        // Neighbours that join to a token are what merging its bytes alone comes to: until they
        // join, nothing beside them took part, or it would have taken a part of them. So of all
        // ways to divide a token one is ever met, at most, and a small table is a fast one.
        let every = Pairs::new(&ways, &bytes);
        let mut scratch = Scratch::default();
        let (mut met, mut whole) = (Vec::new(), Vec::new());
        for (token, id) in tokens.iter() {
            match *halves(token, &bytes, &every, &mut scratch) {
                [left, right] => met.push((left, right, Joined { rank: id, id })),
                [_] => {}
                _ => whole.push((token, id)),
            }
        }
        Ok(Self {
            bytes,
            pairs: Pairs::new(&met, &bytes),
            whole: Tokens::of(&whole),
            size: tokens.len(),
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
        let mut pairs = Vec::with_capacity(merges.len());
        for (index, (left, right)) in merges.iter().enumerate() {
            let (left, right) = (left.as_ref(), right.as_ref());
            let rank = u32::try_from(index).ok().filter(|&rank| rank < NEVER);
            let ids = (tokens.get(left), tokens.get(right));
            match (rank, ids, tokens.get(&[left, right].concat())) {
                (Some(rank), (Some(left), Some(right)), Some(id)) => {
                    pairs.push((left, right, Joined { rank, id }));
                }
                _ => return Err(VocabularyError::Merge(index)),
            }
        }
        let (pairs, mut scratch) = (Pairs::new(&pairs, &bytes), Scratch::default());
        let not_merged = tokens
            .iter()
            .filter(|&(token, id)| *merge(token, &bytes, &pairs, &mut scratch) != [id]);
        let whole = if whole {
            not_merged.collect()
        } else {
            Vec::new()
        };
        Ok(Self {
            bytes,
            pairs,
            whole: Tokens::of(&whole),
            size: tokens.len(),
        })
    }

    /// The ids of a pre-token, in `scratch` until it is used again.
    pub(super) fn encode<'s>(&self, pretoken: &[u8], scratch: &'s mut Scratch) -> &'s [u32] {
        if let Some(id) = self.whole.get(pretoken) {
            return scratch.one(id);
        }
        merge(pretoken, &self.bytes, &self.pairs, scratch)
    }

    /// The number of tokens.
    pub(super) fn len(&self) -> usize {
        self.size
    }

    /// Bytes held.
    pub(super) fn memory_bytes(&self) -> usize {
        size_of::<Self>() + self.whole.memory_bytes() + self.pairs.memory_bytes()
    }
}

fn tokens_of<T: AsRef<[u8]>>(
    vocabulary: &[(T, u32)],
) -> Result<([u32; 256], Tokens), VocabularyError> {
    let mut ids: Vec<u32> = vocabulary.iter().map(|&(_, id)| id).collect();
    ids.sort_unstable();
    if let Some(pair) = ids.windows(2).find(|pair| pair[0] == pair[1]) {
        return Err(VocabularyError::SameId(pair[0]));
    }
    if ids.last() == Some(&NEVER) {
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
