//! Folding files into several, each of a stretch of the hashes, in one go.

use std::io;
use std::ops::RangeInclusive;
use std::path::Path;

use super::writer::Writer;
use super::{opened, stretches, FileError, PayloadFile};
use crate::payload::fold::{fold_sources, Output, ALL};
use crate::payload::header::HEADER_BYTES;
use crate::payload::{Digest, Info};

/// Adds up the counts of payloads in files, and writes them as several payloads, each of a stretch
/// of the hashes, into as many files, which are empty. Together they are what [`fold_files`](super::fold_files) gives,
/// and the payloads are read once for all of them.
///
/// # Errors
/// [`FileError`].
pub fn fold_ranges(
    payloads: &[PayloadFile],
    digest: &Digest,
    outs: &[impl AsRef<Path>],
) -> Result<Vec<Info>, FileError> {
    let mut sources = opened(payloads, digest, 1)?;
    let range = |(out, hashes): (&_, RangeInclusive<u64>)| {
        let writer = Writer::create(AsRef::as_ref(out), 0)?;
        Ok(Range {
            writer,
            last: *hashes.end(),
            entries: Vec::new(),
            pretokens: 0,
            text: 0,
        })
    };
    let ranges = outs.iter().zip(stretches(outs.len())).map(range);
    let mut ranges = Ranges {
        ranges: ranges
            .collect::<io::Result<_>>()
            .map_err(FileError::Output)?,
        at: 0,
    };
    let folded = fold_sources(&mut sources, digest, &ALL, &mut ranges);
    for Range { writer, .. } in &mut ranges.ranges {
        writer.flush();
        if let Some(error) = writer.error.take() {
            return Err(FileError::Output(error));
        }
    }
    folded?;
    let finish = |range: Range| {
        let info = range.info(digest);
        range.writer.finish(info)
    };
    let finished = ranges.ranges.into_iter().map(finish);
    finished
        .collect::<io::Result<_>>()
        .map_err(FileError::Output)
}

/// A payload of a stretch of hashes.
struct Range {
    writer: Writer,
    /// The last of them.
    last: u64,
    /// How many there are of each width so far.
    entries: Vec<u64>,
    pretokens: u64,
    text: u64,
}

impl Range {
    fn info(&self, digest: &Digest) -> Info {
        let entries = |width: usize| self.entries.get(width).copied().unwrap_or_default();
        Info {
            digest: *digest,
            pretokens: self.pretokens,
            short: entries(0),
            mid: entries(1),
            long: entries(2),
            raw_size: self.writer.size - HEADER_BYTES as u64,
            text: self.text,
            ..Info::default()
        }
    }
}

/// Payloads that are written in turn, within each width from the first to the last.
struct Ranges {
    ranges: Vec<Range>,
    at: usize,
}

impl Output for Ranges {
    fn buffer(&mut self) -> &mut Vec<u8> {
        &mut self.ranges[self.at].writer.buffer
    }

    fn drain(&mut self) {
        self.ranges[self.at].writer.drain();
    }

    fn begin(&mut self, entries: u64) {
        self.at = 0;
        for range in &mut self.ranges {
            range.entries.push(0);
            range.writer.begin(entries);
        }
    }

    fn see(&mut self, hashes: impl Iterator<Item = u64>) {
        self.ranges[self.at].writer.see(hashes);
    }

    fn until(&self) -> u64 {
        self.ranges[self.at].last
    }

    fn count(&mut self, entries: u64, pretokens: u64, text: u64) {
        let range = &mut self.ranges[self.at];
        range.pretokens += pretokens;
        range.text = range.text.saturating_add(text);
        if let Some(of_width) = range.entries.last_mut() {
            *of_width += entries;
        }
    }

    fn next(&mut self) {
        self.ranges[self.at].writer.flush();
        self.at += 1;
    }
}
