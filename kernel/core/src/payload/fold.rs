//! Folding: many payloads into one.
//!
//! Their entries are in hash order, so this is a merge of sorted sequences: every payload is read
//! once, from front to back, the result is written likewise, and no table is built. Where the table
//! took one payload after the other, 100 MB of English in two took 15.0 ms, 300 MB in 63 took 185;
//! this takes 9.8 and 113.
//!
//! It goes in rounds, by stretches of hashes in which no payload has more than some hundred
//! entries. These are merged two by two, within the nearest cache, in a loop without an
//! unpredictable branch: a merge that compares the heads of all payloads is mispredicted once or
//! twice an entry. So no more than a window of each payload is in memory, if it is in a file
//! (`files`).
//!
//! Everything is checked on the way: payloads are foreign input, and nothing of the result is used
//! before the last of them was read to its end.

use std::num::NonZeroU64;
use std::ops::RangeInclusive;

use super::body::{self, Pretokens};
use super::form::{Entry, Form, Long, Word};
use super::header::{HEADER_BYTES, TRAILER_BYTES};
use super::pairwise::merge_all;
use super::source::{Input, Source, Taken};
use super::{body_of, read, Digest, Info, Limits, PayloadError};
use crate::prefetch::prefer_large;
use crate::table::key::{Mid, Short};
use crate::table::Overflow;

/// Entries of the largest payload in a round.
const ROUND: u64 = 256;

/// All hashes.
pub(super) const ALL: RangeInclusive<u64> = 0..=u64::MAX;

/// The counts of some payloads together: a payload itself. See [`fold`].
#[derive(Default)]
pub struct Folded {
    payload: Vec<u8>,
    info: Info,
}

/// Which payload cannot be folded, and why. See [`fold`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoldError {
    /// Its index.
    pub index: usize,
    /// What is wrong with it.
    pub error: PayloadError,
}

impl Folded {
    /// Those of some sources, with certain hashes. There is `room` from the start for so many bytes.
    pub(super) fn of<I: Input>(
        sources: &mut [Source<I>],
        digest: &Digest,
        hashes: &RangeInclusive<u64>,
        room: usize,
    ) -> Result<Self, FoldError> {
        let mut payload = Vec::with_capacity(room);
        prefer_large(payload.spare_capacity_mut());
        payload.resize(HEADER_BYTES, 0);
        let mut info = fold_sources(sources, digest, hashes, &mut payload)?;
        info.raw_size = (payload.len() - HEADER_BYTES) as u64;
        info.write(&mut payload);
        Ok(Self { payload, info })
    }

    /// The counts as a payload: that of the table that would hold them all.
    #[must_use]
    pub fn payload(&self) -> &[u8] {
        &self.payload
    }

    /// What the payload says of itself.
    #[must_use]
    pub fn info(&self) -> &Info {
        &self.info
    }

    /// The pre-tokens and their counts, in an order that depends on nothing but the pre-tokens.
    pub fn iter(&self) -> impl Iterator<Item = (&[u8], u64)> + Clone {
        let body = if self.payload.is_empty() {
            &[]
        } else {
            body_of(&self.payload)
        };
        Pretokens::new(body, &self.info)
    }
}

/// Adds up the counts of payloads that are bound to `digest`.
///
/// # Errors
/// [`FoldError`]: a payload that `check` would refuse, or with which the sum of all counts no
/// longer fits.
///
/// # Examples
/// ```
/// use bpefleet_core::payload::{encode, fold};
/// use bpefleet_core::table::CountTable;
///
/// let payload = |count| {
///     let mut table = CountTable::new();
///     table.add(b" the", count).expect("it fits");
///     encode(&table, &[7; 32])
/// };
/// let folded = fold(&[payload(2), payload(3)], &[7; 32]).expect("both are sound");
/// assert_eq!(folded.iter().collect::<Vec<_>>(), [(&b" the"[..], 5)]);
/// assert_eq!(folded.info().unique(), 1);
/// // In any order the result is the same, to the byte.
/// assert_eq!(folded.payload(), payload(5));
///
/// let error = fold(&[payload(2), Vec::new()], &[7; 32]).err().expect("one is no payload");
/// assert_eq!(error.index, 1);
/// ```
pub fn fold<P: AsRef<[u8]>>(payloads: &[P], digest: &Digest) -> Result<Folded, FoldError> {
    let once = |payload| (payload, NonZeroU64::MIN);
    let payloads: Vec<_> = payloads.iter().map(AsRef::as_ref).map(once).collect();
    fold_weighted(&payloads, digest)
}

