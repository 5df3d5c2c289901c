//! The loop equals a naive one that counts everything anew for each merge.

mod definition;
mod exact;
mod limits;
mod random;
mod shards;

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use super::{merge, Merge, MergeError, Merged, Options, Shards, TieBreak};

type Words = BTreeMap<Vec<u8>, u64>;

fn merged(words: &[(&[u8], u64)], options: &Options) -> Result<Merged, MergeError> {
    merge(words.iter().copied(), options, &mut |_| {
        ControlFlow::Continue(())
    })
}

fn learn(words: &[(&[u8], u64)], options: &Options) -> Result<Vec<Merge>, MergeError> {
    merged(words, options).map(|merged| merged.merges)
}

fn merged_in(
    shards: usize,
    words: &[(&[u8], u64)],
    options: &Options,
) -> Result<Merged, MergeError> {
    let go_on = &mut |_: &[Merge]| ControlFlow::Continue(());
    Shards::build(words.iter().copied(), shards, go_on)?.merge(options, go_on)
}

fn options(merges: usize, tie_break: TieBreak) -> Options {
    Options {
        merges,
        tie_break,
        min_frequency: 1,
        max_token_length: None,
    }
}
