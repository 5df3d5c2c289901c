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
mod turns;
mod window;
mod writer;

use std::io;
use std::num::NonZeroU64;
use std::ops::RangeInclusive;
use std::panic::resume_unwind;
use std::path::{Path, PathBuf};
use std::thread;

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

/// Adds up the counts of payloads in files, and writes them as a payload into the file `out` from
/// byte `start` on, which must be its end.
///
/// Memory does not grow with the payloads. Each is read once by each of the `threads`, from front
/// to back, and checked on the way: what was written before an error is to be thrown away.
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
/// let info = fold_files(&[once.clone(), once], &[7; 32], &out, 7, 1)
///     .expect("both are sound");
/// assert_eq!((info.unique(), info.pretokens), (1, 4));
/// assert_eq!(std::fs::read(&out)?[7..], payload(4));
/// # std::fs::remove_dir_all(&folder)?;
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn fold_files(
    payloads: &[PayloadFile],
    digest: &Digest,
    out: &Path,
    start: u64,
    threads: usize,
) -> Result<Info, FileError> {
    let mut writer = Writer::create(out, start).map_err(FileError::Output)?;
    let mut folded = None;
    if threads > 1 {
        (writer, folded) = turns::fold(payloads, digest, writer, threads);
    }
    let folded = if let Some(info) = folded {
        Ok(info)
    } else {
        writer.restart().map_err(FileError::Output)?;
        let mut sources = opened(payloads, digest, 1)?;
        fold_sources(&mut sources, digest, &ALL, &mut writer)
    };
    // If the disk is full, that is to be told, whatever became of the rest.
    writer.flush();
    if let Some(error) = writer.error {
        return Err(FileError::Output(error));
    }
    let mut info = folded?;
    info.raw_size = writer.size - start - HEADER_BYTES as u64;
    writer.finish(info).map_err(FileError::Output)
}

/// Adds up the counts of payloads in files; the result alone is in memory, in as many parts as there
/// are `threads`: each folds a stretch of the hashes, reads all files, and passes over the rest.
///
/// # Errors
/// As [`fold`](super::fold).
pub fn fold_into_memory(
    payloads: &[PayloadFile],
    digest: &Digest,
    threads: usize,
) -> Result<Vec<Folded>, FoldError> {
    let part = |hashes: RangeInclusive<u64>| {
        let mut sources = opened(payloads, digest, threads)?;
        let all = pretokens(&sources);
        let part = Folded::of(&mut sources, digest, &hashes, 0)?;
        Ok::<_, FoldError>((part, all))
    };
    let stretches = stretches(threads.max(1)).into_iter();
    let parts = at_once(stretches.map(|hashes| move || part(hashes)).collect());
    let parts: Option<Vec<_>> = parts.and_then(|parts| parts.into_iter().map(Result::ok).collect());
    if let Some(parts) = parts {
        let all = parts.iter().map(|(part, _)| part.info().pretokens).sum();
        if parts.iter().all(|&(_, told)| told == all) {
            return Ok(parts.into_iter().map(|(part, _)| part).collect());
        }
    }
    // One thread tells what is wrong: it looks at everything, and in one order.
    Ok(vec![part(ALL)?.0])
}

/// What the counts of some payloads come to, by their headers. If that is more than fits, folding
/// says so.
fn pretokens(sources: &[Source<Window>]) -> u64 {
    let weighted = |source: &Source<_>| source.info.pretokens.saturating_mul(source.weight);
    sources.iter().map(weighted).fold(0, u64::saturating_add)
}

/// Does several things at once, the first of them in this thread. None if a thread is not to be had.
fn at_once<T: Send>(works: Vec<impl FnOnce() -> T + Send>) -> Option<Vec<T>> {
    thread::scope(|scope| {
        let mut works = works.into_iter();
        let own = works.next()?;
        let begin = |work| thread::Builder::new().spawn_scoped(scope, work);
        let others: Vec<_> = works.map(begin).collect();
        let mut done = vec![own()];
        for other in others {
            done.push(
                other
                    .ok()?
                    .join()
                    .unwrap_or_else(|panic| resume_unwind(panic)),
            );
        }
        Some(done)
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
    let checked = opened(payloads, digest, 1).and_then(|mut sources| {
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

/// As one of some threads that read them.
fn opened(
    payloads: &[PayloadFile],
    digest: &Digest,
    threads: usize,
) -> Result<Vec<Source<Window>>, FoldError> {
    let windows = (payloads.len() * threads).max(1);
    let block = (WINDOWS / windows).clamp(LEAST_WINDOW, MOST_WINDOW);
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

    fn begin(&mut self, _: u64) {
        self.least.begin();
    }

    fn see(&mut self, hashes: impl Iterator<Item = u64>) {
        self.least.see(hashes);
    }
}