/// Adds up the counts of payloads, those of each as often as its weight says.
///
/// # Errors
/// As [`fold`].
///
/// # Examples
/// ```
/// use std::num::NonZeroU64;
///
/// use bpefleet_core::payload::{encode, fold, fold_weighted};
/// use bpefleet_core::table::CountTable;
///
/// let mut table = CountTable::new();
/// table.add(b" the", 2).expect("it fits");
/// let payload = encode(&table, &[7; 32]);
/// let thrice = NonZeroU64::new(3).expect("it is not 0");
/// let folded = fold_weighted(&[(&payload[..], thrice)], &[7; 32]).expect("it is sound");
/// assert_eq!(folded.iter().collect::<Vec<_>>(), [(&b" the"[..], 6)]);
/// let repeated = fold(&[&payload, &payload, &payload], &[7; 32]).expect("it is sound");
/// assert_eq!(folded.payload(), repeated.payload());
/// ```
pub fn fold_weighted(
    payloads: &[(&[u8], NonZeroU64)],
    digest: &Digest,
) -> Result<Folded, FoldError> {
    let mut sources = Vec::with_capacity(payloads.len());
    let mut room = HEADER_BYTES + TRAILER_BYTES;
    for (index, &(payload, weight)) in payloads.iter().enumerate() {
        let at = |error| FoldError { index, error };
        let mut info = read(payload, digest).map_err(at)?;
        room += payload.len();
        if payloads.len() == 1 && weight == NonZeroU64::MIN {
            body::check(body_of(payload), &mut info, &Limits::NONE).map_err(at)?;
            let payload = payload.to_vec();
            return Ok(Folded { payload, info });
        }
        sources.push(Source::new(body_of(payload), info, weight.get()));
    }
    Folded::of(&mut sources, digest, &ALL, room)
}

/// Where a folded body goes.
pub(super) trait Output {
    /// What is to be appended to.
    fn buffer(&mut self) -> &mut Vec<u8>;
    /// Called now and then.
    fn drain(&mut self) {}
    /// Called before the entries of each width, with how many the largest payload has.
    fn begin(&mut self, _entries: u64) {}
    /// Called behind them.
    fn end(&mut self) {}
    /// Whether the entries up to `until` are wanted: otherwise they are passed over.
    fn wants(&self) -> bool {
        true
    }
    /// Called with the hashes of entries, ascending within a width.
    fn see(&mut self, _: impl Iterator<Item = u64>) {}
    /// The last hash of those that `buffer` is for now.
    fn until(&self) -> u64 {
        u64::MAX
    }
    /// Called with how many entries were appended, how many pre-tokens, and bytes of text.
    fn count(&mut self, _entries: u64, _pretokens: u64, _text: u64) {}
    /// Called once all up to `until` were appended or passed over, if that is not the last hash.
    fn next(&mut self) {}
}

impl Output for Vec<u8> {
    fn buffer(&mut self) -> &mut Vec<u8> {
        self
    }
}

/// Appends the entries with certain hashes, added up. Returns what they are, without their size.
pub(super) fn fold_sources<I: Input>(
    sources: &mut [Source<I>],
    digest: &Digest,
    hashes: &RangeInclusive<u64>,
    out: &mut impl Output,
) -> Result<Info, FoldError> {
    demand_room(sources)?;
    let mut info = Info {
        digest: *digest,
        ..Info::default()
    };
    info.short = fold_width::<Word<Short>, I>(sources, |i| i.short, hashes, &mut info, out)?;
    info.mid = fold_width::<Word<Mid>, I>(sources, |i| i.mid, hashes, &mut info, out)?;
    info.long = fold_width::<Long, I>(sources, |i| i.long, hashes, &mut info, out)?;
    each(sources, Source::finish)?;
    Ok(info)
}

/// Refuses payloads whose counts would not fit together: no sum of them is checked after this.
fn demand_room<I>(sources: &[Source<I>]) -> Result<(), FoldError> {
    let mut pretokens = 0u64;
    for (index, source) in sources.iter().enumerate() {
        let weighted = source.info.pretokens.checked_mul(source.weight);
        let total = weighted.and_then(|weighted| pretokens.checked_add(weighted));
        let error = PayloadError::Overflow(Overflow);
        pretokens = total.ok_or(FoldError { index, error })?;
    }
    Ok(())
}

/// Does something with each payload.
fn each<I>(
    sources: &mut [Source<I>],
    mut call: impl FnMut(&mut Source<I>) -> Result<(), PayloadError>,
) -> Result<(), FoldError> {
    for (index, source) in sources.iter_mut().enumerate() {
        call(source).map_err(|error| FoldError { index, error })?;
    }
    Ok(())
}

