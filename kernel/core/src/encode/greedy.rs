//! Merging the bytes of pre-tokens: lowest rank first, the leftmost of several.

#![allow(
    clippy::inline_always,
    reason = "the steps are compiled for the machine they run on"
)]

use super::chain::Chain;
use super::lane::{Lane, MOST};
use super::pairs::Pairs;

const SOME: usize = 32;
const FEW: usize = 16;

/// Lanes that take turns.
const LANES: usize = 16;

/// Makes `numbers` those of the tokens that `pretoken` becomes.
pub(super) fn merge(pretoken: &[u8], pairs: &Pairs, numbers: &mut Vec<u32>) {
    numbers.clear();
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx2") {
        // SAFETY: the machine has what the function demands.
        unsafe { merge_avx2(pretoken, pairs, numbers) };
        return;
    }
    merge_any(pretoken, pairs, numbers);
}

/// Calls with the place of each pre-token and with the numbers of the tokens that it becomes, in
/// any order.
pub(super) fn merge_each(
    pretokens: &[&[u8]],
    pairs: &Pairs,
    mut each: impl FnMut(usize, &mut [u32]),
) {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx2") {
        // SAFETY: the machine has what the function demands.
        unsafe { merge_each_avx2(pretokens, pairs, &mut each) };
        return;
    }
    merge_each_any(pretokens, pairs, &mut each);
}

/// # Safety
///
/// The machine has AVX2.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,bmi1,bmi2")]
unsafe fn merge_avx2(pretoken: &[u8], pairs: &Pairs, numbers: &mut Vec<u32>) {
    merge_any(pretoken, pairs, numbers);
}

/// # Safety
///
/// The machine has AVX2.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,bmi1,bmi2")]
unsafe fn merge_each_avx2(
    pretokens: &[&[u8]],
    pairs: &Pairs,
    each: &mut impl FnMut(usize, &mut [u32]),
) {
    merge_each_any(pretokens, pairs, each);
}

#[inline(always)]
fn merge_any(pretoken: &[u8], pairs: &Pairs, numbers: &mut Vec<u32>) {
    let places = pretoken.len() + 2;
    if places <= FEW {
        alone::<FEW>(pretoken, pairs, numbers);
    } else if places <= SOME {
        alone::<SOME>(pretoken, pairs, numbers);
    } else if places <= MOST {
        alone::<MOST>(pretoken, pairs, numbers);
    } else {
        Chain::new(pretoken, pairs).merge(numbers);
    }
}

/// Merges one pre-token of at most `N - 2` bytes.
#[inline(always)]
fn alone<const N: usize>(pretoken: &[u8], pairs: &Pairs, numbers: &mut Vec<u32>) {
    let mut lane = Lane::<N>::EMPTY;
    lane.load(pretoken, pairs);
    while lane.choose(pairs) {
        lane.step(pairs);
    }
    let mut places = [0; N];
    let left = lane.write(&mut places);
    numbers.extend_from_slice(&places[..left]);
}

#[inline(always)]
fn merge_each_any(pretokens: &[&[u8]], pairs: &Pairs, each: &mut impl FnMut(usize, &mut [u32])) {
    let those = |least: usize, places: usize| {
        let lengths = least.saturating_sub(1)..places - 1;
        let all = pretokens.iter().enumerate();
        all.filter(move |(_, pretoken)| lengths.contains(&pretoken.len()))
    };
    in_turns::<FEW>(those(0, FEW), pairs, each);
    in_turns::<SOME>(those(FEW, SOME), pairs, each);
    in_turns::<MOST>(those(SOME, MOST), pairs, each);
    let mut numbers = Vec::new();
    for (at, pretoken) in those(MOST, usize::MAX) {
        numbers.clear();
        Chain::new(pretoken, pairs).merge(&mut numbers);
        each(at, &mut numbers);
    }
}

/// Merges pre-tokens of at most `N - 2` bytes.
#[inline(always)]
fn in_turns<'t, const N: usize>(
    mut pretokens: impl Iterator<Item = (usize, &'t &'t [u8])>,
    pairs: &Pairs,
    each: &mut impl FnMut(usize, &mut [u32]),
) {
    let Some((first, pretoken)) = pretokens.next() else {
        return;
    };
    let mut lanes = [(first, Lane::<N>::EMPTY); LANES];
    lanes[0].1.load(pretoken, pairs);
    let mut used = 1;
    for ((at, lane), (place, pretoken)) in lanes[1..].iter_mut().zip(pretokens.by_ref()) {
        *at = place;
        lane.load(pretoken, pairs);
        used += 1;
    }
    let mut numbers = [0; N];
    while used > 0 {
        let mut turn = 0;
        while turn < used {
            let (at, lane) = &mut lanes[turn];
            if lane.choose(pairs) {
                turn += 1;
                continue;
            }
            let left = lane.write(&mut numbers);
            each(*at, &mut numbers[..left]);
            if let Some((place, pretoken)) = pretokens.next() {
                *at = place;
                lane.load(pretoken, pairs);
            } else {
                used -= 1;
                lanes[turn] = lanes[used];
            }
        }
        for (_, lane) in &mut lanes[..used] {
            lane.step(pairs);
        }
    }
}
