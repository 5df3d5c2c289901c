//! Stub: a naive merge.
#![allow(missing_docs, clippy::pedantic)]
use std::collections::HashMap;
use std::ops::ControlFlow;
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TieBreak {
    LexMax,
    RawId,
    Hf,
    LexMin,
}
impl TieBreak {
    pub const ALL: [TieBreak; 4] = [Self::LexMax, Self::RawId, Self::Hf, Self::LexMin];
    pub fn from_name(n: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|t| t.name() == n)
    }
    pub fn name(self) -> &'static str {
        match self {
            Self::LexMax => "lexmax",
            Self::RawId => "rawid",
            Self::Hf => "hf",
            Self::LexMin => "lexmin",
        }
    }
}
#[derive(Clone, Copy, Debug)]
pub struct Options {
    pub merges: usize,
    pub tie_break: TieBreak,
    pub min_frequency: u64,
    pub max_token_length: Option<usize>,
}
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Merge {
    pub left: u32,
    pub right: u32,
    pub count: u64,
}
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MergeError {
    Cancelled,
    TooLarge,
    Overflow,
}
impl std::fmt::Display for MergeError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{self:?}")
    }
}
impl std::error::Error for MergeError {}
pub type Progress<'a> = dyn FnMut(usize) -> ControlFlow<()> + 'a;
pub struct Arena(Vec<(Vec<u32>, u64)>);
impl Arena {
    pub fn build<'a>(
        words: impl Iterator<Item = (&'a [u8], u64)> + Clone,
        _p: &mut Progress<'_>,
    ) -> Result<Self, MergeError> {
        Ok(Self(
            words
                .map(|(w, c)| (w.iter().map(|&b| u32::from(b)).collect(), c))
                .collect(),
        ))
    }
}
pub fn run(
    mut arena: Arena,
    options: &Options,
    progress: &mut Progress<'_>,
) -> Result<Vec<Merge>, MergeError> {
    let mut vocab: Vec<Vec<u8>> = (0..=255u8).map(|b| vec![b]).collect();
    let mut out = vec![];
    while out.len() < options.merges {
        let mut pairs: HashMap<(u32, u32), u64> = HashMap::new();
        for (w, c) in &arena.0 {
            for p in w.windows(2) {
                *pairs.entry((p[0], p[1])).or_default() += c;
            }
        }
        let Some((&(l, r), &count)) = pairs
            .iter()
            .max_by_key(|(p, c)| (**c, &vocab[p.0 as usize], &vocab[p.1 as usize]))
        else {
            break;
        };
        if count < options.min_frequency {
            break;
        }
        let id = vocab.len() as u32;
        vocab.push([vocab[l as usize].clone(), vocab[r as usize].clone()].concat());
        out.push(Merge {
            left: l,
            right: r,
            count,
        });
        for (w, _) in &mut arena.0 {
            let mut i = 0;
            while i + 1 < w.len() {
                if w[i] == l && w[i + 1] == r {
                    w[i] = id;
                    w.remove(i + 1);
                }
                i += 1;
            }
        }
        if progress(out.len()).is_break() {
            return Err(MergeError::Cancelled);
        }
    }
    Ok(out)
}
