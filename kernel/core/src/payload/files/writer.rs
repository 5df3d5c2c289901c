//! A payload that is streamed into a file.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;

use xxhash_rust::xxh3::Xxh3Default;

use super::least::Least;
use crate::payload::fold::Output;
use crate::payload::header::HEADER_BYTES;
use crate::payload::Info;

/// Bytes that are written at once.
const WRITTEN: usize = 1 << 20;

/// A payload that is written.
pub(super) struct Writer {
    file: File,
    start: u64,
    /// Where what is written ends.
    pub(super) size: u64,
    pub(super) buffer: Vec<u8>,
    least: Least,
    pub(super) error: Option<io::Error>,
}

impl Writer {
    pub(super) fn create(path: &Path, start: u64) -> io::Result<Self> {
        let mut options = OpenOptions::new();
        options
            .read(true)
            .write(true)
            .custom_flags(libc::O_NOFOLLOW);
        Ok(Self {
            file: options.open(path)?,
            start,
            size: start,
            buffer: vec![0; HEADER_BYTES],
            least: Least::default(),
            error: None,
        })
    }

    /// Begins anew.
    pub(super) fn restart(&mut self) -> io::Result<()> {
        self.file.set_len(self.start)?;
        self.size = self.start;
        self.buffer = vec![0; HEADER_BYTES];
        (self.least, self.error) = (Least::default(), None);
        Ok(())
    }

    pub(super) fn flush(&mut self) {
        if self.error.is_none() {
            self.error = self.file.write_all_at(&self.buffer, self.size).err();
        }
        self.size += self.buffer.len() as u64;
        self.buffer.clear();
    }

    /// Writes the header, which is not known before, and the checksum. What was written is read
    /// once more for that, from the page cache as far as that goes: the header is part of it.
    pub(super) fn finish(mut self, mut info: Info) -> io::Result<Info> {
        self.file.write_all_at(&info.header(), self.start)?;
        let mut checksum = Xxh3Default::new();
        let mut at = self.start;
        while at < self.size {
            let block = usize::try_from(self.size - at).map_or(WRITTEN, |left| left.min(WRITTEN));
            self.buffer.resize(block, 0);
            self.file.read_exact_at(&mut self.buffer, at)?;
            checksum.update(&self.buffer);
            at += block as u64;
        }
        let checksum = checksum.digest().to_le_bytes();
        self.file.write_all_at(&checksum, self.size)?;
        info.least_hashes = self.least.hashes();
        Ok(info)
    }
}

impl Output for Writer {
    fn buffer(&mut self) -> &mut Vec<u8> {
        &mut self.buffer
    }

    fn drain(&mut self) {
        if self.buffer.len() >= WRITTEN {
            self.flush();
        }
    }

    fn begin(&mut self, _: u64) {
        self.least.begin();
    }

    fn see(&mut self, hashes: impl Iterator<Item = u64>) {
        self.least.see(hashes);
    }
}
