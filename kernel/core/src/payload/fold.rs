//! Folding: many payloads into one.
//!
//! Their entries are in hash order, so this is a merge of sorted sequences: every payload is read
//! once, from front to back, the result is written likewise, and no table is built. Where the table
//! took one payload after the other, 100 MB of English in two took 15.0 ms, 300 MB in 63 took 185;
//! this takes 9.8 and 113.
//!
//! Some entries of each payload are read ahead. As far as all have been read, they are merged two by
//! two, within the nearest cache, in a loop without an unpredictable branch: a merge that compares
//! the heads of all payloads is mispredicted once or twice an entry.
//!
//! Everything is checked on the way: payloads are foreign input, and nothing of the result is used
//! before the last of them was read to its end.

use std::num::NonZeroU64;

use super::body::{self, Pretokens, BAD_ENTRY, OUT_OF_ORDER, TRAILING, WRONG_TOTAL};
use super::cursor::Cursor;
use super::form::{Entry, Form, Long, Word};
use super::header::{HEADER_BYTES, TRAILER_BYTES};
use super::{body_of, read, Digest, Info, Limits, PayloadError};
use crate::prefetch::prefer_large;
use crate::table::key::{Mid, Short};
use crate::table::Overflow;

/// Entries read ahead of each payload.
const AHEAD: usize = 256;

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
    let (mut pretokens, mut room) = (0u64, HEADER_BYTES + TRAILER_BYTES);
    for (index, &(payload, weight)) in payloads.iter().enumerate() {
        let at = |error| FoldError { index, error };
        let info = read(payload, digest).map_err(at)?;
        let weighted = info.pretokens.checked_mul(weight.get());
        let total = weighted.and_then(|weighted| pretokens.checked_add(weighted));
        pretokens = total.ok_or(at(PayloadError::Overflow(Overflow)))?;
        room += payload.len();
        if payloads.len() == 1 && weight == NonZeroU64::MIN {
            body::check(body_of(payload), &info, &Limits::NONE).map_err(at)?;
            let payload = payload.to_vec();
            return Ok(Folded { payload, info });
        }
        sources.push(Source {
            cursor: Cursor::new(body_of(payload)),
            left: info.pretokens,
            weight: weight.get(),
            info,
        });
    }
    let mut payload = Vec::with_capacity(room);
    prefer_large(payload.spare_capacity_mut());
    payload.resize(HEADER_BYTES, 0);
    let short = fold_width::<Word<Short>>(&mut sources, |info| info.short, &mut payload)?;
    let mid = fold_width::<Word<Mid>>(&mut sources, |info| info.mid, &mut payload)?;
    let long = fold_width::<Long>(&mut sources, |info| info.long, &mut payload)?;
    for (index, source) in sources.iter().enumerate() {
        let ended = source.at_end();
        ended.map_err(|error| FoldError { index, error })?;
    }
    let info = Info {
        digest: *digest,
        pretokens,
        short,
        mid,
        long,
        raw_size: (payload.len() - HEADER_BYTES) as u64,
        ..Info::default()
    };
    info.write(&mut payload);
    Ok(Folded { payload, info })
}

/// A payload that is read.
struct Source<'b> {
    cursor: Cursor<'b>,
    info: Info,
    /// What is left of the header's total. No sum of counts exceeds the totals', which fit as
    /// they are weighted.
    left: u64,
    /// How often each of its counts counts.
    weight: u64,
}

impl Source<'_> {
    fn at_end(&self) -> Result<(), PayloadError> {
        if !self.cursor.is_at_end() {
            return Err(TRAILING);
        }
        if self.left > 0 {
            return Err(WRONG_TOTAL);
        }
        Ok(())
    }
}

/// The entries of one width in one payload.
struct Stream<'s, 'b, F: Form> {
    payload: usize,
    source: &'s mut Source<'b>,
    /// How many are not read yet.
    left: u64,
    /// Those read and not merged yet begin at `at`.
    ahead: Vec<Entry<F::Pretoken<'b>>>,
    at: usize,
}

