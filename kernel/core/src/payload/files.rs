//! Folding files: sorted payloads are read in blocks and streamed out, so that no step holds them.
//!
//! They are read with `pread`, not mapped: a mapped file that somebody truncates ends the process
//! with a signal, one on a disk that fails likewise, and bytes that another process may change are
//! no slice that Rust could lend. Here these are errors with a name. A file that changes while it
//! is read is caught by its checksum, which is made of the very bytes that were folded.
//!
//! Memory: a window of some hundred kB for each file, and a buffer to write.

use std::fs::{File, OpenOptions};
use std::io;
use std::num::NonZeroU64;
use std::ops::RangeInclusive;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::panic::resume_unwind;
use std::path::{Path, PathBuf};
use std::thread::{self, ScopedJoinHandle};

use xxhash_rust::xxh3::Xxh3Default;

use super::body::SAMPLE;
use super::fold::{fold_sources, FoldError, Output, ALL};
use super::header::{BELONGS_TO_NOTHING, HEADER_BYTES, PADDING, TRAILER_BYTES};
use super::source::{Input, Source};
use super::{Digest, Folded, Info, PayloadError};

/// Bytes of all windows together, if that is enough.
const WINDOWS: usize = 64 << 20;
const LEAST_WINDOW: usize = 128 << 10;
const MOST_WINDOW: usize = 1 << 20;

/// Bytes that are written at once.
const WRITTEN: usize = 1 << 20;

/// More files than this are not held open, but opened for each block: a process may have few.
const HELD: usize = 128;

/// A payload in a file: from `start` on, to the file's end.
#[derive(Clone, Debug)]
pub struct PayloadFile {
    /// The file.
    pub path: PathBuf,
    /// Bytes before the payload.
    pub start: u64,
    /// How often its counts count.
    pub weight: NonZeroU64,
}

/// Why files were not folded. See [`fold_files`].
#[derive(Debug)]
pub enum FileError {
    /// One of them cannot be.
    Payload(FoldError),
    /// The result cannot be written.
    Output(io::Error),
}

impl From<FoldError> for FileError {
    fn from(error: FoldError) -> Self {
        Self::Payload(error)
    }
}

/// Adds up the counts of payloads in files, of the pre-tokens whose hashes are in `hashes`, and
/// writes them as a payload into the file `out` from byte `start` on, which must be its end.
///
/// Memory does not grow with the payloads. Each is read once, from front to back, and checked on
/// the way: what was written before an error is to be thrown away.
///
/// # Errors
/// [`FileError`].
///
/// # Examples
/// ```
/// use std::num::NonZeroU64;
///
/// use bpefleet_core::payload::{encode, fold_files, PayloadFile};
/// use bpefleet_core::table::CountTable;
///
/// let folder = std::env::temp_dir().join(format!("fold-files-{}", std::process::id()));
/// std::fs::create_dir_all(&folder)?;
/// let payload = |count| {
///     let mut table = CountTable::new();
///     table.add(b" the", count).expect("it fits");
///     encode(&table, &[7; 32])
/// };
/// let (path, out) = (folder.join("part"), folder.join("out"));
/// std::fs::write(&path, payload(2))?;
/// std::fs::write(&out, "a line\n")?;
/// let once = PayloadFile { path, start: 0, weight: NonZeroU64::MIN };
/// let info = fold_files(&[once.clone(), once], &[7; 32], &(0..=u64::MAX), &out, 7)
///     .expect("both are sound");
/// assert_eq!((info.unique(), info.pretokens), (1, 4));
/// assert_eq!(std::fs::read(&out)?[7..], payload(4));
/// # std::fs::remove_dir_all(&folder)?;
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn fold_files(
    payloads: &[PayloadFile],
    digest: &Digest,
    hashes: &RangeInclusive<u64>,
    out: &Path,
    start: u64,
) -> Result<Info, FileError> {
    let mut sources = opened(payloads, digest)?;
    let mut out = Writer::create(out, start).map_err(FileError::Output)?;
    let folded = fold_sources(&mut sources, digest, hashes, &mut out);
    // If the disk is full, that is to be told, whatever became of the rest.
    out.flush();
    if let Some(error) = out.error {
        return Err(FileError::Output(error));
    }
    let mut info = folded?;
    info.raw_size = out.size - start - HEADER_BYTES as u64;
    out.finish(info).map_err(FileError::Output)
}

