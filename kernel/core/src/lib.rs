//! Scan, count, fold, merge and encode for byte-level BPE, without Python.
//!
//! The way of the data, from a text in two chunks to its merges:
//!
//! ```
//! use std::ops::ControlFlow;
//!
//! use bpefleet_core::count::{count, Errors};
//! use bpefleet_core::cuts::{CutRule, Cutter};
//! use bpefleet_core::merge::{merge, Options, TieBreak};
//! use bpefleet_core::payload::{encode, fold};
//! use bpefleet_core::scan::Pattern;
//! use bpefleet_core::specials::Specials;
//! use bpefleet_core::table::CountTable;
//!
//! let (text, specials) = (b"low low<|end|>lower low", &["<|end|>"]);
//! let cutter = Cutter::new(CutRule::from_name("gpt2"), specials)?;
//! let cut = cutter.first(text, text.len() / 3, text.len()).expect("there is one");
//! assert_eq!(text.split_at(cut), (&b"low low"[..], &b"<|end|>lower low"[..]));
//!
//! let specials = Specials::new(specials)?;
//! let mut payloads = Vec::new();
//! for chunk in [&text[..cut], &text[cut..]] {
//!     let mut table = CountTable::new();
//!     let mut go_on = |_| ControlFlow::Continue(());
//!     count(chunk, Pattern::Gpt2, &specials, Errors::Strict, &mut table, &mut go_on)?;
//!     payloads.push(encode(&table, &[0; 32]));
//! }
//! let counts = fold(&payloads, &[0; 32]).expect("payloads of one digest");
//! let options = Options {
//!     merges: 2,
//!     tie_break: TieBreak::LexMax,
//!     min_frequency: 0,
//!     max_token_length: None,
//! };
//! let merges = merge(counts.iter(), &options, &mut |_| ControlFlow::Continue(()))?.merges;
//! // `ow` four times, as `lo`, and the greater of the two; then `l` and `ow`.
//! assert_eq!((merges[0].left, merges[0].right, merges[0].count), (111, 119, 4));
//! assert_eq!((merges[1].left, merges[1].right, merges[1].count), (108, 256, 4));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod count;
pub mod cuts;
pub mod encode;
pub mod glance;
pub mod json;
pub mod merge;
pub mod offsets;
pub mod payload;
mod prefetch;
pub mod sample;
pub mod scan;
pub mod specials;
pub mod stored;
pub mod table;
pub mod words;
