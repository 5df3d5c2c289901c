//! Folding files by several threads, which take turns at stretches of the hashes.
//!
//! Each thread reads all files, and passes over the stretches of the others, which takes far less
//! than folding them. What they make is written in the order of the stretches.
//!
//! No thread looks at the order of what it passes over. But each entry is folded once at the most,
//! in the stretch that has its hash: so if the counts add up to those of all payloads, each was.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use super::writer::Writer;
use super::{at_once, opened, pretokens, PayloadFile};
use crate::payload::body::SAMPLE;
use crate::payload::fold::{fold_sources, FoldError, Output, ALL};
use crate::payload::{Digest, Info};

/// Entries of the largest payload in a stretch; few in tests, so that there are many.
const STRETCH: u64 = if cfg!(test) { 50 } else { 4096 };

/// Folds payloads into what is being written. `None` if anything is wrong: one thread would tell
/// what, as it looks at everything, and in one order.
pub(super) fn fold(
    payloads: &[PayloadFile],
    digest: &Digest,
    writer: Writer,
    threads: usize,
) -> (Writer, Option<Info>) {
    let desk = Desk {
        state: Mutex::new(State {
            writer,
            width: 0,
            turns: (0..threads as u64).map(|thread| (1, thread)).collect(),
        }),
        moved: Condvar::new(),
    };
    let work = |thread| {
        let mut turn = Turn::new(&desk, thread, threads);
        move || {
            let mut sources = opened(payloads, digest, threads)?;
            let all = pretokens(&sources);
            let info = fold_sources(&mut sources, digest, &ALL, &mut turn)?;
            Ok::<_, FoldError>((info, all))
        }
    };
    let infos = at_once((0..threads).map(work).collect());
    let infos: Option<Vec<_>> = infos.and_then(|infos| infos.into_iter().map(Result::ok).collect());
    let state = desk.state.into_inner();
    let writer = state.unwrap_or_else(PoisonError::into_inner).writer;
    (writer, infos.and_then(|infos| sum(&infos)))
}

/// What threads folded together, if that is everything.
fn sum(infos: &[(Info, u64)]) -> Option<Info> {
    let mut sum = Info::default();
    for (info, _) in infos {
        sum.digest = info.digest;
        sum.pretokens += info.pretokens;
        sum.short += info.short;
        sum.mid += info.mid;
        sum.long += info.long;
        sum.text = sum.text.saturating_add(info.text);
    }
    infos
        .iter()
        .all(|&(_, all)| all == sum.pretokens)
        .then_some(sum)
}

/// Where threads hand in what they folded.
struct Desk {
    state: Mutex<State>,
    moved: Condvar,
}

struct State {
    writer: Writer,
    /// That of the last entries which were written.
    width: usize,
    /// For each thread the width and stretch that it hands in next.
    turns: Vec<(usize, u64)>,
}

/// What one of the threads folds.
struct Turn<'d> {
    desk: &'d Desk,
    thread: usize,
    threads: u64,
    /// Counted from 1 on.
    width: usize,
    stretch: u64,
    stretches: u64,
    buffer: Vec<u8>,
    hashes: Vec<u64>,
}

impl<'d> Turn<'d> {
    fn new(desk: &'d Desk, thread: usize, threads: usize) -> Self {
        Self {
            desk,
            thread,
            threads: threads as u64,
            width: 0,
            stretch: 0,
            stretches: 1,
            buffer: Vec::new(),
            hashes: Vec::new(),
        }
    }

    /// Writes the stretch, once all before it were written.
    fn hand_in(&mut self) {
        let own = (self.width, self.stretch);
        let mut state = self.state();
        while state.turns.iter().any(|&turn| turn < own) {
            let waited = self.desk.moved.wait(state);
            state = waited.unwrap_or_else(PoisonError::into_inner);
        }
        if state.width < self.width {
            state.width = self.width;
            state.writer.begin(0);
        }
        state.writer.see(self.hashes.drain(..));
        state.writer.buffer.append(&mut self.buffer);
        state.writer.drain();
        self.go_on(state, (self.width, self.stretch + self.threads));
    }

    fn go_on(&self, mut state: MutexGuard<'_, State>, next: (usize, u64)) {
        state.turns[self.thread] = next;
        self.desk.moved.notify_all();
    }

    fn state(&self) -> MutexGuard<'d, State> {
        let state = self.desk.state.lock();
        state.unwrap_or_else(PoisonError::into_inner)
    }
}

impl Output for Turn<'_> {
    fn buffer(&mut self) -> &mut Vec<u8> {
        &mut self.buffer
    }

    fn begin(&mut self, entries: u64) {
        self.width += 1;
        (self.stretch, self.stretches) = (0, entries / STRETCH + 1);
    }

    fn end(&mut self) {
        if self.wants() {
            self.hand_in();
        }
        self.go_on(self.state(), (self.width + 1, self.thread as u64));
    }

    fn wants(&self) -> bool {
        self.stretch % self.threads == self.thread as u64
    }

    fn see(&mut self, hashes: impl Iterator<Item = u64>) {
        let enough = SAMPLE - self.hashes.len();
        self.hashes.extend(hashes.take(enough));
    }

    fn until(&self) -> u64 {
        match self.stretch + 1 {
            next if next < self.stretches => u64::MAX / self.stretches * next - 1,
            _ => u64::MAX,
        }
    }

    fn next(&mut self) {
        if self.wants() {
            self.hand_in();
        }
        self.stretch += 1;
    }
}

/// Nobody waits for a thread that has ended, however it did.
impl Drop for Turn<'_> {
    fn drop(&mut self) {
        self.go_on(self.state(), (usize::MAX, 0));
    }
}
