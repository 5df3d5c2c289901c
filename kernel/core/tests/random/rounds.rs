//! Rounds with one seed after the other, until the time is up.

use std::env;
use std::time::{Duration, Instant};

use crate::common::Random;

const SECONDS: u64 = 1;

/// Rounds on the slowest machine.
const FEWEST: u64 = 20;

/// Calls `round` with the generators of consecutive seeds.
pub fn rounds(mut round: impl FnMut(&mut Random)) {
    let first = setting("BPEFLEET_TEST_SEED").unwrap_or(0);
    let seconds = setting("BPEFLEET_TEST_SECONDS").unwrap_or(SECONDS);
    let deadline = Instant::now() + Duration::from_secs(seconds);
    for seed in first.. {
        let told = Told(seed);
        round(&mut Random::new(seed));
        drop(told);
        if Instant::now() > deadline && seed - first >= FEWEST {
            break;
        }
    }
}

/// A number from the environment.
fn setting(name: &str) -> Option<u64> {
    let value = env::var(name).ok()?;
    Some(value.parse().expect("the setting is a number"))
}

/// Names its seed if dropped by a panic.
struct Told(u64);

impl Drop for Told {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("to see this again: BPEFLEET_TEST_SEED={}", self.0);
        }
    }
}
