//! Folding files: sorted payloads are read in blocks and streamed out, so that no step holds them.
//!
//! They are read with `pread`, not mapped: a mapped file that somebody truncates ends the process
//! with a signal, one on a disk that fails likewise, and bytes that another process may change are
//! no slice that Rust could lend. Here these are errors with a name. A file that changes while it
//! is read is caught by its checksum, which is made of the very bytes that were folded.
//!
//! Memory: a window of some hundred kB for each file, and a buffer to write.

mod least;
mod ranges;
mod window;
mod writer;

use std::io;
use std::num::NonZeroU64;
use std::ops::RangeInclusive;
use std::panic::resume_unwind;
use std::path::{Path, PathBuf};
use std::thread::{self, ScopedJoinHandle};

use super::fold::{fold_sources, FoldError, Output, ALL};
use super::header::HEADER_BYTES;
use super::source::Source;
use super::{Digest, Folded, Info, PayloadError};
use least::Least;
pub use ranges::fold_ranges;
use window::Window;
use writer::Writer;

/// Bytes of all windows together, if that is enough.
const WINDOWS: usize = 64 << 20;
const LEAST_WINDOW: usize = 128 << 10;
const MOST_WINDOW: usize = 1 << 20;

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
