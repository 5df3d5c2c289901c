//! A payload's file, read in blocks.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use xxhash_rust::xxh3::Xxh3Default;

use super::PayloadFile;
use crate::payload::header::{BELONGS_TO_NOTHING, HEADER_BYTES, PADDING, TRAILER_BYTES};
use crate::payload::source::Input;
use crate::payload::{Digest, Info, PayloadError};

fn unreadable(error: &io::Error) -> PayloadError {
    if error.kind() == io::ErrorKind::UnexpectedEof {
        return PayloadError::Malformed("it became shorter while it was read");
    }
    PayloadError::Unreadable {
        code: error.raw_os_error().unwrap_or(libc::EIO),
    }
}

/// A file that may be opened again for each block.
struct Place {
    path: PathBuf,
    held: Option<File>,
}

impl Place {
    fn open(path: &Path) -> io::Result<File> {
        // Does not wait for the other end of a FIFO. The flag does nothing to regular files.
        let flags = libc::O_NOFOLLOW | libc::O_NONBLOCK;
        let file = OpenOptions::new()
            .read(true)
            .custom_flags(flags)
            .open(path)?;
        if file.metadata()?.is_file() {
            Ok(file)
        } else {
            Err(io::Error::from_raw_os_error(libc::EINVAL))
        }
    }

    fn read_at(&self, bytes: &mut [u8], at: u64) -> io::Result<()> {
        match &self.held {
            Some(file) => file.read_exact_at(bytes, at),
            None => Self::open(&self.path)?.read_exact_at(bytes, at),
        }
    }
}

/// A part of a payload's body.
pub(in crate::payload) struct Window {
    place: Place,
    /// Of the payload, without the trailer.
    checksum: Xxh3Default,
    /// Bytes that are read at once.
    block: usize,
    bytes: Vec<u8>,
    /// Of `bytes`, those before the window.
    spent: usize,
    /// Where in the file the window and the body end.
    at: u64,
    end: u64,
}

impl Window {
    pub(super) fn open(
        payload: &PayloadFile,
        digest: &Digest,
        block: usize,
        held: bool,
    ) -> Result<(Self, Info), PayloadError> {
        let failed = |error: io::Error| unreadable(&error);
        let file = Place::open(&payload.path).map_err(failed)?;
        let all = file.metadata().map_err(failed)?.len();
        let size = all.saturating_sub(payload.start);
        let truncated = PayloadError::Truncated {
            size: usize::try_from(size).unwrap_or(usize::MAX),
        };
        let mut header = [0; HEADER_BYTES];
        let known = usize::try_from(size).map_or(HEADER_BYTES, |size| size.min(HEADER_BYTES));
        let read = file.read_exact_at(&mut header[..known], payload.start);
        read.map_err(failed)?;
        let info = Info::read_header(&header[..known]).unwrap_or(Err(truncated.clone()))?;
        info.demand(digest)?;
        let body = size.checked_sub((HEADER_BYTES + TRAILER_BYTES) as u64);
        let body = body
            .filter(|&body| body >= info.raw_size)
            .ok_or(truncated)?;
        if body > info.raw_size || header[PADDING] != [0; 4] {
            return Err(BELONGS_TO_NOTHING);
        }
        let mut checksum = Xxh3Default::new();
        checksum.update(&header);
        let at = payload.start + HEADER_BYTES as u64;
        let window = Self {
            place: Place {
                path: payload.path.clone(),
                held: held.then_some(file),
            },
            checksum,
            block,
            bytes: Vec::new(),
            spent: 0,
            at,
            end: at + info.raw_size,
        };
        Ok((window, info))
    }
}

impl Input for Window {
    fn window(&self) -> &[u8] {
        &self.bytes[self.spent..]
    }

    fn advance(&mut self, bytes: usize) {
        self.spent += bytes;
    }

    fn is_whole(&self) -> bool {
        self.at == self.end
    }

    fn prepare(&mut self, more: bool) -> Result<(), PayloadError> {
        if self.is_whole() || !(more || self.window().len() < self.block / 4) {
            return Ok(());
        }
        self.bytes.drain(..self.spent);
        self.spent = 0;
        // As much again as there is: few entries can be so long.
        let wanted = self.block.max(self.bytes.len());
        let left = usize::try_from(self.end - self.at).unwrap_or(usize::MAX);
        let old = self.bytes.len();
        self.bytes.resize(old + wanted.min(left), 0);
        let new = &mut self.bytes[old..];
        let read = self.place.read_at(new, self.at);
        read.map_err(|error| unreadable(&error))?;
        self.checksum.update(new);
        self.at += new.len() as u64;
        Ok(())
    }

    fn finish(&mut self) -> Result<(), PayloadError> {
        let mut trailer = [0; TRAILER_BYTES];
        let read = self.place.read_at(&mut trailer, self.end);
        read.map_err(|error| unreadable(&error))?;
        if self.checksum.digest() != u64::from_le_bytes(trailer) {
            return Err(PayloadError::Checksum);
        }
        Ok(())
    }
}
