//! Scan, count, fold and merge for byte-level BPE, without Python.

pub mod count;
pub mod cuts;
pub mod merge;
pub mod payload;
mod prefetch;
pub mod scan;
pub mod specials;
pub mod table;
