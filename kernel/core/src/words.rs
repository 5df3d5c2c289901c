//! Words, by the word boundaries of UAX #29, and how tokens divide them.
//!
//! A word is what lies between two boundaries and has a letter or a digit in it. Scripts without
//! spaces have no words there that speakers would call so: each Han or Thai character is one.

use std::collections::HashMap;
use std::ops::Range;
use std::str;

use unicode_segmentation::UnicodeSegmentation;

/// The words of documents.
pub struct Words {
    spans: Vec<Range<usize>>,
    /// For each document: where it lies, and which of `spans` are in it.
    documents: Vec<(Range<usize>, Range<usize>)>,
    characters: Vec<u64>,
}

impl Words {
    /// Finds the words of documents, each alone; `offsets` as [`crate::offsets::offsets`] gives
    /// them.
    ///
    /// # Errors
    /// The place in `data` of the first byte that is not UTF-8.
    ///
    /// ```
    /// use bpefleet_core::words::Words;
    ///
    /// let words = Words::new(b"Don't stop. 3.14", &[0, 12, 16]).expect("UTF-8");
    /// assert_eq!(words.words(), [2, 1]);
    /// assert_eq!(words.characters(), [12, 4]);
    /// // Tokens that end at 3 and 5 divide `Don't`, but not `stop`.
    /// assert_eq!(words.continued(&[3, 5, 10, 12, 16], &[4, 5]), [1, 0]);
    /// ```
    pub fn new(data: &[u8], offsets: &[usize]) -> Result<Self, usize> {
        let mut words = Self {
            spans: Vec::new(),
            documents: Vec::new(),
            characters: Vec::new(),
        };
        for ends in offsets.windows(2) {
            let (start, end) = (ends[0], ends[1]);
            let text = str::from_utf8(&data[start..end]).map_err(|e| start + e.valid_up_to())?;
            let first = words.spans.len();
            let found = text.unicode_word_indices();
            let spans = found.map(|(at, word)| start + at..start + at + word.len());
            words.spans.extend(spans);
            words.documents.push((start..end, first..words.spans.len()));
            words.characters.push(text.chars().count() as u64);
        }
        Ok(words)
    }

    /// Characters (code points) of each document.
    #[must_use]
    pub fn characters(&self) -> &[u64] {
        &self.characters
    }

    /// Words of each document.
    #[must_use]
    pub fn words(&self) -> Vec<u64> {
        let words = self.documents.iter();
        words.map(|(_, words)| words.len() as u64).collect()
    }

    /// Words of each document within which a token ends.
    ///
    /// `places` says where in the data each token ends, `ends` how many tokens there are up to the
    /// end of each document.
    ///
    /// # Panics
    /// If `ends` descend, or are more than there are places or documents.
    #[must_use]
    pub fn continued(&self, places: &[u64], ends: &[u64]) -> Vec<u64> {
        let mut first = 0;
        let mut found = Vec::with_capacity(ends.len());
        for ((_, words), &end) in self.documents.iter().zip(ends) {
            let end = index(end);
            let mut places = places[first..end]
                .iter()
                .map(|&place| index(place))
                .peekable();
            let mut continued = 0;
            for word in &self.spans[words.clone()] {
                while places.next_if(|&place| place <= word.start).is_some() {}
                continued += u64::from(places.peek().is_some_and(|&place| place < word.end));
            }
            found.push(continued);
            first = end;
        }
        found
    }

    /// Where in the data each token ends, if the tokens' bytes are the documents'; and for each
    /// document whether they are.
    ///
    /// # Panics
    /// If `ends` descend, or are more than there are ids or documents.
    #[must_use]
    pub fn places(
        &self,
        data: &[u8],
        tokens: &TokenBytes,
        ids: &[u32],
        ends: &[u64],
    ) -> (Vec<u64>, Vec<bool>) {
        let mut first = 0;
        let mut places = Vec::with_capacity(ids.len());
        let mut same = Vec::with_capacity(ends.len());
        for ((span, _), &end) in self.documents.iter().zip(ends) {
            let (mut at, mut is_same) = (span.start, true);
            for &id in &ids[first..index(end)] {
                let bytes = tokens.get(id);
                is_same &= bytes.is_some_and(|bytes| data[at..span.end].starts_with(bytes));
                at = span.end.min(at + bytes.map_or(0, <[u8]>::len));
                places.push(at as u64);
            }
            same.push(is_same && at == span.end);
            first = index(end);
        }
        (places, same)
    }
}

/// The bytes of tokens by their ids.
pub struct TokenBytes {
    bytes: Vec<u8>,
    spans: HashMap<u32, Range<usize>>,
}

impl TokenBytes {
    /// Those of a vocabulary.
    pub fn new<'a>(tokens: impl IntoIterator<Item = (u32, &'a [u8])>) -> Self {
        let mut bytes = Vec::new();
        let mut spans = HashMap::new();
        for (id, token) in tokens {
            spans.insert(id, bytes.len()..bytes.len() + token.len());
            bytes.extend_from_slice(token);
        }
        Self { bytes, spans }
    }

    fn get(&self, id: u32) -> Option<&[u8]> {
        self.spans.get(&id).map(|span| &self.bytes[span.clone()])
    }
}

fn index(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::{TokenBytes, Words};

    #[test]
    fn a_text_that_is_not_utf8_is_told_of() {
        assert_eq!(Words::new(b"ab\xffc", &[1, 4]).err(), Some(2));
        assert!(Words::new(b"ab\xffc", &[0, 2]).is_ok());
    }

    #[test]
    fn tokens_lie_where_their_bytes_are() {
        let data = "für dich".as_bytes();
        let words = Words::new(data, &[0, data.len()]).expect("UTF-8");
        let tokens = [
            (7, &b"f\xc3"[..]),
            (9, b"\xbcr "),
            (4, b"dich"),
            (5, b"Dich"),
        ];
        let tokens = TokenBytes::new(tokens);
        let (places, same) = words.places(data, &tokens, &[7, 9, 4], &[3]);
        assert_eq!((&places[..], &same[..]), (&[2, 5, 9][..], &[true][..]));
        assert_eq!(words.continued(&places, &[3]), [1]);
        for other in [&[7, 9, 5][..], &[7, 9], &[7, 9, 4, 4], &[7, 9, 8]] {
            let (_, same) = words.places(data, &tokens, other, &[other.len() as u64]);
            assert_eq!(same, [false], "{other:?}");
        }
    }
}
