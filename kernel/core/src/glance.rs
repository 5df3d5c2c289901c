//! A first look at many files of a folder: how large each is, when it changed, how it begins.
//!
//! A corpus has a million of them, and each takes the system some microseconds: so several are
//! looked at side by side. Who asks knows what a file must not begin with.

use std::fs::OpenOptions;
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::thread;

use memchr::memchr;

/// Threads at the most. There may be more than cores: a file system far away answers them together.
const AT_ONCE: usize = 8;

/// Files for which it pays to begin a thread.
const EACH: usize = 32;

const NANOSECONDS: i64 = 1_000_000_000;

/// A file without NUL bytes at its beginning.
#[derive(Debug, PartialEq, Eq)]
pub struct Seen {
    /// Bytes.
    pub size: u64,
    /// When it changed, nanoseconds since the epoch.
    pub changed: i64,
    /// Its beginning, unless that is certain to be one of text.
    pub head: Option<Vec<u8>>,
}

/// Looks at files, and tells of each what it is; `None` of all that takes another look: what is no
/// regular file or cannot be read, an empty file, and one with a NUL byte at its beginning.
///
/// # Arguments
/// * `folder` - where they are.
/// * `names` - which.
/// * `certain` - first bytes that are those of text, whatever follows, but for NUL.
/// * `head` - how many bytes are its beginning.
#[must_use]
pub fn glance(folder: &Path, names: &[String], certain: &[u8], head: usize) -> Vec<Option<Seen>> {
    let each = (names.len() / AT_ONCE).max(EACH);
    let look = |names: &[String]| {
        let mut room = vec![0; head];
        let one = |name: &String| look(&folder.join(name), certain, &mut room).ok().flatten();
        names.iter().map(one).collect::<Vec<_>>()
    };
    let mut parts = names.chunks(each);
    let first = parts.next().unwrap_or_default();
    thread::scope(|scope| {
        let others: Vec<_> = parts
            .map(|names| {
                (
                    names,
                    thread::Builder::new().spawn_scoped(scope, move || look(names)),
                )
            })
            .collect();
        let mut found = look(first);
        for (names, thread) in others {
            // The system may have no threads left.
            found.extend(match thread.map(thread::ScopedJoinHandle::join) {
                Ok(Ok(seen)) => seen,
                Ok(Err(panic)) => std::panic::resume_unwind(panic),
                Err(_) => look(names),
            });
        }
        found
    })
}

fn look(path: &Path, certain: &[u8], room: &mut [u8]) -> io::Result<Option<Seen>> {
    // Opening a FIFO would otherwise wait until somebody writes to it.
    let file = OpenOptions::new()
        .read(true)
        .custom_flags(libc::O_NONBLOCK)
        .open(path)?;
    let facts = file.metadata()?;
    if !facts.is_file() {
        return Ok(None);
    }
    let read = file.read_at(room, 0)?;
    let head = &room[..read];
    // A network file system may give less at once than asked for.
    let is_all = facts.size() >= read as u64 && (read == room.len() || read as u64 == facts.size());
    let changed = facts.mtime().checked_mul(NANOSECONDS);
    let changed = changed.and_then(|at| at.checked_add(facts.mtime_nsec()));
    Ok(match (changed, head.first()) {
        (Some(changed), Some(first)) if is_all && memchr(0, head).is_none() => Some(Seen {
            size: facts.size(),
            changed,
            head: (!certain.contains(first)).then(|| head.to_vec()),
        }),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn many_files_are_told_in_order() {
        let folder = std::env::temp_dir().join(format!("bpefleet-glance-{}", std::process::id()));
        fs::create_dir_all(&folder).expect("a folder");
        let names: Vec<String> = (0..1000).map(|number| format!("{number}.txt")).collect();
        for (number, name) in names.iter().enumerate() {
            let text = match number % 4 {
                0 => "a".repeat(number + 1),
                1 => "(".repeat(number),
                2 => "\0".repeat(number),
                _ => String::new(),
            };
            if number % 8 != 3 {
                fs::write(folder.join(name), text).expect("a file");
            }
        }
        let seen = glance(&folder, &names, b"ab", 100);
        fs::remove_dir_all(&folder).expect("it goes");
        assert_eq!(seen.len(), names.len());
        for (number, seen) in seen.into_iter().enumerate() {
            let known = seen.as_ref().map(|seen| (seen.size, seen.head.clone()));
            let size = number as u64;
            match number % 4 {
                0 => assert_eq!(known, Some((size + 1, None))),
                1 => assert_eq!(known, Some((size, Some(vec![b'('; number.min(100)])))),
                _ => assert_eq!(known, None),
            }
            assert!(seen.is_none_or(|seen| seen.changed > 1_000_000_000 * NANOSECONDS));
        }
    }
}