/// Adds up the counts of payloads in files, and writes them as several payloads, each of a stretch
/// of the hashes, into as many files, which are empty. Together they are what [`fold_files`] gives,
/// and the payloads are read once for all of them.
///
/// # Errors
/// [`FileError`].
pub fn fold_ranges(
    payloads: &[PayloadFile],
    digest: &Digest,
    outs: &[impl AsRef<Path>],
) -> Result<Vec<Info>, FileError> {
    let mut sources = opened(payloads, digest)?;
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

/// Adds up the counts of payloads in files; the result alone is in memory, in as many parts as there
/// are `threads`: each folds a stretch of the hashes. All of them read all files, which takes a
/// fifth of the time that one thread takes for everything.
///
/// # Errors
/// As [`fold`](super::fold).
pub fn fold_into_memory(
    payloads: &[PayloadFile],
    digest: &Digest,
    threads: usize,
) -> Result<Vec<Folded>, FoldError> {
    let part = |hashes: RangeInclusive<u64>| {
        let mut sources = opened(payloads, digest)?;
        Folded::of(&mut sources, digest, &hashes, 0)
    };
    thread::scope(|scope| {
        let mut stretches = stretches(threads.max(1));
        let own = stretches.pop().unwrap_or(ALL);
        let others: Vec<_> = stretches
            .into_iter()
            .map(|hashes| {
                let beside = thread::Builder::new().spawn_scoped(scope, {
                    let hashes = hashes.clone();
                    move || part(hashes)
                });
                // Where no thread is to be had, it is done here.
                beside.map_err(|_| hashes)
            })
            .collect();
        let own = part(own);
        let join = |other: Result<ScopedJoinHandle<'_, _>, _>| match other {
            Ok(beside) => beside.join().unwrap_or_else(|panic| resume_unwind(panic)),
            Err(hashes) => part(hashes),
        };
        others.into_iter().map(join).chain([own]).collect()
    })
}

/// All hashes, in so many stretches of about one length.
fn stretches(number: usize) -> Vec<RangeInclusive<u64>> {
    let length = u64::MAX / number as u64;
    let first = |at: usize| at as u64 * length;
    let mut stretches: Vec<_> = (0..number)
        .map(|at| first(at)..=first(at + 1) - 1)
        .collect();
    if let Some(last) = stretches.pop() {
        stretches.push(*last.start()..=u64::MAX);
    }
    stretches
}

/// Checks a payload in a file to its end: what passes can be folded.
///
/// # Errors
/// [`PayloadError`].
pub fn check_file(payload: &PayloadFile, digest: &Digest) -> Result<Info, PayloadError> {
    let payloads = std::slice::from_ref(payload);
    let checked = opened(payloads, digest).and_then(|mut sources| {
        let mut seen = Seen::default();
        let info = fold_sources(&mut sources, digest, &ALL, &mut seen)?;
        Ok(Info {
            raw_size: sources[0].info.raw_size,
            least_hashes: seen.least.hashes(),
            ..info
        })
    });
    checked.map_err(|error| error.error)
}

fn opened(payloads: &[PayloadFile], digest: &Digest) -> Result<Vec<Source<Window>>, FoldError> {
    let block = (WINDOWS / payloads.len().max(1)).clamp(LEAST_WINDOW, MOST_WINDOW);
    opened_in(payloads, digest, block, payloads.len() <= HELD)
}

/// With windows of some size, and held open or not.
pub(super) fn opened_in(
    payloads: &[PayloadFile],
    digest: &Digest,
    block: usize,
    held: bool,
) -> Result<Vec<Source<Window>>, FoldError> {
    let open = |(index, payload): (usize, &PayloadFile)| {
        let (window, info) = Window::open(payload, digest, block, held)
            .map_err(|error| FoldError { index, error })?;
        Ok(Source::new(window, info, payload.weight.get()))
    };
    payloads.iter().enumerate().map(open).collect()
}

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
pub(super) struct Window {
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
    fn open(
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

/// The least hashes of entries.
#[derive(Default)]
struct Least {
    /// Those of each width so far.
    hashes: Vec<u64>,
    enough: usize,
}

impl Least {
    fn begin(&mut self) {
        self.enough = self.hashes.len() + SAMPLE;
    }

    fn see(&mut self, hashes: impl Iterator<Item = u64>) {
        self.hashes
            .extend(hashes.take(self.enough - self.hashes.len()));
    }

    fn hashes(mut self) -> Vec<u64> {
        self.hashes.sort_unstable();
        self.hashes.truncate(SAMPLE);
        self.hashes
    }
}

/// Entries that are only looked at.
#[derive(Default)]
struct Seen {
    buffer: Vec<u8>,
    least: Least,
}

impl Output for Seen {
    fn buffer(&mut self) -> &mut Vec<u8> {
        &mut self.buffer
    }

    fn drain(&mut self) {
        self.buffer.clear();
    }

    fn begin(&mut self) {
        self.least.begin();
    }

    fn see(&mut self, hashes: impl Iterator<Item = u64>) {
        self.least.see(hashes);
    }
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

    fn begin(&mut self) {
        self.at = 0;
        for range in &mut self.ranges {
            range.entries.push(0);
            range.writer.begin();
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

/// A payload that is written.
struct Writer {
    file: File,
    start: u64,
    /// Where what is written ends.
    size: u64,
    buffer: Vec<u8>,
    least: Least,
    error: Option<io::Error>,
}

impl Writer {
    fn create(path: &Path, start: u64) -> io::Result<Self> {
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

    fn flush(&mut self) {
        if self.error.is_none() {
            self.error = self.file.write_all_at(&self.buffer, self.size).err();
        }
        self.size += self.buffer.len() as u64;
        self.buffer.clear();
    }

    /// Writes the header, which is not known before, and the checksum. What was written is read
    /// once more for that, from the page cache as far as that goes: the header is part of it.
    fn finish(mut self, mut info: Info) -> io::Result<Info> {
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

    fn begin(&mut self) {
        self.least.begin();
    }

    fn see(&mut self, hashes: impl Iterator<Item = u64>) {
        self.least.see(hashes);
    }
}
