//! Pre-token scanners: the named split rules without a regex engine.

#![allow(
    clippy::inline_always,
    reason = "the steps of a scan are one loop: a call among them costs a third of its speed"
)]

mod cl100k;
mod class;
mod gpt2;
mod o200k;
mod pattern;
mod run;
#[cfg(test)]
mod tests;
mod unicode_tables;

pub use pattern::Pattern;
pub use unicode_tables::UNICODE_VERSION;

use cl100k::Cl100k;
use gpt2::Gpt2;
use o200k::O200k;

/// Receives pre-tokens in order.
pub trait Sink {
    /// `text[start..end]` is the next pre-token.
    fn pretoken(&mut self, text: &[u8], start: usize, end: usize);
}

/// A family of split rules.
trait Family {
    /// Where the pre-token that begins at `start` ends; `start < text.len()`.
    fn pretoken_end(text: &[u8], start: usize) -> usize;
}

/// Cuts `text` into pre-tokens that cover all of it without gaps.
///
/// `text` is one piece between special tokens and a text of its own: what the
/// patterns say about the end of the text holds at its end.
pub fn scan<S: Sink>(pattern: Pattern, text: &str, sink: &mut S) {
    let text = text.as_bytes();
    match pattern {
        Pattern::Gpt2 => scan_family::<Gpt2, S>(text, sink),
        Pattern::Cl100k => scan_family::<Cl100k<3, true>, S>(text, sink),
        Pattern::Gpt4 | Pattern::Llama3 => scan_family::<Cl100k<3, false>, S>(text, sink),
        Pattern::Nanochat => scan_family::<Cl100k<2, false>, S>(text, sink),
        Pattern::Qwen2 => scan_family::<Cl100k<1, false>, S>(text, sink),
        Pattern::O200k => scan_family::<O200k<3, true>, S>(text, sink),
        Pattern::Tekken => scan_family::<O200k<1, false>, S>(text, sink),
    }
}

fn scan_family<F: Family, S: Sink>(text: &[u8], sink: &mut S) {
    let mut start = 0;
    while start < text.len() {
        let end = F::pretoken_end(text, start);
        sink.pretoken(text, start, end);
        start = end;
    }
}
