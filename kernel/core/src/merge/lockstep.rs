//! Threads in lockstep: at each step every one tells all others something, and hears them.
//!
//! **Order.** A thread writes its message, then says so by its own counter, then waits for the
//! counters of the others, then reads. There are two messages a thread, used in turn: the one of
//! this step is written again two steps on, when all have arrived at the step between and so have
//! read. One meeting a step is thus enough.
//!
//! **Waiting.** The others are a fraction of a microsecond away, if each thread has a core: looking
//! again is faster than going to sleep. If it has none, looking takes the core that the others
//! need. So a thread looks for a while, less long each time that was in vain, then sleeps. Asleep,
//! it has entered the number of sleepers *before* it last looked at the counters, and who arrives
//! looks at that number *after* counting: one of the two sees the other, as both orders are total.
//!
//! **Ends.** Whoever ends otherwise than well, be it by a panic, stops all others at their next
//! step.

use std::ops::ControlFlow;
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

use super::pulse::Pulse;
use super::{Merge, MergeError, Progress};

/// Looks before sleeping, at most: some ten microseconds.
const MOST_LOOKS: u32 = 1 << 9;
const LEAST_LOOKS: u32 = 1 << 3;

/// What one thread tells the others.
#[derive(Default)]
pub(super) struct Message {
    pub(super) first: Vec<(u64, u64)>,
    pub(super) second: Vec<(u64, u64)>,
    pub(super) flag: bool,
}

/// A thread's place; on cache lines of its own, which others only read while waiting.
#[derive(Default)]
#[repr(align(128))]
struct Place {
    steps: AtomicU64,
    messages: [Mutex<Message>; 2],
}

struct Lockstep {
    places: Vec<Place>,
    sleepers: AtomicUsize,
    bed: Mutex<()>,
    bell: Condvar,
    stopped: AtomicBool,
}

/// One of the threads, or the only one.
pub(super) struct Member<'l> {
    lockstep: &'l Lockstep,
    number: usize,
    step: u64,
    looks: u32,
}

/// Does `work` on each of `inputs` in a thread of its own, the first in this one. Only this one
/// calls `progress`. Of several errors the first is given that is not due to another.
///
/// # Panics
/// With the panic of a thread, once all have ended.
pub(super) fn together<I: Send, R: Send>(
    inputs: Vec<I>,
    progress: &mut Progress<'_>,
    work: impl Fn(I, Member<'_>, &mut Pulse<'_, '_>) -> Result<R, MergeError> + Sync,
) -> Result<Vec<R>, MergeError> {
    let lockstep = &Lockstep::new(inputs.len());
    let work = &work;
    let mut inputs = (0..).zip(inputs);
    let Some((_, first)) = inputs.next() else {
        return Ok(Vec::new());
    };
    let results: Vec<_> = thread::scope(|scope| {
        let mut others = Vec::new();
        for (number, input) in inputs {
            let other = thread::Builder::new().spawn_scoped(scope, move || {
                let mut heed = |_: &[Merge]| lockstep.flow();
                lockstep.guarded(|| {
                    let member = lockstep.member(number);
                    work(input, member, &mut Pulse::new(&mut heed))
                })
            });
            let Ok(other) = other else {
                lockstep.stop();
                return vec![Err(MergeError::NoThreads)];
            };
            others.push(other);
        }
        let mut heed = |made: &[Merge]| match lockstep.flow() {
            ControlFlow::Continue(()) => progress(made),
            stop @ ControlFlow::Break(()) => stop,
        };
        let first = lockstep.guarded(|| {
            let member = lockstep.member(0);
            work(first, member, &mut Pulse::new(&mut heed))
        });
        let others = others.into_iter().map(thread::ScopedJoinHandle::join);
        let others = others.map(|ended| ended.unwrap_or_else(|panic| resume_unwind(panic)));
        std::iter::once(first).chain(others).collect()
    });
    let told =
        |result: &Result<R, _>| matches!(result, Err(error) if *error != MergeError::Cancelled);
    match results.iter().position(told) {
        Some(at) => results.into_iter().skip(at).take(1).collect(),
        None => results.into_iter().collect(),
    }
}

impl Lockstep {
    fn new(threads: usize) -> Self {
        Self {
            places: (0..threads).map(|_| Place::default()).collect(),
            sleepers: AtomicUsize::new(0),
            bed: Mutex::new(()),
            bell: Condvar::new(),
            stopped: AtomicBool::new(false),
        }
    }

    fn member(&self, number: usize) -> Member<'_> {
        Member {
            lockstep: self,
            number,
            step: 0,
            looks: MOST_LOOKS,
        }
    }

    fn flow(&self) -> ControlFlow<()> {
        if self.stopped.load(Ordering::SeqCst) {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    }

    /// Stops all unless `work` ends well.
    fn guarded<R>(&self, work: impl FnOnce() -> Result<R, MergeError>) -> Result<R, MergeError> {
        let alarm = Alarm(self);
        let result = work();
        if result.is_ok() {
            std::mem::forget(alarm);
        }
        result
    }

    fn stop(&self) {
        self.stopped.store(true, Ordering::SeqCst);
        self.wake();
    }

    fn wake(&self) {
        if self.sleepers.load(Ordering::SeqCst) > 0 {
            // Whoever looked in vain is asleep by the time that the lock is free.
            drop(locked(&self.bed));
            self.bell.notify_all();
        }
    }

    fn is_over(&self, step: u64) -> bool {
        let arrived = |place: &Place| place.steps.load(Ordering::SeqCst) >= step;
        self.stopped.load(Ordering::SeqCst) || self.places.iter().all(arrived)
    }

    fn sleep(&self, step: u64) {
        self.sleepers.fetch_add(1, Ordering::SeqCst);
        let mut bed = locked(&self.bed);
        while !self.is_over(step) {
            bed = self.bell.wait(bed).unwrap_or_else(PoisonError::into_inner);
        }
        drop(bed);
        self.sleepers.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Nothing is done under these locks that a panic could leave half done: all stop anyway.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

struct Alarm<'l>(&'l Lockstep);

impl Drop for Alarm<'_> {
    fn drop(&mut self) {
        self.0.stop();
    }
}

impl Member<'_> {
    /// Which of the threads.
    pub(super) fn number(&self) -> usize {
        self.number
    }

    /// A step: `tell` fills the message to the others, which may hold what was told before;
    /// `hear` is given each of theirs, in the order of the threads. Both are handed `own`. With no
    /// others, nothing is done.
    pub(super) fn exchange<S: ?Sized>(
        &mut self,
        own: &mut S,
        tell: impl FnOnce(&S, &mut Message),
        mut hear: impl FnMut(&mut S, &Message),
    ) -> Result<(), MergeError> {
        let places = &self.lockstep.places;
        if places.len() == 1 {
            return Ok(());
        }
        let turn = usize::from(self.step % 2 == 1);
        self.step += 1;
        let place = &places[self.number];
        tell(own, &mut locked(&place.messages[turn]));
        place.steps.store(self.step, Ordering::SeqCst);
        self.lockstep.wake();
        self.wait();
        if self.lockstep.flow().is_break() {
            return Err(MergeError::Cancelled);
        }
        for (_, other) in (0..)
            .zip(places)
            .filter(|&(number, _)| number != self.number)
        {
            hear(own, &locked(&other.messages[turn]));
        }
        Ok(())
    }

    fn wait(&mut self) {
        for _ in 0..self.looks {
            if self.lockstep.is_over(self.step) {
                self.looks = (2 * self.looks).min(MOST_LOOKS);
                return;
            }
            std::hint::spin_loop();
        }
        self.looks = (self.looks / 2).max(LEAST_LOOKS);
        self.lockstep.sleep(self.step);
    }
}

