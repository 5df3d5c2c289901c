//! Special tokens with their ids.

use std::collections::HashMap;

use crate::cuts::{CutRule, Cutter};
use crate::specials::SpecialsError;

/// Special tokens to be looked for in a text, with their ids.
#[derive(Debug)]
pub struct Special {
    ids: HashMap<Box<[u8]>, u32>,
    pub(super) cutter: Cutter,
}

impl Special {
    pub(super) fn new(
        rule: Option<CutRule>,
        tokens: &[(&str, u32)],
    ) -> Result<Self, SpecialsError> {
        let (texts, _): (Vec<_>, Vec<_>) = tokens.iter().copied().unzip();
        let ids = tokens
            .iter()
            .map(|&(token, id)| (token.as_bytes().into(), id));
        Ok(Self {
            ids: ids.collect(),
            cutter: Cutter::new(rule, &texts)?,
        })
    }

    /// The id of a token.
    pub(super) fn id(&self, token: &[u8]) -> Option<u32> {
        self.ids.get(token).copied()
    }

    /// The first at or after `from`: start, end and id.
    #[inline]
    pub(super) fn find(&self, text: &[u8], from: usize) -> Option<(usize, usize, u32)> {
        let (start, end) = self.cutter.specials().find(text, from)?;
        Some((start, end, self.id(&text[start..end])?))
    }
}