/// Appends the entries of one width; how many they are.
fn fold_width<F: Form, I: Input>(
    sources: &mut [Source<I>],
    entries: impl Fn(&Info) -> u64,
    hashes: &RangeInclusive<u64>,
    info: &mut Info,
    out: &mut impl Output,
) -> Result<u64, FoldError> {
    let (mut from, last) = (*hashes.start(), *hashes.end());
    let mut most = 0;
    each(sources, |source| {
        let entries = entries(&source.info);
        // A header may say anything; an entry has a byte at least.
        most = most.max(entries.min(source.info.raw_size));
        source.begin(entries);
        match from.checked_sub(1) {
            Some(before) => source.skip::<F>(before),
            None => Ok(()),
        }
    })?;
    out.begin(most);
    let (mut step, mut unique) = (u64::MAX / (most / ROUND + 1), 0);
    let mut spare = Vec::new();
    while !sources.iter().all(Source::is_spent) {
        let border = out.until().min(last);
        if !out.wants() {
            each(sources, |source| source.skip::<F>(border))?;
            if border == last {
                break;
            }
            out.next();
            from = border + 1;
            continue;
        }
        each(sources, Source::prepare)?;
        let until = from.saturating_add(step).min(border);
        let round = Round::read::<F, I>(sources, from, until, &mut spare, |merged| {
            let (mut pretokens, mut text) = (0, 0u64);
            for entry in merged {
                F::write(entry.pretoken, entry.count, out.buffer());
                pretokens += entry.count;
                let length = F::length(entry.pretoken);
                text = text.saturating_add(length.saturating_mul(entry.count));
            }
            info.pretokens += pretokens;
            info.text = info.text.saturating_add(text);
            unique += merged.len() as u64;
            out.count(merged.len() as u64, pretokens, text);
            out.see(merged.iter().map(|entry| entry.hash));
        })?;
        out.drain();
        let Some(bound) = round.take(sources) else {
            continue;
        };
        if bound == last {
            break;
        }
        if bound == border {
            out.next();
        }
        from = bound + 1;
        step = round.next_step(step);
    }
    out.end();
    each(sources, |source| source.skip::<F>(u64::MAX))?;
    Ok(unique)
}

/// A stretch of hashes, merged.
struct Round {
    /// The last of its hashes; `None` if not even the first is known.
    bound: Option<u64>,
    taken: Vec<Taken>,
}

impl Round {
    /// Merges what all payloads have, as far as each of them was read.
    fn read<F: Form, I: Input>(
        sources: &[Source<I>],
        from: u64,
        until: u64,
        spare: &mut Vec<Vec<Entry<F::Pretoken<'static>>>>,
        write: impl FnOnce(&[Entry<F::Pretoken<'_>>]),
    ) -> Result<Self, FoldError> {
        let mut found = Vec::with_capacity(sources.len());
        for (index, source) in sources.iter().enumerate() {
            let room = spare.pop().map_or_else(Vec::new, emptied);
            let read = source.read::<F>(from, until, room);
            found.push(read.map_err(|error| FoldError { index, error })?);
        }
        let known = found.iter().map(|found| found.known).min().flatten();
        let bound = known.filter(|&known| known >= from);
        if let Some(bound) = bound.filter(|&bound| bound < until) {
            for (source, found) in sources.iter().zip(&mut found) {
                source.give_back::<F>(found, bound);
            }
        }
        let (mut entries, taken): (Vec<_>, _) = found
            .into_iter()
            .map(|found| (found.entries, found.taken))
            .unzip();
        let mut room = spare.pop().map_or_else(Vec::new, emptied);
        if bound.is_some() {
            write(merge_all(&mut entries, &mut room));
        }
        entries.push(room);
        spare.extend(entries.into_iter().map(emptied).rev());
        Ok(Self { bound, taken })
    }

    /// Goes on behind it. Returns the last hash.
    fn take<I: Input>(&self, sources: &mut [Source<I>]) -> Option<u64> {
        for (source, taken) in sources.iter_mut().zip(&self.taken) {
            if self.bound.is_some() {
                source.take(taken);
            } else {
                source.ask(taken);
            }
        }
        self.bound
    }

    /// How many hashes the next one is to have: hashes may be denser in one place than in another.
    fn next_step(&self, step: u64) -> u64 {
        let most = self.taken.iter().map(|taken| taken.entries as u64).max();
        match most.unwrap_or(0) {
            most if most < ROUND / 4 => step.saturating_mul(2),
            most if most < 2 * ROUND => step,
            _ => (step / 2).max(1),
        }
    }
}

/// The memory of entries for others, which are of the same width and so of the same size.
fn emptied<P, Q>(mut entries: Vec<Entry<P>>) -> Vec<Entry<Q>> {
    entries.clear();
    let none = |_| unreachable!("it is empty");
    entries.into_iter().map(none).collect()
}