#[cfg(test)]
mod tests {
    use std::ops::ControlFlow;
    use std::panic::{catch_unwind, AssertUnwindSafe};

    use super::{together, Member, MergeError, Message};

    fn steps(member: &mut Member<'_>, steps: u64, threads: u64) -> Result<u64, MergeError> {
        let mut sum = 0;
        for step in 0..steps {
            let own = member.number() as u64 + 10 * step;
            // Now and then one is late, so that the others go to sleep.
            if step % 97 == own % 7 {
                std::thread::yield_now();
            }
            let tell = |(): &(), message: &mut Message| {
                message.first = vec![(own, step)];
            };
            let mut told = own;
            member.exchange(&mut (), tell, |(), message| {
                assert_eq!(message.first[0].1, step);
                told += message.first[0].0;
            })?;
            assert_eq!(told, threads * (threads - 1) / 2 + threads * 10 * step);
            sum += told;
        }
        Ok(sum)
    }

    #[test]
    fn all_hear_all_at_every_step() {
        for threads in 1..6 {
            let inputs = vec![(); usize::try_from(threads).expect("few")];
            let sums = together(
                inputs,
                &mut |_| ControlFlow::Continue(()),
                |(), mut member, _| steps(&mut member, 5000, threads),
            );
            let sums = sums.expect("nobody fails");
            assert!(sums.iter().all(|&sum| sum == sums[0]));
        }
    }

    #[test]
    fn an_error_or_a_panic_of_one_ends_all() {
        for failing in 0..3 {
            let run = |fail: fn() -> MergeError| {
                together(
                    vec![(); 3],
                    &mut |_| ControlFlow::Continue(()),
                    |(), mut member, _| {
                        steps(&mut member, 1000, 3)?;
                        if member.number() == failing {
                            return Err(fail());
                        }
                        // Forever, were the others not told.
                        steps(&mut member, u64::MAX / 100, 3)
                    },
                )
            };
            assert_eq!(run(|| MergeError::Repeated), Err(MergeError::Repeated));
            let panicked = catch_unwind(AssertUnwindSafe(|| run(|| panic!("as wanted"))));
            let panic = panicked.expect_err("it is passed on");
            assert_eq!(panic.downcast_ref::<&str>(), Some(&"as wanted"));
        }
    }
}
