//! Random inputs against plain references, for a bounded time, with debug assertions.
//!
//! Of the same kind as the seeded tests beside this, but wider: any character of Unicode, any
//! bytes, any mixture. `BPEFLEET_TEST_SECONDS` makes every test run longer, and
//! `BPEFLEET_TEST_SEED` start elsewhere, as at the seed that a failure names.

mod counts;
mod merges;
mod payloads;
mod rounds;
mod scans;
mod texts;

#[path = "../common/mod.rs"]
mod common;