impl<'b, F: Form> Stream<'_, 'b, F> {
    /// Whether there is enough to merge, or no more to read. Enough is not only many: of entries
    /// with one hash nobody can tell that they are all.
    fn is_full(&self, enough: usize) -> bool {
        let ahead = &self.ahead[self.at..];
        let differ = ahead.first().map(|entry| entry.hash) != ahead.last().map(|entry| entry.hash);
        self.left == 0 || (ahead.len() >= enough && differ)
    }

    /// Reads on where there is not enough.
    fn refill(&mut self) -> Result<(), FoldError> {
        if self.is_full(AHEAD / 2) {
            return Ok(());
        }
        // The last one stays, for what follows is compared with it.
        let spent = self.at.min(self.ahead.len().saturating_sub(1));
        self.ahead.drain(..spent);
        self.at -= spent;
        let read = self.read();
        read.map_err(|error| FoldError {
            index: self.payload,
            error,
        })
    }

    fn read(&mut self) -> Result<(), PayloadError> {
        let mut last = self.ahead.last().map(Entry::place);
        while !self.is_full(AHEAD) {
            let source = &mut *self.source;
            let mut entry = F::read(&mut source.cursor).ok_or(BAD_ENTRY)?;
            source.left = source.left.checked_sub(entry.count).ok_or(WRONG_TOTAL)?;
            let place = Some(entry.place());
            if place <= last {
                return Err(OUT_OF_ORDER);
            }
            last = place;
            entry.count *= source.weight;
            self.ahead.push(entry);
            self.left -= 1;
        }
        Ok(())
    }

    /// The last hash below which everything has been read.
    fn known(&self) -> u64 {
        match self.ahead.last() {
            // Another entry may have the same hash.
            Some(last) if self.left > 0 => last.hash.saturating_sub(1),
            _ => u64::MAX,
        }
    }

    /// What was read up to a hash, and not given yet.
    fn take(&mut self, last: u64, found: &mut Vec<Entry<F::Pretoken<'b>>>) {
        let ahead = &self.ahead[self.at..];
        let more = ahead.partition_point(|entry| entry.hash <= last);
        found.clear();
        found.extend_from_slice(&ahead[..more]);
        self.at += more;
    }
}

/// Appends the entries of one width; how many they are.
fn fold_width<F: Form>(
    sources: &mut [Source<'_>],
    entries: impl Fn(&Info) -> u64,
    out: &mut Vec<u8>,
) -> Result<u64, FoldError> {
    let streams = sources.iter_mut().enumerate();
    let mut streams: Vec<Stream<'_, '_, F>> = streams
        .map(|(payload, source)| Stream {
            payload,
            left: entries(&source.info),
            source,
            ahead: Vec::with_capacity(AHEAD),
            at: 0,
        })
        .collect();
    let mut found: Vec<Vec<_>> = streams.iter().map(|_| Vec::new()).collect();
    let mut spare = Vec::new();
    let mut unique = 0;
    loop {
        streams.iter_mut().try_for_each(Stream::refill)?;
        let Some(last) = streams.iter().map(Stream::known).min() else {
            break;
        };
        for (stream, found) in streams.iter_mut().zip(&mut found) {
            stream.take(last, found);
        }
        let merged = merge_all(&mut found, &mut spare);
        for entry in merged {
            F::write(entry.pretoken, entry.count, out);
        }
        unique += merged.len() as u64;
        if last == u64::MAX {
            break;
        }
    }
    Ok(unique)
}

/// Merges all into the first: by twos, then the results by twos, and so on.
fn merge_all<'f, P: Copy + Ord>(
    found: &'f mut [Vec<Entry<P>>],
    spare: &mut Vec<Entry<P>>,
) -> &'f [Entry<P>] {
    let mut apart = 1;
    while apart < found.len() {
        for group in found.chunks_mut(2 * apart) {
            if group.len() > apart {
                let (ours, theirs) = group.split_at_mut(apart);
                merge(&ours[0], &theirs[0], spare);
                std::mem::swap(&mut ours[0], spare);
            }
        }
        apart *= 2;
    }
    found.first().map_or(&[], Vec::as_slice)
}

/// Merges two sorted sequences, adding up what both hold.
#[allow(
    clippy::needless_bitwise_bool,
    reason = "`||` is a branch that nobody can predict"
)]
fn merge<P: Copy + Ord>(ours: &[Entry<P>], theirs: &[Entry<P>], out: &mut Vec<Entry<P>>) {
    out.clear();
    out.reserve(ours.len() + theirs.len());
    let (mut here, mut there) = (0, 0);
    let mut alike = true;
    while let (Some(our), Some(their)) = (ours.get(here), theirs.get(there)) {
        let (is_ours, is_theirs) = (our.hash <= their.hash, their.hash <= our.hash);
        let apart = our.hash != their.hash;
        alike &= apart | (our.pretoken == their.pretoken);
        out.push(Entry {
            hash: our.hash.min(their.hash),
            // By index: a choice that is made without a branch.
            pretoken: [their, our][usize::from(is_ours)].pretoken,
            count: our.count * u64::from(is_ours) + their.count * u64::from(is_theirs),
        });
        here += usize::from(is_ours);
        there += usize::from(is_theirs);
    }
    out.extend_from_slice(&ours[here..]);
    out.extend_from_slice(&theirs[there..]);
    if !alike {
        merge_unlike(ours, theirs, out);
    }
}

/// `merge` where two pre-tokens have one hash.
#[cold]
fn merge_unlike<P: Copy + Ord>(ours: &[Entry<P>], theirs: &[Entry<P>], out: &mut Vec<Entry<P>>) {
    out.clear();
    let (mut ours, mut theirs) = (ours.iter().peekable(), theirs.iter().peekable());
    while let (Some(our), Some(their)) = (ours.peek(), theirs.peek()) {
        let (our_place, their_place) = (our.place(), their.place());
        let mut entry = **if our_place <= their_place { our } else { their };
        if our_place == their_place {
            entry.count += their.count;
        }
        out.push(entry);
        ours.next_if(|_| our_place <= their_place);
        theirs.next_if(|_| their_place <= our_place);
    }
    out.extend(ours.chain(theirs));
}
