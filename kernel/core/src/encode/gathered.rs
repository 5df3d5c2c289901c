//! What threads make of the shares of a text, put together in the order of the text.
//!
//! A share's ids are copied to their place as soon as all before it have theirs, by the thread that
//! brought the last of these: while they are in its cache, and its memory serves for the next
//! share. For to write to memory for the first time takes longer than to copy what was just made.

use std::mem::{take, MaybeUninit};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::count::CountError;
use crate::prefetch::prefer_large;

/// Room for so many ids is given back where they need less.
const LARGE: usize = 1 << 12;

/// Ids of documents.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Encoded {
    /// All ids, of one document after the other; none where only their number was wanted.
    pub ids: Vec<u32>,
    /// For each document the number of ids up to its end.
    pub ends: Vec<u64>,
    /// Sequences that were not UTF-8, and replaced.
    pub replaced: u64,
}

impl Encoded {
    /// Of parts in their order: `ids` has those of the first, and the parts have the others.
    pub(super) fn of(parts: Vec<Part>, ids: Vec<u32>) -> Self {
        let mut all = Self {
            ids,
            ..Self::default()
        };
        let mut before = 0;
        for mut part in parts {
            all.ids.append(&mut part.ids);
            if before == 0 {
                all.ends.append(&mut part.ends);
            } else {
                all.ends.extend(part.ends.iter().map(|end| before + end));
            }
            before += part.total;
            all.replaced += part.replaced;
        }
        if all.ids.capacity() > LARGE {
            all.ids.shrink_to_fit();
        }
        all
    }
}

/// Of a share: its ids, the ends counted from its begin, and how many ids it has.
#[derive(Default)]
pub(super) struct Part {
    pub(super) ids: Vec<u32>,
    pub(super) ends: Vec<u64>,
    pub(super) total: u64,
    pub(super) replaced: u64,
}

/// See the module.
pub(super) struct Gathered<'g>(Mutex<Shares<'g>>);

struct Shares<'g> {
    /// Where ids belong that have no place yet.
    rest: &'g mut [MaybeUninit<u32>],
    /// How many have one.
    placed: usize,
    /// Those that wait for one before them.
    early: Vec<Option<Result<Part, CountError>>>,
    /// Those that do not; of their ids only what there was no room for.
    done: Vec<Part>,
    error: Option<CountError>,
}

impl<'g> Gathered<'g> {
    /// Calls with a place for what becomes of so many shares; puts together what was brought.
    /// There is room for so many ids, and for more it is made in the end.
    pub(super) fn all(
        shares: usize,
        room: usize,
        call: impl FnOnce(&Gathered<'_>),
    ) -> Result<Encoded, CountError> {
        let mut ids = Vec::with_capacity(room);
        prefer_large(ids.spare_capacity_mut());
        let mut early = Vec::new();
        early.resize_with(shares, || None);
        let gathered = Gathered(Mutex::new(Shares {
            rest: ids.spare_capacity_mut(),
            placed: 0,
            early,
            done: Vec::with_capacity(shares),
            error: None,
        }));
        call(&gathered);
        let shares = gathered.0.into_inner();
        let Shares {
            placed,
            done,
            error,
            ..
        } = shares.unwrap_or_else(PoisonError::into_inner);
        if let Some(error) = error {
            return Err(error);
        }
        // SAFETY: so many from the first on were given out as places, and each was written by the
        // call of `bring` that took it, all of which have returned; the vector has room for them.
        unsafe { ids.set_len(placed) };
        Ok(Encoded::of(done, ids))
    }

    /// Brings what became of a share, the one of this number; returns memory for the ids of
    /// another.
    pub(super) fn bring(&self, number: usize, part: Result<Part, CountError>) -> Vec<u32> {
        let mut free = Vec::new();
        for (ids, place) in self.turns(number, part) {
            for (to, id) in place.iter_mut().zip(&ids) {
                to.write(*id);
            }
            free = ids;
        }
        free
    }

    /// The ids whose turn has come, and their places.
    fn turns(
        &self,
        number: usize,
        part: Result<Part, CountError>,
    ) -> Vec<(Vec<u32>, &'g mut [MaybeUninit<u32>])> {
        let shares: &mut Shares = &mut self.lock();
        shares.early[number] = Some(part);
        let mut turns = Vec::new();
        while shares.error.is_none() {
            let next = shares.early.get_mut(shares.done.len());
            let Some(part) = next.and_then(Option::take) else {
                break;
            };
            match part {
                Err(error) => shares.error = Some(error),
                Ok(mut part) => {
                    if part.ids.len() <= shares.rest.len() {
                        let ids = take(&mut part.ids);
                        let (place, rest) = take(&mut shares.rest).split_at_mut(ids.len());
                        shares.rest = rest;
                        shares.placed += ids.len();
                        turns.push((ids, place));
                    } else {
                        // What comes behind has no place before it.
                        shares.rest = &mut [];
                    }
                    shares.done.push(part);
                }
            }
        }
        turns
    }

    fn lock(&self) -> MutexGuard<'_, Shares<'g>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
